"""What a worker counts; figures of several workers add up."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Self

from lineagelog.store.ledgers.kafka_offsets import Place

VERDICTS: Final = ("stored", "duplicate", "expired", "dead")
_SUMS: Final = ("records", "tombstones", "batches", "read", *VERDICTS, "fenced", "rebalances", "skipped")
_COUNTERS: Final = ("reasons", "failures")


@dataclass(slots=True)
class Figures:
    """Since the start; what became of events is counted when their transaction is committed."""

    records: int = 0
    """Records of the topics that are done with."""
    tombstones: int = 0
    """Of these, those without a value."""
    batches: int = 0
    read: int = 0
    """Events in the records."""
    stored: int = 0
    duplicate: int = 0
    expired: int = 0
    dead: int = 0
    fenced: int = 0
    """Batches that were not stored because another worker had claimed a partition."""
    rebalances: int = 0
    skipped: int = 0
    """Offsets that Kafka no longer had when we came to them."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Dead letters by reason."""
    failures: Counter[str] = field(default_factory=Counter)
    """Tries of a transaction that failed, by error."""
    lags: dict[Place, tuple[int, int | None]] = field(default_factory=dict)
    """Of the partitions held: the next offset to store, and where Kafka's records end (None = not known)."""
    problem: str | None = None
    """Why nothing is stored at the moment."""
    begin: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.begin

    @property
    def lag(self) -> int | None:
        """Records that wait in the partitions held, as far as known."""
        known = [max(end - at, 0) for at, end in self.lags.values() if end is not None]
        return sum(known) if known else None

    def add(self, other: Figures) -> Self:
        """Add another's counts, and take over its partitions."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in _COUNTERS:
            getattr(self, name).update(getattr(other, name))
        self.lags.update(other.lags)
        self.problem = self.problem or other.problem
        return self

    def ended(self) -> Self:
        """Forget what is of the moment: the worker is no more."""
        self.lags.clear()
        self.problem = None
        return self

    @classmethod
    def sum(cls, parts: Iterable[Figures], begin: float) -> Figures:
        """All together."""
        total = cls(begin=begin)
        for part in parts:
            total.add(part)
        return total

    def __str__(self) -> str:
        return (
            f"read {self.read} stored {self.stored} duplicate {self.duplicate} "
            f"expired {self.expired} dead {self.dead} in {self.seconds:.2f} s"
        )

    def as_json(self) -> dict[str, Any]:
        """The words of the closing line as keys (``in`` in seconds), as `load` has them, and the counts of records."""
        names = ("read", *VERDICTS)
        return {name: getattr(self, name) for name in names} | {
            "in": round(self.seconds, 3),
            "records": self.records,
            "tombstones": self.tombstones,
            "skipped": self.skipped,
            "fenced": self.fenced,
        }
