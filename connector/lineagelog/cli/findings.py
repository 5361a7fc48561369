"""`lineagelog findings …` and `lineagelog explain`: what recorded runs found, what became of it, what people say."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

import typer

from lineagelog.analysis import analysis_named, place
from lineagelog.errors import InputError, SettingsError
from lineagelog.shown import counted

from .asking import severity_of
from .command import FINDINGS, OK, command
from .lists import Limit, Reverse, window_of
from .printing import Csv, Form, Json, JsonLines, form_of, print_facts, print_json, print_rows, put
from .session import Session

if TYPE_CHECKING:
    from lineagelog.read import Reader
    from lineagelog.store.ledgers.finding_rows import FindingRow
    from lineagelog.store.ledgers.findings import Findings

group = typer.Typer(no_args_is_help=True, help="See what recorded runs of analyses found; acknowledge it, mute it.")

_TABLE_LIMIT: Final = 100
_COLUMNS: Final = ("finding_id", "status", "severity", "analysis", "last_seen", "said", "explanation")
_WHICH: Final = "Which findings"
_STATUSES: Final = ("open", "suppressed", "closed", "all")

Ids = Annotated[list[str], typer.Argument(metavar="ID…", help="As `lineagelog findings list` shows it.")]
By = Annotated[str | None, typer.Option(metavar="NAME", help="Who says so; else who you are logged in as.")]
Until = Annotated[
    str | None, typer.Option(metavar="TIME", help="Until then: 7d from now, or an ISO date. Else until it is undone.")
]
Why = Annotated[str | None, typer.Option(metavar="TEXT", help="Why, for those who ask later.")]


def register(app: typer.Typer) -> None:
    """Mount `explain`."""
    command(
        app,
        "explain",
        "lineagelog explain 4c1f63cb-0f2b-8a0e-5f0c-7d1f3c0c2a11",
        "lineagelog explain ID --analysis schema_drift --since -30d --json",
    )(_explain)


@command(
    group,
    "list",
    "lineagelog findings list",
    "lineagelog findings list --severity high --since -1d --fail-on high",
    "lineagelog findings list --status all --analysis late_run --json",
)
def _list(
    session: Session,
    status: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATUS",
            rich_help_panel=_WHICH,
            help="open, suppressed, closed or all; several times for several. Else those that are open.",
        ),
    ] = None,
    severity: Annotated[
        str | None,
        typer.Option(metavar="SEVERITY", rich_help_panel=_WHICH, help="low, medium, high or critical, and above."),
    ] = None,
    analysis: Annotated[
        str | None, typer.Option(metavar="NAME", rich_help_panel=_WHICH, help="Of that analysis.")
    ] = None,
    subject: Annotated[
        str | None, typer.Option(metavar="NAME", rich_help_panel=_WHICH, help="About the job or dataset of that name.")
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(metavar="NAME", rich_help_panel=_WHICH, help="About those of that namespace.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", rich_help_panel=_WHICH, help="Last seen from: 2026-03-01 or -7d.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", rich_help_panel=_WHICH, help="Last seen before: the same, or now.")
    ] = None,
    reverse: Reverse = False,
    limit: Limit = None,
    fail_on: Annotated[
        str | None,
        typer.Option(metavar="SEVERITY", help="Exit with 1 if an open one of them is of that severity or above."),
    ] = None,
    json: JsonLines = False,
    csv: Csv = False,
) -> int:
    """List findings, last seen longest ago first."""
    from lineagelog.read import Reader
    from lineagelog.store.ledgers.finding_rows import FindingFilter

    form, window = form_of(json=json, csv=csv), window_of(since, until)
    threshold = severity_of("--fail-on", fail_on)
    wanted = FindingFilter(
        statuses=_statuses(status or ["open"]),
        severity=severity_of("--severity", severity),
        analysis=None if analysis is None else analysis.replace("-", "_"),
        subject=subject,
        namespace=namespace,
        since=window.start,
        until=window.end,
    )
    limit = (_TABLE_LIMIT if form is Form.TABLE else 0) if limit is None else limit
    columns = _COLUMNS if form in (Form.TABLE, Form.TABS) else _all_columns()
    worst = -1
    with session.store() as store:

        def shown() -> Iterator[dict[str, Any]]:
            nonlocal worst
            for row in islice(Reader(store.database).findings(wanted, reverse=reverse), limit or None):
                worst = max(worst, row.severity.rank if row.status == "OPEN" else -1)
                yield row.document if form is Form.JSON else _row(row)

        count = print_rows(form, columns, shown())
    if form is Form.TABLE:
        put(f"{counted(count, 'findings')}{': the first ones; --limit 0 shows all' if count == limit else ''}")
    return FINDINGS if threshold is not None and worst >= threshold.rank else OK


@command(
    group, "show", "lineagelog findings show 4c1f63cb-0f2b-8a0e-5f0c-7d1f3c0c2a11", "lineagelog findings show ID --json"
)
def _show(
    session: Session,
    finding_id: Annotated[str, typer.Argument(metavar="ID", help="As `lineagelog findings list` shows it.")],
    json: Json = False,
) -> None:
    """Show one finding: what its analysis told last, what became of it, and what people said."""
    from lineagelog.read import Reader

    with session.store() as store:
        row = _known(Reader(store.database), _id(finding_id))
    print_json(row.document) if json else print_facts(_facts(row.document))


@command(
    group,
    "ack",
    "lineagelog findings ack 4c1f63cb-0f2b-8a0e-5f0c-7d1f3c0c2a11 --why 'is being repaired'",
    "lineagelog findings ack ID --by ada --until 7d",
)
def _ack(session: Session, ids: Ids, by: By = None, until: Until = None, why: Why = None) -> None:
    """Acknowledge findings: somebody knows of them. They stay open; where they come back, nobody does."""
    words = _words(by, until, why)
    _say(session, ids, "acknowledged", lambda findings, each: findings.acknowledge(each, **words))


@command(
    group,
    "mute",
    "lineagelog findings mute 4c1f63cb-0f2b-8a0e-5f0c-7d1f3c0c2a11 --until 30d --why 'known, and not ours'",
)
def _mute(session: Session, ids: Ids, by: By = None, until: Until = None, why: Why = None) -> None:
    """Mute findings: while they are open they are SUPPRESSED, and the webhook is not told of them."""
    words = _words(by, until, why)
    _say(session, ids, "muted", lambda findings, each: findings.mute(each, **words))


@command(group, "unmute", "lineagelog findings unmute 4c1f63cb-0f2b-8a0e-5f0c-7d1f3c0c2a11")
def _unmute(session: Session, ids: Ids) -> None:
    """Take mutes back."""
    _say(session, ids, "no longer muted", lambda findings, each: findings.unmute(each))


def _explain(
    session: Session,
    finding_id: Annotated[str, typer.Argument(metavar="ID", help="Of a finding, recorded or not.")],
    analysis: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of one that is not recorded: the analysis to ask, else all.")
    ] = None,
    since: Annotated[str, typer.Option(metavar="TIME", help="The window to ask it of: from.")] = "-7d",
    until: Annotated[str, typer.Option(metavar="TIME", help="Before.")] = "now",
    events: Annotated[int, typer.Option(metavar="N", min=1, help="Events to show of each run.")] = 20,
    json: Json = False,
) -> None:
    """Show the evidence of a finding: its runs and their events. One that is not recorded is looked for anew."""
    from lineagelog.findings.evidence import evidence_of, found_anew
    from lineagelog.read import Reader
    from lineagelog.read.analyses import terms_of

    key, window = _id(finding_id), window_of(since, until)
    chosen = None if analysis is None else analysis_named(analysis)
    with session.store() as store:
        reader = Reader(store.database)
        row = reader.finding(key)
        terms = terms_of(session.settings.analyse)
        document = found_anew(store.database, key, window, chosen, terms=terms) if row is None else row.document
        if document is None:
            raise InputError(
                f"finding {key} is not recorded, and no analysis that was asked tells it: give --analysis, and --since "
                "and --until as it was found"
            )
        runs = evidence_of(reader, document, events)
    if json:
        print_json({"finding": document, "runs": runs})
        return
    print_facts(_facts(document))
    for each in runs:
        put(f"\nrun {each['run_id']}{'' if each['jobs'] else ': no longer in the store'}")
        for job in each["jobs"]:
            print_facts({"job": place(job["job_namespace"], job["job_name"]), **job}, 18)
        if each["events"]:
            print_rows(form_of(), ("event_time", "event_type", "job_name", "received_at", "event_hash"), each["events"])


# --- what they share --------------------------------------------------------------------------------------------------


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InputError(f"{text[:60]!r} is no id of a finding: see `lineagelog findings list`") from None


def _known(reader: Reader, key: UUID) -> FindingRow:
    row = reader.finding(key)
    if row is None:
        raise InputError(f"there is no finding {key}: see `lineagelog findings list --status all`")
    return row


def _say(session: Session, ids: list[str], what: str, say: Callable[[Findings, UUID], bool]) -> None:
    from lineagelog.store.ledgers.findings import Findings

    keys = [_id(each) for each in dict.fromkeys(ids)]
    with session.store() as store:
        findings = Findings(store.database)
        unknown = [key for key in keys if not say(findings, key)]
    if unknown:
        raise InputError(f"there is no finding {unknown[0]}: see `lineagelog findings list --status all`")
    put(f"{counted(len(keys), 'findings')} {what}")


def _words(by: str | None, until: str | None, why: str | None) -> dict[str, Any]:
    from lineagelog.read.period import parse_end

    try:
        ends = None if until is None else parse_end(until, datetime.now(UTC))
    except InputError as problem:
        raise InputError(f"--until {problem}") from None
    try:
        who = by or getpass.getuser()
    except (KeyError, OSError, ImportError):  # an account without a name
        raise SettingsError("who says so? Give --by") from None
    if any("\0" in text for text in (who, why or "")):
        raise InputError("--by and --why must not hold NUL")
    return {"by": who, "until": ends, "why": why}


def _statuses(given: list[str]) -> tuple[Any, ...] | None:
    from lineagelog.store.ledgers.episodes import FindingStatus

    for each in given:
        if each.lower() not in _STATUSES:
            raise SettingsError(f"--status takes {', '.join(_STATUSES)}, not {each[:40]!r}")
    return None if "all" in map(str.lower, given) else tuple(FindingStatus(each.upper()) for each in given)


def _all_columns() -> tuple[str, ...]:
    from lineagelog.store.ledgers.finding_rows import FindingRow

    told = ("subject_kind", "subject_namespace", "subject_name", "subject_column", "subject_test", "change", "detail")
    more = ("observed", "expected", "lower", "upper", "score", "method", "n", "run_ids", "explanation")
    own = [name for name in FindingRow.__struct_fields__ if name not in ("subject", "content", "parameters")]
    return (*own, *told, *more)


def _row(row: FindingRow) -> dict[str, Any]:
    """Flat, for tables and CSV."""
    about = {f"subject_{name}": getattr(row.subject, name) for name in row.subject.__struct_fields__}
    said = [
        _said("acknowledged", row.acknowledged_by, row.acknowledged_until),
        _said("muted", row.muted_by, row.muted_until),
    ]
    if row.reopened:
        said.insert(0, f"reopened {row.reopened}×")
    return {**row.document, **about, "said": ", ".join(filter(None, said))}


def _said(what: str, by: str | None, until: datetime | None) -> str:
    end = "" if until is None else f" until {until:%Y-%m-%d}"
    return "" if by is None else f"{what} by {by}{end}"


def _facts(document: dict[str, Any]) -> dict[str, Any]:
    """Of one finding, for people: what there is."""
    about = document["subject"]
    whole = place(about.get("namespace"), about["name"])
    parts = [f"{name} {value}" for name in ("column", "test") if (value := about.get(name))]
    shown = {**document, "subject": " ".join([about["kind"], whole, *parts])}
    return {name: _text(value) for name, value in shown.items() if value not in (None, "", [], {}, 0)}


def _text(value: Any) -> Any:
    import orjson

    is_plain = not isinstance(value, dict | list) or all(isinstance(each, str) for each in value)
    return value if is_plain and not isinstance(value, dict) else orjson.dumps(value, default=str).decode()
