"""The same events by every way in, over each other and at once: each is one row, and the digest is of one."""

from __future__ import annotations

import json
import threading
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from lineagelog.store import Database, LogStore, Verifier, open_engine
from tests.egeria import standin
from tests.kafka_broker import Broker, kafka
from tests.support import PATIENCE, connect, event, run_process, serve_process

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["kafka"]

pytestmark = pytest.mark.long

EVENTS = 40


def an_event(number: int) -> dict[str, Any]:
    """Every second a COMPLETE with rows, all with names beyond ASCII and a number that JSON can spell in many ways."""
    return event(
        f"run-{number // 2}",
        ("START", "COMPLETE")[number % 2],
        eventTime=f"2026-03-01T08:{number:02}:00Z",
        outputs=[
            {
                "namespace": "db",
                "name": "größe — 表",
                "facets": {},
                "outputFacets": {"outputStatistics": {"rowCount": number * 10, "ratio": 0.5}},
            }
        ],
    )


def spelled(number: int, way: int) -> bytes:
    """The same event in the spelling of a way: key order, white space, escapes, number."""
    tree = an_event(number)
    if way % 2:
        tree = dict(reversed(tree.items()))
    text = json.dumps(tree, ensure_ascii=way % 3 == 0, indent=2 if way == 3 else None)
    return text.replace("0.5", "5e-1" if way == 2 else "0.50").encode()


def post(port: str) -> None:
    """One request per event."""
    for number in range(EVENTS):
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/v1/lineage",
            spelled(number, 0),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            assert answer.status == 201


def publish(daemon: standin.Daemon) -> None:
    """By Egeria's REST call."""
    for number in range(EVENTS):
        daemon.publish(spelled(number, 3))


def produce(broker: Broker, topic: str) -> None:
    """Fill the topic."""
    producer = Producer({"bootstrap.servers": broker.servers})
    for number in range(EVENTS):
        producer.produce(topic, spelled(number, 1))
    assert producer.flush(PATIENCE) == 0


def load(database_url: str, folder: Path) -> None:
    """One array in a file."""
    file = folder / "events.json"
    file.write_bytes(b"[" + b",".join(spelled(number, 2) for number in range(EVENTS)) + b"]")
    assert run_process("load", str(file), "--database", database_url).code == 0


def consume(database_url: str, broker: Broker, topic: str) -> None:
    """All that is in the topic."""
    done = run_process(
        *("consume", "--brokers", broker.servers, "--topic", topic, "--group", "g"),
        *("--until-end", "--json", "--database", database_url),
    )
    assert (done.code, done.json["read"]) == (0, EVENTS), done


@pytest.mark.parametrize("at_once", [False, True], ids=["one after the other", "at once"])
def test_the_same_events_by_http_daemon_kafka_and_file_are_one_row_each(
    database_url: str, kafka: Broker, tmp_path: Path, at_once: bool
) -> None:
    """HTTP, the Egeria daemon, Kafka and a file, each in a spelling of its own."""
    standin.build()
    topic = kafka.topic()
    produce(kafka, topic)
    with (
        serve_process("--database", database_url) as (_, port, _),
        standin.daemon(tmp_path / "daemon", [standin.connector(database_url)]) as daemon,
    ):
        ways: list[Callable[[], None]] = [
            lambda: post(port),
            lambda: publish(daemon),
            lambda: consume(database_url, kafka, topic),
            lambda: load(database_url, tmp_path),
        ]
        if at_once:
            in_parallel(ways)
        else:
            for number, way in enumerate(ways):
                way()
                assert stored(database_url) == EVENTS, number
    assert stored(database_url) == EVENTS
    with connect(database_url) as connection:
        digest = connection.execute(
            "SELECT (SELECT count(*) FROM openlineage.ol_run), count(*), sum(row_count) FROM openlineage.ol_run_dataset"
        ).fetchone()
    assert digest == (EVENTS // 2, EVENTS // 2, sum(range(10, EVENTS * 10, 20)))
    engine = open_engine(database_url)
    assert list(Verifier(LogStore(Database(engine))).verify()) == []
    engine.dispose()


def in_parallel(ways: list[Callable[[], None]]) -> None:
    """Run all on threads; raise what one of them raised."""
    failed: list[BaseException] = []

    def run(way: Callable[[], None]) -> None:
        try:
            way()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(way,)) for way in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert failed == []


def stored(database_url: str) -> int:
    """Raw events."""
    with connect(database_url) as connection:
        row = connection.execute("SELECT count(*) FROM openlineage.ol_event").fetchone()
    return int(row[0]) if row else 0
