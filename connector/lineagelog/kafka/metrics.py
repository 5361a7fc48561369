"""What a worker counts, added up over workers, and its exposition for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Self

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from lineagelog.intake import Tally
from lineagelog.metrics import event_families
from lineagelog.store.ledgers.kafka_offsets import PartitionPlace

from .records import SOURCE

_SUMS: Final = ("records", "tombstones", "batches", "fenced", "rebalances", "skipped")


class WorkerMetrics(Tally):
    """What became of events, and what is Kafka's own."""

    def __init__(self, **verdicts: int) -> None:
        super().__init__(**verdicts)
        self.records = 0
        """Records of the topics that are done with."""
        self.tombstones = 0
        """Of these, those without a value."""
        self.batches = 0
        self.fenced = 0
        """Batches that were not stored because another worker had claimed a partition."""
        self.rebalances = 0
        self.skipped = 0
        """Offsets that Kafka no longer had when we came to them."""
        self.lags: dict[PartitionPlace, tuple[int, int | None]] = {}
        """Of the partitions held: the next offset to store, and where Kafka's records end (None = not known)."""
        self.problem: str | None = None
        """Why nothing is stored at the moment."""

    @property
    def lag(self) -> int | None:
        """Records that wait in the partitions held, as far as known."""
        known = [max(end - at, 0) for at, end in self.lags.values() if end is not None]
        return sum(known) if known else None

    def add(self, other: Tally) -> Self:
        """Add another's counts, and take over its partitions."""
        super().add(other)
        if isinstance(other, WorkerMetrics):
            for name in _SUMS:
                setattr(self, name, getattr(self, name) + getattr(other, name))
            self.lags.update(other.lags)
            self.problem = self.problem or other.problem
        return self

    def ended(self) -> Self:
        """Forget what is of the moment: the worker is no more."""
        self.lags.clear()
        self.problem = None
        return self

    @classmethod
    def sum(cls, parts: Iterable[WorkerMetrics]) -> WorkerMetrics:
        """The metrics of several workers as those of one."""
        total = cls()
        for part in parts:
            total.add(part)
        return total

    def as_json(self) -> dict[str, Any]:
        """The words of the closing line as keys, as `load` has them, and the counts of records."""
        return super().as_json() | {
            name: getattr(self, name) for name in ("records", "tombstones", "skipped", "fenced")
        }


_COUNTS: Final = {
    "records": "Records of topics that are done with",
    "tombstones": "Records without an event",
    "batches": "Transactions",
    "fenced": "Batches that were not stored because another worker had claimed a partition",
    "rebalances": "Assignments of partitions",
    "skipped": "Offsets that Kafka no longer had when we came to them",
}


class KafkaMetrics(Collector):
    """Names and labels are a promise to dashboards; those that `serve` has, too, mean the same there."""

    def __init__(self, metrics: Callable[[], WorkerMetrics], workers: Callable[[], tuple[int, int]]) -> None:
        """``workers`` gives how many live, and how many restarts there were."""
        self._metrics, self._workers = metrics, workers

    def collect(self) -> Iterator[Metric]:
        """All families of one scrape."""
        metrics = self._metrics()
        yield from event_families(SOURCE, metrics)
        for name, text in _COUNTS.items():
            yield CounterMetricFamily(f"lineagelog_kafka_{name}", text, value=getattr(metrics, name))
        yield from self._partitions(metrics)
        living, restarts = self._workers()
        yield GaugeMetricFamily("lineagelog_kafka_workers", "Workers that run", value=living)
        yield CounterMetricFamily("lineagelog_kafka_restarts", "Workers started again after a crash", value=restarts)
        waits = metrics.problem is not None
        yield GaugeMetricFamily("lineagelog_kafka_waiting", "1 while the database cannot store", value=waits)

    def _partitions(self, metrics: WorkerMetrics) -> Iterator[Metric]:
        labels = ["topic", "partition"]
        lag = GaugeMetricFamily("lineagelog_kafka_lag_records", "Records that are not stored yet", labels=labels)
        offset = GaugeMetricFamily("lineagelog_kafka_next_offset", "All records before it are stored", labels=labels)
        for place, (at, end) in sorted(metrics.lags.items()):
            names = [place.topic, str(place.partition)]
            offset.add_metric(names, at)
            if end is not None:
                lag.add_metric(names, max(end - at, 0))
        yield from (lag, offset)
