"""Offsets in the store: claims, compare-and-set, and what a fenced worker may still do (nothing)."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from lineagelog.errors import ClaimLost
from lineagelog.event.parse import parse
from lineagelog.store import Database, LogStore
from lineagelog.store.ledgers.kafka_offsets import (
    AdvancedBefore,
    Claim,
    KafkaOffsets,
    LostPlaces,
    Move,
    PartitionPlace,
    Start,
)
from tests.support import PATIENCE

from .conftest import count, event, letters, positions, rows

A, B = PartitionPlace("t", 0), PartitionPlace("t", 1)


def offsets_of(store: LogStore, owner: str) -> KafkaOffsets:
    return KafkaOffsets(store.database, "group", owner)


def claim_both(offsets: KafkaOffsets) -> dict[PartitionPlace, Claim]:
    return {claim.place: claim for claim in offsets.claim([Start(B, 7, 9, "id"), Start(A, 0, 5, "id")])}


def move(claim: Claim, after: int, before: int | None = None) -> Move:
    return Move(claim.place, claim.epoch, claim.next_offset if before is None else before, after)


def append(store: LogStore, offsets: KafkaOffsets, moves: list[Move], *bodies: bytes) -> None:
    def advance(connection: psycopg.Connection[Any]) -> None:
        offsets.advance(connection, moves)

    store.append([parse(body) for body in bodies], source="kafka", in_transaction=advance)


def test_claims_begin_and_go_on(store: LogStore) -> None:
    """The first claim begins where it is told, later ones where the offset is; each raises the epoch."""
    first = claim_both(offsets_of(store, "one"))
    assert [(c.epoch, c.next_offset, c.is_first) for c in (first[A], first[B])] == [(1, 0, True), (1, 7, True)]
    append(store, offsets_of(store, "one"), [move(first[A], 3)], event(0))
    second = claim_both(offsets_of(store, "two"))
    assert [(c.epoch, c.next_offset, c.is_first) for c in (second[A], second[B])] == [(2, 3, False), (2, 7, False)]
    assert [(row.owner, row.lag) for row in rows(store)] == [("two", 2), ("two", 2)]


def test_a_fenced_worker_stores_nothing(store: LogStore) -> None:
    """Neither events, nor dead letters, nor the offset of a partition that it still has; the error names the other."""
    one, two = offsets_of(store, "one"), offsets_of(store, "two")
    mine = claim_both(one)
    two.claim([Start(A, 0, 5, "id")])
    with pytest.raises(LostPlaces, match=r"t/0 \(now two\)") as raised:
        append(store, one, [move(mine[A], 2), move(mine[B], 8)], event(0), b"{")
    assert raised.value.places == (A,)
    assert (count(store), letters(store), positions(store)) == (0, [], {0: 0, 1: 7})
    append(store, one, [move(mine[B], 8)], event(0))
    assert positions(store) == {0: 0, 1: 8}


def test_an_offset_moves_from_where_it_was_left(store: LogStore) -> None:
    """A batch that does not follow the one before is not stored, though the claim is good."""
    offsets = offsets_of(store, "one")
    mine = claim_both(offsets)
    with pytest.raises(ClaimLost):
        append(store, offsets, [move(mine[A], 4, before=2)], event(0))
    assert (count(store), positions(store)[0]) == (0, 0)


def test_a_commit_whose_answer_was_lost(store: LogStore) -> None:
    """The same batch again, under the same claim, is known to be stored: nothing is counted twice."""
    offsets = offsets_of(store, "one")
    mine = claim_both(offsets)
    moves = [move(mine[A], 2), move(mine[B], 9)]
    append(store, offsets, moves, event(0), b"{")
    with pytest.raises(AdvancedBefore):
        append(store, offsets, moves, event(0), b"{")
    assert letters(store)[0][3] == 1
    with pytest.raises(ClaimLost):  # half of it is no such case
        append(store, offsets, [moves[0], move(mine[B], 10)], event(1))


def test_a_row_that_was_deleted(store: LogStore) -> None:
    """To read again an operator deletes the rows: who reads meanwhile loses the claim, and a new claim begins anew."""
    offsets = offsets_of(store, "one")
    mine = claim_both(offsets)
    append(store, offsets, [move(mine[A], 2)], event(0))
    with store.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM openlineage.ol_kafka_offset")
    with pytest.raises(LostPlaces, match="now nobody"):
        append(store, offsets, [move(mine[A], 4, before=2)], event(1))
    assert claim_both(offsets)[A].next_offset == 0


def test_restart_is_the_owners(store: LogStore) -> None:
    """Only who holds the claim puts a partition elsewhere."""
    one, two = offsets_of(store, "one"), offsets_of(store, "two")
    mine = claim_both(one)
    one.restart(mine[A], 40, "other id")
    assert positions(store)[0] == 40
    again = claim_both(two)
    assert (again[A].topic_id, again[B].topic_id) == ("other id", "id")
    with pytest.raises(ClaimLost):
        one.restart(mine[B], 50, None)


def test_telling_does_not_move_anything(store: LogStore) -> None:
    """The sign of life sets the end and the time; of a partition that another has claimed it sets nothing."""
    one, two = offsets_of(store, "one"), offsets_of(store, "two")
    mine = claim_both(one)
    two.claim([Start(A, 0, 5, "id")])
    one.tell({place: claim.epoch for place, claim in mine.items()}, {A: 100, B: 100})
    assert [(row.next_offset, row.end_offset) for row in rows(store)] == [(0, 5), (7, 100)]


def test_claims_wait_for_a_transaction_on_its_way(store: LogStore) -> None:
    """A claim made while the owner is committing sees where the owner got, or the owner is fenced: never both."""
    one, two = offsets_of(store, "one"), offsets_of(store, "two")
    mine = claim_both(one)
    claimed: list[Claim] = []

    def in_transaction(connection: psycopg.Connection[Any]) -> None:
        one.advance(connection, [move(mine[A], 3)])
        thread.start()
        thread.join(0.5)
        assert claimed == []  # it waits for us

    thread = threading.Thread(target=lambda: claimed.extend(two.claim([Start(A, 0, 5, "id")])))
    store.append([parse(event(0))], in_transaction=in_transaction)
    thread.join(PATIENCE)
    assert [(claim.epoch, claim.next_offset) for claim in claimed] == [(2, 3)]


def test_workers_that_fight_for_a_partition(store: LogStore) -> None:
    """Many claim and move the same partition at once: each offset is stored by one of them, none is left out."""
    end = 120

    def work(number: int) -> None:
        offsets = offsets_of(store, f"worker {number}")
        while True:
            (claim,) = offsets.claim([Start(A, 0, end, "id")])
            at = claim.next_offset
            try:
                for _ in range(3):
                    if at == end:
                        return
                    append(store, offsets, [Move(A, claim.epoch, at, at + 1)], event(at), b"{%d" % at)
                    at += 1
            except ClaimLost:
                pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert count(store) == end
    assert [letter[3] for letter in letters(store)] == [1] * end
    assert positions(store) == {0: end}


def test_schema_names_are_quoted(database_url: str) -> None:
    """A schema may be called what a driver takes for a placeholder."""
    from lineagelog.store import open_engine

    engine = open_engine(database_url)
    store = LogStore(Database(engine, "100% %s"))
    store.create()
    offsets = offsets_of(store, "one")
    mine = claim_both(offsets)
    append(store, offsets, [move(mine[A], 3)], event(0))
    assert offsets.positions() == {A: 3, B: 7}
    assert [row.next_offset for row in rows(store)] == [3, 7]
    engine.dispose()
