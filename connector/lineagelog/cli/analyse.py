"""`lineagelog analyse NAME…` and `lineagelog analyses`: questions to a window of the log, as they are declared."""

from __future__ import annotations

import inspect
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lineagelog.analysis import Result, analyses, analyses_named, parameters
from lineagelog.errors import SettingsError

from .asking import AskedSince, AskedUntil, AsOf, complete_name, severity_of
from .command import FINDINGS, command
from .lists import window_of
from .printing import Csv, Form, Json, JsonLines, form_of, print_json, print_rows, put, put_bytes, tell
from .session import Session

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lineagelog.analysis import Analysis, Parameter, SubjectResult
    from lineagelog.read.analyses import Answer
    from lineagelog.store.ledgers.findings import Recorded

_TABLE: Final = ("severity", "change", "first_seen", "explanation")
_SUBJECT: Final = ("subject_kind", "subject_namespace", "subject_name")


def _option(name: str, shared: tuple[Parameter, ...]) -> inspect.Parameter:
    """One option for the parameters of that name."""
    option = typer.Option(
        shared[0].option,
        metavar="|".join(parameter.metavar for parameter in shared),
        help=" ".join(map(_meaning, shared)),
        rich_help_panel="Parameters of analyses",
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )


def _meaning(parameter: Parameter) -> str:
    of = [name for name, each in analyses().items() if parameter in each.parameters]
    default = f", {parameter.default} unless given" if parameter.default else ""
    return f"{parameter.meaning} ({', '.join(of)}{default})"


def register(app: typer.Typer) -> None:
    """Add the two commands."""
    command(
        app,
        "analyse",
        "lineagelog analyse lineage_drift schema_drift --since -1d",
        "lineagelog analyse --all --since -1d --fail-on high",
        "lineagelog analyse blast_radius --dataset shop.orders --dataset-namespace postgres://db:5432 --json",
        more=[_option(name, shared) for name, shared in parameters().items()],
    )(_analyse)
    command(app, "analyses", "lineagelog analyses", "lineagelog analyses --json")(_analyses)


def _analyse(
    session: Session,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME…", help="What to ask.", autocompletion=complete_name)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Ask all that need no parameter.")] = False,
    since: AskedSince = "-7d",
    until: AskedUntil = "now",
    as_of: AsOf = None,
    record: Annotated[
        bool, typer.Option("--record", help="Keep the findings: `lineagelog findings list` shows what became of them.")
    ] = False,
    fail_on: Annotated[
        str | None,
        typer.Option(metavar="SEVERITY", help="Exit with 1 if there are findings of low, medium, high or critical on."),
    ] = None,
    json: Json = False,
    csv: Csv = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="Write Parquet with all columns.")] = False,
    **values: str | None,
) -> int:
    """Ask questions about a window of the log.

    `lineagelog analyses` tells what there is to ask. Each finding explains itself: subject, what was observed and what
    was expected, how it was judged, and the runs that prove it. Others give a table: properties of jobs or datasets.
    """
    from lineagelog.findings import Recorder
    from lineagelog.read.analyses import ask, terms_of
    from lineagelog.read.period import parse_instant

    chosen = _chosen(names or [], every)
    threshold = severity_of("--fail-on", fail_on)
    given = _given(chosen, values)
    form, window = form_of(json=json, csv=csv, parquet=parquet), window_of(since, until)
    clock = None if as_of is None else parse_instant(as_of, datetime.now(UTC))
    terms, answers = terms_of(session.settings.analyse), []
    if record and clock is not None:
        raise SettingsError("--record goes by the end of the window: leave --as-of out, or give --until")
    with session.store() as store:
        tell_webhook = session.settings.notify.is_wanted
        recorder = Recorder(store.database, terms, tell=tell_webhook) if record else None
        for analysis in chosen:
            own = given[analysis.name]
            with _working(analysis.name):
                if recorder is None:
                    answer = ask(store.database, analysis, window, own, as_of=clock, terms=terms)
                else:
                    answer, recorded = recorder.record(analysis, window, own)
            answers.append(answer)
            if recorder is not None:
                tell(_recorded(analysis.name, recorded))
    _print(answers, form, is_list=every or len(chosen) > 1)
    found = [finding for answer in answers for finding in answer.findings]
    return FINDINGS if threshold is not None and any(each.severity.rank >= threshold.rank for each in found) else 0


