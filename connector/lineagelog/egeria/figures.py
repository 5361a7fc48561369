"""What a connector counts."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from lineagelog.event.model import Event
from lineagelog.intake import Outcome
from lineagelog.store import Verdict


class Figures:
    """Counters since the start of the connector; two threads count, any reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._verdicts = dict.fromkeys(Verdict, 0)
        self._spooled = 0
        self._failed = 0
        self._lag: float | None = None

    def count(self, outcomes: Sequence[Outcome]) -> None:
        """Events that were stored, or found to be no news."""
        with self._lock:
            for outcome in outcomes:
                self._verdicts[outcome.verdict] += 1
            item = outcomes[-1].item
            if isinstance(item, Event):
                self._lag = (datetime.now(UTC) - item.event_time).total_seconds()

    def spooled(self, events: int) -> None:
        """So many more are in the spool; fewer if negative."""
        with self._lock:
            self._spooled = max(0, self._spooled + events)

    def spool_is_empty(self) -> None:
        """Nothing is in the spool, whatever was counted (another process may have drained it)."""
        with self._lock:
            self._spooled = 0

    def failed(self, events: int) -> None:
        """So many could be neither stored nor spooled; their senders were told."""
        with self._lock:
            self._failed += events

    def as_dict(self) -> dict[str, Any]:
        """``stored``, ``duplicate``, ``expired``, ``dead``: events; ``spooled``: in the spool now; ``failed``: given
        back; ``lag_seconds``: from the time of the last event to its COMMIT, None before the first."""
        with self._lock:
            return {
                **{verdict.value: count for verdict, count in self._verdicts.items()},
                "spooled": self._spooled,
                "failed": self._failed,
                "lag_seconds": None if self._lag is None else round(self._lag, 3),
            }
