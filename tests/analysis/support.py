"""Runs of jobs and of SnapLogic pipelines, in few words."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson

from lineagelog.analysis import Finding, analysis_named
from lineagelog.event.parse import parse
from lineagelog.read import Window
from lineagelog.read import analyses as asking

if TYPE_CHECKING:
    from lineagelog.store import LogStore

type Json = dict[str, Any]

START = datetime(2026, 3, 1, tzinfo=UTC)
DATABASE = "postgres://db:5432"


def day(number: float) -> datetime:
    """So many days after 1 March 2026."""
    return START + timedelta(days=number)


def window(first: float, last: float) -> Window:
    """From one day to before another."""
    return Window(day(first), day(last))


def dataset(name: str, *, columns: Json | None = None, feeds: Json | None = None, namespace: str = DATABASE) -> Json:
    """A dataset; ``columns`` name to type, ``feeds`` column to a list of (dataset, column)."""
    facets: Json = {}
    if columns is not None:
        facets["schema"] = {"fields": [{"name": each, "type": kind} for each, kind in columns.items()]}
    if feeds is not None:
        facets["columnLineage"] = {
            "fields": {
                column: {
                    "inputFields": [
                        {"namespace": namespace_of(source), "name": source, "field": field} for source, field in sources
                    ]
                }
                for column, sources in feeds.items()
            }
        }
    return {"namespace": namespace_of(name) if namespace == DATABASE else namespace, "name": name, "facets": facets}


def namespace_of(name: str) -> str:
    """SnapLogic's for the name of a virtual dataset."""
    return "SnapLogic" if "VIRTUAL_DB" in name or ": " in name else DATABASE


def run(job: str, at: datetime, inputs: list[Json], outputs: list[Json], **more: Any) -> list[Json]:
    """A run of ten minutes: START and COMPLETE."""
    run_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{job} {at}"))
    base = {
        "producer": "https://example.invalid/tests",
        "job": {"namespace": "tests", "name": job},
        "run": {"runId": run_id},
        "inputs": inputs,
        "outputs": outputs,
    }
    start = {**base, "eventType": "START", "eventTime": at.isoformat(), "inputs": [], "outputs": []}
    end = {**base, "eventType": "COMPLETE", "eventTime": (at + timedelta(minutes=10)).isoformat(), **more}
    return [start, end]


def run_id_of(job: str, at: datetime) -> str:
    """The id that `run` gives."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{job} {at}"))


def execution(pipeline: str, at: datetime, snaps: list[tuple[str, list[Json], list[Json]]]) -> list[Json]:
    """One execution of a SnapLogic pipeline: an event for each Snap, all of the same time."""
    parent = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{pipeline} {at}"))
    return [
        {
            "eventType": "COMPLETE",
            "eventTime": at.isoformat(),
            "producer": "https://elastic.snaplogic.com/sl/designer.html?#pipe_snode=1",
            "job": {"namespace": "SnapLogic", "name": f"{pipeline}:{label}:{uuid.uuid5(uuid.NAMESPACE_URL, label)}"},
            "run": {
                "runId": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{parent}{label}")),
                "facets": {
                    "parent": {"run": {"runId": parent}, "job": {"namespace": "SnapLogic", "name": pipeline}},
                },
            },
            "inputs": inputs,
            "outputs": outputs,
        }
        for label, inputs, outputs in snaps
    ]


def between(label: str, *, long: bool = False) -> str:
    """The name of the virtual dataset behind a Snap, as SnapLogic sends it or as it documents it."""
    snap_id = str(uuid.uuid5(uuid.NAMESPACE_URL, label))
    return f"{label}: {snap_id}" if long else f"VIRTUAL_DB.VIRTUAL_SCHEMA.{label}:{snap_id[:5]}"


def load(store: LogStore, *runs: list[Json]) -> None:
    """Store the events of runs."""
    store.append([parse(orjson.dumps(event)) for events in runs for event in events])


def ask(store: LogStore, name: str, period: Window, **values: str) -> list[Finding]:
    """Run an analysis."""
    return list(asking.ask(store.database, analysis_named(name), period, values).findings)


def answer(store: LogStore, name: str, period: Window, **values: str) -> asking.Answer:
    """Run an analysis, for all that it tells."""
    return asking.ask(store.database, analysis_named(name), period, values)
