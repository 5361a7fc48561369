"""Publishing that goes on: plans every so often, and sends what is due meanwhile, whatever becomes of Egeria."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from lineagelog.errors import EgeriaError, StoreError

from .item import PlanItem
from .publisher import Publisher, Report

_LOOK_SECONDS: Final = 5.0
"""How often it is looked whether something is due: what failed, what somebody else planned or let be retried."""
_AWAY_SECONDS: Final = 30.0
"""How long it is waited for an Egeria, or a database, that is away."""

_log = structlog.get_logger(__name__)


class Watch:
    """Plans and sends, until stopped; what it did is in `totals`, what hinders it now in `problem`."""

    def __init__(
        self, publisher: Publisher, wishes: Callable[[], Sequence[PlanItem]], *, every: float, days_kept: int
    ) -> None:
        self._publisher, self._wishes = publisher, wishes
        self._every, self._days_kept = every, days_kept
        self.totals = Report()
        self.problem: str | None = None

    def run(self, stop: threading.Event) -> None:
        """Until ``stop`` is set; soon then."""
        plan_at = time.monotonic()
        while not stop.is_set():
            try:
                if time.monotonic() >= plan_at:
                    planned = self._publisher.keep(self._wishes(), days_kept=self._days_kept)
                    plan_at = time.monotonic() + self._every
                    _log.info("planned", action="publish", new_or_changed=planned)
                self._count(self._publisher.publish(stop))
                self._tell(None)
                stop.wait(min(_LOOK_SECONDS, self._every))
            except (EgeriaError, StoreError) as error:
                self._tell(str(error))
                stop.wait(_AWAY_SECONDS)

    def _count(self, report: Report) -> None:
        self.totals.add(report)
        for problem, count in report.problems.most_common(3):
            _log.warning("not published", action="publish", items=count, error=problem)

    def _tell(self, problem: str | None) -> None:
        before, self.problem = self.problem, problem
        if problem is not None and problem != before:
            _log.warning("publishing waits", action="publish", error=problem)
        elif problem is None and before is not None:
            _log.info("publishing goes on", action="publish")
