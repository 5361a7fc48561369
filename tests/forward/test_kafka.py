"""Forwarding to a topic of a real Kafka broker."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer
from sqlalchemy import text

from lineagelog.errors import TargetUnavailable
from lineagelog.event.parse import parse
from lineagelog.forward import Forwarder
from lineagelog.intake import Door
from lineagelog.kafka.producer import key_of
from lineagelog.service.targets import open_any
from lineagelog.store import LogStore
from lineagelog.store.ledgers.forwarding import Forwarding
from tests.kafka_broker import Broker, kafka

from .conftest import contents, event, quick_target, store_all

if TYPE_CHECKING:
    from confluent_kafka import Message

__all__ = ["kafka"]


@pytest.fixture
def to_kafka(forwarding: Forwarding) -> Callable[..., Forwarder]:
    """Makes a forwarder to a topic."""

    def make(servers: str, topic: str, **settings: object) -> Forwarder:
        target = quick_target(f"kafka://{servers}/{topic}", **settings)
        return Forwarder(forwarding, target, open_any)

    return make


def consume(broker: Broker, topic: str, number: int) -> list[Message]:
    """The first messages of a topic."""
    consumer = Consumer(
        {"bootstrap.servers": broker.servers, "group.id": topic, "auto.offset.reset": "earliest"}
        | {"session.timeout.ms": 6000}
    )
    consumer.subscribe([topic])
    found: list[Message] = []
    try:
        for _ in range(60):
            found += consumer.consume(number - len(found) + 1, timeout=0.5 if len(found) < number else 0.2)
            if len(found) >= number:
                return found
    finally:
        consumer.close()
    raise AssertionError(f"{len(found)} messages of {number}")


@pytest.mark.long
def test_topic_gets_every_event_in_the_order_of_its_job(
    kafka: Broker, log: LogStore, other: LogStore, to_kafka: Callable[..., Forwarder]
) -> None:
    """Keys are those of the OpenLineage clients; what is consumed makes the same log again."""
    topic = kafka.topic()
    bodies = [event(number % 50, eventTime=f"2026-03-01T00:00:{number % 60:02}.{number:03}Z") for number in range(300)]
    store_all(log, bodies)
    assert to_kafka(kafka.servers, topic, redact=False).run().delivered == 300
    messages = consume(kafka, topic, 300)
    assert {bytes(message.key() or b"") for message in messages} == {f"run:prod/job-{n}".encode() for n in range(7)}
    assert not any(message.error() for message in messages)
    for number in range(7):
        key = f"run:prod/job-{number}".encode()
        arrived = [_time(bytes(message.value() or b"")) for message in messages if message.key() == key]
        assert arrived == stored_times(log, f"job-{number}")
    Door(other).take([bytes(message.value() or b"") for message in messages], source="test")
    assert contents(other) == contents(log)


def _time(body: bytes) -> datetime:
    return datetime.fromisoformat(json.loads(body)["eventTime"])


def stored_times(log: LogStore, job: str) -> list[datetime]:
    """The times of a job's events, in order of arrival."""
    query = text("SELECT event_time FROM openlineage.ol_event WHERE job_name = :job ORDER BY arrival_xid, arrival")
    with log.engine.connect() as connection:
        return list(connection.execute(query, {"job": job}).scalars())


@pytest.mark.long
def test_too_large_for_the_broker_is_parked(
    kafka: Broker, log: LogStore, forwarding: Forwarding, to_kafka: Callable[..., Forwarder]
) -> None:
    """What Kafka's limit of a message refuses does not hold up the others."""
    store_all(log, [event(1, text="x" * 1_200_000), event(2)])
    topic = kafka.topic()
    sent = to_kafka(kafka.servers, topic, gzip=True, kafka={"compression.type": "none"}).run()
    assert (sent.delivered, sent.parked) == (1, 1)
    (letter,) = forwarding.letters("other")
    assert (letter.run_id, letter.reason) == ("run-1", "too_large")
    assert len(consume(kafka, topic, 1)) == 1


@pytest.mark.long
def test_broker_that_is_not_there(log: LogStore, to_kafka: Callable[..., Forwarder], closed_port: int) -> None:
    """Told in one line; nothing is parked and the cursor stays."""
    store_all(log, [event(1)])
    with pytest.raises(TargetUnavailable, match="_MSG_TIMED_OUT"):
        to_kafka(f"127.0.0.1:{closed_port}", "t", timeout=0.5, give_up=0.1, kafka={"log_level": 0}).run()


def test_keys_are_those_of_the_openlineage_client() -> None:
    """As openlineage-python makes them, for all kinds of events."""
    from openlineage.client import event_v2 as ol
    from openlineage.client.facet_v2 import parent_run
    from openlineage.client.transport.kafka import KafkaConfig, KafkaTransport

    transport = KafkaTransport(KafkaConfig(config={}, topic="t", flush=False))
    job = ol.Job(namespace="n", name="child")
    parent = parent_run.ParentRunFacet(
        run=parent_run.Run(runId="0197b7a0-0000-7000-8000-000000000001"),
        job=parent_run.Job(namespace="p", name="dag"),
    )
    root = parent_run.Root(
        run=parent_run.RootRun(runId="0197b7a0-0000-7000-8000-000000000001"),
        job=parent_run.RootJob(namespace="r", name="top"),
    )
    rooted = parent_run.ParentRunFacet(run=parent.run, job=parent.job, root=root)
    run_id, at = "0197b7a0-0000-7000-8000-000000000002", "2026-03-01T00:00:00Z"
    events = [
        ol.RunEvent(eventTime=at, run=ol.Run(run_id), job=job),
        ol.RunEvent(eventTime=at, run=ol.Run(run_id, facets={"parent": parent}), job=job),
        ol.RunEvent(eventTime=at, run=ol.Run(run_id, facets={"parent": rooted}), job=job),
        ol.JobEvent(eventTime=at, job=job),
        ol.DatasetEvent(eventTime=at, dataset=ol.StaticDataset(namespace="d", name="t")),
    ]
    from openlineage.client.serde import Serde

    for each in events:
        expected = transport._get_message_key(each)
        assert key_of(Serde.to_json(each).encode()) == (expected or "").encode()
    assert parse(b"[]") is not None
    assert key_of(b"[]") is None
