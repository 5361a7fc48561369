"""Reads as JSON, each declared once: its path, its parameters, its answer. Routes and OpenAPI come from this."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from lineagelog.errors import InputError
from lineagelog.read import (
    Assertion,
    EventRow,
    EventSummary,
    ListedDataset,
    ListedJob,
    Listing,
    Reader,
    Run,
    RunDataset,
    RunDetails,
    Status,
    Test,
)
from lineagelog.read.catalogue.search import Sought
from lineagelog.server.answers import Refusal
from lineagelog.store.ledgers.finding_rows import FindingRow
from lineagelog.store.ledgers.tokens import Grant

from .query import LIMIT, PAGE, SOME_TEXT, WINDOW, Query, QueryParameter, bad, filters

STATUSES: Final = ("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER", "UNKNOWN")
DIRECTIONS: Final = ("I", "O")
MAX_CONTENTS: Final = 100
"""Events of one page with their content: a page is in memory as a whole."""

_JOB: Final = (
    QueryParameter("job", "Job name"),
    QueryParameter("namespace", "Job namespace; empty for jobs without one"),
)
_DATASET: Final = (
    QueryParameter("dataset", "Dataset name"),
    QueryParameter("dataset_namespace", "Dataset namespace"),
)
_STATUS: Final = QueryParameter(
    "status", "What came of the run (START: only a START is known of it)", {"type": "string", "enum": list(STATUSES)}
)
_LAST_STATUS: Final = QueryParameter(
    "status", "What came of the newest run", {"type": "string", "enum": list(STATUSES)}
)
_DIRECTION: Final = QueryParameter("direction", "I = input, O = output", {"type": "string", "enum": list(DIRECTIONS)})
_SUCCESS: Final = QueryParameter("success", "Outcome of the assertion", {"type": "boolean"})
_FAMILY: Final = (
    QueryParameter("parent", "Runs started by the run of this id", SOME_TEXT),
    QueryParameter("root", "All that began with the run of this id", SOME_TEXT),
)
_LAST: Final = QueryParameter(
    "last_attempts",
    "Of attempts at one task only the last, with the outcomes of those before it",
    {"type": "boolean", "default": False},
)
_SEARCH: Final = QueryParameter("search", "Part of a name, a tag, an owner or the description, in any case", SOME_TEXT)
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


def runs(reader: Reader, query: Query, grant: Grant) -> Any:
    """The runs that had an event in the window."""
    status = query.choice("status", STATUSES)
    wanted = _job_and_dataset(query, grant) | filters(query, "parent", "root") | {"within": grant.namespaces}
    wanted["last_attempts"] = query.boolean("last_attempts") or False
    return page(reader.runs(query.window(), **wanted, status=status, reverse=query.reverse), query)


def run_datasets(reader: Reader, query: Query, grant: Grant) -> Any:
    """The datasets that the runs of the window read or wrote."""
    status, direction = query.choice("status", STATUSES), query.choice("direction", DIRECTIONS)
    wanted = _job_and_dataset(query, grant)
    chosen: dict[str, Any] = {"status": status, "direction": direction, "within": grant.namespaces}
    return page(reader.run_datasets(query.window(), **wanted, **chosen, reverse=query.reverse), query)


def assertions(reader: Reader, query: Query, grant: Grant) -> Any:
    """The data quality assertions reported in the window."""
    wanted = _job_and_dataset(query, grant)
    wanted["success"] = query.boolean("success")
    return page(reader.assertions(query.window(), **wanted, reverse=query.reverse), query)


def tests(reader: Reader, query: Query, grant: Grant) -> Any:
    """The tests reported in the window."""
    wanted = _job(query, grant) | filters(query, "status")
    return page(reader.tests(query.window(), **wanted, reverse=query.reverse), query)


def events(reader: Reader, query: Query, grant: Grant) -> Any:
    """The raw events of the window; their content where asked for."""
    content = query.boolean("content") or False
    if content and query.limit() > MAX_CONTENTS:
        raise bad("limit", f"must be 1 to {MAX_CONTENTS} with content=true")
    wanted = _job(query, grant) | filters(query, "event_type")
    return page(reader.events(query.window(), **wanted, content=content, reverse=query.reverse), query)


def jobs(reader: Reader, query: Query, grant: Grant) -> Any:
    """The jobs that were seen in the window; to a token that is bound to namespaces, those of these."""
    wanted = _wanted(query, "job", "namespace")
    return page(reader.jobs(wanted, status=query.choice("status", STATUSES), within=grant.namespaces), query)


def datasets(reader: Reader, query: Query, grant: Grant) -> Any:
    """The datasets that were seen in the window; to a token that is bound to namespaces, those that their jobs used."""
    return page(reader.datasets(_wanted(query, "dataset", "dataset_namespace"), within=grant.namespaces), query)


def _wanted(query: Query, name: str, namespace: str) -> Sought:
    return Sought(query.window(), query.text(name), query.text(namespace), query.text("search"), query.reverse)


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


def _job(query: Query, grant: Grant) -> dict[str, Any]:
    """The job filter; a token that is bound to namespaces sees one of them at a time."""
    wanted = filters(query, "job", "namespace")
    if grant.namespaces is not None:
        if "namespace" not in wanted and len(grant.namespaces) == 1:
            (wanted["namespace"],) = grant.namespaces
        if wanted.get("namespace") not in grant.namespaces:
            raise Refusal(
                403, "forbidden", "the token is bound to namespaces: ask for one of them", parameter="namespace"
            )
    return wanted


def _job_and_dataset(query: Query, grant: Grant) -> dict[str, Any]:
    wanted = _job(query, grant) | filters(query, "dataset_namespace")
    if (name := query.text("dataset")) is not None:
        wanted["dataset_name"] = name
    return wanted


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
RUNS: Final = Read(
    path="/api/v1/runs",
    summary="Runs of a window, oldest or newest first; with run_id: one run",
    ask=runs,
    answer=Run,
    parameters=(*WINDOW, *_JOB, *_DATASET, _STATUS, *_FAMILY, _LAST, _RUN_ID, *PAGE),
    is_paged=True,
    may_miss=True,
    instead=("run_id", RUN),
)
READS: Final = (
    RUNS,
    Read(
        path="/api/v1/run-datasets",
        summary="Datasets of the runs of a window",
        ask=run_datasets,
        answer=RunDataset,
        parameters=(*WINDOW, *_JOB, *_DATASET, _STATUS, _DIRECTION, *PAGE),
        is_paged=True,
    ),
    Read(
        path="/api/v1/assertions",
        summary="Assertions of a window",
        ask=assertions,
        answer=Assertion,
        parameters=(*WINDOW, *_JOB, *_DATASET, _SUCCESS, *PAGE),
        is_paged=True,
    ),
    Read(
        path="/api/v1/tests",
        summary="Tests of a window",
        ask=tests,
        answer=Test,
        parameters=(*WINDOW, *_JOB, QueryParameter("status", "Status of the test, such as pass or fail"), *PAGE),
        is_paged=True,
    ),
    Read(
        path="/api/v1/events",
        summary="Raw events of a window",
        ask=events,
        answer=EventRow,
        parameters=(*WINDOW, *_JOB, QueryParameter("event_type", "Event type"), _CONTENT, *PAGE),
        is_paged=True,
    ),
    Read(
        path="/api/v1/jobs",
        summary="Jobs seen in a window, with owners, tags, description and what came of the newest run",
        ask=jobs,
        answer=ListedJob,
        parameters=(*WINDOW, _SEARCH, *_JOB, _LAST_STATUS, *PAGE),
        is_paged=True,
    ),
    Read(
        path="/api/v1/datasets",
        summary="Datasets seen in a window, each once whatever names it has",
        ask=datasets,
        answer=ListedDataset,
        parameters=(*WINDOW, _SEARCH, *_DATASET, *PAGE),
        is_paged=True,
    ),
    RUN,
    Read(path="/api/v1/summary", summary="Events of a window", ask=summary, answer=EventSummary, parameters=WINDOW),
    Read(path="/api/v1/status", summary="Rows, sizes and lags of the store", ask=status, answer=Status),
)
