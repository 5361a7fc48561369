"""What the database says of itself and of a store in it: the facts that `lineagelog doctor` judges."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct
from psycopg.rows import dict_row

from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import driver_connection, translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.partitions import Partitions, months_of
from lineagelog.store.definition.schema import LogStoreSchema, schema_of
from lineagelog.store.definition.version import any_version, keep_to_version

_TABLES: Final = (*tables.DATA_TABLES, tables.STORE_TABLE, tables.KAFKA_OFFSET_TABLE)
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
           EXISTS (SELECT FROM pg_namespace WHERE nspname = %(schema)s) AS has_schema"""
_ACCESS: Final = """
    SELECT wanted.name, c.oid IS NOT NULL,
           has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE'),
           has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
           AND has_schema_privilege(n.oid, 'USAGE')
    FROM unnest(%s::text[]) AS wanted (name)
    LEFT JOIN pg_namespace n ON n.nspname = %s
    LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = wanted.name"""
_OWNER: Final = """
    SELECT pg_has_role(c.relowner, 'USAGE') AND has_schema_privilege(n.oid, 'CREATE')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""
_PARTITIONS: Final = """
    SELECT part.relname FROM pg_inherits i JOIN pg_class part ON part.oid = i.inhrelid
    JOIN pg_class c ON c.oid = i.inhparent JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = %s"""


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
    is_pooled: bool
    """Whether a pooler passes sessions from transaction to transaction, or may."""
    skew: timedelta
    """How far the database's clock is ahead of this machine's."""


class Access(Struct, frozen=True):
    """The tables of a store, and what the role may do with them."""

    missing: tuple[str, ...]
    unreadable: tuple[str, ...]
    """Tables that the role may not read."""
    unwritable: tuple[str, ...]
    """Tables that the role may not write."""
    may_make_partitions: bool
    missing_months: tuple[str, ...]
    """Of this month and the next: those without a partition."""


def look_at_server(database: Database) -> Server:
    """Ask the server. Raises StoreUnavailable."""
    with translated_errors(), any_version(), driver_connection(database.engine) as connection:
        row = connection.cursor(row_factory=dict_row).execute(_SERVER, {"schema": database.schema}).fetchone()
        before = datetime.now(UTC)
        now = connection.execute("SELECT clock_timestamp()").fetchone()
        after = datetime.now(UTC)
    assert row is not None and now is not None  # noqa: S101  # a SELECT without a condition gives a row
    return Server(**row, is_pooled=connection.is_pooled, skew=now[0] - (before + (after - before) / 2))


def look_at_version(database: Database) -> None:
    """Raises StoreTooOld or StoreTooNew for a store of another version; says nothing where there is none."""
    keep_to_version(database)
    with translated_errors(), driver_connection(database.engine):
        pass


def look_at_access(database: Database, now: datetime) -> Access:
    """Look at the tables in the catalogue; any role may. Raises StoreUnavailable."""
    with translated_errors(), any_version(), driver_connection(database.engine) as connection:
        rows = connection.execute(_ACCESS, (list(_TABLES), database.schema)).fetchall()
        owner = connection.execute(_OWNER, (database.schema, tables.EVENT_TABLE)).fetchone()
        partitions = {
            row[0] for row in connection.execute(_PARTITIONS, (database.schema, tables.EVENT_TABLE)).fetchall()
        }
    return Access(
        missing=tuple([name for name, is_there, _, _ in rows if not is_there]),
        unreadable=tuple([name for name, is_there, may_read, _ in rows if is_there and not may_read]),
        unwritable=tuple(
            [name for name, is_there, _, may_write in rows if is_there and not may_write and name != tables.STORE_TABLE]
        ),
        may_make_partitions=bool(owner and owner[0]),
        missing_months=tuple(
            f"{year}-{month:02}"
            for year, month in sorted(months_of(_months(now, 2)))
            if LogStoreSchema.partition_name(year, month) not in partitions
        ),
    )


def make_partitions(database: Database, first: datetime, months: int) -> int:
    """Make the partitions of so many months from ``first`` on, for roles that may not; returns how many months.

    They are the same in stores of every version.
    """
    wanted = months_of(_months(first, months))
    with any_version(), translated_errors(), driver_connection(database.engine) as connection:
        Partitions(schema_of(database)).make(connection, wanted)
    return len(wanted)


def _months(first: datetime, count: int) -> list[datetime]:
    """The first days of so many months from that of ``first`` on."""
    start = first.astimezone(UTC)
    places = [start.year * 12 + start.month - 1 + number for number in range(count)]
    return [datetime(place // 12, place % 12 + 1, 1, tzinfo=UTC) for place in places]
