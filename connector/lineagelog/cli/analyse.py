"""`lineagelog analyse NAME…` and `lineagelog analyses`: questions to a window of the log, as they are declared."""

from __future__ import annotations

import inspect
import sys
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lineagelog.analysis import Severity, analyses, analysis_named, parameters
from lineagelog.errors import SettingsError

from .command import FINDINGS, command
from .lists import window_of
from .printing import Csv, Form, Json, JsonLines, form_of, print_json, print_rows, tell
from .session import Session

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lineagelog.analysis import Analysis, Finding, Parameter
    from lineagelog.read.analyses import Answer

_WINDOW: Final = "Which part of the log"
_TABLE: Final = ("severity", "change", "first_seen", "explanation")
_COLUMNS: Final = (
    *("finding_id", "analysis", "severity", "status", "subject_kind", "subject_namespace", "subject_name"),
    *("subject_column", "change", "detail", "observed", "expected", "lower", "upper", "score", "method", "n"),
    *("first_seen", "last_seen", "run_ids", "explanation"),
)


def _option(parameter: Parameter) -> inspect.Parameter:
    of = [name for name, each in analyses().items() if parameter.name in {own.name for own in each.parameters}]
    default = f", {parameter.default} unless given" if parameter.default else ""
    option = typer.Option(
        parameter.option,
        metavar=parameter.metavar,
        help=f"{parameter.meaning} ({', '.join(of)}{default})",
        rich_help_panel="Parameters of analyses",
    )
    return inspect.Parameter(
        parameter.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )


def _names(incomplete: str) -> list[tuple[str, str]]:
    """For the shell's completion."""
    start = incomplete.replace("-", "_")
    return [(name, each.question) for name, each in analyses().items() if name.startswith(start)]


def register(app: typer.Typer) -> None:
    """Add the two commands."""
    command(
        app,
        "analyse",
        "lineagelog analyse lineage_drift schema_drift --since -1d",
        "lineagelog analyse --all --since -1d --fail-on high",
        "lineagelog analyse blast_radius --dataset shop.orders --dataset-namespace postgres://db:5432 --json",
        more=[_option(parameter) for parameter in parameters().values()],
    )(_analyse)
    command(app, "analyses", "lineagelog analyses", "lineagelog analyses --json")(_analyses)


def _analyse(
    session: Session,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME…", help="What to ask.", autocompletion=_names)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Ask all that need no parameter.")] = False,
    since: Annotated[
        str,
        typer.Option(
            metavar="TIME", rich_help_panel=_WINDOW, help="From: 2026-03-01, 2026-03-01T08:00Z or -7d (s m h d w)."
        ),
    ] = "-7d",
    until: Annotated[
        str, typer.Option(metavar="TIME", rich_help_panel=_WINDOW, help="Before: the same, or now.")
    ] = "now",
    as_of: Annotated[
        str | None,
        typer.Option(metavar="TIME", rich_help_panel=_WINDOW, help="The clock of lateness, else --until."),
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(metavar="SEVERITY", help="Exit with 1 if there are findings of low, medium, high or critical on."),
    ] = None,
    json: Json = False,
    csv: Csv = False,
    **values: str | None,
) -> int:
    """Ask questions about a window of the log.

    `lineagelog analyses` tells what there is to ask. Each finding explains itself: subject, what was observed and what
    was expected, how it was judged, and the runs that prove it.
    """
    from lineagelog.read.analyses import ask
    from lineagelog.read.period import parse_instant

    chosen = _chosen(names or [], every)
    threshold = _severity(fail_on)
    given = _given(chosen, values)
    form, window = form_of(json=json, csv=csv), window_of(since, until)
    clock = None if as_of is None else parse_instant(as_of, datetime.now(UTC))
    limit = timedelta(seconds=session.settings.analyse.time_limit)
    answers = []
    with session.store() as store:
        for analysis in chosen:
            with _working(analysis.name):
                own = {name: value for name, value in given.items() if name in {p.name for p in analysis.parameters}}
                answers.append(ask(store.engine, store.schema, analysis, window, own, as_of=clock, time_limit=limit))
    _print(answers, form, is_list=every or len(chosen) > 1, hint=chosen[0].where_nothing_is_found)
    found = [finding for answer in answers for finding in answer.findings]
    return FINDINGS if threshold is not None and any(each.severity.rank >= threshold for each in found) else 0


def _chosen(names: list[str], every: bool) -> list[Analysis[Any]]:
    if every and names:
        raise SettingsError("name analyses, or give --all")
    if not every and not names:
        raise SettingsError(f"name an analysis, or give --all; there are {', '.join(analyses())}")
    if every:
        return [analysis for analysis in analyses().values() if not analysis.needs_a_parameter]
    return [analysis_named(name) for name in dict.fromkeys(name.replace("-", "_") for name in names)]


def _given(chosen: list[Analysis[Any]], values: dict[str, str | None]) -> dict[str, str]:
    """The parameters that were given. Raises SettingsError for one that no chosen analysis has."""
    given = {name: value for name, value in values.items() if value is not None}
    known = {parameter.name for analysis in chosen for parameter in analysis.parameters}
    for name in given:
        if name not in known:
            option = parameters()[name].option
            raise SettingsError(f"{option} is no parameter of {', '.join(analysis.name for analysis in chosen)}")
    return given


def _severity(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return Severity(text.lower()).rank
    except ValueError:
        raise SettingsError(f"--fail-on takes {', '.join(Severity)}, not {text[:40]!r}") from None


def _working(name: str) -> AbstractContextManager[object]:
    """Shows that it works, to a person who waits."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"{name} …")


def _print(answers: list[Answer], form: Form, *, is_list: bool, hint: str) -> None:
    if form is Form.JSON:
        documents = [answer.document for answer in answers]
        print_json(documents if is_list else documents[0])
        return
    rows = [_row(finding) for answer in answers for finding in answer.findings]
    if rows or form is not Form.TABLE:
        print_rows(form, _COLUMNS if form is Form.CSV else (("analysis", *_TABLE) if is_list else _TABLE), rows)
    if rows:
        return
    window = answers[0].window
    period = f"{window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} UTC"
    tell(f"nothing found from {period}{'' if is_list else hint}")


def _row(finding: Finding) -> dict[str, Any]:
    """The finding with its subject's parts side by side."""
    document = finding.document
    subject = document.pop("subject")
    return {**document, **{f"subject_{name}": value for name, value in subject.items()}}


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
