"""What a consumer does with records, and where it keeps how far it is."""

from __future__ import annotations

import gzip
import json
import uuid

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from structlog.testing import capture_logs

from lineagelog.event.parse import parse
from lineagelog.kafka.options import ConsumerOptions
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
    poison,
    positions,
    prove_exactly_once,
    rows,
    run_worker,
)


@pytest.mark.long
def test_events_and_offsets_are_stored_together(topic: Topic, store: LogStore) -> None:
    """Every event of every partition is stored once; the offsets in the store are the ends; Kafka is told, too."""
    topic.send(event(number) for number in range(2000))
    metrics = consume_all(store, topic).metrics
    assert (metrics.read, metrics.stored, metrics.records, metrics.dead) == (2000, 2000, 2000, 0)
    prove_exactly_once(store, topic, 2000, 0)
    assert topic.committed() == topic.ends() == positions(store)
    assert {row.lag for row in rows(store)} == {0}


def test_a_second_run_reads_on_from_postgresql(topic: Topic, store: LogStore) -> None:
    """What was stored is not read again, whatever Kafka was told: only the new records are."""
    topic.send([event(0), event(1), poison(0)], partition=0)
    consume_all(store, topic)
    topic.send([event(2), poison(1)], partition=0)
    metrics = consume_all(store, topic).metrics
    assert (metrics.records, metrics.stored, metrics.duplicate, metrics.dead) == (2, 1, 0, 1)
    prove_exactly_once(store, topic, 3, 2)
    assert {row.owner_epoch for row in rows(store)} == {2}


def test_another_store_reads_everything(topic: Topic, store: LogStore) -> None:
    """A store that knows nothing of the group begins at the start, though Kafka has the group at the end."""
    topic.send([event(0), event(1)], partition=0)
    consume_all(store, topic)
    with store.engine.begin() as connection:
        connection.exec_driver_sql("TRUNCATE openlineage.ol_event, openlineage.ol_run, openlineage.ol_run_dataset")
        connection.exec_driver_sql("DELETE FROM openlineage.ol_kafka_offset")
    store.forget()
    assert topic.committed() == {0: 2}
    assert consume_all(store, topic).metrics.stored == 2


def test_poison_becomes_dead_letters_and_the_partition_goes_on(topic: Topic, store: LogStore) -> None:
    """What is no event is kept with topic, partition and offset; what comes after it is stored."""
    topic.send([event(0), b"{", event(1), b"", b"\xff\xfe{", event(2)], partition=1)
    metrics = consume_all(store, topic).metrics
    assert (metrics.stored, metrics.dead, sum(metrics.reasons.values())) == (3, 3, 3)
    assert [(source, position, times) for _, source, position, times in letters(store)] == [
        ("kafka", f"{topic.name}/1/{offset}", 1) for offset in (1, 3, 4)
    ]
    assert positions(store)[1] == 6


def test_tombstones_are_passed_over_and_counted(topic: Topic, store: LogStore) -> None:
    """A record without a value is no event and no dead letter; the offset moves over it."""
    topic.send([None, event(0), None, None], partition=2)
    metrics = consume_all(store, topic).metrics
    assert (metrics.records, metrics.tombstones, metrics.read, metrics.dead) == (4, 3, 1, 0)
    assert positions(store)[2] == 4


def test_batches_in_a_record_are_taken_apart(topic: Topic, store: LogStore) -> None:
    """An array, an object of events and NDJSON are their events; a bad member is told with its place in the record."""
    array = b"[" + b",".join((event(0), b'{"a": 1}', event(1))) + b"]"
    envelope = json.dumps({"events": [json.loads(event(2)), json.loads(event(3))]}).encode()
    lines = b"\n".join((event(4), event(5)))
    topic.send([array, envelope, lines], partition=0)
    metrics = consume_all(store, topic).metrics
    assert (metrics.records, metrics.read, metrics.stored, metrics.dead) == (3, 7, 6, 1)
    assert [position for *_, position, _ in letters(store)] == [f"{topic.name}/0/0[1]"]
    assert positions(store)[0] == 3


def test_compressed_values(topic: Topic, store: LogStore) -> None:
    """gzip is inflated, with the header and without; a header that lies about plain JSON does no harm."""
    header = {"headers": {"content-encoding": b"gzip", "ce_type": b"x"}}
    topic.send([gzip.compress(event(0)), event(1)], partition=0, **header)
    topic.send([gzip.compress(event(2))], partition=0)
    topic.send([gzip.compress(event(3))[:-9], b"\x1f\x8b"], partition=0)
    topic.send([b"(\xb5/\xfd zstd"], partition=0, headers={"Content-Encoding": b"zstd"})
    topic.send([event(4)], partition=0, headers={"x": None, "content-encoding": b"identity"})
    metrics = consume_all(store, topic).metrics
    assert (metrics.stored, dict(metrics.reasons)) == (4, {"bad_encoding": 3})


def test_compressed_topics_and_transactions(topic: Topic, store: LogStore) -> None:
    """Marks of transactions take offsets without records: the end is reached; what was aborted is not read."""
    settings = {"bootstrap.servers": topic.broker.servers, "transactional.id": topic.name, "compression.type": "zstd"}
    producer = Producer(settings)
    producer.init_transactions(30)
    for number, is_kept in enumerate((True, False, True)):
        producer.begin_transaction()
        for member in range(10):
            producer.produce(topic.name, event(number * 10 + member), partition=0)
        producer.flush(PATIENCE)
        producer.commit_transaction(30) if is_kept else producer.abort_transaction(30)
    metrics = consume_all(store, topic).metrics
    assert (metrics.records, metrics.stored) == (20, 20)
    prove_exactly_once(store, topic, 20, 0)
    assert positions(store)[0] == 33


