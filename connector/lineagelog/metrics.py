"""The exposition of metrics for Prometheus: the families that several commands have, and a port to scrape them from.

Names and labels are a promise to dashboards, and mean the same everywhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct
from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from .errors import SettingsError
from .intake import Tally
from .loopback import host_name, is_local_name


def event_families(source: str, tally: Tally) -> Iterator[Metric]:
    """What every way of intake counts."""
    yield _counter("events", "Events by what became of them", tally, tally.verdicts, "verdict", source=source)
    yield _counter("dead_letters", "Refused events by reason", tally, tally.reasons, "reason", source=source)
    text = "Parts of accepted events that were passed over or repaired"
    yield _counter("notices", text, tally, tally.notices, "code")
    yield _counter("append_failures", "Transactions that could not be stored", tally, tally.failures, "error")


def _counter(
    name: str, text: str, tally: Tally, counts: Mapping[str, int], label: str, **fixed: str
) -> CounterMetricFamily:
    family = CounterMetricFamily(f"lineagelog_{name}", text, labels=[*fixed, label])
    for value, count in counts.items():
        family.add_metric([*fixed.values(), value], count, created=tally.created)
    return family


class Sample(Struct, frozen=True):
    """One number of somebody else's work beside the server."""

    name: str
    """Without the ``_total`` that the exposition gives to counters."""
    help: str
    kind: Literal["counter", "gauge"]
    labels: Mapping[str, str]
    """The same keys for all samples of a name."""
    value: float


type Samples = Callable[[], Iterable[Sample]]
"""Asked at every scrape, on a thread; must answer soon and not raise."""


def sample_families(samples: Iterable[Sample]) -> Iterator[Metric]:
    """The samples of one scrape, those of a name together."""
    families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
    for each in samples:
        family = families.get(each.name)
        if family is None:
            make = CounterMetricFamily if each.kind == "counter" else GaugeMetricFamily
            family = families[each.name] = make(each.name, each.help, labels=list(each.labels))
        family.add_metric(list(each.labels.values()), each.value)
    yield from families.values()


@contextlib.contextmanager
def served(collector: Collector, address: str, port: int) -> Iterator[str]:
    """Answer scrapes on a thread for the time of the block; gives the URL. Raises SettingsError."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(collector)
    try:
        server, _ = start_http_server(port, address, registry)
        server.set_app(_for_neighbours(server.get_app(), address))
    except (OSError, OverflowError) as error:
        cause = getattr(error, "strerror", None) or error
        raise SettingsError(f"metrics cannot be served on {address}:{port}: {cause}") from error
    try:
        yield f"http://{address}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()


def _for_neighbours(app: Any, address: str) -> Any:
    """The application for this machine's own programs, where only they reach it: no page that a browser shows."""
    if not is_local_name(address):
        return app

    def judged(environ: dict[str, Any], respond: Any) -> Any:
        name = host_name(environ.get("HTTP_HOST", "localhost"))
        is_page = "HTTP_ORIGIN" in environ or environ.get("HTTP_SEC_FETCH_SITE", "none") not in ("none", "same-origin")
        if name is not None and is_local_name(name) and not is_page:
            return app(environ, respond)
        respond("421 Misdirected Request", [("Content-Type", "text/plain; charset=utf-8")])
        return [b"these metrics are for programs on this machine: ask localhost, or bind them to another address\n"]

    return judged
