"""A topic of a real broker, a store, and consumers: here, as a process, or killed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from lineagelog.intake import MAX_EVENT, Door
from lineagelog.kafka.cluster import KafkaCluster
from lineagelog.kafka.consumer import Worker
from lineagelog.kafka.options import ConsumerOptions
from lineagelog.postgres.embedded import EmbeddedPostgres
from lineagelog.store import Database, LogStore, Verifier, open_engine
from lineagelog.store.ledgers.kafka_offsets import OffsetRow, offset_rows
from tests.kafka_broker import Broker, kafka, launch, start
from tests.support import COMMAND, PATIENCE, connect, wait_until

__all__ = ["kafka"]

QUICK = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500, "reconnect.backoff.max.ms": 500}
"""A group that notices soon that a member is gone (6 s is the least that brokers allow)."""


def event(number: int, **members: Any) -> bytes:
    """A small event; two numbers share a run."""
    tree = {
        "eventType": ("START", "COMPLETE")[number % 2],
        "eventTime": (datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=number)).isoformat(),
        "producer": "https://example.invalid/tests",
        "run": {"runId": f"run-{number // 2}"},
        "job": {"namespace": "prod", "name": f"job-{number % 7}"},
        "outputs": [{"namespace": "db", "name": "t", "outputFacets": {"outputStatistics": {"rowCount": number}}}],
    }
    return json.dumps(tree | members).encode()


def poison(number: int) -> bytes:
    """A record that is no event; each number has bytes of its own."""
    return b'{"eventTime": "never", "number": %d}' % number


@dataclass(frozen=True)
class Topic:
    """A topic and how to fill it."""

    broker: Broker
    name: str

    def send(self, values: Iterable[bytes | None], partition: int | None = None, **options: Any) -> None:
        """Produce, spread over the partitions unless one is named; returns when the broker has all."""
        producer = Producer({"bootstrap.servers": self.broker.servers, "linger.ms": 20, "message.timeout.ms": 60_000})
        place = {} if partition is None else {"partition": partition}
        for number, value in enumerate(values):
            while True:
                try:
                    producer.produce(self.name, value, key=None if place else str(number), **place, **options)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(PATIENCE) == 0

    def ends(self) -> dict[int, int]:
        """Where the partitions end."""
        return {place.partition: end for place, end in KafkaCluster(options_for(self)).ends().items()}

    def committed(self, group: str = "lineagelog") -> dict[int, int]:
        """What Kafka was told of the group."""
        consumer = Consumer({"bootstrap.servers": self.broker.servers, "group.id": group})
        try:
            count = len(consumer.list_topics(self.name, timeout=10).topics[self.name].partitions)
            found = consumer.committed([TopicPartition(self.name, number) for number in range(count)], timeout=10)
            return {each.partition: each.offset for each in found if each.offset >= 0}
        finally:
            consumer.close()


def options_for(topic: Topic, **more: Any) -> ConsumerOptions:
    """Options of a worker, quick to notice things."""
    settings: dict[str, Any] = {"linger": 0.05, "kafka": QUICK, **more}
    return ConsumerOptions(brokers=topic.broker.servers, topics=(topic.name,), **settings)


@pytest.fixture
def topic(kafka: Broker) -> Topic:
    """A topic of three partitions."""
    return Topic(kafka, kafka.topic())


@dataclass
class Running:
    """A worker on a thread."""

    worker: Worker
    stop: threading.Event
    thread: threading.Thread
    failed: list[BaseException] = field(default_factory=list)

    def end(self) -> None:
        self.stop.set()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


@contextlib.contextmanager
def consuming(store: LogStore, topic: Topic, **more: Any) -> Iterator[Running]:
    """A worker that consumes meanwhile."""
    stop = threading.Event()
    worker = Worker(Door(store), options_for(topic, **more), stop=stop)
    running = Running(worker, stop, threading.Thread(target=lambda: run(running)))

    def run(running: Running) -> None:
        try:
            running.worker.run()
        except BaseException as error:
            running.failed.append(error)

    running.thread.start()
    try:
        yield running
    finally:
        running.end()
    assert running.failed == []


def consume_all(store: LogStore, topic: Topic, *, max_event: int = MAX_EVENT, **more: Any) -> Worker:
    """Consume until the end, here."""
    return run_worker(store, options_for(topic, **more), max_event)


def run_worker(store: LogStore, options: ConsumerOptions, max_event: int = MAX_EVENT) -> Worker:
    """Consume until the end, here."""
    door = Door(store, max_event=max_event)
    worker = Worker(door, options, stop=threading.Event(), until=KafkaCluster(options).ends())
    worker.run()
    return worker


# --- what is stored -----------------------------------------------------------------------------------------------


def count(store: LogStore, table: str = "ol_event") -> int:
    """The number of rows."""
    return int(ask(store, f"SELECT count(*) FROM openlineage.{table}")[0][0])


def ask(store: LogStore, query: str) -> list[tuple[Any, ...]]:
    """Rows, by a plain connection."""
    with connect(store.database.url) as connection:
        return connection.execute(query.encode()).fetchall()


def letters(store: LogStore) -> list[tuple[str, str, str, int]]:
    """The dead letters: reason, source, position, times received."""
    found = ask(store, "SELECT reason, source, position, count FROM openlineage.ol_dead_letter ORDER BY position")
    return [tuple(row) for row in found]  # type: ignore[misc]


def rows(store: LogStore) -> list[OffsetRow]:
    return offset_rows(store.database)


def positions(store: LogStore) -> dict[int, int]:
    """The next offset of each partition."""
    return {row.partition: row.next_offset for row in rows(store)}


def prove_exactly_once(store: LogStore, topic: Topic, events: int, poisons: int) -> None:
    """Every event is there once, every bad record was counted once, the digest is right, the offsets are at the end."""
    assert count(store) == events
    found = letters(store)
    assert len(found) == poisons
    assert [letter for letter in found if letter[3] != 1] == []
    assert list(Verifier(store).verify()) == []
    ends = topic.ends()
    assert {partition: offset for partition, offset in positions(store).items() if partition in ends} == ends


# --- consumers as processes ---------------------------------------------------------------------------------------


@dataclass
class Process:
    """A running `lineagelog consume`."""

    process: subprocess.Popen[bytes]
    log: Path

    def lines(self) -> list[dict[str, Any]]:
        """What it said, as far as it is JSON."""
        found = []
        for line in self.log.read_text(errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return [line for line in found if isinstance(line, dict)]

    def said(self, text: str) -> list[dict[str, Any]]:
        return [line for line in self.lines() if text in line.get("event", "")]

    def pids(self) -> dict[int, int]:
        """Worker number → process id, of those started last."""
        return {line["worker"]: line["pid"] for line in self.said("worker started")}

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self) -> None:
        """SIGTERM, and the end."""
        self.process.terminate()
        self.process.wait(PATIENCE)


@contextlib.contextmanager
def consume_process(store: LogStore, topic: Topic, log: Path, *more: str, **settings: Any) -> Iterator[Process]:
    """A `lineagelog consume` over a store, its log in a file."""
    command = [COMMAND, "consume", "--brokers", topic.broker.servers, "--topic", topic.name, "--log-format", "json"]
    for key, value in (QUICK | settings).items():
        command += ["--kafka-option", f"{key}={value}"]
    url = store.database.url
    with log.open("ab") as out:
        process = subprocess.Popen(
            [*command, "--database", url, *more], stdout=subprocess.PIPE, stderr=out, env=os.environ
        )
    try:
        yield Process(process, log)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
        process.kill()
        process.communicate()


# --- servers that may be broken ------------------------------------------------------------------------------------


class OwnPostgres:
    """A PostgreSQL of a test's own, to be stopped and killed."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.server = server
        engine = open_engine(server.url, pool_size=6, connect_timeout=3)
        self.store = LogStore(Database(engine))
        self.store.create()

    def signal(self, number: int) -> None:
        """To the postmaster: SIGINT stops it, SIGKILL is a crash."""
        file = self.server.data_dir / "cluster" / "postmaster.pid"
        os.kill(int(file.read_text().split()[0]), number)
        if number == signal.SIGINT:
            wait_until(lambda: not file.exists())

    def start(self) -> None:
        self.server.start()


@pytest.fixture
def own_postgres() -> Iterator[OwnPostgres]:
    """A PostgreSQL of this test's own."""
    base = Path(tempfile.mkdtemp(prefix="lineagelog-tests-"))
    base.chmod(0o711)
    try:
        with EmbeddedPostgres(base / "data") as server:
            own = OwnPostgres(server)
            yield own
            own.store.engine.dispose()
    finally:
        shutil.rmtree(base, ignore_errors=True)


class OwnBroker:
    """A broker of a test's own, to be killed and started again."""

    def __init__(self, process: subprocess.Popen[bytes], broker: Broker) -> None:
        self.process, self.broker = process, broker

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)

    def start(self) -> None:
        self.process = launch(self.broker)


@contextlib.contextmanager
def own_broker_with(kafka: Broker, further: str = "", *, listener: str = "") -> Iterator[OwnBroker]:
    folder = Path(tempfile.mkdtemp(prefix="lineagelog-kafka-"))
    try:
        own = OwnBroker(*start(folder, kafka.jars, further, listener))
        try:
            yield own
        finally:
            own.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def own_broker(kafka: Broker) -> Iterator[OwnBroker]:
    """A broker of this test's own."""
    with own_broker_with(kafka) as own:
        yield own
