"""Order of arrival: nothing is skipped, whatever the transactions do, and nobody waits for anybody else's."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import text

from lineagelog.errors import StoreError, TargetBusy
from lineagelog.event.parse import parse
from lineagelog.forward import Forwarder, open_sender
from lineagelog.store import LogStore
from lineagelog.store.ledgers.forwarding import START, Forwarding, Position, Selection
from tests.support import PATIENCE, wait_until

from .conftest import count, event, following, quick_target, store_all
from .receiver import receiving

if TYPE_CHECKING:
    type Make = Callable[..., Forwarder]

WRITERS, EVENTS = 20, 30


def hold_open(seconds: float) -> Callable[[psycopg.Connection[Any]], None]:
    """Keep a transaction open after its events were inserted."""
    return lambda _: time.sleep(seconds)


def write_slowly(log: LogStore, writer: int, seed: int, committed: list[str]) -> None:
    """Store events, each transaction held open for a random time before its commit."""
    chance = random.Random(f"{seed}/{writer}")
    for number in range(writer * EVENTS, (writer + 1) * EVENTS):
        body = event(number, eventTime=f"2026-03-{chance.randint(1, 28):02}T00:00:00Z")
        log.append([parse(body)], in_transaction=hold_open(chance.choice((0, 0, 0.01, 0.05, 0.3))))
        committed.append(f"run-{number}")


@pytest.mark.long
def test_twenty_writers_that_commit_out_of_order(log: LogStore, other: LogStore, forwarder: Make) -> None:
    """The forwarder runs all the while, and every event arrives, once."""
    committed: list[str] = []
    threads = [threading.Thread(target=write_slowly, args=(log, number, 7, committed)) for number in range(WRITERS)]
    with receiving(other) as receiver:
        follower = forwarder(receiver.url, batch_size=10)
        with following(follower):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            wait_until(lambda: follower.sent.delivered >= WRITERS * EVENTS)
    assert follower.sent.delivered == WRITERS * EVENTS
    assert count(other) == WRITERS * EVENTS
    assert max(Counter(receiver.stored).values()) == 1
    assert overtaken(log, committed) > 50, "the test must see transactions that were overtaken"


def overtaken(log: LogStore, committed: list[str]) -> int:
    """Events that were committed after one that arrived later: what a cursor on the number alone would skip."""
    with log.engine.connect() as connection:
        rows = connection.execute(text("SELECT run_id, arrival FROM openlineage.ol_event")).all()
    arrival = {row.run_id: row.arrival for row in rows}
    highest = list(itertools.accumulate((arrival[run_id] for run_id in committed), max))
    return sum(arrival[run_id] < before for run_id, before in zip(committed[1:], highest, strict=False))


def test_event_of_a_slow_transaction_comes_after_it_committed(log: LogStore, forwarding: Forwarding) -> None:
    """While an older transaction is open, later events wait; once it has ended all come, in order of transactions."""
    inserted, release = threading.Event(), threading.Event()

    def wait(_: psycopg.Connection[Any]) -> None:
        inserted.set()
        release.wait(PATIENCE)

    store_all(log, [event(0)])
    slow = threading.Thread(target=lambda: log.append([parse(event(1))], in_transaction=wait))
    slow.start()
    assert inserted.wait(PATIENCE)
    store_all(log, [event(2)])

    def runs(after: Position = START) -> list[str]:
        page = forwarding.page(after, Selection(), limit=100, max_bytes=10**6)
        return [each.run_id for each in page.events]

    try:
        assert runs() == ["run-0"]
        lag = forwarding.lag(START)
        assert (lag.events, lag.held_back) == (2, 1)
        assert lag.holder is not None
        assert "lineagelog" in lag.holder
    finally:
        release.set()
        slow.join()
    assert runs() == ["run-0", "run-1", "run-2"]
    assert forwarding.lag(forwarding.end()).events == 0


def test_pages_end_at_their_limits(log: LogStore, forwarding: Forwarding) -> None:
    """By number or by size; the next page goes on behind."""
    for number in range(7):
        store_all(log, [event(number)])
    seen, after = [], START
    while (page := forwarding.page(after, Selection(), limit=3, max_bytes=10**6)).events:
        seen.append(len(page.events))
        after = page.events[-1].position
    assert seen == [3, 3, 1]
    one = forwarding.page(START, Selection(), limit=3, max_bytes=1)
    assert len(one.events) == 1
    assert not one.is_last


def test_page_is_an_index_scan(log: LogStore, forwarding: Forwarding) -> None:
    """Reading on costs the same in a large log: no sort, no sequential scan."""
    store_all(log, [event(number) for number in range(2000)])
    query = (
        "EXPLAIN SELECT * FROM openlineage.ol_event WHERE (arrival_xid, arrival) > ('3'::xid8, 500) "
        "AND arrival_xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY arrival_xid, arrival LIMIT 100"
    )
    with log.engine.connect() as connection:
        connection.execute(text("ANALYZE openlineage.ol_event"))
        plan = "\n".join(connection.execute(text(query)).scalars())
    assert "arrival_xid_arrival_idx" in plan
    assert "Merge Append" in plan
    assert "->  Sort" not in plan
    assert "ROW(arrival_xid, arrival)" in plan


def test_one_forwarder_per_target(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """A second one is told so; another target is free."""
    with receiving() as receiver, forwarding.lease("other"):
        with pytest.raises(TargetBusy, match="another process forwards to 'other'"):
            forwarder(receiver.url).run()
        assert forwarder(receiver.url, name="third").run().delivered == 0
        assert [row.is_running for row in forwarding.cursors()] == [False]
    with receiving() as receiver:
        forwarder(receiver.url).run()


def test_start_now_leaves_history_out(log: LogStore, forwarder: Make) -> None:
    """A target with start = now gets what arrives after its first forward."""
    store_all(log, [event(1)])
    with receiving() as receiver:
        assert forwarder(receiver.url, start="now").run().delivered == 0
        store_all(log, [event(2)])
        assert forwarder(receiver.url, start="now").run().delivered == 1


def test_events_of_one_run_stay_in_order(log: LogStore, forwarder: Make) -> None:
    """Several requests are in flight, yet no run's events overtake each other."""
    times = [f"2026-03-01T00:{number // 60:02}:{number % 60:02}Z" for number in range(300)]
    store_all(log, [event(number % 5, eventTime=time_) for number, time_ in enumerate(times)])
    with receiving() as receiver:
        forwarder(receiver.url, batch="never", in_flight=4).run()
    arrived: dict[str, list[str]] = {}
    for body in receiver.stored:
        parsed: Any = parse(body)
        arrived.setdefault(parsed.run_id, []).append(parsed.event_time.isoformat())
    assert len(receiver.stored) == 300
    assert all(seen == sorted(seen) for seen in arrived.values())


