"""The database goes away, refuses writes, the server is stopped or killed: nothing acknowledged is lost."""

from __future__ import annotations

import http.client
import json
import random
import signal
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
import pytest

from lineagelog.event.parse import parse
from lineagelog.intake import GroupCommit, Submission
from lineagelog.server import HttpServer, create_app
from lineagelog.store import Database, LogStore, LogStoreSchema, Verifier, open_engine
from tests.support import PATIENCE, connect, join, wait_until

from .client import BATCH, LINEAGE, count, encoded, event, request, rows
from .process import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .conftest import Serve


class Senders:
    """Clients that post events one by one as fast as they can, and note which were acknowledged."""

    def __init__(self, url: str, number: int = 4) -> None:
        self.acknowledged: set[str] = set()
        self.sent: set[str] = set()
        self.statuses: set[int] = set()
        self._address = urlsplit(url).netloc
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._send, args=(n,)) for n in range(number)]
        for thread in self._threads:
            thread.start()

    def _send(self, sender: int) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=PATIENCE)
        number = 0
        while not self._stop.is_set():
            run_id = f"sender-{sender}-{number}"
            number += 1
            self.sent.add(run_id)
            try:
                connection.request("POST", LINEAGE, encoded(number, run={"runId": run_id}))
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                self._stop.wait(0.01)
                continue
            self.statuses.add(answer.status)
            if answer.status == 201:
                self.acknowledged.add(run_id)
        connection.close()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)


def stored_runs(store: LogStore) -> dict[str, int]:
    return dict(rows(store, "SELECT run_id, count(*) FROM {ol_event} GROUP BY run_id"))


@pytest.fixture
def switch(store: LogStore, postgres_admin: psycopg.Connection) -> Iterator[object]:
    """Make the test's database unreachable or read-only, and well again."""
    name = store.engine.url.database

    def turn(statement: str) -> None:
        postgres_admin.execute(statement.format(f'"{name}"'))
        postgres_admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))

    yield turn
    turn("ALTER DATABASE {} ALLOW_CONNECTIONS true")


