"""A worker while its topics change under it, and records that only other clients can make."""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from lineagelog.store import LogStore
from tests.support import PATIENCE, wait_until

from .conftest import (
    QUICK,
    Topic,
    consume_all,
    consuming,
    count,
    event,
    letters,
    positions,
    prove_exactly_once,
)


def send_with_header(topic: Topic, name: bytes, value: bytes) -> None:
    """Produce a record of partition 0 with a header of any name, as clients in C and Go can."""
    found = find_spec("confluent_kafka")
    assert found is not None
    assert found.origin is not None
    (library,) = (Path(found.origin).parents[1] / "confluent_kafka.libs").glob("librdkafka-*")
    kafka = ctypes.CDLL(str(library))
    pointer, size, problem = ctypes.c_void_p, ctypes.c_size_t, ctypes.create_string_buffer(512)
    for function in (kafka.rd_kafka_conf_new, kafka.rd_kafka_new):
        function.restype = pointer
    settings = pointer(kafka.rd_kafka_conf_new())
    brokers = topic.broker.servers.encode()
    assert kafka.rd_kafka_conf_set(settings, b"bootstrap.servers", brokers, problem, size(512)) == 0
    producer = pointer(kafka.rd_kafka_new(0, settings, problem, size(512)))
    place = (1, topic.name.encode(), 3, ctypes.c_int32(0))
    record = (4, value, size(len(value)), 9, name, b"x", size(1), 7, 2)
    assert kafka.rd_kafka_producev(producer, *place, *record, 0) == 0
    assert kafka.rd_kafka_flush(producer, 20_000) == 0
    kafka.rd_kafka_destroy(producer)  # ends its threads


def test_a_header_whose_name_is_no_text(topic: Topic, store: LogStore) -> None:
    """The client cannot give such headers; the event is stored all the same, and what follows it."""
    for number in range(20):
        send_with_header(topic, b"\xff\xfe", event(number))
    send_with_header(topic, b"content-encoding", event(20))
    topic.send([event(21)], partition=0)
    consume_all(store, topic)
    prove_exactly_once(store, topic, 22, 0)


def test_partitions_are_added(topic: Topic, store: LogStore) -> None:
    """Records of a new partition are read from its first on, though they came before the worker knew of it."""
    admin = AdminClient({"bootstrap.servers": topic.broker.servers})
    with consuming(store, topic, kafka=QUICK | {"topic.metadata.refresh.interval.ms": 1000}) as running:
        wait_until(lambda: len(running.worker.metrics.lags) == 3)
        admin.create_partitions([NewPartitions(topic.name, 5)])[topic.name].result(PATIENCE)
        wait_until(lambda: len(admin.list_topics(topic.name, timeout=10).topics[topic.name].partitions) == 5)
        topic.send((event(number) for number in range(10)), partition=4)
        wait_until(lambda: len(running.worker.metrics.lags) == 5)
        topic.send((event(number) for number in range(10, 20)), partition=4)
        wait_until(lambda: positions(store).get(4) == 20)
    assert letters(store) == []
    assert count(store) == 20


@pytest.mark.long
def test_a_topic_that_is_made_anew_meanwhile(topic: Topic, store: LogStore) -> None:
    """Nobody restarts the worker: all of the new topic is read, though it soon holds more than the old one did."""
    admin = AdminClient({"bootstrap.servers": topic.broker.servers})
    topic.send((event(number) for number in range(5)), partition=0)
    with consuming(store, topic) as running:
        wait_until(lambda: count(store) == 5)
        admin.delete_topics([topic.name])[topic.name].result(PATIENCE)
        wait_until(lambda: topic.name not in admin.list_topics(timeout=10).topics)
        admin.create_topics([NewTopic(topic.name, 3)])[topic.name].result(PATIENCE)
        wait_until(lambda: len(admin.list_topics(topic.name, timeout=10).topics[topic.name].partitions) == 3)
        topic.send((event(number) for number in range(10, 30)), partition=0)
        wait_until(lambda: count(store) == 25)
        assert running.worker.metrics.dead == 0
    prove_exactly_once(store, topic, 25, 0)
