"""The evidence behind a finding: the runs that it names, with what came of them and the events that told it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from msgspec.structs import asdict

from lineagelog.analysis import Analysis, analyses
from lineagelog.postgres.database import Database
from lineagelog.read import EventRow, Reader, Run, Window
from lineagelog.read.analyses import Terms, ask

_RUN: Final = (
    *("job_namespace", "job_name", "outcome", "status", "start_time", "end_time", "duration"),
    *("first_event_time", "last_event_time", "error_message", "producer"),
)
_EVENT: Final = ("event_time", "event_type", "job_namespace", "job_name", "producer", "received_at", "notices")


def evidence_of(reader: Reader, document: Mapping[str, Any], events: int) -> list[dict[str, Any]]:
    """Of each run that a finding's document names, its jobs and its first events; a run may have been purged."""
    found = []
    for run_id in document["run_ids"]:
        details = reader.run(run_id, limit=events)
        runs, told = ((), ()) if details is None else (details.runs, details.events)
        found.append({"run_id": run_id, "jobs": [_job(run) for run in runs], "events": [_event(each) for each in told]})
    return found


def _job(run: Run) -> dict[str, Any]:
    facts = asdict(run)
    return {name: facts[name] for name in _RUN}


def _event(event: EventRow) -> dict[str, Any]:
    """Without its content, which may hold secrets: `lineagelog show` has it."""
    facts = asdict(event)
    return {**{name: facts[name] for name in _EVENT}, "event_hash": event.event_hash.hex()}


def found_anew(
    database: Database,
    finding_id: UUID,
    window: Window,
    chosen: Analysis[Any] | None = None,
    *,
    terms: Terms = Terms(),  # noqa: B008  # frozen
) -> dict[str, Any] | None:
    """A finding that was not recorded, as its analysis tells it of a window; None if none of them tells it.

    Without an analysis all are asked that read the digest and need no parameter.
    """
    own = [each for each in analyses().values() if not (each.needs_a_parameter or each.reads_events)]
    for analysis in own if chosen is None else [chosen]:
        answer = ask(database, analysis, window, terms=terms)
        for finding in answer.findings:
            if finding.finding_id == finding_id:
                return finding.document
    return None
