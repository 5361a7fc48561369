"""Schemas by a DB-API connection or by SQLAlchemy, on the job's own connection and without harm to it."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import re
import sqlite3
import sys
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from .fences import fenced_postgres, fenced_sqlite, postgres, sqlite3_rows
from .unwrapping import LeftAloneError, driver_of, find_connection

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_SECONDS: Final = 5.0
_POSTGRES: Final = ("psycopg", "psycopg2", "pg8000")
_PLAIN_NAME: Final = re.compile(r"[\w $.#-]+")
_COLUMNS: Final = """\
SELECT attname::pg_catalog.text, pg_catalog.format_type(atttypid, atttypmod) FROM pg_catalog.pg_attribute
WHERE attrelid OPERATOR(pg_catalog.=) coalesce(pg_catalog.to_regclass(%s::pg_catalog.text),
                                               pg_catalog.to_regclass(%s::pg_catalog.text))
  AND attnum OPERATOR(pg_catalog.>) 0 AND NOT attisdropped
ORDER BY attnum USING OPERATOR(pg_catalog.<)"""

type Columns = list[tuple[str, str | None]]


class DbApiSchemas:
    """Schemas by a DB-API 2 connection, which may stand behind any proxy.

    PostgreSQL, SQLite, DuckDB and MySQL are asked by their catalogues, and only while the connection is free: no
    transaction is spoiled, opened or ended, no setting changed. A driver that is not known is asked only if it says
    that it is in no transaction.
    """

    def __init__(self, connection: Any) -> None:
        """``connection``: of sqlite3, psycopg, psycopg2, pg8000, duckdb, a MySQL driver, a proxy of one, or another."""
        self._given = connection

    def get_table_schema(self, table: str) -> Columns:
        """The columns of ``table`` or ``schema.table``; [] if there is no such table. Raises the driver's errors."""
        return self.look_up(table, DEFAULT_SECONDS)

    def look_up(self, table: str, seconds: float) -> Columns:
        """The same within so many seconds. Raises LeftAloneError too, where the job might come to harm."""
        connection = find_connection(self._given)
        if inspect.iscoroutinefunction(getattr(self._given if connection is None else connection, "commit", None)):
            raise LeftAloneError("the connection is an asynchronous one")
        if "\0" in table:
            return []
        driver = driver_of(connection)
        if driver in _POSTGRES:
            return of_postgres(connection, table, seconds)
        if driver == "sqlite3":
            return of_sqlite(connection, table, seconds)
        if driver == "duckdb":
            return of_duckdb(connection, table)
        return of_unknown(self._given, table) if driver is None else of_mysql(connection, table)


def of_postgres(connection: Any, table: str, seconds: float) -> Columns:
    """By `to_regclass`, which gives NULL for a missing table: the name as it is written, else in lower case."""
    session = postgres(connection)
    quoted = _quoted(table)
    with session.hold(), fenced_postgres(session, seconds):
        return _columns(session.run(_COLUMNS, quoted, quoted.lower()))


def of_sqlite(connection: Any, table: str, seconds: float) -> Columns:
    """By `pragma_table_info`.

    A connection that is always in a transaction (``autocommit=False``) would keep the lock of our read until its next
    commit, and other writers waiting: there a connection of our own to the same file is asked.
    """
    schema, _, name = table.rpartition(".")
    statement = "SELECT name, type FROM pragma_table_info(?, ?)"
    if getattr(connection, "autocommit", None) is False:
        files = {row[1]: row[2] for row in sqlite3_rows(connection, "PRAGMA database_list")}
        if file := _plain(files.get(schema or "main") or ""):
            with contextlib.closing(sqlite3.connect(f"file:{quote(file)}?mode=ro", uri=True, timeout=seconds)) as own:
                return _columns(sqlite3_rows(own, statement, (name, "main")))
    with fenced_sqlite(connection, seconds):
        return _columns(sqlite3_rows(connection, statement, (name, schema or None)))


