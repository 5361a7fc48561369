"""A worker while something around it fails: nothing is lost, nothing is counted twice, and Kafka keeps it."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from lineagelog.kafka.consumer import Worker
from lineagelog.store import LogStore
from lineagelog.store.ledgers.kafka_offsets import KafkaOffsets, PartitionPlace, Start
from tests.support import PATIENCE, wait_until

from .conftest import (
    QUICK,
    OwnBroker,
    OwnPostgres,
    Topic,
    consume_all,
    consuming,
    count,
    event,
    letters,
    poison,
    positions,
    prove_exactly_once,
)

SHORT = QUICK | {"max.poll.interval.ms": 6000}
"""Kafka takes the partitions from who does not poll for six seconds."""


def has_claimed(worker: Worker, number: int = 3) -> bool:
    return len(worker.metrics.lags) == number


@pytest.mark.long
def test_a_slow_database_does_not_cost_the_partitions(topic: Topic, store: LogStore) -> None:
    """While the database takes longer than max.poll.interval.ms for a batch, the worker polls and keeps its place."""
    topic.send(event(number) for number in range(3000))
    with store.engine.connect() as blocking:
        blocking.exec_driver_sql("LOCK TABLE openlineage.ol_run IN ACCESS EXCLUSIVE MODE")
        with consuming(store, topic, kafka=SHORT) as running:
            wait_until(lambda: has_claimed(running.worker))
            wait_until(lambda: running.worker._is_paused)
            time.sleep(8)  # what the broker counts is time
            assert count(store) == 0
            blocking.rollback()
            wait_until(lambda: running.worker.metrics.records == 3000)
            assert (running.worker.metrics.rebalances, running.worker.metrics.fenced) == (1, 0)
    prove_exactly_once(store, topic, 3000, 0)


@pytest.mark.long
def test_postgresql_restarts(topic: Topic, own_postgres: OwnPostgres) -> None:
    """It crashes, and later stops for a while: tried again, told, and everything once."""
    store = own_postgres.store
    with capture_logs() as logs, consuming(store, topic, kafka=SHORT, batch=50) as running:
        topic.send(event(number) for number in range(1000))
        wait_until(lambda: count(store) > 0)
        own_postgres.signal(signal.SIGKILL)
        own_postgres.start()
        wait_until(lambda: running.worker.metrics.records == 1000)
        own_postgres.signal(signal.SIGINT)
        topic.send([*(event(number) for number in range(1000, 1500)), *map(poison, range(20))])
        wait_until(lambda: running.worker.metrics.problem is not None)
        own_postgres.start()
        wait_until(lambda: running.worker.metrics.records == 1520)
        assert running.worker.metrics.rebalances == 1
    waits = [line for line in logs if line["event"] == "storing waits for the database"]
    assert waits
    assert all("the database" in line["error"] for line in waits)
    assert [line for line in logs if line["event"] == "storing goes on"]
    prove_exactly_once(store, topic, 1500, 20)


@pytest.mark.long
def test_database_away_at_the_start(topic: Topic, own_postgres: OwnPostgres) -> None:
    """Partitions are claimed when it is there; until then the worker polls, and stops at once if asked to."""
    topic.send(event(number) for number in range(10))
    own_postgres.signal(signal.SIGINT)
    with consuming(own_postgres.store, topic, kafka=SHORT) as running:
        wait_until(lambda: running.worker.metrics.problem is not None)
        running.end()  # while it is away
    with consuming(own_postgres.store, topic, kafka=SHORT) as running:
        wait_until(lambda: running.worker.metrics.problem is not None)
        own_postgres.start()
        wait_until(lambda: running.worker.metrics.records == 10)
        assert running.worker.metrics.rebalances == 1
    prove_exactly_once(own_postgres.store, topic, 10, 0)


@pytest.mark.long
def test_broker_restarts(own_broker: OwnBroker, store: LogStore) -> None:
    """It is killed while events come in: told, and everything once when it is back."""
    topic = Topic(own_broker.broker, own_broker.broker.topic())
    with capture_logs() as logs, consuming(store, topic) as running:
        topic.send([*(event(number) for number in range(500)), *map(poison, range(5))])
        wait_until(lambda: running.worker.metrics.records == 505)
        own_broker.kill()
        wait_until(lambda: any(line["event"].startswith("Kafka: ") for line in logs))
        own_broker.start()
        topic.send([*(event(number) for number in range(500, 1000)), *map(poison, range(5, 10))])
        wait_until(lambda: running.worker.metrics.records >= 1010)
    assert [line for line in logs if line["event"].startswith("Kafka: ")]
    prove_exactly_once(store, topic, 1000, 10)


@pytest.mark.long
def test_stop_while_the_broker_is_away(own_broker: OwnBroker, store: LogStore) -> None:
    """A stop does not wait for brokers."""
    topic = Topic(own_broker.broker, own_broker.broker.topic())
    topic.send([event(0)])
    with capture_logs() as logs, consuming(store, topic) as running:
        wait_until(lambda: running.worker.metrics.records == 1)
        own_broker.kill()
        wait_until(lambda: any(line["event"].startswith("Kafka: ") for line in logs))
        running.end()  # while it is away


def test_a_fenced_worker_reads_again_what_it_could_not_store(topic: Topic, store: LogStore) -> None:
    """A claim by somebody else, of whom Kafka knows nothing: the batch is not stored, then claimed and read again."""
    other = KafkaOffsets(store.database, "lineagelog", "somebody else")
    with capture_logs() as logs, consuming(store, topic) as running:
        wait_until(lambda: has_claimed(running.worker))
        other.claim([Start(PartitionPlace(topic.name, 0), 0, 0, None)])
        topic.send([event(0), poison(0), event(1)], partition=0)
        topic.send([event(2), poison(1)], partition=1)
        wait_until(lambda: running.worker.metrics.records == 5)
        assert running.worker.metrics.fenced >= 1
    (fenced, *_) = [line for line in logs if line["event"].startswith("fenced")]
    assert f"{topic.name}/0 (now somebody else)" in fenced["error"]
    prove_exactly_once(store, topic, 3, 2)


@pytest.mark.long
def test_offsets_deleted_under_a_worker(topic: Topic, store: LogStore) -> None:
    """Who deletes the rows makes the group read again from the start; events stay single."""
    with consuming(store, topic) as running:
        topic.send([event(0), event(1)], partition=0)
        wait_until(lambda: running.worker.metrics.records == 2)
        with store.engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM openlineage.ol_kafka_offset")
        topic.send([event(2)], partition=0)
        wait_until(lambda: positions(store).get(0) == 3)
        wait_until(lambda: running.worker.metrics.records == 5)
    assert (count(store), running.worker.metrics.duplicate) == (3, 2)


def test_commit_whose_answer_is_lost(topic: Topic, store: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection breaks after the COMMIT: the batch is not stored a second time, dead letters are counted once."""
    append_once = LogStore._append_once
    broken: list[int] = []

    def breaking(self: LogStore, connection: psycopg.Connection[Any], *rest: Any, **more: Any) -> Any:
        appended = append_once(self, connection, *rest, **more)
        if appended.verdicts and not broken:
            broken.append(1)
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return appended

    monkeypatch.setattr(LogStore, "_append_once", breaking)
    topic.send([event(0), poison(0), event(1)], partition=0)
    metrics = consume_all(store, topic).metrics
    assert broken
    assert (metrics.records, metrics.read, metrics.stored, metrics.dead) == (3, 3, 2, 1)
    prove_exactly_once(store, topic, 2, 1)


