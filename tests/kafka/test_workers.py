"""Worker processes that are killed, paused, added and taken away while events come in: everything exactly once.

That events are single is no proof (the store keeps each once, however often it comes); that every dead letter was
counted once is. The long forms (`make soak`) do the same for minutes.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineagelog.store import LogStore
from tests.support import PATIENCE, wait_until

from .conftest import (
    OwnBroker,
    OwnPostgres,
    Topic,
    ask,
    consume_process,
    count,
    event,
    poison,
    positions,
    prove_exactly_once,
)

pytestmark = pytest.mark.long

SOAK = pytest.mark.soak


class Sender:
    """Sends batches of events and bad records until it is stopped."""

    def __init__(self, topic: Topic) -> None:
        self.events = self.poisons = 0
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            batch = [event(number) for number in range(self.events, self.events + 100)]
            self._topic.send([*batch, poison(self.poisons)])
            self.events += 100
            self.poisons += 1

    def __enter__(self) -> Sender:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def finish(store: LogStore, topic: Topic, sender: Sender) -> None:
    """Wait until all that was sent is stored, and prove it."""
    wait_until(lambda: positions(store) == topic.ends())
    prove_exactly_once(store, topic, sender.events, sender.poisons)


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return True
    return False


@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=[SOAK, pytest.mark.timeout(1800)])])
def test_workers_are_killed(topic: Topic, store: LogStore, tmp_path: Path, kills: int) -> None:
    """kill -9 of workers at random moments: the supervisor starts them again, others go on meanwhile."""
    chance = random.Random(kills)
    with Sender(topic) as sender, consume_process(store, topic, tmp_path / "log", "--workers", "2") as running:
        wait_until(lambda: count(store) > 0)
        for number in range(kills):
            wait_until(lambda number=number: len(running.said("worker started")) >= 2 + number)  # type: ignore[misc]
            time.sleep(chance.uniform(0.1, 2.0))
            victims = [pid for pid in running.pids().values() if is_alive(pid)]
            os.kill(chance.choice(victims), signal.SIGKILL)
        sender.stop()
        finish(store, topic, sender)
        assert len(running.said("worker has ended")) == kills
        running.stop()


def test_workers_end_with_their_supervisor(topic: Topic, store: LogStore, tmp_path: Path) -> None:
    """A supervisor that is killed leaves no workers behind."""
    with consume_process(store, topic, tmp_path / "log", "--workers", "2") as running:
        wait_until(lambda: len(running.said("claimed")) >= 3)
        pids = list(running.pids().values())
        running.process.kill()
        wait_until(lambda: not any(is_alive(pid) for pid in pids))


@contextlib.contextmanager
def blocked(store: LogStore) -> Iterator[None]:
    """Whoever stores waits until the end of the block, with its events inserted and its offsets still to be moved."""
    with store.engine.connect() as connection:
        connection.exec_driver_sql("LOCK TABLE openlineage.ol_kafka_offset IN ACCESS EXCLUSIVE MODE")
        yield
        connection.rollback()


def waiting(store: LogStore) -> int:
    """Sessions that wait for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    return int(ask(store, query)[0][0])


def test_a_zombie_is_fenced(topic: Topic, store: LogStore, tmp_path: Path) -> None:
    """A worker that is paused in the middle of a transaction, and wakes when its partitions are another's.

    The other gets over the rows that the paused transaction holds; what the first one then tries is refused.
    """
    topic.send([*(event(number) for number in range(200)), *map(poison, range(10))])
    with consume_process(store, topic, tmp_path / "first") as first:
        wait_until(lambda: positions(store) == topic.ends())
        with blocked(store):
            topic.send([*(event(number) for number in range(200, 1500)), *map(poison, range(10, 30))])
            wait_until(lambda: waiting(store) > 0)
            first.signal(signal.SIGSTOP)
        with consume_process(store, topic, tmp_path / "second") as second:
            wait_until(lambda: positions(store) == topic.ends())
            first.signal(signal.SIGCONT)
            wait_until(lambda: bool(first.said("fenced: nothing of the batch was stored")))
            topic.send([*(event(number) for number in range(1500, 2000)), poison(30)])
            wait_until(lambda: positions(store) == topic.ends())
            assert second.said("claimed")
    prove_exactly_once(store, topic, 2000, 31)


@pytest.mark.parametrize("seconds", [15, pytest.param(240, marks=[SOAK, pytest.mark.timeout(1800)])])
def test_workers_are_added_and_taken_away(topic: Topic, store: LogStore, tmp_path: Path, seconds: int) -> None:
    """From one to three processes and back, again and again under load, some stopped, some killed, some paused."""
    chance = random.Random(seconds)
    end = time.monotonic() + seconds
    with Sender(topic) as sender, consume_process(store, topic, tmp_path / "first"):
        round_number = 0
        while time.monotonic() < end:
            round_number += 1
            with contextlib.ExitStack() as stack:
                others = [
                    stack.enter_context(consume_process(store, topic, tmp_path / f"other-{round_number}-{number}"))
                    for number in range(2)
                ]
                for other in others:
                    wait_until(lambda other=other: bool(other.said("claimed")))  # type: ignore[misc]
                time.sleep(chance.uniform(0.0, 2.0))
                killed, stopped = chance.sample(others, 2)
                if chance.random() < 0.5:
                    killed.signal(signal.SIGKILL)
                else:
                    killed.signal(signal.SIGSTOP)
                    time.sleep(8)
                    killed.signal(signal.SIGCONT)
                stopped.stop()
        sender.stop()
        finish(store, topic, sender)


@SOAK
@pytest.mark.timeout(1800)
def test_everything_at_once(own_broker: OwnBroker, own_postgres: OwnPostgres, tmp_path: Path) -> None:
    """For five minutes: workers killed, broker killed, PostgreSQL crashed and stopped, under load."""
    chance = random.Random(1)
    store = own_postgres.store
    topic = Topic(own_broker.broker, own_broker.broker.topic())
    end = time.monotonic() + 300
    with Sender(topic) as sender, consume_process(store, topic, tmp_path / "log", "--workers", "2") as running:
        while time.monotonic() < end:
            time.sleep(chance.uniform(2, 8))
            what = chance.choice(("worker", "worker", "broker", "crash", "stop"))
            if what == "worker":
                victims = [pid for pid in running.pids().values() if is_alive(pid)]
                if victims:
                    os.kill(chance.choice(victims), signal.SIGKILL)
            elif what == "broker":
                own_broker.kill()
                time.sleep(chance.uniform(0, 5))
                own_broker.start()
            else:
                own_postgres.signal(signal.SIGKILL if what == "crash" else signal.SIGINT)
                time.sleep(chance.uniform(0, 10))
                own_postgres.start()
                store.engine.dispose()
        sender.stop()
        store.engine.dispose()
        finish(store, topic, sender)
        running.stop()
