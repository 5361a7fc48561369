"""The figures of consumers for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from lineagelog.exposition import event_families

from .figures import VERDICTS, Figures
from .records import SOURCE

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

    def __init__(self, figures: Callable[[], Figures], workers: Callable[[], tuple[int, int]]) -> None:
        """``workers`` gives how many live, and how many restarts there were."""
        self._figures, self._workers = figures, workers

    def collect(self) -> Iterator[Metric]:
        """All families of one scrape."""
        figures = self._figures()
        verdicts = {verdict: getattr(figures, verdict) for verdict in VERDICTS}
        yield from event_families(SOURCE, verdicts, figures.reasons, figures.failures)
        for name, text in _COUNTS.items():
            yield CounterMetricFamily(f"lineagelog_kafka_{name}", text, value=getattr(figures, name))
        yield from self._partitions(figures)
        living, restarts = self._workers()
        yield GaugeMetricFamily("lineagelog_kafka_workers", "Workers that run", value=living)
        yield CounterMetricFamily("lineagelog_kafka_restarts", "Workers started again after a crash", value=restarts)
        waits = figures.problem is not None
        yield GaugeMetricFamily("lineagelog_kafka_waiting", "1 while the database cannot store", value=waits)

    def _partitions(self, figures: Figures) -> Iterator[Metric]:
        labels = ["topic", "partition"]
        lag = GaugeMetricFamily("lineagelog_kafka_lag_records", "Records that are not stored yet", labels=labels)
        offset = GaugeMetricFamily("lineagelog_kafka_next_offset", "All records before it are stored", labels=labels)
        for place, (at, end) in sorted(figures.lags.items()):
            names = [place.topic, str(place.partition)]
            offset.add_metric(names, at)
            if end is not None:
                lag.add_metric(names, max(end - at, 0))
        yield from (lag, offset)
