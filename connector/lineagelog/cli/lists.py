"""`lineagelog list …`: what a window of the store holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lineagelog.errors import SettingsError
from lineagelog.lists import LISTS, RowFilter, RowList
from lineagelog.shown import counted

from .command import command
from .printing import Csv, Form, JsonLines, form_of, print_rows, put, put_json, span_of
from .session import Session

if TYPE_CHECKING:
    from lineagelog.read import EventRow, Listing, Run, Window

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
Limit = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=0, rich_help_panel=_WINDOW, help="At most so many rows; 0 = all. A table shows 100, else all."
    ),
]
Reverse = Annotated[bool, typer.Option("--reverse", rich_help_panel=_WINDOW, help="Newest first.")]


def _option(wanted: RowFilter) -> inspect.Parameter:
    """A filter as an option."""
    kind: Any = bool if wanted.is_flag else str | None
    metavar = None if wanted.is_flag else wanted.metavar
    option = typer.Option(wanted.spelled, metavar=metavar, rich_help_panel=_WINDOW, help=wanted.meaning)
    default = False if wanted.is_flag else None
    return inspect.Parameter(
        wanted.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def _register(listed: RowList) -> None:
    def run(
        session: Session,
        since: Since = None,
        until: Until = None,
        reverse: Reverse = False,
        limit: Limit = None,
        json: JsonLines = False,
        csv: Csv = False,
        **given: Any,
    ) -> None:
        form, is_raw = form_of(json=json, csv=csv), given.pop("raw", False)
        wanted = listed.arguments({each.name: _given(each, given[each.name]) for each in listed.filters})
        window = window_of(since, until)
        if is_raw:
            wanted["content"] = True
        elif form is not Form.JSON:
            wanted.pop("content", None)
        from lineagelog.read import Reader
        from lineagelog.read.listing import rows_of

        with session.store() as store:
            found = rows_of(listed)(Reader(store.database), window, **wanted, reverse=reverse)
            if is_raw:
                _put_raw(found, limit or 0)
            else:
                _show(listed, found, form, limit)

    run.__doc__ = listed.about
    options = [_option(each) for each in listed.filters]
    command(group, listed.name, *listed.examples, more=options + _MORE.get(listed.name, []))(run)


_RAW: Final = typer.Option("--raw", help="Print the events alone, as NDJSON that `load` reads.")
_MORE: Final = {
    "events": [
        inspect.Parameter("raw", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, _RAW])
    ]
}
"""What only a command has."""


def _given(wanted: RowFilter, value: Any) -> Any:
    """The value of a filter. Raises SettingsError for one that is no choice."""
    if wanted.is_flag:
        return wanted.flag if value else None
    if value is not None and wanted.choices and value.upper() not in wanted.choices:
        raise SettingsError(f"{wanted.spelled} {value!r} is none of {', '.join(wanted.choices)}")
    return value.upper() if value is not None and wanted.choices else value


def _show(listed: RowList, found: Listing[Any], form: Form, limit: int | None) -> None:
    limit = (_TABLE_LIMIT if form is Form.TABLE else 0) if limit is None else limit
    is_told = form in (Form.TABLE, Form.TABS)
    row = _TOLD.get(listed.name, _plain_row) if is_told else _PLAIN.get(listed.name, _plain_row)
    rows = iter(found)
    count = print_rows(form, _columns(listed, form), map(row, _first(rows, limit)))
    more = bool(limit) and count == limit and next(rows, None) is not None
    if form is Form.TABLE:
        hint = ": the first ones; --limit 0 shows all, --since and --until narrow" if more else ""
        put(counted(count, listed.noun) + hint)


def _put_raw(events: Listing[EventRow], limit: int) -> None:
    for event in _first(events, limit):
        put_json(_one_line(event))


def _columns(listed: RowList, form: Form) -> tuple[str, ...]:
    """CSV is for programs and has all columns."""
    if form is not Form.CSV:
        return listed.columns
    from lineagelog.read.listing import row_of

    return tuple(name for name in row_of(listed).__struct_fields__ if name not in ("event", "raw"))


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
    """With the event itself where it was asked for."""
    if event.event is None:
        return _plain_event_row(event)
    import orjson

    return {**_plain_event_row(event), "event": orjson.Fragment(event.event)}


def _one_line(event: EventRow) -> str:
    """The event as received where jsonb cannot hold it, else as stored; a line break in JSON is white space."""
    return (event.raw or event.event or b"").decode("utf-8-sig").replace("\r", " ").replace("\n", " ")


_TOLD: Final[Mapping[str, Callable[[Any], Mapping[str, Any]]]] = {
    "runs": _told_run_row,
    "jobs": _told_entity_row,
    "datasets": _told_entity_row,
    "events": _plain_event_row,
}
"""How people are shown rows that are more than their members."""
_PLAIN: Final[Mapping[str, Callable[[Any], Mapping[str, Any]]]] = {"events": _event_row}
"""The same for programs."""

for _listed in LISTS:
    _register(_listed)
