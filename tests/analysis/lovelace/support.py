"""Events in few words, and both histories of what is asked."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson

from lineagelog.analysis import analysis_named
from lineagelog.event.parse import parse
from lineagelog.read import Window
from lineagelog.read import analyses as asking

if TYPE_CHECKING:
    from lineagelog.store import LogStore

type Json = dict[str, Any]

START = datetime(2026, 10, 20, 12, tzinfo=UTC)
WINDOW = Window(START, START + timedelta(days=10))


def at(minutes: float) -> datetime:
    """So long after the window's start."""
    return START + timedelta(minutes=minutes)


def run_id(name: object) -> str:
    """A UUID for a short name."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, str(name)))


def event(minutes: float, kind: str | None, run: object = 1, job: str = "job", **more: Any) -> Json:
    """A run event; ``more``: inputs, outputs, tests, eventTime."""
    facets: Json = {"test": {"tests": more.pop("tests")}} if "tests" in more else {}
    found: Json = {
        "eventTime": at(minutes).isoformat(),
        "producer": "https://example.invalid/tests",
        "job": {"namespace": "shop", "name": job},
        "run": {"runId": run_id(run), "facets": facets},
        **more,
    }
    return found if kind is None else found | {"eventType": kind}


def read(name: str, rows: Any = None, size: Any = None, *, checks: list[Json] | None = None) -> Json:
    """An input; ``checks`` are its assertions."""
    facets: Json = {}
    if rows is not None or size is not None:
        facets["inputStatistics"] = _counts(rows, size)
    if checks is not None:
        facets["dataQualityAssertions"] = {"assertions": checks}
    return {"namespace": "db", "name": name, "inputFacets": facets}


def written(
    name: str,
    rows: Any = None,
    size: Any = None,
    *,
    change: str | None = None,
    subset: Json | None = None,
    version: str | None = None,
) -> Json:
    """An output."""
    own: Json = {} if rows is None and size is None else {"outputStatistics": _counts(rows, size)}
    if subset is not None:
        own["subset"] = subset
    facets: Json = {} if change is None else {"lifecycleStateChange": {"lifecycleStateChange": change}}
    if version is not None:
        facets["version"] = {"datasetVersion": version}
    return {"namespace": "db", "name": name, "outputFacets": own, "facets": facets}


def _counts(rows: Any, size: Any) -> Json:
    return {name: value for name, value in (("rowCount", rows), ("size", size)) if value is not None}


def store_all(store: LogStore, events: list[Json]) -> None:
    """Append them one by one, in this order."""
    for each in events:
        store.append([parse(orjson.dumps(each))])


def results(store: LogStore, name: str, history: str, window: Window = WINDOW) -> dict[tuple[str, str], Json]:
    """The document's results by kind and name of the subject."""
    answer = asking.ask(store.database, analysis_named(name), window, {"history": history})
    return {(each.subject.kind, each.subject.name): each.document for each in answer.told.results}