def test_a_record_that_is_too_large(topic: Topic, store: LogStore) -> None:
    """An event beyond the limit of one event is refused by the door; its identity and start are kept."""
    topic.send([event(0), event(1, padding="x" * 100_000), event(2)], partition=0)
    consume_all(store, topic, max_event=50_000)
    assert [letter[0] for letter in letters(store)] == ["too_large"]
    assert count(store) == 2


def test_the_same_event_from_a_file_is_one_row(topic: Topic, store: LogStore) -> None:
    """Channels are alike: what came by file counts as duplicate from Kafka, other spelling included."""
    store.append([parse(event(0))])
    topic.send([json.dumps(json.loads(event(0)), indent=2).encode(), event(1)], partition=0)
    metrics = consume_all(store, topic).metrics
    assert (metrics.stored, metrics.duplicate) == (1, 1)
    assert count(store) == 2


def test_several_topics(topic: Topic, store: LogStore) -> None:
    """One consumer reads several topics, each with offsets of its own."""
    other = Topic(topic.broker, topic.broker.topic(1))
    topic.send([event(0)], partition=0)
    other.send([event(1)], partition=0)
    options = ConsumerOptions(brokers=topic.broker.servers, topics=(topic.name, other.name), kafka=QUICK)
    assert run_worker(store, options).metrics.stored == 2
    assert {(row.topic, row.next_offset) for row in rows(store) if row.next_offset} == {
        (topic.name, 1),
        (other.name, 1),
    }


def test_latest_begins_at_the_end_once(topic: Topic, store: LogStore) -> None:
    """offset_reset = latest passes over what was there before the first claim, and nothing after it."""
    topic.send([event(0), event(1)], partition=0)
    assert consume_all(store, topic, offset_reset="latest").metrics.read == 0
    topic.send([event(2)], partition=0)
    assert consume_all(store, topic, offset_reset="latest").metrics.stored == 1
    assert positions(store)[0] == 3


@pytest.mark.parametrize(("policy", "expected"), [("earliest", 2), ("latest", 0)])
def test_records_that_retention_has_deleted(topic: Topic, store: LogStore, policy: str, expected: int) -> None:
    """Reading goes on where the policy says; the gap is logged as an error and counted."""
    topic.send([event(0)], partition=0)
    consume_all(store, topic)
    topic.send((event(number) for number in range(1, 10)), partition=0)
    admin = AdminClient({"bootstrap.servers": topic.broker.servers})
    (deleted,) = admin.delete_records([TopicPartition(topic.name, 0, 8)]).values()
    assert deleted.result(PATIENCE).low_watermark == 8
    with capture_logs() as logs:
        metrics = consume_all(store, topic, offset_reset=policy).metrics
    (gap,) = [line for line in logs if line["log_level"] == "error"]
    assert (gap["next_offset"], gap["low"], gap["lost"], gap["partition"]) == (1, 8, 9 - expected, f"{topic.name}/0")
    assert (metrics.stored, metrics.skipped) == (expected, 9 - expected)
    assert positions(store)[0] == 10


def test_a_topic_that_was_made_anew(topic: Topic, store: LogStore) -> None:
    """A topic of the same name but another id is read from its start, though it holds more than the old one did."""
    topic.send((event(number) for number in range(5)), partition=0)
    consume_all(store, topic)
    admin = AdminClient({"bootstrap.servers": topic.broker.servers})
    admin.delete_topics([topic.name])[topic.name].result(PATIENCE)
    wait_until(lambda: topic.name not in admin.list_topics(timeout=10).topics)
    admin.create_topics([NewTopic(topic.name, 3)])[topic.name].result(PATIENCE)
    wait_until(lambda: len(admin.list_topics(topic.name, timeout=10).topics[topic.name].partitions) == 3)
    topic.send((event(number) for number in range(10, 20)), partition=0)
    with capture_logs() as logs:
        metrics = consume_all(store, topic).metrics
    assert metrics.stored == 10
    assert [line["event"] for line in logs if line["log_level"] == "warning"] == [
        "the topic was made anew: beginning at its start"
    ] * 3
    assert positions(store)[0] == 10


def test_small_batches_do_not_wait(topic: Topic, store: LogStore) -> None:
    """An event alone is stored soon: the linger bounds the wait for company."""
    with consuming(store, topic) as running:
        wait_until(lambda: len(running.worker.metrics.lags) == 3)
        for number in range(3):
            topic.send([event(number)])
            wait_until(lambda number=number: count(store) == number + 1)  # type: ignore[misc]
    assert running.worker.metrics.batches == 3


def test_batches_are_bounded(topic: Topic, store: LogStore) -> None:
    """By number of events and by bytes."""
    topic.send((event(number, padding="x" * 1000) for number in range(100)), partition=0)
    assert consume_all(store, topic, batch=10).metrics.batches >= 10
    assert consume_all(store, topic, batch_size=5000, group=str(uuid.uuid4())).metrics.batches >= 20
