"""The digest is a function of the set of events: any order, batching, duplication and number of writers."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from lineagelog.event import sightings
from lineagelog.event.model import Event
from lineagelog.event.parse import parse
from lineagelog.store.append import writer
from lineagelog.store.append.digest import Digest
from lineagelog.store.append.log import LogStore
from lineagelog.store.upkeep.verify import Verifier

from .contents import digest_of, empty, expected_of, keys_of
from .generated import events as generated_events

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@pytest.fixture
def schema_name() -> str:
    return "a store"


def batches(items: Sequence[Event], sizes: random.Random) -> Iterator[list[Event]]:
    rest = list(items)
    while rest:
        size = sizes.choice((1, 1, 2, 5, len(rest)))
        yield rest[:size]
        del rest[:size]


@given(bodies=st.lists(generated_events, min_size=1, max_size=14), seed=st.integers(0, 2**32))
def test_digest_is_a_function_of_the_set_of_events(store: LogStore, bodies: list[bytes], seed: int) -> None:
    """Shuffled, repeated and cut into batches at random, the stored digest is that of the set."""
    empty(store)
    chance = random.Random(seed)
    accepted = [event for event in map(parse, bodies) if isinstance(event, Event)]
    delivered = accepted + chance.choices(accepted, k=len(accepted) // 2)
    chance.shuffle(delivered)

    appended = [store.append(batch) for batch in batches(delivered, chance)]

    distinct = {event.key: event for event in accepted}
    assert sum(result.stored for result in appended) == len(distinct)
    assert sum(result.duplicate for result in appended) == len(delivered) - len(distinct)
    assert keys_of(store) == sorted(distinct)
    assert digest_of(store) == expected_of(Digest.of(distinct.values()))


@given(bodies=st.lists(generated_events, min_size=4, max_size=24), seed=st.integers(0, 2**32))
def test_concurrent_writers_give_the_same_digest(store: LogStore, bodies: list[bytes], seed: int) -> None:
    """Four writers at once, the events split and partly given to several of them."""
    empty(store)
    chance = random.Random(seed)
    accepted = [event for event in map(parse, bodies) if isinstance(event, Event)]
    shares = [[event for event in accepted if chance.random() < 0.5] for _ in range(3)]
    shares.append([event for event in accepted if not any(event in share for share in shares)])

    def write(share: list[Event]) -> int:
        own = random.Random(len(share))
        own.shuffle(share)
        return sum(store.append(batch).stored for batch in batches(share, own))

    with ThreadPoolExecutor(4) as pool:
        stored = sum(pool.map(write, shares))

    distinct = {event.key: event for event in accepted}
    assert stored == len(distinct)
    assert digest_of(store) == expected_of(Digest.of(distinct.values()))


@given(bodies=st.lists(generated_events, min_size=1, max_size=12), seed=st.integers(0, 2**32))
def test_what_is_left_out_of_the_digest_is_left_out_of_a_rebuild(
    store: LogStore, monkeypatch: pytest.MonkeyPatch, bodies: list[bytes], seed: int
) -> None:
    """The limits of what an event brings to the digest are a rule of its own: the stored event gives the same again."""
    monkeypatch.setattr(sightings, "MAX_DATASETS", 2)
    monkeypatch.setattr(sightings, "MAX_RESULTS", 1)
    empty(store)
    chance = random.Random(seed)
    accepted = [event for event in map(parse, bodies) if isinstance(event, Event)]
    chance.shuffle(accepted)
    for batch in batches(accepted, chance):
        store.append(batch)
    assert list(Verifier(store).verify()) == []
    assert all(len(event.datasets) <= 2 and len(event.assertions) <= 1 for event in accepted)
    before = digest_of(store)
    with store.engine.begin() as connection:
        connection.execute(text(f"DELETE FROM {store.schema.table('ol_run_dataset')}"))
    list(Verifier(store).rebuild())
    assert digest_of(store) == before


@given(bodies=st.lists(generated_events, min_size=1, max_size=12), seed=st.integers(0, 2**32))
def test_copy_path_is_the_insert_path(store: LogStore, bodies: list[bytes], seed: int) -> None:
    """Large batches go by COPY, with known events among the new ones or not; nothing else differs."""
    empty(store)
    chance = random.Random(seed)
    accepted = [event for event in map(parse, bodies) if isinstance(event, Event)]
    before = chance.sample(accepted, len(accepted) // 3)
    threshold, writer.COPY_FROM = writer.COPY_FROM, 1
    try:
        store.append(before)
        store.append(accepted)
        again = store.append(accepted)
    finally:
        writer.COPY_FROM = threshold

    distinct = {event.key: event for event in accepted}
    assert again.stored == 0
    assert keys_of(store) == sorted(distinct)
    assert digest_of(store) == expected_of(Digest.of(distinct.values()))


@given(bodies=st.lists(generated_events, min_size=1, max_size=12), damage=st.integers(0, 2**32))
def test_rebuild_gives_the_incremental_digest(store: LogStore, bodies: list[bytes], damage: int) -> None:
    """After any damage to the digest tables, verify names it and rebuild puts back what appending gave."""
    empty(store)
    store.append([parse(body) for body in bodies])
    before = digest_of(store)
    assert list(Verifier(store).verify()) == []

    table, key = random.Random(damage).choice(
        [
            *(("ol_run", "run_key"), ("ol_run_dataset", "run_dataset_key"), ("ol_assertion", "assertion_key")),
            *(("ol_job", "job_key"), ("ol_dataset", "dataset_key"), ("ol_dataset_name", "dataset_name_key")),
        ]
    )
    with store.engine.begin() as connection:
        name = store.schema.table(table)
        gone = connection.execute(text(f"DELETE FROM {name} WHERE {key} = (SELECT min({key}::text)::uuid FROM {name})"))
        connection.execute(text(f"UPDATE {store.schema.table('ol_run')} SET status = 'OTHER', start_time = now()"))

    found = list(Verifier(store).verify())
    assert len(found) >= gone.rowcount
    rebuilt = list(Verifier(store).rebuild())
    assert [str(difference) for difference in rebuilt] == [str(difference) for difference in found]
    assert digest_of(store) == before
    assert list(Verifier(store).verify()) == []


@given(bodies=st.lists(generated_events, min_size=2, max_size=14), seed=st.integers(0, 2**32), is_copied=st.booleans())
def test_arrival_follows_the_order_in_which_events_are_given(
    store: LogStore, monkeypatch: pytest.MonkeyPatch, bodies: list[bytes], seed: int, is_copied: bool
) -> None:
    """Within a batch too, by INSERT and by COPY, with events that are stored already among them."""
    empty(store)
    chance = random.Random(seed)
    accepted = [event for event in map(parse, bodies) if isinstance(event, Event)]
    chance.shuffle(accepted)
    order = {event.key: place for place, event in enumerate(reversed(accepted))}
    distinct = sorted(order, key=order.__getitem__)
    by_key = {event.key: event for event in accepted}
    before, after = distinct[: len(distinct) // 3], distinct[len(distinct) // 3 :]

    with monkeypatch.context() as patch:
        patch.setattr(writer, "COPY_FROM", 1 if is_copied else 1000)
        store.append([by_key[key] for key in before])
        store.append([by_key[key] for key in chance.sample(before, len(before) // 2) + after])

    with store.engine.connect() as connection:
        table = store.schema.table("ol_event")
        rows = connection.execute(text(f"SELECT event_hash FROM {table} ORDER BY arrival_xid, arrival")).all()
    assert [bytes(row[0]) for row in rows] == [key[3] for key in before + after]
