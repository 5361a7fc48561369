"""Reads as JSON, each declared once: its path, its parameters, its answer. Routes and OpenAPI come from this."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct

from lineagelog import lists
from lineagelog.errors import InputError
from lineagelog.lists import RowFilter, RowList
from lineagelog.read import EventRow, EventSummary, Listing, Reader, RunDetails, Status
from lineagelog.read.listing import row_of, rows_of
from lineagelog.server.answers import Refusal
from lineagelog.store.ledgers.finding_rows import FindingRow
from lineagelog.store.ledgers.tokens import Grant

from .query import LIMIT, PAGE, SOME_TEXT, TEXT, WINDOW, Query, QueryParameter, bad

MAX_CONTENTS: Final = 100
"""Events of one page with their content: a page is in memory as a whole."""

_RUN_ID: Final = QueryParameter(
    "run_id", "Run id, with any characters: all that is known of this run; beside it only limit and content", SOME_TEXT
)
_CONTENT: Final = QueryParameter("content", "Whether to give the content too", {"type": "boolean", "default": False})

type Question = Callable[[Reader, Query, Grant], Any]
"""Asks the reader, on a thread; gives what becomes JSON."""


class Read(Struct, frozen=True, kw_only=True):
    """A read."""

    path: str
    """As Starlette writes it; what is in braces is put into the query by its name."""
    summary: str
    description: str = ""
    ask: Question
    answer: Any
    """The type of the answer, or of the rows of its pages."""
    parameters: tuple[QueryParameter, ...] = ()
    is_paged: bool = False
    may_miss: bool = False
    """Whether it is answered with 404 where there is no such thing."""
    is_analysis: bool = False
    label: str = ""
    """In the metrics, where that is not the path."""
    instead: tuple[str, Read] | None = None
    """A parameter with which it is another read, that takes what that one takes."""

    @property
    def route(self) -> str:
        """Its name in the metrics."""
        return self.label or self.path

    @property
    def named(self) -> tuple[str, ...]:
        """What its path names."""
        return tuple(re.findall(r"{(\w+)", self.path))

    @property
    def accepted(self) -> tuple[str, ...]:
        """The names of all that may be given."""
        return (*self.named, *(parameter.name for parameter in self.parameters))


# --- questions --------------------------------------------------------------------------------------------------------


def rows(listed: RowList, reader: Reader, query: Query, grant: Grant) -> Any:
    """A page of a list; to a token that is bound to namespaces, what is of these."""
    wanted = listed.arguments({each.name: _given(each, query) for each in listed.filters})
    if listed.of_one_namespace:
        wanted |= _namespace(query, grant)
    if listed.is_bound:
        wanted["within"] = grant.namespaces
    if wanted.get("content") and query.limit() > MAX_CONTENTS:
        raise bad("limit", f"must be 1 to {MAX_CONTENTS} with content=true")
    return page(rows_of(listed)(reader, query.window(), **wanted, reverse=query.reverse), query)


def _given(wanted: RowFilter, query: Query) -> Any:
    if wanted.is_flag:
        return query.boolean(wanted.name)
    return query.choice(wanted.name, wanted.choices) if wanted.choices else query.text(wanted.name)


def summary(reader: Reader, query: Query, grant: Grant) -> Any:
    """How many events the window has, and the times of the first and the last."""
    unbound(grant)
    return reader.event_summary(query.window())


def status(reader: Reader, _: Query, grant: Grant) -> Any:
    """The state of the whole store."""
    unbound(grant)
    return reader.status()


def run(reader: Reader, query: Query, grant: Grant) -> Any:
    """All that is known of one run id; to a token that is bound to namespaces, what their jobs have said."""
    run_id, content = query.text("run_id") or "", query.boolean("content") or False
    details = reader.run(run_id, limit=query.limit(), content=content, within=grant.namespaces)
    if details is None:
        raise Refusal(404, "not_found", "no event has this run id")
    return msgspec.structs.asdict(details) | {"events": [_plain(event) for event in details.events]}


# --- parameters and rows ----------------------------------------------------------------------------------------------


def _namespace(query: Query, grant: Grant) -> dict[str, str]:
    """The job namespace, of those that a token is bound to: one of them at a time, the only one unasked."""
    bound, asked = grant.namespaces, query.text("namespace")
    if bound is not None and asked is None and len(bound) == 1:
        (asked,) = bound
    if bound is not None and asked not in bound:
        raise Refusal(403, "forbidden", "the token is bound to namespaces: ask for one of them", parameter="namespace")
    return {} if asked is None else {"namespace": asked}


def unbound(grant: Grant, why: str = "this is about all of them") -> None:
    """Refuse a token that is bound to namespaces what is about all of them."""
    if grant.namespaces is not None:
        raise Refusal(403, "forbidden", f"the token is bound to namespaces, and {why}")


def page(listing: Listing[Any], query: Query) -> Any:
    """The page of a listing that the query asks for. Raises Refusal for a cursor that is none."""
    limit = query.limit()
    try:
        found = listing.page(limit, query.text("cursor"))
    except InputError as problem:
        raise bad("cursor", str(problem)) from None
    return {"items": [_plain(row) for row in found.rows], "next_cursor": found.next}


def _plain(row: Struct) -> Any:
    """A row as JSON has it; an event's content stands in it as it is."""
    if isinstance(row, FindingRow):
        return row.document
    if not isinstance(row, EventRow):
        return row
    plain = msgspec.structs.asdict(row) | {"event_hash": row.event_hash.hex()}
    if row.event is None:
        del plain["event"], plain["raw"]
    else:
        plain["event"] = msgspec.Raw(row.event)
    return plain


# --- declarations -----------------------------------------------------------------------------------------------------

RUN: Final = Read(
    path="/api/v1/runs/{run_id:rest}",
    summary="All that is known of one run",
    ask=run,
    answer=RunDetails,
    parameters=(LIMIT, _CONTENT),
    may_miss=True,
    label="/api/v1/runs/",
)


def _parameter(wanted: RowFilter) -> QueryParameter:
    schema: Mapping[str, Any] = {"type": "boolean"} if wanted.is_flag else SOME_TEXT if wanted.is_some else TEXT
    schema = {**schema, "enum": list(wanted.choices)} if wanted.choices else schema
    return QueryParameter(wanted.name, wanted.meaning_over_http, schema)


def _read(listed: RowList) -> Read:
    return Read(
        path=listed.path,
        summary=listed.summary,
        ask=partial(rows, listed),
        answer=row_of(listed),
        parameters=(*WINDOW, *map(_parameter, listed.filters), *PAGE),
        is_paged=True,
    )


LISTED: Final = {listed.name: _read(listed) for listed in lists.LISTS}
_RUNS: Final = LISTED["runs"]
RUNS: Final = msgspec.structs.replace(
    _RUNS,
    summary=f"{_RUNS.summary}; with run_id: one run",
    parameters=(*_RUNS.parameters, _RUN_ID),
    may_miss=True,
    instead=("run_id", RUN),
)
READS: Final = (
    *(LISTED | {"runs": RUNS}).values(),
    RUN,
    Read(path="/api/v1/summary", summary="Events of a window", ask=summary, answer=EventSummary, parameters=WINDOW),
    Read(path="/api/v1/status", summary="Rows, sizes and lags of the store", ask=status, answer=Status),
)
