"""Figures for Prometheus: the families that several commands have, and a port of their own to scrape them from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from .errors import SettingsError


def event_families(
    source: str, verdicts: Mapping[str, int], reasons: Mapping[str, int], failures: Mapping[str, int]
) -> Iterator[Metric]:
    """What every way of intake counts; names and labels are a promise to dashboards, and mean the same everywhere.

    ``reasons``: dead letters by reason; ``failures``: transactions that could not be stored, by error.
    """
    events = CounterMetricFamily("lineagelog_events", "Events by what became of them", labels=["source", "verdict"])
    for verdict, count in verdicts.items():
        events.add_metric([source, verdict], count)
    yield events
    letters = CounterMetricFamily("lineagelog_dead_letters", "Refused events by reason", labels=["source", "reason"])
    for reason, count in reasons.items():
        letters.add_metric([source, reason], count)
    yield letters
    failed = CounterMetricFamily(
        "lineagelog_append_failures", "Transactions that could not be stored", labels=["error"]
    )
    for error, count in failures.items():
        failed.add_metric([error], count)
    yield failed


@contextlib.contextmanager
def served(collector: Collector, address: str, port: int) -> Iterator[str]:
    """Answer scrapes on a thread for the time of the block; gives the URL. Raises SettingsError."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(collector)
    try:
        server, _ = start_http_server(port, address, registry)
    except (OSError, OverflowError) as error:
        cause = getattr(error, "strerror", None) or error
        raise SettingsError(f"metrics cannot be served on {address}:{port}: {cause}") from error
    try:
        yield f"http://{address}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
