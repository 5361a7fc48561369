"""A database that hangs, its sockets open: every route says so, again and again, and all is well when it is back."""

from __future__ import annotations

import contextlib
import json
import threading
from typing import TYPE_CHECKING

import pytest

from lineagelog.errors import StoreUnavailable
from lineagelog.postgres.connection import Connection
from lineagelog.read import Reader
from lineagelog.server import Limits, create_app
from lineagelog.store import Database, LogStore, open_engine
from lineagelog.store.ledgers.tokens import Tokens
from tests.proxy import Proxy, proxied
from tests.support import PATIENCE, wait_until

from .client import BATCH, LINEAGE, count, encoded, event, request
from .conftest import served

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUTES = ("/readyz", "/api/v1/runs", "/api/v1/runs/run-0", "/api/v1/events", "/api/v1/status", "/api/v1/summary")


@contextlib.contextmanager
def hanging(store_url: str, *, with_tokens: bool = False) -> Iterator[tuple[Proxy, str, dict[str, str]]]:
    """A server whose database is behind a proxy, as `serve` wires it: an engine for writing, one for reads."""
    with proxied(store_url) as (proxy, url), contextlib.ExitStack() as stack:
        writing, reading = open_engine(url, pool_size=3, patience=1), open_engine(url, pool_size=4, patience=1)
        stack.callback(writing.dispose)
        stack.callback(reading.dispose)
        tokens, headers = Tokens(Database(reading)), {}
        if with_tokens:
            headers = {"Authorization": f"Bearer {tokens.create('t', ['admin'])[0]}"}
        app = create_app(
            LogStore(Database(writing)), reader=Reader(Database(reading)), tokens=tokens, limits=Limits(patience=1)
        )
        server = stack.enter_context(served(app))
        yield proxy, server.url, headers
        proxy.flow()


@pytest.mark.long
@pytest.mark.parametrize("with_tokens", [False, True])
def test_every_route_says_so_every_time(store_url: str, store: LogStore, with_tokens: bool) -> None:
    """More requests than there are connections and threads, at once and again: 503 with a reason; then all works."""
    with hanging(store_url, with_tokens=with_tokens) as (proxy, url, headers):
        assert request(url, LINEAGE, encoded(0), headers=headers).status == 201
        assert request(url, "/api/v1/runs", headers=headers).status == 200
        proxy.swallow()
        for number in (1, 2):
            bodies = {LINEAGE: encoded(number), BATCH: json.dumps([event(number)])}
            asked = [*((path, None) for path in ROUTES * 2), *bodies.items()]
            answers = at_once(url, asked, headers)
            assert {answer[1] for answer in answers} == {503}, answers
            assert {answer[2] for answer in answers} <= {"database_unavailable", "database"}
            assert all("127.0.0.1" not in answer[3] for answer in answers)
            assert request(url, "/healthz", headers=headers).status == 200
        proxy.flow()
        wait_until_ready(url, headers)
        assert request(url, LINEAGE, encoded(3), headers=headers).status == 201
        assert {answer[1] for answer in at_once(url, [(path, None) for path in ROUTES * 2], headers)} == {200}
    assert count(store) >= 2


def at_once(
    url: str, asked: list[tuple[str, bytes | str | None]], headers: dict[str, str]
) -> list[tuple[str, int, str, str]]:
    """Ask all at the same time: path, status, reason and message of each."""
    answers: list[tuple[str, int, str, str]] = []

    def ask(path: str, body: bytes | str | None) -> None:
        answer = request(url, path, body, headers=headers, timeout=120)
        told = answer.json if answer.status >= 400 else {}
        answers.append((path, answer.status, told.get("reason", ""), told.get("message", "")))

    threads = [threading.Thread(target=ask, args=each) for each in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(answers) == len(asked)
    return answers


def wait_until_ready(url: str, headers: dict[str, str]) -> None:
    wait_until(lambda: request(url, "/readyz", headers=headers).status == 200)


@pytest.mark.long
def test_a_slow_database_is_not_a_hung_one(store: LogStore, store_url: str) -> None:
    """An event that waits for a lock longer than the patience is stored when the lock is gone."""
    answers: list[int] = []
    with hanging(store_url) as (_, url, _headers):
        assert request(url, LINEAGE, encoded(0)).status == 201
        with store.engine.connect() as blocker:
            blocker.exec_driver_sql(f"LOCK TABLE {store.schema.table('ol_event')} IN ACCESS EXCLUSIVE MODE")
            sender = threading.Thread(target=lambda: answers.append(request(url, LINEAGE, encoded(1)).status))
            sender.start()
            sender.join(5)  # more than the patience, and the time to ask
            assert sender.is_alive()
        sender.join(PATIENCE)
    assert answers == [201]
    assert count(store) == 2


@pytest.mark.long
def test_a_silent_database_is_not_tried_again_by_every_request(
    store_url: str, store: LogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once nobody has answered, one thread asks; all others are refused at once, until somebody answers it."""
    opened: list[str] = []
    original = Connection.opened.__func__
    monkeypatch.setattr(
        Connection, "opened", classmethod(lambda cls, *given: opened.append("x") or original(cls, *given))
    )
    with proxied(store_url) as (proxy, url):
        engine = open_engine(url, pool_size=1, patience=1, connect_timeout=2)
        through = LogStore(Database(engine))
        assert through.check_version() > 0
        proxy.swallow()
        with pytest.raises(StoreUnavailable, match="answer"):
            through.check_version()
        opened.clear()
        for _ in range(5):
            with pytest.raises(StoreUnavailable, match="answer"):
                through.check_version()
        assert opened == []
        proxy.flow()

        def asks_anew() -> bool:
            with contextlib.suppress(StoreUnavailable):
                through.check_version()
            return bool(opened)

        wait_until(asks_anew)
        engine.dispose()
