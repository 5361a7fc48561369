"""The newest event of each job of a namespace: what a producer that is asked again compares itself with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from .reader import Reader
from .rows import Run, Window

_EVER: Final = Window(datetime(1900, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC))


def newest_events(reader: Reader, job_namespace: str, integration: str) -> dict[str, dict[str, Any]]:
    """The newest event of each job that the integration sent, by the job's name."""
    newest: dict[str, Run] = {}
    for run in reader.runs(_EVER, namespace=job_namespace):
        known = newest.get(run.job_name)
        is_later = known is None or _times(run) >= _times(known)
        if (run.integration or "").upper() == integration and is_later:
            newest[run.job_name] = run
    found: dict[str, dict[str, Any]] = {}
    for name, run in newest.items():
        window = Window(run.last_event_time, run.last_event_time + timedelta(microseconds=1))
        for row in reader.events(window, job=name, namespace=job_namespace, content=True):
            text = row.event if row.raw is None else row.raw
            if row.run_id == run.run_id and text is not None:
                found[name] = orjson.loads(text)
    return found


def _times(run: Run) -> tuple[datetime, datetime]:
    return run.last_event_time, run.first_event_time
