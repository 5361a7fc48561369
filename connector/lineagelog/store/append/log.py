"""The log store: creates its tables and appends events, raw and digested, in one transaction per batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg import errors as pg
from sqlalchemy import Engine, select

from lineagelog.backoff import pause_after
from lineagelog.errors import StoreUnavailable
from lineagelog.event.model import Event, Reason, Rejected
from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import driver_connection, translate, translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.creation import create
from lineagelog.store.definition.partitions import MISSING_PARTITION, Partitions, months_of
from lineagelog.store.definition.version import any_version, keep_to_version, refuse_other

from .writer import BatchWriter, DeadLetter

_ATTEMPTS: Final = 6
_FIRST_PAUSE: Final = 0.04
_LONGEST_PAUSE: Final = 1.0
_TRANSIENT: Final = (
    pg.SerializationFailure,
    pg.DeadlockDetected,
    pg.LockNotAvailable,
    pg.UniqueViolation,
    pg.InvalidSqlStatementName,
)
_PASSING: Final[tuple[type[Exception], ...]] = (
    *_TRANSIENT,
    psycopg.OperationalError,
    psycopg.InterfaceError,
    StoreUnavailable,
)
_REFUSED: Final[tuple[type[Exception], ...]] = (
    psycopg.DataError,
    pg.ProgramLimitExceeded,
    pg.StatementTooComplex,
    pg.NotNullViolation,
)
"""What PostgreSQL raises for the content of an event: trying again would not help."""


class Verdict(StrEnum):
    """What became of one event."""

    STORED = "stored"
    DUPLICATE = "duplicate"
    EXPIRED = "expired"
    DEAD = "dead"


class Appended(Struct, frozen=True):
    """What became of a batch: one verdict per event, in the order they were given."""

    verdicts: tuple[Verdict, ...]
    refusals: dict[int, Rejected] = {}
    """Index to reason, for those that the database refused (the others' reasons the caller knows)."""

    @property
    def stored(self) -> int:
        """Number of new events."""
        return self.verdicts.count(Verdict.STORED)

    @property
    def duplicate(self) -> int:
        """Number of events that were stored before, or came twice in the batch."""
        return self.verdicts.count(Verdict.DUPLICATE)

    @property
    def expired(self) -> int:
        """Number of events older than the retention floor; they are not stored."""
        return self.verdicts.count(Verdict.EXPIRED)

    @property
    def dead(self) -> int:
        """Number of refused events; their bytes are in ol_dead_letter."""
        return self.verdicts.count(Verdict.DEAD)


type InTransaction = Callable[[psycopg.Connection[Any]], None]
"""Further work of the same transaction (a Kafka consumer stores its offsets), between the raw events and the digest."""


class LogStore:
    """An OpenLineage log store in one schema of a database. Safe for many threads and many processes at once."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.schema = keep_to_version(database)
        self._partitions = Partitions(self.schema)
        self._writer = BatchWriter(self.schema)
        self._floor: datetime | None = None

    @property
    def engine(self) -> Engine:
        """The pool of connections to the database."""
        return self.database.engine

    # --- definition -------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Create what is missing of schema, tables and indexes, and migrate an older store; nothing is lost.

        On a store that lacks nothing it only looks. Raises StoreTooNew, before anything is done, if the store was made
        by a later version, SettingsError for a database that is not UTF-8, and StoreUnavailable where others hold the
        locks that it needs.
        """
        with translated_errors(), any_version(), driver_connection(self.engine) as connection:
            create(connection, self.schema)
        self.check_version()

    def check_version(self) -> int:
        """The version of the tables. Raises StoreNotCreated without tables, StoreTooOld and StoreTooNew for others."""
        store = self.schema.t(tables.STORE_TABLE)
        with translated_errors(), any_version(), self.engine.connect() as connection:
            version = int(connection.execute(select(store.c.version)).scalar_one())
        refuse_other(version)
        return version

    def forget(self) -> None:
        """Drop what this process remembers of the tables: somebody else has emptied or recreated them."""
        self._partitions.forget()
        self._writer.forget()
        self._floor = None

    # --- appending --------------------------------------------------------------------------------------------------

    def append(
        self,
        items: Sequence[Event | Rejected],
        *,
        source: str = "api",
        positions: Sequence[str] | None = None,
        in_transaction: InTransaction | None = None,
    ) -> Appended:
        """Store a batch: raw events, digest and dead letters in one transaction; return after COMMIT.

        ``source`` names the transport and ``positions`` the place of each item, for dead letters. Appending again
        what is stored changes nothing, so a batch whose outcome is unknown may simply be sent again. Raises
        StoreUnavailable, StoreReadOnly, StoreNotCreated or StoreTooOld; then nothing of the batch is stored.
        """
        letters = {
            index: DeadLetter(item, source, positions[index] if positions else "")
            for index, item in enumerate(items)
            if isinstance(item, Rejected)
        }
        events = {index: item for index, item in enumerate(items) if isinstance(item, Event)}
        try:
            return self._append(events, letters, len(items), in_transaction)
        except _REFUSED:
            pass
        refusals = self._find_refused(events)
        for index, rejected in refusals.items():
            del events[index]
            letters[index] = DeadLetter(rejected, source, positions[index] if positions else "")
        with translated_errors():
            appended = self._append(events, letters, len(items), in_transaction)
        return Appended(appended.verdicts, refusals)

    def _find_refused(self, events: dict[int, Event]) -> dict[int, Rejected]:
        """The events that PostgreSQL does not take, found by halving; nothing is stored."""
        try:
            self._append(events, {}, max(events, default=-1) + 1, commit=False)
        except _REFUSED as error:
            if len(events) == 1:
                ((index, event),) = events.items()
                return {index: refused_by_database(event, error)}
            indexes = list(events)
            half = len(indexes) // 2
            found: dict[int, Rejected] = {}
            for part in (indexes[:half], indexes[half:]):
                found |= self._find_refused({index: events[index] for index in part})
            return found
        return {}

    def _append(
        self,
        events: dict[int, Event],
        letters: dict[int, DeadLetter],
        count: int,
        in_transaction: InTransaction | None = None,
        *,
        commit: bool = True,
    ) -> Appended:
        """One batch, tried again while the trouble is passing."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with driver_connection(self.engine) as connection:
                    return self._append_once(connection, events, letters, count, in_transaction, commit=commit)
            except _REFUSED:
                raise
            except MISSING_PARTITION:
                self._partitions.forget()
            except _FloorMovedError as moved:
                self._floor = moved.floor
                continue
            except _PASSING as error:
                if attempt == _ATTEMPTS:
                    raise _ours(error) from error
            except psycopg.Error as error:
                raise translate(error) from error
            time.sleep(pause_after(attempt, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE))
        raise StoreUnavailable("the batch could not be stored: its partition or the retention floor keeps changing")

    def _append_once(
        self,
        connection: psycopg.Connection[Any],
        events: dict[int, Event],
        letters: dict[int, DeadLetter],
        count: int,
        in_transaction: InTransaction | None,
        *,
        commit: bool,
    ) -> Appended:
        floor = self._floor
        verdicts = [Verdict.DEAD] * count
        unique: dict[Any, Event] = {}
        places: dict[bytes, int] = {}
        for index, event in events.items():
            if floor is not None and event.event_time < floor:
                verdicts[index] = Verdict.EXPIRED
            elif (key := event.key) in unique:
                verdicts[index] = Verdict.DUPLICATE
            else:
                unique[key] = event
                places[event.event_hash] = index
        months = self._partitions.missing(months_of(event.event_time for event in unique.values()))
        if months and (now := self._read_floor(connection)) != floor:  # what is expired makes no partition
            raise _FloorMovedError(now)
        self._partitions.make(connection, months)
        begun = self._writer.begin(connection, list(unique.values()))
        if begun.floor != floor:
            raise _FloorMovedError(begun.floor)
        if in_transaction is not None:
            in_transaction(connection)
        self._writer.finish(connection, begun, unique.values(), list(letters.values()), commit=commit)
        for event_hash, index in places.items():
            verdicts[index] = Verdict.STORED if event_hash in begun.new else Verdict.DUPLICATE
        return Appended(tuple(verdicts))

    def _read_floor(self, connection: psycopg.Connection[Any]) -> datetime | None:
        row = connection.execute(f"SELECT retention_floor FROM {self.schema.table(tables.STORE_TABLE)}").fetchone()
        connection.rollback()
        return None if row is None else row[0]


def _ours(error: Exception) -> Exception:
    return translate(error) if isinstance(error, psycopg.Error) else error


def refused_by_database(event: Event, error: Exception) -> Rejected:
    """The refusal of an event that parsed well and that PostgreSQL does not take all the same."""
    return Rejected(
        Reason.REFUSED_BY_DATABASE,
        "$",
        " ".join(str(error).split("\n", 1)[0].split()),
        event.raw or event.body,
        event.run_id or None,
        event.job_namespace or None,
        event.job_name or None,
        event.event_type or None,
        event.event_time.isoformat(),
    )


class _FloorMovedError(Exception):
    def __init__(self, floor: datetime | None) -> None:
        super().__init__("the retention floor moved")
        self.floor = floor
