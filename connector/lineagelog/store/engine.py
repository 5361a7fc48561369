"""Connections to PostgreSQL, and the one place where the driver's errors become ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
import sqlalchemy.exc
from psycopg import errors as pg
from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from lineagelog.errors import SettingsError, StoreError, StoreNotCreated, StoreReadOnly, StoreUnavailable
from lineagelog.shown import mask_text, mask_url

from .connection import POOLINGS, Connection

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

    Sessions have the settings of `connection.py` and name themselves `lineagelog`; the server ends one that leaves a
    transaction idle for ``idle_in_transaction`` seconds. ``pooling=session`` or ``pooling=transaction`` in the URL
    says what a pooler on the way does, where that is not to be found out. Raises SettingsError for a URL that is none.
    Nothing is connected yet.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # ValueError: a port that is no number
        raise SettingsError(f"database URL {mask_url(url)!r} cannot be read: postgresql://user@host/database") from None
    if parsed.get_backend_name() not in ("postgresql", "postgres"):
        raise SettingsError(f"database URL {mask_url(url)!r} is not PostgreSQL's: postgresql://user@host/database")
    if "@" in (parsed.host or ""):  # the driver would tell the rest of the password as the host's name
        raise SettingsError("the password in the database URL has a bare '@': write %40 for it")
    pooling = str(parsed.query.get("pooling", "auto"))
    if pooling not in POOLINGS:
        raise SettingsError(f"pooling={pooling} in the database URL: it is one of {', '.join(POOLINGS)}")
    engine = create_engine(
        parsed.set(drivername="postgresql+psycopg"),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=30,
        connect_args={
            "application_name": "lineagelog",
            "client_encoding": "UTF8",  # whatever PGCLIENTENCODING and the database say
            "connect_timeout": connect_timeout,
            "prepare_threshold": None,  # after a rollback psycopg deallocates all, ours (see pipeline.py) too
        },
    )

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, _record: Any, _arguments: Any, parameters: dict[str, Any]) -> Connection:
        return Connection.opened(
            pooling, idle_in_transaction, {name: value for name, value in parameters.items() if name != "pooling"}
        )

    return engine


@contextmanager
def driver_connection(engine: Engine) -> Iterator[Connection]:
    """A pooled psycopg connection; rolled back on the way out unless committed, dropped from the pool if broken."""
    with translated_errors():
        pooled = engine.raw_connection()
    try:
        connection = pooled.driver_connection
        assert isinstance(connection, Connection)  # noqa: S101  # for the type checker
        yield connection
    finally:
        if pooled.is_valid and getattr(pooled.driver_connection, "closed", False):
            pooled.invalidate()
        pooled.close()


def require_session(engine: Engine, what: str) -> None:
    """Refuse at once what needs a session of its own, where there is none to be had. Raises SettingsError."""
    with translated_errors(), driver_connection(engine) as connection:
        connection.require_session(what)


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
    message = mask_text(" ".join(str(error).split("\n", 1)[0].split())) or type(error).__name__
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