def test_store_of_another_cluster_is_rebased(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """A restored store has transaction ids from the future: forwarding says what to do, and then goes on."""
    store_all(log, [event(number) for number in range(3)])
    with receiving() as receiver:
        forwarder(receiver.url).run()
        with log.engine.begin() as connection:  # as pg_dump and pg_restore would leave it, two events not forwarded
            connection.execute(text("UPDATE openlineage.ol_event SET arrival_xid = '900000000'::xid8"))
            connection.execute(
                text("UPDATE openlineage.ol_forward_cursor SET arrival_xid = '900000000'::xid8, arrival = 1")
            )
        store_all(log, [event(3)])
        with pytest.raises(StoreError, match="forward rebase"):
            forwarder(receiver.url).run()
        assert forwarding.rebase() == 4
        assert forwarder(receiver.url).run().delivered == 3
        store_all(log, [event(4)])
        assert forwarder(receiver.url).run().delivered == 1


@pytest.mark.long
def test_followers_take_turns(log: LogStore, other: LogStore, forwarding: Forwarding) -> None:
    """A second follower of the same target waits, and goes on where the first one ended."""
    with receiving(other) as receiver:
        target = quick_target(receiver.url)
        first, second = (Forwarder(forwarding, target, open_sender) for _ in range(2))
        with following(first):
            store_all(log, [event(1)])
            wait_until(lambda: first.sent.delivered == 1)
            with following(second):
                wait_until(lambda: second.sent.problem is not None)
                first.stop.set()
                store_all(log, [event(2)])
                wait_until(lambda: second.sent.delivered == 1 or first.sent.delivered == 2)
                store_all(log, [event(3)])
                wait_until(lambda: first.sent.delivered + second.sent.delivered == 3)
    assert second.sent.delivered >= 1
    assert count(other) == 3
    assert receiver.duplicates == 0
