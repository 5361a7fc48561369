"""The first page: executions per hour, what needs attention, findings, intake and delivery."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, Final

from lineagelog.read import Window
from lineagelog.read.explore.executions import WantedExecutions
from lineagelog.read.explore.graph import reach
from lineagelog.read.explore.jobs import JobRow, JobsWanted, job_counts, jobs
from lineagelog.read.explore.lineage import LineageMap
from lineagelog.read.explore.trends import ExecutionTrend

from .asked import Asked

WINDOWS: Final = {
    "6h": (timedelta(hours=6), 3600),
    "24h": (timedelta(hours=24), 3600),
    "7d": (timedelta(days=7), 6 * 3600),
}
_ROWS: Final = 8
_FRESH: Final = 20.0
_OUTCOMES: Final = ("completed", "running", "fixed", "aborted", "failed")


class Kept:
    """What is dear to read and the same for all: told again for some seconds."""

    def __init__(self, seconds: float = _FRESH) -> None:
        self._seconds, self._lock = seconds, Lock()
        self._value: Any = None
        self._until = 0.0

    def get(self, read: Callable[[], Any]) -> Any:
        """The value, read anew when it is old."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._value, self._until = read(), time.monotonic() + self._seconds
            return self._value


_status: Final = Kept()


def view(asked: Asked) -> dict[str, Any]:
    """What the page shows."""
    chosen = asked.text("window") if asked.text("window") in WINDOWS else "24h"
    length, step = WINDOWS[chosen]
    end, is_past = _end(asked, length)
    spans = _trend(asked, end, length, step)
    before = _trend(asked, end - length, length, step) if asked.text("compare") else None
    sums = {name: sum(getattr(span, name) for span in spans.spans) for name in _OUTCOMES}
    counts = job_counts(asked.explorer.asking, JobsWanted())
    tabs = {state: _rows(asked, state) if counts.get(state) else () for state in ("failed", "late", "stuck", "fixed")}
    lineage = asked.explorer.lineage()
    return {
        "chosen": chosen,
        "windows": tuple(WINDOWS),
        "end": end,
        "is_past": is_past,
        "sums": sums,
        "total": sum(sums.values()),
        "jobs": sum(counts.values()),
        "counts": counts,
        "tabs": tabs,
        "below": {row.job_key: downstream(lineage, row) for rows in tabs.values() for row in rows},
        "findings": asked.findings(),
        "chart": chart(spans, before),
        "is_compared": before is not None,
        "step": step,
        "delivery": None if asked.grant.namespaces is not None else _delivery(asked),
    }


def _end(asked: Asked, length: timedelta) -> tuple[datetime, bool]:
    """Where the window ends: now, when it is asked for, or where the newest execution was, if that is long ago."""
    until = asked.instant("until")
    if until is not None:
        return until, True
    newest = asked.explorer.newest().began
    if newest is None or newest > asked.now - length:
        return asked.now, False
    return newest.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1), True


def _trend(asked: Asked, end: datetime, length: timedelta, step: int) -> ExecutionTrend:
    return asked.explorer.trends(WantedExecutions(window=Window(end - length, end)), step)


def chart(trend: ExecutionTrend, before: ExecutionTrend | None) -> dict[str, Any]:
    """What the script draws."""
    own = [{"at": span.at.isoformat(), **{name: getattr(span, name) for name in _OUTCOMES}} for span in trend.spans]
    if before is not None:
        for each, other in zip(own, before.spans, strict=False):
            each["before"] = other.total
    return {"step": trend.step, "spans": own}


def _rows(asked: Asked, state: str) -> tuple[JobRow, ...]:
    return jobs(asked.explorer.asking, JobsWanted(state=state), _ROWS).rows


def downstream(lineage: LineageMap, row: JobRow) -> int:
    """How much lies below a job."""
    return len(reach(lineage.below, f"job:{row.job_key}"))


def _delivery(asked: Asked) -> dict[str, Any]:
    """How events come in and go out; the same for all, so read once for all."""
    return dict(
        _status.get(
            lambda: {
                "status": asked.reader.status(),
                "targets": asked.explorer.asking.dicts("delivery", {}),
                "publications": {row["state"]: row["n"] for row in asked.explorer.asking.dicts("publications", {})},
            }
        )
    )
