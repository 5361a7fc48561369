"""A log to forward from, and a second one to forward to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from lineagelog.event.parse import parse
from lineagelog.forward import Forwarder, ForwardTarget, open_sender, read_target
from lineagelog.store import Database, LogStore, open_engine
from lineagelog.store.ledgers.forwarding import Forwarding
from tests.support import PATIENCE

if TYPE_CHECKING:
    from tests.databases import NewDatabase


def event(number: int = 0, **members: Any) -> bytes:
    """A small event; each number is another run."""
    tree = {
        "eventType": "COMPLETE",
        "eventTime": (datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=number)).isoformat(),
        "producer": "https://example.invalid/tests",
        "run": {"runId": f"run-{number}"},
        "job": {"namespace": "prod", "name": f"job-{number % 7}"},
        "outputs": [{"namespace": "db", "name": "t", "outputFacets": {"outputStatistics": {"rowCount": number}}}],
    }
    return json.dumps(tree | members).encode()


def store_all(store: LogStore, bodies: Iterable[bytes]) -> None:
    """Append, in one transaction."""
    appended = store.append([parse(body) for body in bodies])
    assert appended.dead == 0


def make_store(url: str) -> LogStore:
    store = LogStore(Database(open_engine(url, pool_size=30)))
    store.create()
    return store


@pytest.fixture
def log(database_url: str) -> Iterator[LogStore]:
    """The log that is forwarded."""
    store = make_store(database_url)
    yield store
    store.engine.dispose()


@pytest.fixture
def other_url(new_database: NewDatabase) -> Iterator[str]:
    """The URL of a second database."""
    with new_database() as url:
        yield url


@pytest.fixture
def other(other_url: str) -> Iterator[LogStore]:
    """The log of the receiver."""
    store = make_store(other_url)
    yield store
    store.engine.dispose()


@pytest.fixture
def forwarding(log: LogStore) -> Forwarding:
    return Forwarding(log.database)


@pytest.fixture
def forwarder(forwarding: Forwarding) -> Callable[..., Forwarder]:
    """Makes a forwarder to a URL, quick to try again; further arguments are settings of the target."""

    def make(url: str, **settings: Any) -> Forwarder:
        return Forwarder(forwarding, quick_target(url, **settings), open_sender)

    return make


def quick_target(url: str, name: str = "other", **settings: Any) -> ForwardTarget:
    """A target that is tried again quickly."""
    quick = {"retry_first": 0.01, "retry_last": 0.05, "poll": 0.05, "give_up": PATIENCE, "timeout": PATIENCE}
    return read_target(name, {"url": url, **quick, **settings})


@contextmanager
def following(*followers: Forwarder) -> Iterator[None]:
    """Let forwarders follow meanwhile."""
    threads = [threading.Thread(target=follower.follow, daemon=True) for follower in followers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for follower in followers:
            follower.stop.set()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


DIGEST = (
    *("ol_run", "ol_run_dataset", "ol_assertion", "ol_test", "ol_schema_version", "ol_lineage_version"),
    *("ol_job", "ol_dataset", "ol_dataset_name"),
)
RAW = "run_id, event_time, event_type, event_hash, event_kind, job_namespace, job_name, producer, event, raw, notices"


def contents(store: LogStore) -> dict[str, Sequence[Any]]:
    """Everything that forwarding must bring over: raw events and digest."""
    found: dict[str, Sequence[Any]] = {}
    with store.engine.connect() as connection:
        query = f"SELECT {RAW} FROM openlineage.ol_event ORDER BY run_id, event_time, event_type, event_hash"
        found["ol_event"] = connection.execute(text(query)).all()
        for table in DIGEST:
            found[table] = connection.execute(text(f"SELECT * FROM openlineage.{table} ORDER BY 1")).all()
    return found


def fingerprints(store: LogStore) -> dict[str, tuple[int, Any]]:
    """As contents, for large logs: per table the number of rows and the sum of their hashes."""
    columns = {"ol_event": RAW, **dict.fromkeys(DIGEST, "*")}
    found: dict[str, tuple[int, Any]] = {}
    with store.engine.connect() as connection:
        for table, names in columns.items():
            rows = f"(SELECT {names} FROM openlineage.{table}) rows"
            query = f"SELECT count(*), sum(hashtextextended(CAST(rows AS text), 0)) FROM {rows}"
            found[table] = tuple(connection.execute(text(query)).one())
    return found


def count(store: LogStore) -> int:
    """The number of raw events."""
    with store.engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM openlineage.ol_event")).scalar_one())
