"""The planner's statistics of the digest: gathered after a load, which PostgreSQL itself would notice minutes later."""

from __future__ import annotations

from typing import Final

import psycopg

from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import driver_connection, translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.schema import schema_of

_DIGEST: Final = tuple(name for name in tables.DATA_TABLES if name != tables.EVENT_TABLE)
"""Raw events are read by their indexes alone."""


def gather_statistics(database: Database) -> None:
    """ANALYZE the digest's tables; those that are not ours to analyze are passed over, as PostgreSQL does."""
    schema = schema_of(database)
    names = ", ".join(schema.table(name) for name in _DIGEST)
    with translated_errors(), driver_connection(database.engine) as connection:
        connection.add_notice_handler(_ignore)  # a warning for each table that this role may not analyze
        connection.execute(f"ANALYZE (SKIP_LOCKED) {names}")
        connection.commit()
        connection.remove_notice_handler(_ignore)


def _ignore(_: psycopg.errors.Diagnostic) -> None:
    pass
