"""The monthly partitions of ol_event, made on demand."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, Final

import psycopg
from psycopg import errors as pg

from lineagelog.errors import PartitionMissing
from lineagelog.postgres.patience import patiently

from . import tables
from .schema import LogStoreSchema

_FIRST_YEAR, _LAST_YEAR = 2000, 2099
"""Months outside lie in the two catch-all partitions that the DDL makes."""

_FIND_TABLE: Final = """
    SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = %s"""
_MISSING: Final = (
    "the database refuses writes: {0}-{1:02} has no partition, and this role may not make it: run "
    "`lineagelog store init --months 12` as the owner (an earlier month: load such an event once as the owner)"
)
_ATTEMPTS: Final = 20
_GIVES_UP: Final = "a lock that a new partition needs is held by others all the time: try again when less is under way"

type Month = tuple[int, int]


def advisory_key(schema: LogStoreSchema, purpose: str) -> int:
    """The 64-bit key of an advisory lock of this store."""
    digest = sha256(f"lineagelog:{purpose}:{schema.schema_name}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def months_of(times: Iterable[datetime]) -> set[Month]:
    """The months that need a partition of their own."""
    return {(time.year, time.month) for time in times if _FIRST_YEAR <= time.year <= _LAST_YEAR}


class Partitions:
    """Knows which months have their partition, and makes the others."""

    def __init__(self, schema: LogStoreSchema) -> None:
        self._schema = schema
        self._known: set[Month] = set()
        self._key, self._floor_key = advisory_key(schema, "partitions"), advisory_key(schema, "retention")
        store = schema.table_beside_placeholders(tables.STORE_TABLE)
        self._below_floor = f"SELECT 1 FROM {store} WHERE retention_floor >= %s"

    def forget(self) -> None:
        """Look again before the next batch: somebody dropped a partition."""
        self._known.clear()

    def missing(self, months: set[Month]) -> set[Month]:
        """Those of the months that are not known to have their partition."""
        return months - self._known

    def make(self, connection: psycopg.Connection[Any], months: set[Month]) -> None:
        """Make the partitions that are missing, each in a transaction of its own (the connection must be in none).

        A month that is purged meanwhile, as a whole, gets none: its events are expired.
        """
        for month in sorted(months):
            if self._make(connection, month):
                self._known.add(month)

    def _make(self, connection: psycopg.Connection[Any], month: Month) -> bool:
        is_there = self._exists(connection, month)
        connection.rollback()
        if is_there:
            return True
        work = partial(self._attach, connection, month)
        return patiently(connection, work, attempts=_ATTEMPTS, statement_timeout="0", gives_up=_GIVES_UP)

    def _attach(self, connection: psycopg.Connection[Any], month: Month) -> bool:
        connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (self._floor_key,))  # keeps the floor still
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (self._key,))
        if self._exists(connection, month):
            return True
        _, end = self._schema.partition_bounds(*month)
        if connection.execute(self._below_floor, (end,)).fetchone() is not None:
            return False
        try:
            for statement in self._schema.partition_statements(*month):
                connection.execute(statement)
        except pg.InsufficientPrivilege as error:
            raise PartitionMissing(_MISSING.format(*month)) from error
        return True

    def _exists(self, connection: psycopg.Connection[Any], month: Month) -> bool:
        """Looked up by a query: to_regclass may answer from a cache that missed what another writer just made."""
        name = (self._schema.schema_name, self._schema.partition_name(*month))
        return connection.execute(_FIND_TABLE, name).fetchone() is not None


MISSING_PARTITION: Final = pg.CheckViolation
"""What PostgreSQL raises for a row that no partition takes."""
