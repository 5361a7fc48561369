"""A fence around a look-up on a job's PostgreSQL or SQLite connection: bounded, and everything as before afterwards."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol

from .unwrapping import LeftAloneError, driver_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_IDLE: Final = 0
_IN_TRANSACTION: Final = 2
_STATES: Final = {1: "is at work", 3: "is in a transaction that has failed", 4: "is closed"}
_OLDEST: Final = 90600
"""`to_regclass` of a text; older servers and some that only look like PostgreSQL have no savepoints either."""
_SAVEPOINT: Final = "lineagelog_look_up"

type Rows = list[tuple[Any, ...]]


class Postgres(Protocol):
    """A connection to PostgreSQL, as its driver has it."""

    own_begin: bool
    """Whether the driver itself begins a transaction before a statement, and keeps count of it."""

    def state(self) -> int:
        """The state of the transaction, in libpq's numbers. Raises LeftAloneError where nothing may be run."""

    def version(self) -> int:
        """The server's version in one number."""

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Keep other threads of the job from it."""

    def run(self, statement: str, *values: str) -> Rows:
        """Run a statement with ``%s`` for the values. Raises the driver's errors."""

    def rollback(self) -> None:
        """End the transaction that the driver has begun."""


class _Psycopg:
    """psycopg 3, below its cursors: no factory, adapter, or hook of the job's takes part."""

    own_begin = False

    def __init__(self, connection: Any) -> None:
        self._connection, self._pgconn = connection, connection.pgconn

    def state(self) -> int:
        if self._connection.closed:
            raise LeftAloneError("the connection is closed")
        if getattr(self._connection, "_pipeline", None) is not None or int(self._pgconn.pipeline_status):
            raise LeftAloneError("the connection is in pipeline mode")
        return int(self._pgconn.transaction_status)

    def version(self) -> int:
        return int(self._pgconn.server_version)

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        lock = self._connection.lock
        if not lock.acquire(blocking=False):
            raise LeftAloneError("the connection is at work, in another thread or task")
        try:
            yield
        finally:
            lock.release()

    def run(self, statement: str, *values: str) -> Rows:
        encoding = self._connection.info.encoding
        for number in range(len(values)):
            statement = statement.replace("%s", f"${number + 1}", 1)
        result = self._pgconn.exec_params(statement.encode(encoding), [value.encode(encoding) for value in values])
        if int(result.status) not in (1, 2):  # neither done nor rows
            raise RuntimeError((result.error_message or b"the query failed").decode(encoding, "replace"))
        rows = range(result.ntuples)
        return [tuple(self._text(result.get_value(row, at)) for at in range(result.nfields)) for row in rows]

    def _text(self, value: bytes | None) -> str | None:
        return None if value is None else value.decode(self._connection.info.encoding)

    def rollback(self) -> None:
        """Not needed: `own_begin` is false."""


class _ByCursor:
    """psycopg2 and pg8000, by a cursor of the driver's own class."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._is_psycopg2 = driver_of(connection) == "psycopg2"
        self.own_begin = not connection.autocommit
        self._class: Any = next(
            base for base in type(connection).__mro__ if base.__module__.startswith(("psycopg2.ext", "pg8000"))
        )

    def state(self) -> int:
        if not self._is_psycopg2:
            return {b"I": _IDLE, b"T": _IN_TRANSACTION, b"E": 3}.get(bytes(self._connection._transaction_status), 4)
        if self._connection.closed or self._connection.async_ or self._connection.status not in (1, 2):
            raise LeftAloneError("the connection is closed, asynchronous or in a two-phase commit")
        return int(self._connection.get_transaction_status())

    def version(self) -> int:
        if self._is_psycopg2:
            return int(self._connection.server_version)
        status = {_plain(key): _plain(value) for key, value in dict(self._connection.parameter_statuses).items()}
        return int(status["server_version"].split()[0].split(".")[0]) * 10_000

    def hold(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def run(self, statement: str, *values: str) -> Rows:
        if self._is_psycopg2:
            cursor_class = sys.modules["psycopg2.extensions"].cursor
            cursor = self._class.cursor(self._connection, cursor_factory=cursor_class)
        else:
            cursor = self._class.cursor(self._connection)
        try:
            cursor.execute(statement, values or None) if self._is_psycopg2 else cursor.execute(statement, values)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            cursor.close()

    def rollback(self) -> None:
        self._class.rollback(self._connection)


def _plain(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def postgres(connection: Any) -> Postgres:
    """A driver's connection to PostgreSQL."""
    return _Psycopg(connection) if driver_of(connection) == "psycopg" else _ByCursor(connection)


@contextlib.contextmanager
def fenced_postgres(session: Postgres, seconds: float) -> Iterator[None]:
    """Within: what fails, or takes longer, costs the job nothing; its transaction and settings stay as they were.

    In an open transaction by a savepoint that is always rolled back, else in a transaction of its own. Raises
    LeftAloneError where neither can be.
    """
    state = session.state()
    if state not in (_IDLE, _IN_TRANSACTION):
        raise LeftAloneError(f"the connection {_STATES.get(state, 'cannot be used')}")
    if session.version() < _OLDEST:
        raise LeftAloneError("the server is too old, or is not PostgreSQL")
    milliseconds = max(1, int(seconds * 1000))
    begin, end = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY", ["ROLLBACK"]
    if state == _IN_TRANSACTION:
        begin = f"SAVEPOINT {_SAVEPOINT}"
        end = [f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}", f"RELEASE SAVEPOINT {_SAVEPOINT}"]
    is_own = state == _IDLE and session.own_begin
    if not is_own:
        session.run(begin)
    try:
        session.run(f"SET LOCAL statement_timeout = {milliseconds}")
        session.run(f"SET LOCAL lock_timeout = {milliseconds}")
        yield
    finally:
        if is_own:
            session.rollback()
        else:
            for statement in end:
                session.run(statement)


@contextlib.contextmanager
def fenced_sqlite(connection: Any, seconds: float) -> Iterator[None]:
    """Within: a database that others have locked is waited for so long; the connection's own patience is kept."""
    own = sqlite3_rows(connection, "PRAGMA busy_timeout")[0][0]
    sqlite3_rows(connection, f"PRAGMA busy_timeout = {max(1, int(seconds * 1000))}")
    try:
        yield
    finally:
        sqlite3_rows(connection, f"PRAGMA busy_timeout = {int(own)}")


def sqlite3_rows(connection: Any, statement: str, values: tuple[Any, ...] = ()) -> Rows:
    """The rows of a query, whatever cursors and rows the job's connection makes. Raises sqlite3's errors."""
    cursor = sqlite3.Connection.cursor(connection)
    try:
        cursor.row_factory = None
        return list(cursor.execute(statement, values).fetchall())
    finally:
        cursor.close()
