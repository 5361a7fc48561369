"""The figures of a daemon's connectors for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from lineagelog.exposition import event_families
from lineagelog.store import Verdict

from .connector import Connectors, State
from .keeper import SOURCE

type _Value = Callable[[State], float | None]

_COUNTERS: Final[dict[str, tuple[str, _Value]]] = {
    "refused": ("Events that were neither stored nor spooled", lambda state: state.counts["failed"]),
    "starts": ("Instances of the connector that were started", lambda state: state.starts),
}
_GAUGES: Final[dict[str, tuple[str, _Value]]] = {
    "spooled_events": ("Events in spools", lambda state: state.counts["spooled"]),
    "spool_bytes": ("Bytes that wait in spools", lambda state: state.spool_bytes),
    "spool_max_bytes": ("Bytes that the spool takes before events are refused", lambda state: state.spool_max_bytes),
    "database_up": ("1 if the database was there when it was last seen", lambda state: state.is_up),
    "last_event_age_seconds": ("Age of the last event when it was stored, by its own time", lambda state: state.age),
}


class DaemonMetrics(Collector):
    """Names and labels are a promise to dashboards; those that other commands have, too, mean the same there.

    A scrape asks neither a database nor Java: its threads come and go, and Java keeps something of each.
    """

    def __init__(self, connectors: Connectors) -> None:
        self._connectors = connectors

    def collect(self) -> Iterator[Metric]:
        """All families of one scrape."""
        states = self._connectors.states()
        counts: Counter[str] = sum((state.counts for state in states), Counter())
        reasons: Counter[str] = sum((state.reasons for state in states), Counter())
        failures: Counter[str] = sum((state.failures for state in states), Counter())
        verdicts = {verdict.value: counts[verdict.value] for verdict in Verdict}
        yield from event_families(SOURCE, verdicts, reasons, failures)
        for name, (text, value) in _COUNTERS.items():
            yield _filled(CounterMetricFamily(f"lineagelog_daemon_{name}", text, labels=["connector"]), states, value)
        for name, (text, value) in _GAUGES.items():
            yield _filled(GaugeMetricFamily(f"lineagelog_daemon_{name}", text, labels=["connector"]), states, value)
        waiting = self._connectors.queued
        yield GaugeMetricFamily("lineagelog_daemon_waiting_events", "Events that nobody has taken yet", value=waiting)
        started = self._connectors.started()
        yield GaugeMetricFamily("lineagelog_daemon_connectors", "Connectors at work", value=started)


def _filled[F: (CounterMetricFamily, GaugeMetricFamily)](family: F, states: list[State], value: _Value) -> F:
    for state in states:
        if (number := value(state)) is not None:
            family.add_metric([state.name], number)
    return family
