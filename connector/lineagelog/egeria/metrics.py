"""What a connector counts, and the exposition of a daemon's connectors for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final, Protocol, Self

from msgspec import Struct
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from lineagelog.event.model import Event
from lineagelog.intake import Outcome, Tally
from lineagelog.metrics import event_families

SOURCE: Final = "egeria"


class ConnectorMetrics(Tally):
    """What became of events since the start of the connector, and what is a spool's."""

    def __init__(self) -> None:
        super().__init__()
        self._spooled = 0
        self._failed = 0
        self._age: float | None = None

    def count(self, outcomes: Iterable[Outcome]) -> None:
        """Events that were stored, or found to be no news."""
        counted = list(outcomes)
        super().count(counted)
        last = next((each.item for each in reversed(counted) if isinstance(each.item, Event)), None)
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

    def add(self, other: Tally) -> Self:
        """Add the counts of one that counts no more; what it left in a spool is counted by whoever has that."""
        super().add(other)
        if isinstance(other, ConnectorMetrics):
            self.failed(other.as_dict()["failed"])
        return self

    def as_dict(self) -> dict[str, Any]:
        """``stored``, ``duplicate``, ``expired``, ``dead``: events; ``spooled``: in the spool now; ``failed``: given
        back; ``last_event_age_seconds``: from the time that the last event says to its COMMIT, however long it was on
        its way to us; None before the first."""
        verdicts = self.verdicts
        with self._lock:
            return {
                **verdicts,
                "spooled": self._spooled,
                "failed": self._failed,
                "last_event_age_seconds": None if self._age is None else round(self._age, 3),
            }


class ConnectorState(Struct, frozen=True):
    """What is to be seen of all instances of the connectors of one name, from the start of the process."""

    name: str
    starts: int
    counts: Counter[str]
    """``stored`` and so on, ``failed``, of all instances; ``spooled`` of those that have something in a spool."""
    tally: Tally
    spool_bytes: int
    spool_max_bytes: int
    age: float | None
    """Of the last event when it was stored, in seconds."""
    is_up: bool
    """Whether the database was there when it was last seen; no, without an instance that is started."""


class Seen(Protocol):
    """The connectors of a daemon, as far as they are looked at."""

    queued: int

    def states(self) -> list[ConnectorState]:
        """The state of each connector."""

    def started(self) -> int:
        """How many are started."""


type _Value = Callable[[ConnectorState], float | None]

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

    def __init__(self, connectors: Seen) -> None:
        self._connectors = connectors

    def collect(self) -> Iterator[Metric]:
        """All families of one scrape."""
        states = self._connectors.states()
        tally = Tally()
        for state in states:
            tally.add(state.tally)
        yield from event_families(SOURCE, tally)
        for name, (text, value) in _COUNTERS.items():
            yield _filled(CounterMetricFamily(f"lineagelog_daemon_{name}", text, labels=["connector"]), states, value)
        for name, (text, value) in _GAUGES.items():
            yield _filled(GaugeMetricFamily(f"lineagelog_daemon_{name}", text, labels=["connector"]), states, value)
        waiting = self._connectors.queued
        yield GaugeMetricFamily("lineagelog_daemon_waiting_events", "Events that nobody has taken yet", value=waiting)
        started = self._connectors.started()
        yield GaugeMetricFamily("lineagelog_daemon_connectors", "Connectors at work", value=started)


def _filled[F: (CounterMetricFamily, GaugeMetricFamily)](family: F, states: list[ConnectorState], value: _Value) -> F:
    for state in states:
        if (number := value(state)) is not None:
            family.add_metric([state.name], number)
    return family
