"""What the server counts, for Prometheus."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, Literal

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from lineagelog.event.model import Event, Rejected
from lineagelog.intake.door import Append
from lineagelog.store import Appended

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_SECONDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_SIZES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Figure(Struct, frozen=True):
    """One number of somebody else's work beside the server."""

    name: str
    """Without the ``_total`` that the exposition gives to counters."""
    help: str
    kind: Literal["counter", "gauge"]
    labels: Mapping[str, str]
    """The same keys for all figures of a name."""
    value: float


type Figures = Callable[[], Iterable[Figure]]
"""Asked at every scrape, on a thread; must answer soon and not raise."""


class Metrics:
    """The counters of one server; the names are a promise to dashboards."""

    def __init__(self, waiting: Callable[[], int], held: Callable[[], int]) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._events = Counter(
            "lineagelog_events", "Events by what became of them", ["source", "verdict"], registry=registry
        )
        self._dead = Counter(
            "lineagelog_dead_letters", "Refused events by reason", ["source", "reason"], registry=registry
        )
        self._notices = Counter(
            "lineagelog_notices",
            "Parts of accepted events that were passed over or repaired",
            ["code"],
            registry=registry,
        )
        self._failures = Counter(
            "lineagelog_append_failures", "Transactions that could not be stored", ["error"], registry=registry
        )
        self._seconds = Histogram(
            "lineagelog_append_seconds", "Time of a transaction", buckets=_SECONDS, registry=registry
        )
        self._sizes = Histogram("lineagelog_batch_events", "Events of a transaction", buckets=_SIZES, registry=registry)
        self._requests = Counter("lineagelog_http_requests", "Answers", ["route", "status"], registry=registry)
        Gauge("lineagelog_queue_events", "Events waiting to be stored", registry=registry).set_function(waiting)
        Gauge("lineagelog_receiving_bytes", "Bytes of requests being read", registry=registry).set_function(held)
        self._children: dict[tuple[str, int], Any] = {}

    def show(self, figures: Figures) -> None:
        """From now on expose these, too."""
        self.registry.register(_Shown(figures))

    def counted(self, append: Append) -> Append:
        """The same append, with its time and its results counted."""

        def counting(items: Sequence[Event | Rejected], *, source: str) -> Appended:
            begin = perf_counter()
            try:
                appended = append(items, source=source)
            except Exception as error:
                self._failures.labels(type(error).__name__).inc()
                raise
            self._seconds.observe(perf_counter() - begin)
            self._sizes.observe(len(items))
            self._count(items, appended, source)
            return appended

        return counting

    def _count(self, items: Sequence[Event | Rejected], appended: Appended, source: str) -> None:
        for verdict, number in Tally(appended.verdicts).items():
            self._events.labels(source, verdict.value).inc(number)
        for index, item in enumerate(items):
            item = appended.refusals.get(index, item)
            if isinstance(item, Rejected):
                self._dead.labels(source, item.reason.value).inc()
            else:
                for notice in item.notices:
                    self._notices.labels(notice.code).inc()

    def answered(self, route: str, status: int) -> None:
        """Count an answer."""
        child = self._children.get((route, status))
        if child is None:
            child = self._children[route, status] = self._requests.labels(route, str(status))
        child.inc()

    def text(self) -> bytes:
        """The exposition."""
        return generate_latest(self.registry)


class _Shown(Collector):
    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """The figures of one scrape, those of a name together."""
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for each in self._figures():
            family = families.get(each.name)
            if family is None:
                make = CounterMetricFamily if each.kind == "counter" else GaugeMetricFamily
                family = families[each.name] = make(each.name, each.help, labels=list(each.labels))
            family.add_metric(list(each.labels.values()), each.value)
        yield from families.values()
