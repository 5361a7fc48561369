"""A store with six weeks of generated events in three partitions, for tests that only read it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from benchmarks.generator import generate
from sqlalchemy import text

from lineagelog.event.parse import parse
from lineagelog.store.engine import open_engine
from lineagelog.store.log import LogStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from lineagelog.store.embedded import EmbeddedPostgres

FIRST = datetime(2026, 5, 18, tzinfo=UTC)
EVENTS = 20_000


@pytest.fixture(scope="session")
def large(postgres: EmbeddedPostgres, postgres_admin: psycopg.Connection) -> Iterator[LogStore]:
    """20,000 events of 200 jobs over 45 days from 18 May 2026."""
    postgres_admin.execute('CREATE DATABASE "large" TEMPLATE template0 STRATEGY file_copy')
    engine = open_engine(postgres.url_of("large"))
    store = LogStore(engine, "a store")
    store.create()
    batch = []
    for body in generate(EVENTS, seed=7, start=FIRST, days=45):
        batch.append(parse(body))
        if len(batch) == 1000:
            store.append(batch)
            batch.clear()
    store.append(batch)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))
    yield store
    engine.dispose()
    postgres_admin.execute('DROP DATABASE "large" WITH (FORCE)')