def _recorded(name: str, recorded: Recorded) -> str:
    counts = ", ".join(f"{getattr(recorded, each)} {each}" for each in ("opened", "reopened", "closed"))
    return f"{name}: {counts}, {recorded.seen} found"


def _chosen(names: list[str], every: bool) -> list[Analysis[Any]]:
    if every and names:
        raise SettingsError("name analyses, or give --all")
    if not every and not names:
        raise SettingsError(f"name an analysis, or give --all; there are {', '.join(analyses())}")
    if every:
        return [analysis for analysis in analyses().values() if not analysis.needs_a_parameter]
    return analyses_named(names)


def _given(chosen: list[Analysis[Any]], values: dict[str, str | None]) -> dict[str, dict[str, str]]:
    """The parameters that were given, by analysis: of those that read the name in other ways, for whom it means one.

    Raises SettingsError for one that no chosen analysis has.
    """
    given: dict[str, dict[str, str]] = {analysis.name: {} for analysis in chosen}
    for name, value in values.items():
        if value is None:
            continue
        takers = [(each.name, own) for each in chosen for own in each.parameters if own.name == name]
        if not takers:
            raise SettingsError(f"{parameters()[name][0].option} is no parameter of {', '.join(given)}")
        for taker in [taker for taker, own in takers if own.accepts(value)] or [taker for taker, _ in takers]:
            given[taker][name] = value
    return given


def _working(name: str) -> AbstractContextManager[object]:
    """Shows that it works, to a person who waits."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"{name} …")


def _print(answers: list[Answer], form: Form, *, is_list: bool) -> None:
    if form is Form.JSON:
        documents = [answer.document for answer in answers]
        print_json(documents if is_list else documents[0])
    elif form is Form.PARQUET:
        from lineagelog.read.frames import parquet_of

        put_bytes(parquet_of(answers))
    elif form is Form.CSV:
        from lineagelog.read.frames import columns_of, rows_of

        print_rows(form, columns_of(answers), rows_of(answers))
        _tell_the_rest(answers, is_list=is_list)
    else:
        _show(answers, form, is_list=is_list)
        _tell_the_rest(answers, is_list=is_list)


def _show(answers: list[Answer], form: Form, *, is_list: bool) -> None:
    """For people: findings in one table, and a table for each analysis that gives one."""
    found = [finding for answer in answers for finding in answer.findings]
    is_asked = any(analyses()[answer.analysis].result is Result.FINDINGS for answer in answers)
    if found or (is_asked and form is not Form.TABLE):
        print_rows(form, ("analysis", *_TABLE) if is_list else _TABLE, [finding.document for finding in found])
    for answer in answers:
        if answer.told.results:
            asked = analyses()[answer.analysis]
            if is_list:
                put(f"{asked.name}: {asked.question}")
            print_rows(form, (*_SUBJECT, *asked.columns), map(_result_row, answer.told.results))


def _tell_the_rest(answers: list[Answer], *, is_list: bool) -> None:
    window = answers[0].window
    if not any(answer.findings or answer.told.results for answer in answers):
        start = "the beginning" if window.is_open else f"{window.start:%Y-%m-%d %H:%M}"
        hint = "" if is_list else analyses()[answers[0].analysis].where_nothing_is_found
        tell(f"nothing found from {start} to {window.end:%Y-%m-%d %H:%M} UTC{hint}")
    if count := sum(answer.told.insufficient for answer in answers):
        tell(f"{count} with too little history to be judged")


def _result_row(result: SubjectResult) -> dict[str, Any]:
    return {f"subject_{name}": value for name, value in result.subject.document.items()} | dict(result.properties)


def _analyses(session: Session, json: JsonLines = False, csv: Csv = False) -> int:  # noqa: ARG001  # a command has one
    """Tell what there is to ask."""
    rows = [
        {
            "name": each.name,
            "question": each.question,
            "parameters": " ".join(parameter.option for parameter in each.parameters),
            "result": each.result,
            "about": each.about,
        }
        for each in analyses().values()
    ]
    form = form_of(json=json, csv=csv)
    columns = ("name", "question", "parameters")
    print_rows(form, columns if form in (Form.TABLE, Form.TABS) else tuple(rows[0]), rows)
    return 0
