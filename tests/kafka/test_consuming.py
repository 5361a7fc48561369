"""What a consumer does with records, and where it keeps how far it is."""

from __future__ import annotations


from lineagelog.store import LogStore

from .conftest import Topic, consume_all, event, letters, positions, prove_exactly_once, rows


def test_events_and_offsets_are_stored_together(topic: Topic, store: LogStore) -> None:
    """Every event of every partition is stored once; the offsets in the store are the ends; Kafka is told, too."""
    topic.send(event(number) for number in range(2000))
    figures = consume_all(store, topic).figures
    assert (figures.read, figures.stored, figures.records, figures.dead) == (2000, 2000, 2000, 0)
    prove_exactly_once(store, topic, 2000, 0)
    assert topic.committed() == topic.ends() == positions(store)
    assert {row.lag for row in rows(store)} == {0}


def test_poison_becomes_dead_letters_and_the_partition_goes_on(topic: Topic, store: LogStore) -> None:
    """What is no event is kept with topic, partition and offset; what comes after it is stored."""
    topic.send([event(0), b"{", event(1), b"", b"\xff\xfe{", event(2)], partition=1)
    figures = consume_all(store, topic).figures
    assert (figures.stored, figures.dead, dict(figures.reasons)) == (3, 3, {"not_json": 2, "not_utf8": 1})
    assert [(source, position) for _, source, position, _ in letters(store)] == [
        ("kafka", f"{topic.name}/1/{offset}") for offset in (1, 3, 4)
    ]
    assert positions(store)[1] == 6
