"""What a connector counts."""

from __future__ import annotations

import threading
from collections import Counter
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
        self._age: float | None = None
        self._reasons: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()

    def count(self, outcomes: Sequence[Outcome]) -> None:
        """Events that were stored, or found to be no news."""
        with self._lock:
            for outcome in outcomes:
                self._verdicts[outcome.verdict] += 1
                if (rejected := outcome.rejected) is not None:
                    self._reasons[rejected.reason.value] += 1
            last = next((each.item for each in reversed(outcomes) if isinstance(each.item, Event)), None)
            if last is not None:
                self._age = (datetime.now(UTC) - last.event_time).total_seconds()

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

    def add(self, past: Figures) -> None:
        """Add the counts of one that counts no more; what it left in a spool is counted by whoever has that."""
        counts, reasons, failures = past.as_dict(), past.reasons, past.failures
        with self._lock:
            for verdict in Verdict:
                self._verdicts[verdict] += counts[verdict.value]
            self._failed += counts["failed"]
            self._reasons += reasons
            self._failures += failures

    def append_failed(self, error: str) -> None:
        """A transaction could not be stored."""
        with self._lock:
            self._failures[error] += 1

    @property
    def reasons(self) -> Counter[str]:
        """Dead letters by reason."""
        with self._lock:
            return self._reasons.copy()

    @property
    def failures(self) -> Counter[str]:
        """Transactions that could not be stored, by error."""
        with self._lock:
            return self._failures.copy()

    def as_dict(self) -> dict[str, Any]:
        """``stored``, ``duplicate``, ``expired``, ``dead``: events; ``spooled``: in the spool now; ``failed``: given
        back; ``last_event_age_seconds``: from the time that the last event says to its COMMIT, however long it was on
        its way to us; None before the first."""
        with self._lock:
            return {
                **{verdict.value: count for verdict, count in self._verdicts.items()},
                "spooled": self._spooled,
                "failed": self._failed,
                "last_event_age_seconds": None if self._age is None else round(self._age, 3),
            }
