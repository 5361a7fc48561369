"""Connections to PostgreSQL, and the one place where the driver's errors become ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
import sqlalchemy.exc
from psycopg import errors as pg
from sqlalchemy import Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError

from lineagelog.errors import SettingsError, StoreError, StoreNotCreated, StoreReadOnly, StoreUnavailable

_PASSWORD: Final = re.compile(r"(://[^:/@\s]*:)[^@\s]*@(?:[^@/?\s]*@)*|(password\s*=\s*)('[^']*'|\S+)", re.IGNORECASE)

_READ_ONLY: Final = (
    pg.ReadOnlySqlTransaction,
    pg.InsufficientPrivilege,
    pg.DiskFull,
    pg.OutOfMemory,
)
_UNAVAILABLE: Final = (
    pg.AdminShutdown,
    pg.CrashShutdown,
    pg.CannotConnectNow,
    pg.TooManyConnections,
    pg.QueryCanceled,
    pg.LockNotAvailable,
    pg.SerializationFailure,
    pg.DeadlockDetected,
)
_NOT_CREATED: Final = (pg.UndefinedTable, pg.InvalidSchemaName, pg.UndefinedColumn, pg.UndefinedFunction)


def open_engine(url: str, *, pool_size: int = 5, connect_timeout: int = 10, idle_in_transaction: int = 300) -> Engine:
    """An engine for a database URL (``postgresql://user:password@host:port/database?option=…``).

    Sessions run in UTC and name themselves `lineagelog`; the server ends one that leaves a transaction idle for
    ``idle_in_transaction`` seconds. Raises SettingsError for a URL that is none. Nothing is connected yet.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise SettingsError(f"database URL {masked(url)!r} cannot be read: postgresql://user@host/database") from None
    if parsed.get_backend_name() not in ("postgresql", "postgres"):
        raise SettingsError(f"database URL {masked(url)!r} is not PostgreSQL's: postgresql://user@host/database")
    if "@" in (parsed.host or ""):  # the driver would tell the rest of the password as the host's name
        raise SettingsError("the password in the database URL has a bare '@': write %40 for it")
    return create_engine(
        parsed.set(drivername="postgresql+psycopg"),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=30,
        connect_args={
            "application_name": "lineagelog",
            "client_encoding": "UTF8",  # whatever PGCLIENTENCODING and the database say
            "connect_timeout": connect_timeout,
            "prepare_threshold": None,  # after a rollback psycopg deallocates all, ours (see pipeline.py) too
            "options": "-c timezone=UTC -c datestyle=ISO -c jit=off "
            f"-c idle_in_transaction_session_timeout={idle_in_transaction}s",
        },
    )


def masked(url: str) -> str:
    """The text without passwords, for messages and logs."""
    return _PASSWORD.sub(lambda match: f"{match[1]}***@" if match[1] else f"{match[2]}***", url)


@contextmanager
def driver_connection(engine: Engine) -> Iterator[psycopg.Connection[Any]]:
    """A pooled psycopg connection; rolled back on the way out unless committed, dropped from the pool if broken."""
    with translated_errors():
        pooled = engine.raw_connection()
    try:
        connection = pooled.driver_connection
        assert isinstance(connection, psycopg.Connection)  # noqa: S101  # for the type checker
        yield connection
    finally:
        if pooled.is_valid and getattr(pooled.driver_connection, "closed", False):
            pooled.invalidate()
        pooled.close()


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the project's errors for the driver's, with the cause kept and passwords masked."""
    try:
        yield
    except sqlalchemy.exc.DBAPIError as error:
        if error.orig is None:
            raise
        raise translate(error.orig) from error
    except sqlalchemy.exc.TimeoutError as error:
        raise StoreUnavailable("all database connections are in use") from error
    except psycopg.Error as error:
        raise translate(error) from error


def translate(error: BaseException) -> StoreError:
    """The project's error for an error of the driver."""
    message = masked(" ".join(str(error).split("\n", 1)[0].split())) or type(error).__name__
    if isinstance(error, _NOT_CREATED):
        return StoreNotCreated(f"the log store is not there: {message} (run `lineagelog store init`)")
    if isinstance(error, _READ_ONLY):
        return StoreReadOnly(f"the database refuses writes: {message}")
    if isinstance(error, _UNAVAILABLE) or (
        isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)) and error.sqlstate is None
    ):
        return StoreUnavailable(f"the database cannot be reached: {message}")
    if isinstance(error, psycopg.OperationalError):
        return StoreUnavailable(f"the database cannot do this now: {message}")
    return StoreError(message)