def test_missing_partition_is_its_senders_trouble_alone(store: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the role may not make partitions, events of a month that has one are stored, also from a shared batch."""
    done: list[tuple[object, str]] = []
    finished = threading.Event()

    def note(shares: list[tuple[Submission, Any]]) -> None:
        done.extend((share.ticket, type(found).__name__) for share, found in shares)
        if len(done) >= 3:
            finished.set()

    store.append([parse(encoded(0))])
    monkeypatch.setattr(LogStoreSchema, "partition_statements", lambda *_: ["SET ROLE pg_monitor", "CREATE SCHEMA no"])
    group = GroupCommit(store.append, note, source="test", writers=1)
    for number, year in enumerate((2026, 2031, 2026)):
        body = encoded(number + 1, eventTime=f"{year}-03-02T10:00:00Z")
        group.submit(Submission([parse(body)], number, len(body)))
    group.start()
    assert finished.wait(PATIENCE)
    assert group.stop(PATIENCE)
    assert sorted(done) == [(0, "list"), (1, "PartitionMissing"), (2, "list")]
    assert count(store) == 3


def test_database_away_is_503_and_recovers(store: LogStore, url: str, switch: object) -> None:
    """503 with Retry-After while it is away; not ready; afterwards all is well and what was acknowledged is there."""
    senders = Senders(url)
    wait_until(lambda: senders.acknowledged)
    switch("ALTER DATABASE {} ALLOW_CONNECTIONS false")
    answer = request(url, LINEAGE, encoded())
    ready = request(url, "/readyz")
    alive = request(url, "/healthz")
    wait_until(lambda: 503 in senders.statuses)
    switch("ALTER DATABASE {} ALLOW_CONNECTIONS true")
    before = len(senders.acknowledged)
    wait_until(lambda: len(senders.acknowledged) > before)
    senders.stop()
    assert (answer.status, answer.json["reason"], answer.json["retriable"]) == (503, "database_unavailable", True)
    assert int(answer.headers["retry-after"]) > 0
    assert (ready.status, alive.status) == (503, 200)
    assert senders.statuses == {201, 503}
    assert request(url, "/readyz").status == 200
    found = stored_runs(store)
    assert senders.acknowledged <= found.keys()
    assert set(found.values()) == {1}
    assert list(Verifier(store).verify()) == []


def test_read_only_database_is_503(store: LogStore, url: str, switch: object) -> None:
    """Also for a batch, and for what would be a dead letter: nothing is acknowledged that is not stored."""
    switch("ALTER DATABASE {} SET default_transaction_read_only = on")
    for path, body in ((LINEAGE, encoded()), (BATCH, json.dumps([event()])), (LINEAGE, b"{")):
        answer = request(url, path, body)
        assert (answer.status, answer.json["reason"]) == (503, "database_read_only")
        assert "retry-after" in answer.headers
    switch("ALTER DATABASE {} SET default_transaction_read_only = off")
    assert request(url, LINEAGE, encoded()).status == 201
    assert count(store) == 1


def test_full_queue_is_503(serve: Serve, store: LogStore) -> None:
    """When more waits than the queue holds, a sender is told to come again; what waits is stored."""
    from lineagelog.server import Limits

    url = serve(limits=Limits(max_waiting=1, max_batch=1), writers=1)
    with store.engine.connect() as blocker:
        blocker.exec_driver_sql(f"LOCK TABLE {store.schema.table('ol_event')} IN ACCESS EXCLUSIVE MODE")
        senders = Senders(url, 6)
        wait_until(lambda: 503 in senders.statuses)
        ready = request(url, "/readyz")
    senders.stop()
    assert senders.statuses == {201, 503}
    assert ready.status == 503
    assert senders.acknowledged <= stored_runs(store).keys()


def waiting_for_a_lock(store: LogStore, admin: psycopg.Connection) -> bool:
    query = "SELECT FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
    return admin.execute(query, (store.engine.url.database,)).rowcount > 0


def is_closed(url: str) -> bool:
    """Nobody listens there any more."""
    try:
        request(url, "/healthz")
    except OSError:
        return True
    return False


def test_graceful_stop_answers_all(store_url: str, store: LogStore, postgres_admin: psycopg.Connection) -> None:
    """SIGTERM while events wait behind a lock: accepted requests are stored and answered, then the process ends, 0."""
    with serving(store_url) as (process, url):
        request(url, LINEAGE, encoded(99))
        answers: list[int] = []
        threads = [
            threading.Thread(target=lambda n=n: answers.append(request(url, LINEAGE, encoded(n)).status))
            for n in range(10)
        ]
        with store.engine.connect() as blocker:
            blocker.exec_driver_sql(f"LOCK TABLE {store.schema.table('ol_event')} IN ACCESS EXCLUSIVE MODE")
            threads[0].start()
            wait_until(lambda: waiting_for_a_lock(store, postgres_admin))
            for thread in threads[1:]:
                thread.start()
            wait_until(lambda: b"\nlineagelog_queue_events 9.0\n" in request(url, "/metrics").body)
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: is_closed(url))
        for thread in threads:
            thread.join(PATIENCE)
        assert process.wait(PATIENCE) == 0
    assert answers == [201] * 10
    assert count(store) == 11


@pytest.mark.long
def test_a_stop_ends_in_its_time_although_the_database_hangs(
    store: LogStore, monkeypatch: pytest.MonkeyPatch, postgres_admin: psycopg.Connection
) -> None:
    """Waiting for answers and for what is being stored share the seconds; what is unanswered is not acknowledged."""
    ready, given = threading.Event(), []
    app = create_app(store)
    group = app.receiver.group
    storing = group.stop
    monkeypatch.setattr(group, "stop", lambda seconds: (given.append(seconds), storing(seconds))[1])
    server = HttpServer(app, port=0, stop_seconds=6, on_ready=lambda _: ready.set())
    thread = threading.Thread(target=server.run)
    thread.start()
    assert ready.wait(PATIENCE)
    sender = Senders(server.url, 1)
    with store.engine.connect() as blocker:
        blocker.exec_driver_sql(f"LOCK TABLE {store.schema.table('ol_event')} IN ACCESS EXCLUSIVE MODE")
        wait_until(lambda: waiting_for_a_lock(store, postgres_admin))
        server.stop()
        join(thread)  # while the database hangs
    sender.stop()
    (seconds,) = given
    assert 0 < seconds < 3  # waiting for the answer has had the most of them
    assert sender.acknowledged <= stored_runs(store).keys()


def kill_in_the_middle(store_url: str, store: LogStore, moment: int, senders: set[str]) -> None:
    """One round: load until so many are acknowledged, kill -9, and compare with what is there."""
    with serving(store_url) as (process, url):
        load = Senders(url)
        wait_until(lambda: len(load.acknowledged) >= moment)
        process.kill()
        process.wait(PATIENCE)
        load.stop()
    senders |= load.acknowledged
    found = stored_runs(store)
    assert load.acknowledged <= found.keys()
    assert set(found.values()) <= {1}
    assert list(Verifier(store).verify()) == []


@pytest.mark.long
def test_kill_9_loses_nothing_acknowledged(store_url: str, store: LogStore) -> None:
    """Every acknowledged event is there exactly once, and the digest verifies; the next server goes on."""
    seen: set[str] = set()
    for moment in (1, 100):
        kill_in_the_middle(store_url, store, moment, seen)
    assert seen


@pytest.mark.soak
def test_kill_9_many_times(store_url: str, store: LogStore) -> None:
    """The same at fifty random moments, on one store."""
    seen: set[str] = set()
    chance = random.Random(9)
    for _ in range(50):
        kill_in_the_middle(store_url, store, chance.randint(0, 400), seen)
    assert len(seen) > 100


def test_store_that_is_not_created_is_503(database_url: str) -> None:
    """A server over an empty database does not pretend."""
    from lineagelog.server import create_app

    from .conftest import served

    engine = open_engine(database_url)
    with served(create_app(LogStore(Database(engine)))) as server:
        answer = request(server.url, LINEAGE, encoded())
        assert (answer.status, answer.json["reason"]) == (503, "not_stored")
        assert request(server.url, "/readyz").status == 503
    engine.dispose()


def test_a_store_of_an_earlier_version_is_not_served(serve: Serve, store: LogStore, store_url: str) -> None:
    """Everybody hears 503 and why, and is served as soon as the store is migrated."""
    with connect(store_url, autocommit=True) as connection:
        connection.execute(b"UPDATE openlineage.ol_store SET version = version - 1")
        url = serve()
        ways = [(LINEAGE, encoded(1)), (BATCH, b"[%b]" % encoded(2)), ("/readyz", None), ("/api/v1/status", None)]
        for path, sent in ways:
            answer = request(url, path, sent)
            assert answer.status == 503, path
            assert b"run `lineagelog store init` as its owner" in answer.body
        connection.execute(b"UPDATE openlineage.ol_store SET version = version + 1")
        assert count(store) == 0
        assert [request(url, path, sent).status for path, sent in ways] == [201, 204, 200, 200]
