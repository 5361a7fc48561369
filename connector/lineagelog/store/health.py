"""What the database says of itself and of a store in it: the facts that `lineagelog doctor` judges."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg
from msgspec import Struct
from sqlalchemy import Engine

from . import tables
from .engine import driver_connection, translated_errors
from .partitions import Partitions, months_of
from .schema import LogStoreSchema

_TABLES: Final = (
    tables.EVENT_TABLE,
    tables.RUN_TABLE,
    tables.RUN_DATASET_TABLE,
    tables.ASSERTION_TABLE,
    tables.TEST_TABLE,
    tables.SCHEMA_VERSION_TABLE,
    tables.LINEAGE_VERSION_TABLE,
    tables.DEAD_LETTER_TABLE,
    tables.STORE_TABLE,
)
_SERVER: Final = """
    SELECT current_setting('server_version_num')::int / 10000 AS major,
           split_part(current_setting('server_version'), ' ', 1) AS version,
           current_setting('server_encoding') AS encoding,
           coalesce((SELECT 'lz4' = ANY (enumvals) FROM pg_settings
                     WHERE name = 'default_toast_compression'), false) AS has_lz4,
           pg_is_in_recovery() AS is_standby,
           current_setting('default_transaction_read_only') = 'on' AS is_read_only,
           current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off' AS is_durable,
           current_user::text AS role,
           current_database()::text AS database,
           has_database_privilege(current_database(), 'CREATE') AS may_create_schema,
           to_regnamespace(%(quoted)s) IS NOT NULL AS has_schema"""
_LATEST: Final = 1000
"""Events whose way from the sender to the store is looked at for the lag."""


class Server(Struct, frozen=True):
    """The database server and what the role may do there."""

    major: int
    version: str
    encoding: str
    has_lz4: bool
    is_standby: bool
    is_read_only: bool
    is_durable: bool
    """Whether a commit survives a crash (fsync on, synchronous_commit not off)."""
    role: str
    database: str
    may_create_schema: bool
    has_schema: bool
    skew: timedelta
    """How far the database's clock is ahead of this machine's."""


class Contents(Struct, frozen=True):
    """The store in its schema."""

    version: int
    retention_floor: datetime | None
    missing_tables: tuple[str, ...]
    unreadable: tuple[str, ...]
    """Tables that the role may not read."""
    unwritable: tuple[str, ...]
    """Tables that the role may not write."""
    may_make_partitions: bool
    partitions: tuple[str, ...]
    missing_months: tuple[str, ...]
    """Of this month and the next: those without a partition."""
    outside: int
    """Events before the year 2000 or after 2099, up to 1000."""
    last_received: datetime | None
    last_event_time: datetime | None
    lag: timedelta | None
    """Median of the newest events' way: received_at minus event_time."""
    new_dead_letters: int


def look_at_server(engine: Engine, schema: LogStoreSchema) -> Server:
    """Ask the server. Raises StoreUnavailable."""
    with translated_errors(), driver_connection(engine) as connection:
        row = _row(connection, _SERVER, {"quoted": '"' + schema.schema_name + '"'})
        before = datetime.now(UTC)
        now = connection.execute("SELECT clock_timestamp()").fetchone()
        after = datetime.now(UTC)
        assert now is not None  # noqa: S101  # a SELECT without FROM gives a row
        return Server(**row, skew=now[0] - (before + (after - before) / 2))


