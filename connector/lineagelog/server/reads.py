"""Reads as JSON: each question of the Reader, its parameters, its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from lineagelog.errors import InputError
from lineagelog.read import EventRow, Listing, Reader
from lineagelog.store.ledgers.tokens import Grant

from .answers import Answer, Refusal, json_answer
from .query import Query, bad, filters

WINDOW: Final = ("since", "until")
PAGE: Final = ("limit", "cursor")
JOB: Final = ("job", "namespace")
DATASET: Final = ("dataset", "dataset_namespace")
STATUSES: Final = ("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER", "UNKNOWN")
DIRECTIONS: Final = ("I", "O")
MAX_CONTENTS: Final = 100
"""Events of one page with their content: a page is in memory as a whole."""

type Question = Callable[[Reader, Query, Grant], Any]


def answer(question: Question, reader: Reader, query: Query, grant: Grant) -> Answer:
    """Ask the reader; on a thread."""
    return json_answer(200, question(reader, query, grant))


# --- questions --------------------------------------------------------------------------------------------------------


def runs(reader: Reader, query: Query, grant: Grant) -> Any:
    """The runs that had an event in the window, oldest first."""
    query.only(*WINDOW, *JOB, *DATASET, "status", *PAGE)
    status = query.choice("status", STATUSES)
    wanted = _job_and_dataset(query, grant)
    return _page(reader.runs(query.window(), **wanted, status=status, within=grant.namespaces), query)


def run_datasets(reader: Reader, query: Query, grant: Grant) -> Any:
    """The datasets that the runs of the window read or wrote."""
    query.only(*WINDOW, *JOB, *DATASET, "status", "direction", *PAGE)
    status, direction = query.choice("status", STATUSES), query.choice("direction", DIRECTIONS)
    wanted = _job_and_dataset(query, grant)
    chosen: dict[str, Any] = {"status": status, "direction": direction, "within": grant.namespaces}
    return _page(reader.run_datasets(query.window(), **wanted, **chosen), query)


def assertions(reader: Reader, query: Query, grant: Grant) -> Any:
    """The data quality assertions reported in the window."""
    query.only(*WINDOW, *JOB, *DATASET, "success", *PAGE)
    wanted = _job_and_dataset(query, grant)
    return _page(reader.assertions(query.window(), **wanted, success=query.boolean("success")), query)


def tests(reader: Reader, query: Query, grant: Grant) -> Any:
    """The tests reported in the window."""
    query.only(*WINDOW, *JOB, "status", *PAGE)
    return _page(reader.tests(query.window(), **_job(query, grant), status=query.text("status")), query)


def events(reader: Reader, query: Query, grant: Grant) -> Any:
    """The raw events of the window; their content where asked for."""
    query.only(*WINDOW, *JOB, "event_type", "content", *PAGE)
    content = query.boolean("content") or False
    if content and query.limit() > MAX_CONTENTS:
        raise bad("limit", f"must be 1 to {MAX_CONTENTS} with content=true")
    wanted = _job(query, grant) | filters(query, "event_type")
    return _page(reader.events(query.window(), **wanted, content=content), query)


def summary(reader: Reader, query: Query, grant: Grant) -> Any:
    """How many events the window has, and the times of the first and the last."""
    query.only(*WINDOW)
    unbound(grant)
    return reader.event_summary(query.window())


def status(reader: Reader, query: Query, grant: Grant) -> Any:
    """Figures of the whole store."""
    query.only()
    unbound(grant)
    return reader.status()


def run(reader: Reader, query: Query, grant: Grant) -> Any:
    """All that is known of one run id; to a token that is bound to namespaces, what their jobs have said."""
    query.only("run_id", "limit", "content")
    run_id, content = query.text("run_id") or "", query.boolean("content") or False
    details = reader.run(run_id, limit=query.limit(), content=content, within=grant.namespaces)
    if details is None:
        raise Refusal(404, "not_found", "no event has this run id")
    return msgspec.structs.asdict(details) | {"events": [_plain(event) for event in details.events]}


QUESTIONS: Final[dict[str, Question]] = {
    "/api/v1/runs": runs,
    "/api/v1/run-datasets": run_datasets,
    "/api/v1/assertions": assertions,
    "/api/v1/tests": tests,
    "/api/v1/events": events,
    "/api/v1/summary": summary,
    "/api/v1/status": status,
}

# --- parameters and rows ----------------------------------------------------------------------------------------------


def _job(query: Query, grant: Grant) -> dict[str, Any]:
    """The job filter; a token that is bound to namespaces sees one of them at a time."""
    wanted = filters(query, *JOB)
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


def unbound(grant: Grant) -> None:
    """Refuse a token that is bound to namespaces what is about all of them."""
    if grant.namespaces is not None:
        raise Refusal(403, "forbidden", "the token is bound to namespaces, and this is about all of them")


def _page(listing: Listing[Any], query: Query) -> Any:
    limit = query.limit()
    try:
        page = listing.page(limit, query.text("cursor"))
    except InputError as problem:
        raise bad("cursor", str(problem)) from None
    return {"items": [_plain(row) for row in page.rows], "next_cursor": page.next}


def _plain(row: Struct) -> Any:
    """A row as JSON has it; an event's content stands in it as it is."""
    if not isinstance(row, EventRow):
        return row
    plain = msgspec.structs.asdict(row) | {"event_hash": row.event_hash.hex()}
    if row.event is None:
        del plain["event"], plain["raw"]
    else:
        plain["event"] = msgspec.Raw(row.event)
    return plain
