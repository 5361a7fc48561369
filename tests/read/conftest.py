"""A store with six weeks of generated events in three partitions, for tests that only read it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import batched
from typing import TYPE_CHECKING

import pytest
from benchmarks.generator import generate
from sqlalchemy import text

from lineagelog.event.parse import parse
from lineagelog.postgres.engine import open_engine
from lineagelog.store import Database
from lineagelog.store.append.log import LogStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.databases import NewDatabase

FIRST = datetime(2026, 5, 18, tzinfo=UTC)
EVENTS = 8_000


@pytest.fixture(scope="session")
def large(new_database: NewDatabase, store_template: str) -> Iterator[LogStore]:
    """8,000 events of 200 jobs over 45 days from 18 May 2026."""
    with new_database(store_template) as url:
        engine = open_engine(url)
        store = LogStore(Database(engine, "a store"))
        for batch in batched(generate(EVENTS, seed=7, start=FIRST, days=45), 1000):
            store.append([parse(body) for body in batch])
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))
        yield store
        engine.dispose()
