"""`lineagelog list …`: what a window of the store holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lineagelog.errors import SettingsError
from lineagelog.shown import counted

from .command import command
from .printing import Csv, Form, JsonLines, form_of, print_rows, put, put_json, span_of
from .session import Session

if TYPE_CHECKING:
    from lineagelog.read import EventRow, Listing, Reader, Run, Window
    from lineagelog.read.catalogue.search import Sought

group = typer.Typer(no_args_is_help=True, help="List what is in the store, oldest first or --reverse.")

_TABLE_LIMIT: Final = 100
_WINDOW: Final = "Which rows"

Since = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", rich_help_panel=_WINDOW, help="From: 2026-03-01, 2026-03-01T08:00Z or -7d (s m h d w)."
    ),
]
Until = Annotated[str | None, typer.Option(metavar="TIME", rich_help_panel=_WINDOW, help="Before: the same, or now.")]
Job = Annotated[str | None, typer.Option(metavar="NAME", rich_help_panel=_WINDOW, help="Of the job of that name.")]
Namespace = Annotated[
    str | None, typer.Option(metavar="NAME", rich_help_panel=_WINDOW, help="Of jobs of that namespace; '' = none.")
]
Dataset = Annotated[
    str | None, typer.Option(metavar="NAME", rich_help_panel=_WINDOW, help="With the dataset of that name.")
]
DatasetNamespace = Annotated[
    str | None, typer.Option(metavar="NAME", rich_help_panel=_WINDOW, help="With datasets of that namespace.")
]
Status = Annotated[
    str | None,
    typer.Option(metavar="STATUS", rich_help_panel=_WINDOW, help="What came of the run: RUNNING, COMPLETE, FAIL …"),
]
Limit = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=0, rich_help_panel=_WINDOW, help="At most so many rows; 0 = all. A table shows 100, else all."
    ),
]
Reverse = Annotated[bool, typer.Option("--reverse", rich_help_panel=_WINDOW, help="Newest first.")]


@dataclass(frozen=True, slots=True)
class _View:
    """How the rows of a listing are shown."""

    noun: str
    table: tuple[str, ...]
    row: Callable[[Any], Mapping[str, Any]]


@command(
    group,
    "runs",
    "lineagelog list runs --since -24h --status FAIL",
    "lineagelog list runs --job daily_orders --json | jq .error_message",
    "lineagelog list runs --root 79dfb72c-813e-5623-b672-6cda60951d07 --reverse",
    "lineagelog list runs --since -1d --last-attempts --status FAIL",
)
def _runs(
    session: Session,
    since: Since = None,
    until: Until = None,
    job: Job = None,
    namespace: Namespace = None,
    dataset: Dataset = None,
    dataset_namespace: DatasetNamespace = None,
    status: Status = None,
    parent: Annotated[
        str | None,
        typer.Option(metavar="RUN_ID", rich_help_panel=_WINDOW, help="Started by that run."),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(metavar="RUN_ID", rich_help_panel=_WINDOW, help="Of all that began with that run."),
    ] = None,
    last_attempts: Annotated[
        bool,
        typer.Option(
            "--last-attempts", rich_help_panel=_WINDOW, help="Of attempts at one task the last, and what came of all."
        ),
    ] = False,
    reverse: Reverse = False,
    limit: Limit = None,
    json: JsonLines = False,
    csv: Csv = False,
) -> None:
    """List runs that had an event in the window.

    Where a producer tells attempts and the runs of a mapped task apart (Airflow), they are shown by number.
    """
    columns = ("first_event_time", "job_namespace", "job_name", "map_index", "attempt")
    columns += (*(("attempts",) if last_attempts else ()), "outcome", "status", "duration", "run_id")
    _list(
        session,
        _View("runs", columns, _run_row if json or csv else _told_run_row),
        lambda reader, window: reader.runs(
            window,
            job=job,
            namespace=namespace,
            dataset_name=dataset,
            dataset_namespace=dataset_namespace,
            status=status,
            parent=parent,
            root=root,
            last_attempts=last_attempts,
            reverse=reverse,
        ),
        (since, until, limit, form_of(json=json, csv=csv)),
    )


@command(
    group,
    "run-datasets",
    "lineagelog list run-datasets --since -7d --dataset shop.public.orders",
    "lineagelog list run-datasets --direction O --csv > written.csv",
)
def _run_datasets(
    session: Session,
    since: Since = None,
    until: Until = None,
    job: Job = None,
    namespace: Namespace = None,
    dataset: Dataset = None,
    dataset_namespace: DatasetNamespace = None,
    status: Status = None,
    direction: Annotated[
        str | None,
        typer.Option(metavar="I|O", rich_help_panel=_WINDOW, help="Only read (I) or only written (O) ones."),
    ] = None,
    reverse: Reverse = False,
    limit: Limit = None,
    json: JsonLines = False,
    csv: Csv = False,
) -> None:
    """List the datasets that runs of the window read (I) or wrote (O), with rows and bytes."""
    columns = ("event_time", "direction", "dataset_namespace", "dataset_name", "row_count", "size_bytes", "run_id")
    if direction is not None and direction.upper() not in ("I", "O"):
        raise SettingsError(f"--direction {direction!r} is neither I (read) nor O (written)")
    _list(
        session,
        _View("datasets of runs", columns, _plain_row),
        lambda reader, window: reader.run_datasets(
            window,
            job=job,
            namespace=namespace,
            dataset_name=dataset,
            dataset_namespace=dataset_namespace,
            status=status,
            direction=direction,
            reverse=reverse,
        ),
        (since, until, limit, form_of(json=json, csv=csv)),
    )


Search = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT", rich_help_panel=_WINDOW, help="With this in a name, a tag, an owner, the description."
    ),
]


@command(
    group,
    "jobs",
    "lineagelog list jobs --search orders",
    "lineagelog list jobs --since -7d --status FAIL --json | jq '.owners[]?.name'",
)
def _jobs(
    session: Session,
    since: Since = None,
    until: Until = None,
    search: Search = None,
    job: Job = None,
    namespace: Namespace = None,
    status: Annotated[
        str | None,
        typer.Option(metavar="STATUS", rich_help_panel=_WINDOW, help="What came of the newest run: RUNNING, FAIL …"),
    ] = None,
    reverse: Reverse = False,
    limit: Limit = None,
    json: JsonLines = False,
    csv: Csv = False,
) -> None:
    """List the jobs that were seen in the window, with owners, tags, description and what came of the newest run."""
    columns = ("first_seen", "last_seen", "job_namespace", "job_name", "last_outcome", "owners", "tags", "description")
    _list(
        session,
        _View("jobs", columns, _plain_row if json or csv else _told_entity_row),
        lambda reader, window: reader.jobs(_wanted(window, job, namespace, search, reverse), status=status),
        (since, until, limit, form_of(json=json, csv=csv)),
    )


@command(
    group,
    "datasets",
    "lineagelog list datasets --search customer",
    "lineagelog list datasets --dataset shop.public.orders --json | jq .names",
)
def _datasets(
    session: Session,
    since: Since = None,
    until: Until = None,
    search: Search = None,
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME", rich_help_panel=_WINDOW, help="With that name among its names.")
    ] = None,
    dataset_namespace: DatasetNamespace = None,
    reverse: Reverse = False,
    limit: Limit = None,
    json: JsonLines = False,
    csv: Csv = False,
) -> None:
    """List the datasets that were seen in the window, each once whatever names it has, with owners and tags."""
    columns = ("first_seen", "last_seen", "dataset_namespace", "dataset_name", "names", "owners", "tags", "description")
    _list(
        session,
        _View("datasets", columns, _plain_row if json or csv else _told_entity_row),
        lambda reader, window: reader.datasets(_wanted(window, dataset, dataset_namespace, search, reverse)),
        (since, until, limit, form_of(json=json, csv=csv)),
    )


@command(group, "assertions", "lineagelog list assertions --since -7d --failed")
def _assertions(
    session: Session,
    since: Since = None,
    until: Until = None,
    job: Job = None,
    namespace: Namespace = None,
    dataset: Dataset = None,
    dataset_namespace: DatasetNamespace = None,
    failed: Annotated[
        bool, typer.Option("--failed", rich_help_panel=_WINDOW, help="Only those that did not succeed.")
    ] = False,
    reverse: Reverse = False,
    limit: Limit = None,
    json: JsonLines = False,
    csv: Csv = False,
) -> None:
    """List data quality assertions reported in the window."""
    columns = ("event_time", "dataset_name", "assertion", "column_name", "success", "severity", "run_id")
    _list(
        session,
        _View("assertions", columns, _plain_row),
        lambda reader, window: reader.assertions(
            window,
            job=job,
            namespace=namespace,
            dataset_name=dataset,
            dataset_namespace=dataset_namespace,
            success=False if failed else None,
            reverse=reverse,
        ),
        (since, until, limit, form_of(json=json, csv=csv)),
    )


@command(group, "tests", "lineagelog list tests --since -7d --status fail")
def _tests(
    session: Session,
    since: Since = None,
    until: Until = None,
    job: Job = None,
    namespace: Namespace = None,
    status: Annotated[
        str | None, typer.Option(metavar="STATUS", rich_help_panel=_WINDOW, help="The test's, such as fail.")
    ] = None,
    reverse: Reverse = False,
    limit: Limit = None,
    json: JsonLines = False,
    csv: Csv = False,
) -> None:
    """List tests (of the test run facet) reported in the window."""
    _list(
        session,
        _View("tests", ("event_time", "job_name", "test_name", "status", "severity", "run_id"), _plain_row),
        lambda reader, window: reader.tests(window, job=job, namespace=namespace, status=status, reverse=reverse),
        (since, until, limit, form_of(json=json, csv=csv)),
    )


@command(
    group,
    "events",
    "lineagelog list events --since -1h",
    "lineagelog list events --since 2026-03-01 --until 2026-04-01 --raw | gzip > march.ndjson.gz",
)
def _events(
    session: Session,
    since: Since = None,
    until: Until = None,
    job: Job = None,
    namespace: Namespace = None,
    event_type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", rich_help_panel=_WINDOW, help="Such as START or FAIL.")
    ] = None,
    reverse: Reverse = False,
    limit: Limit = None,
    json: JsonLines = False,
    csv: Csv = False,
    content: Annotated[bool, typer.Option("--content", help="With --json: the event itself, too.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print the events alone, as NDJSON that `load` reads.")] = False,
) -> None:
    """List the raw events of the window."""
    columns = ("event_time", "event_kind", "event_type", "job_name", "run_id", "received_at", "notices")
    with_content = raw or (content and json)

    def find(reader: Reader, window: Window) -> Listing[EventRow]:
        wanted: dict[str, Any] = {"job": job, "namespace": namespace, "event_type": event_type}
        return reader.events(window, **wanted, content=with_content, reverse=reverse)

    if raw:
        with session.store() as store:
            for line in _first(find(_reader(store), window_of(since, until)), limit or 0):
                put_json(_one_line(line))
        return
    view = _View("events", columns, _event_row if with_content else _plain_event_row)
    _list(session, view, find, (since, until, limit, form_of(json=json, csv=csv)))


def _list(
    session: Session,
    view: _View,
    find: Callable[[Reader, Window], Listing[Any]],
    choice: tuple[str | None, str | None, int | None, Form],
) -> None:
    since, until, limit, form = choice
    window = window_of(since, until)
    limit = (_TABLE_LIMIT if form is Form.TABLE else 0) if limit is None else limit
    with session.store() as store:
        found = iter(find(_reader(store), window))
        rows = (view.row(row) for row in _first(found, limit))
        count = print_rows(form, _columns(form, view), rows)
        more = bool(limit) and count == limit and next(found, None) is not None
    if form is Form.TABLE:
        put(
            counted(count, view.noun)
            + (": the first ones; --limit 0 shows all, --since and --until narrow" if more else "")
        )


def _columns(form: Form, view: _View) -> tuple[str, ...]:
    """CSV is for programs and has all columns."""
    if form is not Form.CSV:
        return view.table
    from lineagelog import read

    kind = {
        "runs": read.Run,
        "datasets of runs": read.RunDataset,
        "assertions": read.Assertion,
        "tests": read.Test,
        "jobs": read.ListedJob,
        "datasets": read.ListedDataset,
    }
    fields = kind.get(view.noun, read.EventRow).__struct_fields__
    return tuple(name for name in fields if name not in ("event", "raw"))


def _reader(store: Any) -> Reader:
    from lineagelog.read import Reader

    return Reader(store.database)


def window_of(since: str | None, until: str | None) -> Window:
    """All time, unless narrowed."""
    from lineagelog.read import Window
    from lineagelog.read.period import ALWAYS, parse_instant, parse_start

    now = datetime.now(UTC)
    start = parse_start(ALWAYS if since is None else since, now)
    end = datetime.max.replace(tzinfo=UTC) if until is None else parse_instant(until, now)
    return Window(start, end)


def _first[T](rows: Iterable[T], limit: int) -> Iterator[T]:
    return islice(rows, limit) if limit else iter(rows)


def _plain_row(row: Any) -> Mapping[str, Any]:
    from msgspec.structs import asdict

    return asdict(row)


def _run_row(run: Run) -> Mapping[str, Any]:
    """For programs: the duration in seconds."""
    return _plain_row(run)


def _told_run_row(run: Run) -> Mapping[str, Any]:
    """For people: the status only where it is not what came of the run."""
    status = run.status if run.status != run.outcome else None
    return {**_plain_row(run), "status": status, "duration": span_of(run.duration), "attempts": _attempts(run)}


def _attempts(run: Run) -> str | None:
    """What came of all attempts at a task: ``failed twice, then succeeded on try 3``."""
    if not run.earlier_outcomes:
        return None
    failed = [outcome for outcome in run.earlier_outcomes if outcome == "FAIL"]
    times = {1: "", 2: " twice"}.get(len(failed), f" {len(failed)} times")
    before = f"failed{times}" if len(failed) == len(run.earlier_outcomes) else ", ".join(run.earlier_outcomes)
    now = {"COMPLETE": "succeeded", "FAIL": "failed", "ABORT": "aborted"}.get(run.outcome, run.outcome)
    return f"{before}, then {now} on try {run.attempt}"


def _wanted(window: Window, name: str | None, namespace: str | None, search: str | None, reverse: bool) -> Sought:
    from lineagelog.read.catalogue.search import Sought

    return Sought(window, name, namespace, search, reverse)


def _told_entity_row(row: Any) -> Mapping[str, Any]:
    """For people: owners and tags as names, the further names alone."""
    plain = dict(_plain_row(row))
    plain["owners"] = ", ".join(each["name"] for each in plain["owners"] or ())
    plain["tags"] = ", ".join(_told_tag(each) for each in plain["tags"] or ())
    if "names" in plain:
        own = plain["dataset_name"]
        plain["names"] = ", ".join(each["name"] for each in plain["names"] if each["name"] != own)
    return plain


def _told_tag(tag: Mapping[str, Any]) -> str:
    key, value, field = (str(tag.get(member) or "") for member in ("key", "value", "field"))
    told = key if value in ("", "true") else f"{key}={value}"
    return f"{field}: {told}" if field else told


def _plain_event_row(event: EventRow) -> Mapping[str, Any]:
    return {name: value for name, value in _plain_row(event).items() if name not in ("event", "raw")}


def _event_row(event: EventRow) -> Mapping[str, Any]:
    import orjson

    body = orjson.Fragment(event.event) if event.event is not None else None
    return {**_plain_event_row(event), "event": body}


def _one_line(event: EventRow) -> str:
    """The event as received where jsonb cannot hold it, else as stored; a line break in JSON is white space."""
    return (event.raw or event.event or b"").decode("utf-8-sig").replace("\r", " ").replace("\n", " ")
