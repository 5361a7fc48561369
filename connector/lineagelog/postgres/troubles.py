"""What an error of PostgreSQL or of its driver means for a person: one table, by SQLSTATE where there is one."""

from __future__ import annotations

from typing import Final, NamedTuple

import psycopg
from psycopg import errors as pg

from lineagelog.errors import StoreError, StoreNotCreated, StoreReadOnly, StoreUnavailable

from .pulse import NoAnswerError


class Trouble(NamedTuple):
    """A kind of error."""

    kind: type[StoreError]
    words: str
    advice: str = ""


_UNREACHABLE: Final = Trouble(StoreUnavailable, "the database cannot be reached")
_REFUSED: Final = Trouble(StoreUnavailable, "the database refuses the connection")
_CROWDED: Final = Trouble(StoreUnavailable, "the database has no connection left for us")
_NOT_UP: Final = Trouble(StoreUnavailable, "the database is starting up or shutting down")
_ENDED: Final = Trouble(StoreUnavailable, "the database has ended the connection")
_NOT_LET_IN: Final = Trouble(StoreUnavailable, "the database does not let us in")
_ABSENT: Final = Trouble(StoreUnavailable, "there is no such database on the server")
_SILENT: Final = Trouble(StoreUnavailable, "the database does not answer")
_LOST: Final = Trouble(StoreUnavailable, "the connection to the database was lost")
_TOO_LONG: Final = Trouble(StoreUnavailable, "the database took too long and gave up")
_LOCKED: Final = Trouble(StoreUnavailable, "somebody else holds a lock for too long")
_CONFLICT: Final = Trouble(StoreUnavailable, "others changed the same rows at the same time")
_MEMORY: Final = Trouble(StoreUnavailable, "the database is out of memory")
_BUSY: Final = Trouble(StoreUnavailable, "the database cannot do this now")
_DISK: Final = Trouble(StoreReadOnly, "the database's disk is full")
_READ_ONLY: Final = Trouble(StoreReadOnly, "the database refuses writes, it is read-only")
_FORBIDDEN: Final = Trouble(StoreReadOnly, "the database role may not do this")
_NOT_CREATED: Final = Trouble(StoreNotCreated, "the log store is not there", "run `lineagelog store init`")
_OTHER: Final = Trouble(StoreError, "")

_BY_CLASS: Final[tuple[tuple[tuple[type[BaseException], ...], Trouble], ...]] = (
    ((pg.UndefinedTable, pg.InvalidSchemaName, pg.UndefinedColumn, pg.UndefinedFunction), _NOT_CREATED),
    ((NoAnswerError, pg.ConnectionTimeout), _SILENT),
    ((pg.DiskFull,), _DISK),
    ((pg.ReadOnlySqlTransaction,), _READ_ONLY),
    ((pg.InsufficientPrivilege,), _FORBIDDEN),
    ((pg.InvalidPassword, pg.InvalidAuthorizationSpecification), _NOT_LET_IN),
    ((pg.InvalidCatalogName,), _ABSENT),
    ((pg.TooManyConnections,), _CROWDED),
    ((pg.AdminShutdown,), _ENDED),
    ((pg.CannotConnectNow, pg.CrashShutdown), _NOT_UP),
    ((pg.LockNotAvailable,), _LOCKED),
    ((pg.QueryCanceled, pg.IdleInTransactionSessionTimeout), _TOO_LONG),
    ((pg.SerializationFailure, pg.DeadlockDetected), _CONFLICT),
    ((pg.OutOfMemory,), _MEMORY),
)
_SAID: Final[tuple[tuple[str, Trouble], ...]] = (
    ("too many clients", _CROWDED),
    ("too many connections", _CROWDED),
    ("connection slots", _CROWDED),
    ("connection limit", _CROWDED),
    ("starting up", _NOT_UP),
    ("shutting down", _NOT_UP),
    ("in recovery mode", _NOT_UP),
    ("not yet accepting connections", _NOT_UP),
    ("authentication failed", _NOT_LET_IN),
    ("no password supplied", _NOT_LET_IN),
    ("pg_hba.conf", _NOT_LET_IN),
    ('" is not permitted to log in', _NOT_LET_IN),
    ('role "', _NOT_LET_IN),
    ('" does not exist', _ABSENT),
    ("FATAL", _REFUSED),
    ("timeout expired", _SILENT),
    ("timed out", _SILENT),
)
"""A refused connection has no SQLSTATE, only the server's words (in English, where the server speaks it)."""
_CONNECTING: Final = ("connection failed", "connection to server", "failed to resolve", "could not translate host")


def trouble_of(error: BaseException) -> Trouble:
    """Which kind of trouble an error is."""
    for classes, trouble in _BY_CLASS:
        if isinstance(error, classes):
            return trouble
    if not isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return _OTHER
    if error.sqlstate is not None:
        return _LOST if error.sqlstate.startswith("08") else _BUSY
    text = str(error)
    found = next((trouble for words, trouble in _SAID if words in text), None)
    return found or (_UNREACHABLE if any(words in text for words in _CONNECTING) else _LOST)