def look_at_store(engine: Engine, schema: LogStoreSchema, now: datetime) -> Contents:
    """Look at the tables. Raises StoreNotCreated, StoreReadOnly (no right to look) and StoreUnavailable."""
    with translated_errors(), driver_connection(engine) as connection:
        store, event = schema.table(tables.STORE_TABLE), schema.table(tables.EVENT_TABLE)
        found = connection.execute(f"SELECT version, retention_floor FROM {store}").fetchone()
        version, floor = found or (0, None)
        partitions = _partitions(connection, schema)
        latest = _row(
            connection,
            f"""SELECT max(received_at) AS last_received,
                       percentile_cont(0.5) WITHIN GROUP (ORDER BY received_at - event_time) AS lag
                FROM (SELECT received_at, event_time FROM {event} ORDER BY arrival DESC LIMIT {_LATEST}) AS latest""",
        )
        newest = _row(connection, f"SELECT event_time FROM {event} ORDER BY event_time DESC LIMIT 1")
        outside = f"SELECT FROM {event} WHERE event_time < '2000-01-01Z' OR event_time >= '2100-01-01Z' LIMIT 1000"
        letters = schema.table(tables.DEAD_LETTER_TABLE)
        dead = _row(connection, f"SELECT count(*) AS dead FROM {letters} WHERE state = 'new'")["dead"]
        return Contents(
            version=version,
            retention_floor=floor,
            **_rights(connection, schema),
            partitions=partitions,
            missing_months=_missing(schema, partitions, now),
            outside=connection.execute(outside).rowcount,
            last_received=latest["last_received"],
            last_event_time=newest.get("event_time"),
            lag=latest["lag"],
            new_dead_letters=dead,
        )


def make_partitions(engine: Engine, schema: LogStoreSchema, first: datetime, months: int) -> int:
    """Make the partitions of so many months from ``first`` on, for roles that may not; returns how many months."""
    wanted = months_of(_months(first, months))
    with translated_errors(), driver_connection(engine) as connection:
        Partitions(schema).ensure(connection, wanted)
    return len(wanted)


def _row(connection: psycopg.Connection[Any], query: str, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
    cursor = connection.execute(query, parameters)
    names = [column.name for column in cursor.description or ()]
    return dict(zip(names, cursor.fetchone() or (), strict=False))


def _partitions(connection: psycopg.Connection[Any], schema: LogStoreSchema) -> tuple[str, ...]:
    query = """SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
               WHERE i.inhparent = to_regclass(%s) ORDER BY c.relname"""
    return tuple([row[0] for row in connection.execute(query, (schema.table(tables.EVENT_TABLE),))])


def _rights(connection: psycopg.Connection[Any], schema: LogStoreSchema) -> dict[str, Any]:
    query = """SELECT name, to_regclass(qualified) IS NULL, has_table_privilege(to_regclass(qualified), 'SELECT'),
                      has_table_privilege(to_regclass(qualified), 'INSERT')
                      AND has_table_privilege(to_regclass(qualified), 'UPDATE')
               FROM unnest(%s::text[], %s::text[]) AS wanted (name, qualified)"""
    rows = connection.execute(query, (list(_TABLES), [schema.table(name) for name in _TABLES])).fetchall()
    own = connection.execute(
        """SELECT pg_has_role(relowner, 'USAGE') AND has_schema_privilege(relnamespace, 'CREATE')
           FROM pg_class WHERE oid = to_regclass(%s)""",
        (schema.table(tables.EVENT_TABLE),),
    ).fetchone()
    return {
        "missing_tables": tuple([name for name, missing, _, _ in rows if missing]),
        "unreadable": tuple([name for name, missing, may_read, _ in rows if not missing and not may_read]),
        "unwritable": tuple([name for name, missing, _, may_write in rows if not missing and not may_write]),
        "may_make_partitions": bool(own and own[0]),
    }


def _missing(schema: LogStoreSchema, partitions: tuple[str, ...], now: datetime) -> tuple[str, ...]:
    months = sorted(months_of(_months(now, 2)))
    return tuple([f"{year}-{month:02}" for year, month in months if schema.partition_name(year, month) not in partitions])


def _months(first: datetime, count: int) -> list[datetime]:
    """The first days of so many months from that of ``first`` on."""
    start = first.astimezone(UTC)
    places = [start.year * 12 + start.month - 1 + number for number in range(count)]
    return [datetime(place // 12, place % 12 + 1, 1, tzinfo=UTC) for place in places]
