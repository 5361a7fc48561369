"""Trends: how many executions began in each hour or day, by what came of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from .executions import WantedExecutions
from .scripts import Asking

STEPS: Final = {"hour": 3600, "day": 86400}
MOST: Final = 1000
"""Spans of one answer."""


class TrendSpan(Struct, frozen=True):
    """A span of time, and the executions that began in it."""

    at: datetime
    """Its beginning."""
    completed: int = 0
    fixed: int = 0
    """Completed after failed attempts."""
    failed: int = 0
    aborted: int = 0
    running: int = 0
    """And what is not known to have ended."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.completed + self.fixed + self.failed + self.aborted + self.running


class ExecutionTrend(Struct, frozen=True):
    """Spans of one length, without a gap."""

    step: int
    """Seconds of a span."""
    spans: tuple[TrendSpan, ...]


def trends(asking: Asking, wanted: WantedExecutions, step: int) -> ExecutionTrend:
    """The executions of a window, span by span; spans begin at whole steps of UTC."""
    start = datetime.fromtimestamp(wanted.window.start.timestamp() // step * step, UTC)
    given = wanted.variables | {"origin": "0", "step": str(step), "from": start.isoformat()}
    found = {each.at: each for each in asking.rows("trends", TrendSpan, given)}
    count = max(1, -(-int((wanted.window.end - start).total_seconds()) // step))
    times = [start + timedelta(seconds=step * place) for place in range(count)]
    return ExecutionTrend(step, tuple([found.get(at) or TrendSpan(at) for at in times]))
