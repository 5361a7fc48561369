"""Makes what a store lacks, beside writers: looks in the catalogue first, and touches nothing that is there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import psycopg
from msgspec import Struct

from lineagelog.errors import SettingsError
from lineagelog.postgres.connection import Connection
from lineagelog.postgres.patience import patiently

from . import migrations, tables, views
from .partitions import advisory_key
from .schema import LogStoreSchema
from .version import refuse_later

ATTEMPTS: Final = 40
_GIVES_UP: Final = (
    "a lock that the tables' definition needs is held by others all the time: run `lineagelog store init` again when "
    "less is under way (nothing is lost, and what was made stays)"
)
_RELATIONS: Final = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s"""
_LACKS_LZ4: Final = """
    SELECT a.attcompression <> 'l' AND 'lz4' = ANY (s.enumvals)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace,
      pg_settings s
    WHERE n.nspname = %s AND c.relname = %s AND a.attname = 'event' AND s.name = 'default_toast_compression'"""
_DESCRIBED: Final = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND obj_description(c.oid, 'pg_class') IS NOT NULL"""

type _Statements = tuple[str, ...]


class _Found(Struct, frozen=True):
    """What is there of a store."""

    version: int
    """0 = it is not there, or not whole."""
    relations: frozenset[str] = frozenset()
    described: frozenset[str] = frozenset()
    lacks_lz4: bool = False
    views: str | None = None
    """Hash of the views that are there."""


def create(connection: Connection, schema: LogStoreSchema) -> None:
    """Make what is missing, and migrate an older store.

    A new store is made in one transaction; what an older one lacks piece by piece, each in a transaction of its own
    that holds the lock of one table at most, so that nothing can deadlock with writers. Raises StoreTooNew,
    SettingsError for a database that is not UTF-8 or a pooler of transactions, and StoreUnavailable where a lock is
    not to be had.
    """
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise SettingsError(f"the database has the encoding {encoding}: make one with ENCODING 'UTF8'")
    made: set[_Statements] = set()
    while piece := next((piece for piece in _missing(schema, _look(connection, schema)) if piece not in made), None):
        connection.require_session("making or migrating the tables")
        work = partial(_make, connection, schema, piece)
        patiently(connection, work, attempts=ATTEMPTS, statement_timeout="0", gives_up=_GIVES_UP)
        made.add(piece)


def _make(connection: Connection, schema: LogStoreSchema, piece: _Statements) -> None:
    """Run the statements if they are still what is missing once nobody else is at it."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (advisory_key(schema, "create"),))
    if piece in _missing(schema, _found(connection, schema)):
        for statement in piece:
            connection.execute(statement.encode())


def _look(connection: Connection, schema: LogStoreSchema) -> _Found:
    found = _found(connection, schema)
    connection.rollback()
    return found


def _found(connection: psycopg.Connection, schema: LogStoreSchema) -> _Found:
    """Look, under no lock but those of reading."""
    name = (schema.schema_name,)
    relations = frozenset(row[0] for row in connection.execute(_RELATIONS, name))
    if tables.STORE_TABLE not in relations:
        return _Found(0)
    row = connection.execute(f"SELECT version FROM {schema.table(tables.STORE_TABLE)}".encode()).fetchone()
    refuse_later(version := row[0] if row else 0)
    described = frozenset(row[0] for row in connection.execute(_DESCRIBED, name))
    lacks = connection.execute(_LACKS_LZ4, (*name, tables.EVENT_TABLE)).fetchone()
    return _Found(version, relations, described, bool(lacks and lacks[0]), _views(connection, schema, version))


def _views(connection: psycopg.Connection, schema: LogStoreSchema, version: int) -> str | None:
    if version < views.SINCE:
        return None
    row = connection.execute(f"SELECT views FROM {schema.table(tables.STORE_TABLE)}".encode()).fetchone()
    return row[0] if row else None


def _missing(schema: LogStoreSchema, found: _Found) -> Iterator[_Statements]:
    """What is to be run, in order, each as a transaction of its own."""
    comments = schema.comment_statements()
    if not found.version:
        described = (text for texts in comments.values() for text in texts)
        yield (*schema.ddl_statements(), *described, *views.statements(schema))
        return
    if found.lacks_lz4:  # before any partition
        yield (schema.lz4_statement(),)
    for name, statement in schema.relation_statements():
        if name not in found.relations:
            yield (statement,)
    for step, statement in zip(migrations.STEPS, migrations.statements(schema.table), strict=True):
        if step.version > found.version:
            yield (statement,)
    for name, statement in schema.later_index_statements():
        if name not in found.relations:
            yield (statement,)
    for name, statements in comments.items():
        if name not in found.described:
            yield tuple(statements)
    if found.views != views.version():
        yield views.statements(schema)