def test_a_defect_costs_one_event(topic: Topic, store: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that our own code cannot store is found and kept as a dead letter; all others are stored."""
    append = LogStore.append

    def failing(self: LogStore, items: Any, **options: Any) -> Any:
        if any(getattr(item, "run_id", "") == "run-6" and type(item).__name__ == "Event" for item in items):
            raise TypeError("secret content")
        return append(self, items, **options)

    monkeypatch.setattr(LogStore, "append", failing)
    topic.send((event(number) for number in range(0, 40, 2)), partition=0)
    with capture_logs() as logs:
        metrics = consume_all(store, topic).metrics
    assert (metrics.stored, dict(metrics.reasons)) == (19, {"internal_error": 1})
    assert letters(store) == [("internal_error", "kafka", f"{topic.name}/0/6", 1)]
    assert positions(store)[0] == 20
    assert "secret content" not in str(logs)


def test_a_defect_in_parsing_costs_one_event(topic: Topic, store: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where parsing breaks."""
    from lineagelog.intake import door

    parse = door.parse

    def failing(body: bytes, **options: Any) -> Any:
        if b"run-3" in body:
            raise RecursionError
        return parse(body, **options)

    monkeypatch.setattr(door, "parse", failing)
    topic.send((event(number) for number in range(0, 10, 2)), partition=0)
    assert dict(consume_all(store, topic).metrics.reasons) == {"internal_error": 1}
    assert count(store) == 4


@pytest.mark.long
def test_workers_come_and_go(topic: Topic, store: LogStore) -> None:
    """Rebalances from one to three workers and back while events come in: everything once, nobody waits long."""
    total = 6000
    sent = threading.Event()

    def send() -> None:
        for begin in range(0, total, 200):
            topic.send([*(event(number) for number in range(begin, begin + 200)), poison(begin)])
            time.sleep(0.1)
        sent.set()

    sender = threading.Thread(target=send)
    with consuming(store, topic, batch=100) as first:
        sender.start()
        wait_until(lambda: count(store) > 300)
        with consuming(store, topic, batch=100) as second, consuming(store, topic, batch=100) as third:
            workers = [first.worker, second.worker, third.worker]
            wait_until(lambda: all(has_claimed(worker, 1) for worker in workers))
        wait_until(lambda: has_claimed(first.worker))
        sender.join(PATIENCE)
        assert sent.is_set()
        wait_until(lambda: positions(store) == topic.ends())
    prove_exactly_once(store, topic, total, total // 200)
    assert sum(worker.metrics.stored for worker in workers) == total
