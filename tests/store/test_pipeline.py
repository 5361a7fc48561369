"""Pipelines of prepared statements: one round trip, the first error told, statements found again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import errors

from lineagelog.event.parse import parse
from lineagelog.postgres.pipeline import Prepared, StatementPipeline
from lineagelog.store import Database, LogStore, open_engine

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBER = Prepared("SELECT $1::int")
INT = 23


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    dsn = database_url.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(dsn, prepare_threshold=None) as opened:
        yield opened


def number(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def test_results_come_in_order(connection: psycopg.Connection[Any]) -> None:
    """Each statement's result has its place, within one transaction."""
    for _ in range(3):
        pipeline = StatementPipeline(connection)
        places = [pipeline.add(NUMBER, [number(value)], [INT]) for value in (7, -1, 0)]
        results = pipeline.run()
        assert [results[place].get_value(0, 0) for place in places] == [number(7), number(-1), number(0)]
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS


def test_first_error_is_raised_and_the_connection_lives_on(connection: psycopg.Connection[Any]) -> None:
    """What fails is told with psycopg's own error; after a rollback the connection works again."""
    pipeline = StatementPipeline(connection)
    pipeline.add(NUMBER, [number(1)], [INT])
    pipeline.add(Prepared("SELECT 1 / $1::int"), [number(0)], [INT])
    pipeline.add(NUMBER, [number(2)], [INT])
    with pytest.raises(errors.DivisionByZero):
        pipeline.run()
    connection.rollback()
    pipeline = StatementPipeline(connection)
    pipeline.add(NUMBER, [number(3)], [INT])
    assert pipeline.run()[0].get_value(0, 0) == number(3)


def test_large_parameters_do_not_block(connection: psycopg.Connection[Any]) -> None:
    """Far more than a socket's buffers goes out while answers of the same size come in."""
    echo = Prepared("SELECT $1::bytea")
    data = bytes(range(256)) * 16_384
    pipeline = StatementPipeline(connection)
    for _ in range(8):
        pipeline.add(echo, [data], [17])
    assert all(result.get_value(0, 0) == data for result in pipeline.run())


def test_deallocated_statements_are_prepared_again(database_url: str) -> None:
    """Somebody who deallocates everything costs an append one more try."""
    engine = open_engine(database_url, pool_size=1)
    store = LogStore(Database(engine))
    store.create()
    body = b'{"eventTime":"2026-01-01T00:00:0%dZ","run":{"runId":"r"},"job":{"name":"j"}}'
    assert store.append([parse(body % 1)]).stored == 1
    with engine.connect() as connection:
        connection.exec_driver_sql("DEALLOCATE ALL")
    assert store.append([parse(body % 2)]).stored == 1
    engine.dispose()


def test_lost_connection_is_replaced(database_url: str) -> None:
    """A connection that the server ended is dropped; the append goes through on another."""
    engine = open_engine(database_url, pool_size=1)
    store = LogStore(Database(engine))
    store.create()
    body = b'{"eventTime":"2026-01-01T00:00:0%dZ","run":{"runId":"r"},"job":{"name":"j"}}'
    store.append([parse(body % 1)])
    killer = open_engine(database_url, pool_size=1)
    with killer.connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert store.append([parse(body % 2)]).stored == 1
    killer.dispose()
    engine.dispose()
