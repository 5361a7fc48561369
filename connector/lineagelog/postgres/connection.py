"""A database connection on which names, times and numbers mean what we mean, whatever its role and poolers bring.

A search_path can put a function of the same name before PostgreSQL's own; a time zone, an isolation level and others
can be set for a role or a database. So every connection gets our settings: once where the session is its own, and in
each transaction where a pooler passes sessions from transaction to transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, override

import psycopg
from psycopg import generators
from psycopg.abc import PQGen
from psycopg.pq import ExecStatus, TransactionStatus

from lineagelog.errors import SettingsError

POOLINGS: Final = ("auto", "session", "transaction")
"""What ``pooling=`` in a database URL may say; auto finds out."""

SEARCH_PATH: Final = "pg_catalog, pg_temp"
"""Our tables are always written with their schema. Unless pg_temp is named, it comes first."""

_SETTINGS: Final = {
    "search_path": SEARCH_PATH,
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "jit": "off",
}
_ISOLATION: Final = "read committed"
"""Unless a transaction asks for more: a batch reads the retention floor after it has waited for the lock on it."""
_END_SOON: Final = "SELECT " + ", ".join(
    f"pg_catalog.set_config('tcp_keepalives_{name}', '{value}', false)"
    for name, value in (("idle", 15), ("interval", 5), ("count", 3))
)
POOLED_BEGIN: Final = f"BEGIN ISOLATION LEVEL {_ISOLATION.upper()}"


class Connection(psycopg.Connection[Any]):
    """A connection with our settings."""

    is_pooled = False
    """Whether the next transaction may run in another session, where nothing of this one is left."""
    _settings: dict[str, str] = {}  # noqa: RUF012  # replaced, never changed

    @classmethod
    def opened(
        cls, pooling: str, idle_in_transaction: int, parameters: dict[str, Any], bind: Callable[[Any], None]
    ) -> Connection:
        """Connect, and find out whether the session is our own; ``bind`` bounds all that the connection waits for.

        A pooler makes up the process id that a client is told for cancelling, so that it differs from the session's.
        One statement compares and sets: for the session, or, if the two differ, for no longer than itself.
        """
        connection = cls.connect(**parameters, autocommit=True)
        bind(connection)
        connection._settings = _SETTINGS | {"idle_in_transaction_session_timeout": f"{idle_in_transaction}s"}
        connection.is_pooled = pooling == "transaction"
        try:
            if pooling == "auto":
                told = connection.info.backend_pid
                connection._settle(f"pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.<>) {told}")
            elif pooling == "session":
                connection._settle("false")
            connection.autocommit = False
        except BaseException:
            connection.close()
            raise
        return connection

    def _settle(self, foreign: str) -> None:
        settings = self._settings | {"default_transaction_isolation": _ISOLATION}
        row = self.execute(f"SELECT {foreign}, {_set_config(settings, foreign)}".encode()).fetchone()
        self.is_pooled = row is not None and bool(row[0])

    def require_session(self, what: str) -> None:
        """Refuse what needs more of a session than a transaction. Raises SettingsError."""
        if self.is_pooled:
            raise SettingsError(
                f"{what} needs session pooling, and the database URL leads to a pooler of transactions: connect to "
                "PostgreSQL itself, or to a pool of sessions, which pooling=session in the URL says"
            )

    def end_soon(self) -> None:
        """Let the database end the session, and free its locks, half a minute after our machine has gone.

        For what holds a lock as long as its session lives: a machine that lost its power says no farewell, and the
        database would wait for two hours.
        """
        self.execute(_END_SOON.encode())

    def opening(self) -> str | None:
        """The one statement that follows BEGIN in a transaction; None where the session has our settings."""
        return f"SELECT {_set_config(self._settings, 'true')}" if self.is_pooled else None

    @override
    def _start_query(self) -> PQGen[None]:
        """As psycopg's, which sends BEGIN where it is due; where it is pooled our settings go with it, at no cost."""
        begins = not self.autocommit and self.pgconn.transaction_status == TransactionStatus.IDLE
        if not (begins and self.is_pooled):
            yield from super()._start_query()
        elif self._pipeline:
            yield from super()._start_query()
            yield from self._exec_command(self.opening() or "")
        else:
            begin = self._get_tx_start_command().decode()
            # SET, unlike SELECT, takes no snapshot: the isolation level may still be changed
            local = [f"SET LOCAL {name} = {_value(name, value)}" for name, value in self._settings.items()]
            self.pgconn.send_query("; ".join([POOLED_BEGIN if begin == "BEGIN" else begin, *local]).encode())
            for result in (yield from generators.execute(self.pgconn)):
                if result.status == ExecStatus.FATAL_ERROR:
                    raise psycopg.errors.error_from_result(result, self.info.encoding)


def _set_config(settings: dict[str, str], is_local: str) -> str:
    return ", ".join(f"pg_catalog.set_config('{name}', '{value}', {is_local})" for name, value in settings.items())


def _value(name: str, value: str) -> str:
    return value if name == "search_path" else f"'{value}'"