def of_duckdb(connection: Any, table: str) -> Columns:
    """By a connection of our own (its ``cursor()``): the job's transaction is another one."""
    schema, _, name = table.rpartition(".")
    with contextlib.closing(connection.cursor()) as own:
        own.execute(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_name = ? AND table_schema = coalesce(?, current_schema()) ORDER BY ordinal_position",
            (name, schema or None),
        )
        return _columns(own.fetchall())


def of_mysql(connection: Any, table: str) -> Columns:
    """By information_schema, where a failing statement spoils no transaction; in none that would stay open."""
    pending = getattr(getattr(connection, "_result", None), "unbuffered_active", False)
    if pending is True or getattr(connection, "unread_result", False) is True:
        raise LeftAloneError("the connection has rows under way")
    status = getattr(connection, "server_status", None)
    inside = bool(status & 1) if isinstance(status, int) else getattr(connection, "in_transaction", None)
    ask = getattr(connection, "get_autocommit", None)
    autocommit = bool(ask() if callable(ask) else getattr(connection, "autocommit", False))
    if inside is not True and inside is not False and not autocommit:
        raise LeftAloneError("the driver does not tell whether a transaction is open")
    schema, _, name = table.rpartition(".")
    try:
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.execute(
                "SELECT column_name, data_type FROM information_schema.columns "
                "WHERE table_name = %s AND table_schema = coalesce(%s, database()) ORDER BY ordinal_position",
                (name, schema or None),
            )
            return _columns(cursor.fetchall())
    finally:
        if inside is False and not autocommit:
            connection.rollback()


def of_unknown(connection: Any, table: str) -> Columns:
    """By information_schema, else by a query without rows: only outside of the job's transactions."""
    idle = any(getattr(connection, name, None) is False for name in ("in_transaction", "transaction_in_progress"))
    autocommit = getattr(connection, "autocommit", None) is True
    if not idle and not autocommit:
        raise LeftAloneError(f"of {type(connection).__name__} it is not known whether a transaction is open")
    if not _PLAIN_NAME.fullmatch(table):
        raise LeftAloneError("the name would have to be quoted, and how is not known")
    try:
        with contextlib.closing(connection.cursor()) as cursor:
            return _of_unknown_catalogue(cursor, table)
    finally:
        if not autocommit:
            connection.rollback()


def _of_unknown_catalogue(cursor: Any, table: str) -> Columns:
    schema, _, name = table.rpartition(".")
    where = f"table_name = '{name}'" + (f" AND table_schema = '{schema}'" if schema else "")
    try:
        cursor.execute(
            "SELECT table_schema, column_name, data_type FROM information_schema.columns "
            f"WHERE {where} ORDER BY table_schema, ordinal_position"
        )
        rows = [_values(row) for row in cursor.fetchall()]
    except Exception:  # no such catalogue, and so none of the servers where a failing statement costs a transaction
        cursor.execute(f"SELECT * FROM {_quoted(table)} WHERE 1 = 0")
        return [(_plain(column[0]), _word(column[1])) for column in cursor.description]
    if len({row[0] for row in rows}) > 1:
        return []  # several tables of the name
    return _columns([row[1:] for row in rows])


def _word(kind: Any) -> str | None:
    """The name of a type, where the driver has one; its numbers say nothing to anybody."""
    word = getattr(kind, "__name__", None) or getattr(kind, "name", None) or kind
    return word if isinstance(word, str) else None


def _columns(rows: Any) -> Columns:
    return [(_plain(name), _plain(kind)) for name, kind in map(_values, rows)]


def _values(row: Any) -> tuple[Any, ...]:
    return tuple(row.values()) if isinstance(row, Mapping) else tuple(row)


def _plain(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _quoted(table: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))


# --- SQLAlchemy -----------------------------------------------------------------------------------------------------


