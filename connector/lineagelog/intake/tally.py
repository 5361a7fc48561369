"""What became of events: the one count of HTTP, Kafka, the daemon and loads."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, Self

from lineagelog.event.model import Rejected
from lineagelog.store import Verdict

from .door import Outcome


class Tally:
    """Counts since its start; an event is counted when its transaction is committed. For any threads, and picklable.

    Its text is the closing line of `load` and `consume`.
    """

    def __init__(self, **verdicts: int) -> None:
        """``verdicts``: what was counted before."""
        self.begin = time.monotonic()
        self.created = time.time()
        self._lock = threading.Lock()
        self._verdicts = Counter({verdict.value: verdicts.pop(verdict.value, 0) for verdict in Verdict})
        self._reasons: Counter[str] = Counter()
        self._notices: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def count(self, outcomes: Iterable[Outcome]) -> None:
        """Count the outcomes of a transaction."""
        with self._lock:
            for outcome in outcomes:
                self._verdicts[outcome.verdict.value] += 1
                item = outcome.item
                if isinstance(item, Rejected):
                    self._reasons[item.reason.value] += 1
                else:
                    for notice in item.notices:
                        self._notices[notice.code] += 1

    def append_failed(self, error: str) -> None:
        """Count a transaction that could not be stored, by the kind of its error."""
        with self._lock:
            self._failures[error] += 1

    def add(self, other: Tally) -> Self:
        """Add another's counts, from its start on."""
        self.begin, self.created = min(self.begin, other.begin), min(self.created, other.created)
        counts = other.verdicts, other.reasons, other.notices, other.failures
        with self._lock:
            for own, others in zip((self._verdicts, self._reasons, self._notices, self._failures), counts, strict=True):
                own.update(others)
        return self

    @property
    def verdicts(self) -> Counter[str]:
        """Events by verdict, each verdict there."""
        return self._copy(self._verdicts)

    @property
    def reasons(self) -> Counter[str]:
        """Dead letters by reason."""
        return self._copy(self._reasons)

    @property
    def notices(self) -> Counter[str]:
        """Parts of accepted events that were passed over or repaired, by code."""
        return self._copy(self._notices)

    @property
    def failures(self) -> Counter[str]:
        """Transactions that could not be stored, by error."""
        return self._copy(self._failures)

    def _copy(self, counter: Counter[str]) -> Counter[str]:
        with self._lock:
            return counter.copy()

    @property
    def read(self) -> int:
        """Events that were read, whatever became of them."""
        return self.verdicts.total()

    @property
    def stored(self) -> int:
        """New events."""
        return self._verdicts[Verdict.STORED.value]

    @property
    def duplicate(self) -> int:
        """Events that were there before."""
        return self._verdicts[Verdict.DUPLICATE.value]

    @property
    def expired(self) -> int:
        """Events older than the retention floor."""
        return self._verdicts[Verdict.EXPIRED.value]

    @property
    def dead(self) -> int:
        """Refused events."""
        return self._verdicts[Verdict.DEAD.value]

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.begin

    def __str__(self) -> str:
        told = " ".join(f"{verdict} {count}" for verdict, count in self.verdicts.items())
        return f"read {self.read} {told} in {self.seconds:.2f} s"

    def as_json(self) -> dict[str, Any]:
        """The words of the closing line as keys (``in`` in seconds)."""
        return {"read": self.read, **self.verdicts, "in": round(self.seconds, 3)}
