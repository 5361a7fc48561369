"""What became of events is counted in one place, and exposed in the same words by every way in."""

from __future__ import annotations

import pickle
import re
import threading
from typing import TYPE_CHECKING, Any, cast

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from lineagelog.intake import Door, Tally
from lineagelog.intake.door import Outcome
from lineagelog.kafka.metrics import KafkaMetrics, WorkerMetrics
from lineagelog.metrics import Sample, event_families, sample_families
from lineagelog.server.metrics import Metrics
from lineagelog.store import Verdict
from tests.support import encode, event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric

    from lineagelog.store import LogStore

EVENTS = ("lineagelog_events", "lineagelog_dead_letters", "lineagelog_notices", "lineagelog_append_failures")


def delivered(store: LogStore) -> list[Outcome]:
    """Two new events, one with a notice, one twice, one refused by us and one that says nothing."""
    zoneless = event("r2") | {"eventTime": "2026-03-01T08:00:00"}
    bodies = [encode(event("r1")), encode(zoneless), encode(event("r1")), b"{", b"3"]
    return Door(store).take(bodies, source="tests")


def test_outcomes_are_counted(store: LogStore) -> None:
    """By verdict, by reason, by notice; the closing line and its JSON say the same."""
    tally = Tally()
    tally.count(delivered(store))
    tally.append_failed("StoreUnavailable")
    assert tally.verdicts == {"stored": 2, "duplicate": 1, "expired": 0, "dead": 2}
    assert tally.reasons == {"not_json": 1, "not_an_event": 1}
    assert tally.notices == {"time_without_zone": 1}
    assert tally.failures == {"StoreUnavailable": 1}
    assert re.fullmatch(r"read 5 stored 2 duplicate 1 expired 0 dead 2 in \d+\.\d\d s", str(tally))
    assert list(tally.as_json()) == ["read", "stored", "duplicate", "expired", "dead", "in"]


def test_a_copy_goes_to_another_process_and_tallies_add_up(store: LogStore) -> None:
    """With all it counted; it goes on counting there. The sum begins with the first."""
    worker = WorkerMetrics(stored=3)
    worker.count(delivered(store))
    worker.records, worker.problem = 7, "away"
    there = pickle.loads(pickle.dumps(worker))
    there.append_failed("StoreUnavailable")
    total = WorkerMetrics.sum([there, worker, WorkerMetrics(dead=1)])
    assert total.verdicts == {"stored": 10, "duplicate": 2, "expired": 0, "dead": 5}
    assert (total.reasons["not_json"], total.failures["StoreUnavailable"], total.records) == (2, 1, 14)
    assert (total.begin, total.created, total.problem) == (worker.begin, worker.created, "away")


def test_many_threads_count(store: LogStore) -> None:
    """None of what they count is lost, and none is seen half."""
    outcomes, tally = delivered(store), Tally()
    begin = threading.Barrier(8)

    def count() -> None:
        begin.wait()
        for _ in range(300):
            tally.count(outcomes)
            assert tally.read % 5 == 0

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tally.verdicts.total() == tally.read == 8 * 300 * 5


def families(collector: Any) -> dict[str, Metric]:
    return {family.name: family for family in collector.collect()}


def daemon_families(tally: Tally) -> dict[str, Metric]:
    from lineagelog.egeria.metrics import ConnectorState, DaemonMetrics

    class One:
        queued = 0

        def states(self) -> list[ConnectorState]:
            return [ConnectorState("c", 1, tally.verdicts, tally, 0, 0, None, True)]

        def started(self) -> int:
            return 1

    return families(DaemonMetrics(One()))


def test_one_exposition(store: LogStore) -> None:
    """HTTP, Kafka and the daemon have the same families, words and labels; the source tells them apart."""
    outcomes = delivered(store)
    worker, tally = WorkerMetrics(), Tally()
    server = Metrics("http", lambda: 0, lambda: 0)
    for counting in (worker, tally, server._tally):
        counting.count(outcomes)
        counting.append_failed("StoreUnavailable")
    found = [families(server), families(KafkaMetrics(lambda: worker, lambda: (1, 0))), daemon_families(tally)]
    for name in EVENTS:
        texts = {each[name].documentation for each in found}
        samples = [
            {
                (s.name, tuple(sorted(s.labels.items() - {("source", s.labels.get("source"))}))): s.value
                for s in each[name].samples
                if s.name.endswith("_total")
            }
            for each in found
        ]
        assert len(texts) == 1
        assert samples[0] == samples[1] == samples[2] != {}
    sources = {sample.labels["source"] for each in found for sample in each["lineagelog_events"].samples}
    assert sources == {"http", "kafka", "egeria"}


def test_what_is_exposed_as_text() -> None:
    """The names and labels that dashboards know; each verdict is there before its first event."""

    class Events:
        def collect(self) -> Iterator[Metric]:
            yield from event_families("http", Tally(stored=2))

    registry = CollectorRegistry()
    registry.register(cast("Any", Events()))
    lines = generate_latest(registry).decode().splitlines()
    for verdict in Verdict:
        count = 2.0 if verdict is Verdict.STORED else 0.0
        assert f'lineagelog_events_total{{source="http",verdict="{verdict}"}} {count}' in lines
    for name in EVENTS:
        assert f"# TYPE {name}_total counter" in lines


@pytest.mark.parametrize("kind", ["counter", "gauge"])
def test_samples_of_a_name_stand_together(kind: Any) -> None:
    """Whatever order they come in."""
    samples = [Sample(name, "text", kind, {"target": target}, 1.0) for target in "ab" for name in ("m", "n")]
    found = list(sample_families(samples))
    assert [(family.name, family.type, len(family.samples)) for family in found] == [("m", kind, 2), ("n", kind, 2)]