class SqlAlchemySchemas:
    """Schemas by SQLAlchemy's inspection of an engine or a connection.

    An engine is asked on a connection of its own, in a thread; a connection is left as it was, in or outside of a
    transaction.
    """

    def __init__(self, bind: Any, schema: str | None = None) -> None:
        """``bind``: an Engine, a Connection or a Session. ``schema``: where names without one are looked up."""
        self._bind = bind.get_bind() if hasattr(bind, "get_bind") else bind  # a Session
        self._schema = schema

    def get_table_schema(self, table: str) -> Columns:
        """The columns of a table or view, ``table`` or ``schema.table``. Raises SQLAlchemy's errors."""
        return self.look_up(table, DEFAULT_SECONDS)

    def look_up(self, table: str, seconds: float) -> Columns:
        """The same within so many seconds. Raises LeftAloneError too, where the job might come to harm."""
        import sqlalchemy

        if getattr(getattr(self._bind, "dialect", None), "is_async", False):
            raise LeftAloneError("the engine is an asynchronous one")
        if not isinstance(self._bind, sqlalchemy.Engine):
            return self._on_connection(self._bind, table, seconds)
        if isinstance(self._bind.pool, (sqlalchemy.StaticPool, sqlalchemy.SingletonThreadPool)):
            return self._on_shared_connection(self._bind, table, seconds)
        return within(seconds, lambda: self._on_own_connection(self._bind, table, seconds))

    def _on_own_connection(self, engine: Any, table: str, seconds: float) -> Columns:
        began = time.monotonic()
        with engine.connect() as connection:
            return self._on_connection(connection, table, seconds - (time.monotonic() - began))

    def _on_shared_connection(self, engine: Any, table: str, seconds: float) -> Columns:
        """The one connection that all share, the job's transactions too, which a second user would roll back."""
        import sqlalchemy

        table = f"{self._schema}.{table}" if self._schema and "." not in table else table
        if isinstance(engine.pool, sqlalchemy.StaticPool):
            return DbApiSchemas(engine.pool.connection.dbapi_connection).look_up(table, seconds)
        shared = engine.raw_connection()
        try:
            return DbApiSchemas(shared.driver_connection).look_up(table, seconds)
        finally:
            shared.close()

    def _on_connection(self, connection: Any, table: str, seconds: float) -> Columns:
        if connection.closed or connection.invalidated:
            raise LeftAloneError("the connection is closed")
        driver = find_connection(connection.connection)
        idle = not connection.in_transaction()
        if idle and _is_busy(driver):  # a transaction that SQLAlchemy does not know of, and would roll back
            return DbApiSchemas(driver).look_up(table, seconds)
        with contextlib.ExitStack() as after, _fence(driver, seconds):
            if idle:
                after.callback(connection.rollback)
            return self._inspect(connection, table)

    def _inspect(self, connection: Any, table: str) -> Columns:
        import sqlalchemy

        schema, _, name = table.rpartition(".")
        columns = sqlalchemy.inspect(connection).get_columns(name, schema=schema.rpartition(".")[2] or self._schema)
        return [(column["name"], str(column["type"])) for column in columns]


def _is_busy(driver: Any) -> bool:
    if driver_of(driver) in _POSTGRES:
        return postgres(driver).state() != 0
    return getattr(driver, "in_transaction", None) is True


def _fence(driver: Any, seconds: float) -> contextlib.AbstractContextManager[None]:
    kind = driver_of(driver)
    if kind in _POSTGRES:
        session = postgres(driver)
        with session.hold():  # free now; it cannot be held, as SQLAlchemy comes by the same door
            pass
        return fenced_postgres(session, seconds)
    return fenced_sqlite(driver, seconds) if kind == "sqlite3" else contextlib.nullcontext()


def within[R](seconds: float, function: Callable[[], R]) -> R:
    """Call a function in a thread of its own and wait so long for it. Raises what it raises, and TimeoutError."""
    results: list[R] = []
    problems: list[Exception] = []
    done = threading.Event()

    def work() -> None:
        try:
            results.append(function())
        except Exception as problem:
            problems.append(problem)
        finally:
            done.set()

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="lineagelog-look-up", daemon=True).start()
    if not done.wait(max(0.0, seconds)):
        raise TimeoutError(f"no answer within {seconds:.3g} seconds")
    if problems:
        raise problems[0]
    if not results:
        raise TimeoutError("the look-up was interrupted")
    return results[0]


def is_pool_proxy(value: Any) -> bool:
    """Whether SQLAlchemy's pool has given it: a driver's connection in a wrapping, not one of its own."""
    return "sqlalchemy" in sys.modules and hasattr(type(value), "driver_connection")
