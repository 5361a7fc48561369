"""Connections to PostgreSQL, and the one place where the driver's errors become ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
import sqlalchemy.exc
from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from lineagelog.errors import SettingsError, StoreError, StoreUnavailable
from lineagelog.shown import mask_text, mask_url

from .connection import POOLINGS, Connection
from .pulse import PATIENCE, watch
from .troubles import trouble_of

_DEAD_PEER: Final = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""When TCP itself is to find out that the other machine has gone."""


def open_engine(
    url: str,
    *,
    pool_size: int = 5,
    connect_timeout: int = 10,
    idle_in_transaction: int = 300,
    patience: float = PATIENCE,
) -> Engine:
    """An engine for a database URL (``postgresql://user:password@host:port/database?option=…``).

    Sessions have the settings of `connection.py` and name themselves `lineagelog`; the server ends one that leaves a
    transaction idle for ``idle_in_transaction`` seconds. ``pooling=session`` or ``pooling=transaction`` in the URL
    says what a pooler on the way does, where that is not to be found out. Who waits for longer than ``patience``
    seconds for a database that answers nobody gets StoreUnavailable. Raises SettingsError for a URL that is none.
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
            **{name: value for name, value in _DEAD_PEER.items() if name not in parsed.query},
            "prepare_threshold": None,  # after a rollback psycopg deallocates all, ours (see pipeline.py) too
        },
    )
    pulse = watch(engine, patience)

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, _record: Any, _arguments: Any, parameters: dict[str, Any]) -> Connection:
        pulse.require()
        known = {name: value for name, value in parameters.items() if name != "pooling"}
        return Connection.opened(pooling, idle_in_transaction, known, pulse.bind)

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
        raise StoreUnavailable("all of our connections to the database are in use: try again later") from error
    except psycopg.Error as error:
        raise translate(error) from error


def translate(error: BaseException) -> StoreError:
    """The project's error for an error of the driver: what is wrong in plain words, then the driver's own."""
    message = mask_text(" ".join(str(error).split("\n", 1)[0].split())) or type(error).__name__
    trouble = trouble_of(error)
    advice = f" ({trouble.advice})" if trouble.advice else ""
    text = f"{trouble.words}: {message}{advice}" if trouble.words else message
    return trouble.kind(text, plain=f"{trouble.words or 'the log store cannot do this'}{advice}")
