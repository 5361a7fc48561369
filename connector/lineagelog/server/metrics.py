"""What the server counts, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from lineagelog.event.model import Event, Rejected
from lineagelog.intake import Tally
from lineagelog.intake.door import Append, outcomes
from lineagelog.metrics import Samples, event_families, sample_families
from lineagelog.store import Appended

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_SECONDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_SIZES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Metrics(Collector):
    """What one server counts; the names are a promise to dashboards."""

    def __init__(self, source: str, waiting: Callable[[], int], held: Callable[[], int]) -> None:
        self._source, self._tally = source, Tally()
        self._beside: Samples = tuple
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        registry.register(self)
        self._seconds = Histogram(
            "lineagelog_append_seconds", "Time of a transaction", buckets=_SECONDS, registry=registry
        )
        self._sizes = Histogram("lineagelog_batch_events", "Events of a transaction", buckets=_SIZES, registry=registry)
        self._requests = Counter("lineagelog_http_requests", "Answers", ["route", "status"], registry=registry)
        Gauge("lineagelog_queue_events", "Events waiting to be stored", registry=registry).set_function(waiting)
        Gauge("lineagelog_receiving_bytes", "Bytes of requests being read", registry=registry).set_function(held)
        self._children: dict[tuple[str, int], Any] = {}

    def show(self, samples: Samples) -> None:
        """From now on expose these, too."""
        self._beside = samples

    def collect(self) -> Iterator[Metric]:
        """What became of events, and what works beside the server."""
        yield from event_families(self._source, self._tally)
        yield from sample_families(self._beside())

    def counted(self, append: Append) -> Append:
        """The same append, with its time and its results counted."""

        def counting(items: Sequence[Event | Rejected], *, source: str) -> Appended:
            begin = perf_counter()
            try:
                appended = append(items, source=source)
            except Exception as error:
                self._tally.append_failed(type(error).__name__)
                raise
            self._seconds.observe(perf_counter() - begin)
            self._sizes.observe(len(items))
            self._tally.count(outcomes(items, appended))
            return appended

        return counting

    def answered(self, route: str, status: int) -> None:
        """Count an answer by its status."""
        child = self._children.get((route, status))
        if child is None:
            child = self._children[route, status] = self._requests.labels(route, str(status))
        child.inc()

    def text(self) -> bytes:
        """All metrics, in the text form of Prometheus."""
        return generate_latest(self.registry)
