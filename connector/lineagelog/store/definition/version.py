"""Keeps this lineagelog away from a store of another version: looked at once per pool of connections, not per batch.

It hangs on the pool, so that no way to a store can leave it out: whoever takes a connection from an engine that was
told of a schema gets the error, until the store has our version. So a server that was started too early serves as soon
as somebody has migrated the store.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from psycopg import errors as pg
from sqlalchemy import Engine, event

from lineagelog.errors import StoreTooNew, StoreTooOld
from lineagelog.postgres.database import Database

from . import tables
from .schema import LogStoreSchema, schema_of

_watched: WeakKeyDictionary[Engine, set[str]] = WeakKeyDictionary()
_any_version: Final = ContextVar("any_version", default=False)
_NOT_TO_BE_READ: Final = (pg.UndefinedTable, pg.InvalidSchemaName, pg.InsufficientPrivilege)


def refuse_later(version: int) -> None:
    """Keep our definitions away from a store that a later version made."""
    if version > tables.VERSION:
        raise StoreTooNew(
            f"the store has version {version} and this lineagelog knows up to {tables.VERSION}: install a newer one"
        )


def refuse_other(version: int) -> None:
    """Keep what reads and writes away from a store that is not of our version."""
    refuse_later(version)
    if version < tables.VERSION:
        raise StoreTooOld(
            f"the store has version {version} and this lineagelog needs {tables.VERSION}: "
            "run `lineagelog store init` as its owner"
        )


@contextmanager
def any_version() -> Iterator[None]:
    """For what makes, migrates and examines stores: inside, connections are to be had whatever the version is."""
    token = _any_version.set(True)
    try:
        yield
    finally:
        _any_version.reset(token)


def keep_to_version(database: Database) -> LogStoreSchema:
    """The store's definition; from now on connections of its pool are given out only if it has our version.

    StoreTooOld or StoreTooNew otherwise. Of a store that is not there, or not to be read, those who ask for its tables
    are told what is wrong.
    """
    schema = schema_of(database)
    watched = _watched.setdefault(database.engine, set())
    if database.schema not in watched:
        watched.add(database.schema)
        event.listen(database.engine, "checkout", _Check(schema))
    return schema


class _Check:
    """Looks at the version with the first connection, and no more once it is ours."""

    def __init__(self, schema: LogStoreSchema) -> None:
        self._query = f"SELECT version FROM {schema.table(tables.STORE_TABLE)}".encode()
        self._is_ours = False

    def __call__(self, connection: psycopg.Connection[Any], _record: Any, _proxy: Any) -> None:
        if self._is_ours or _any_version.get():
            return
        try:
            row = connection.execute(self._query).fetchone()
        except _NOT_TO_BE_READ:
            return
        finally:
            connection.rollback()
        if row is not None:
            refuse_other(row[0])
            self._is_ours = True
