"""What forwarding needs of the store: events in order of arrival, a durable cursor and parked events per target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import batched
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from lineagelog.errors import StoreUnavailable, TargetBusy
from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import driver_connection, translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.partitions import advisory_key
from lineagelog.store.definition.version import keep_to_version

LAG_COUNTED: Final = 1_000_000
"""Events behind are counted up to this many."""
_LETTERS_AT_ONCE: Final = 1000


class Position(Struct, frozen=True, order=True, gc=False):
    """A place in the order of arrival: the transaction that stored the event, then its number.

    Transaction ids are compared first because the numbers are drawn before the commit: a slow transaction makes
    events visible whose numbers are lower than those of events that were read long ago.
    """

    xid: int
    arrival: int


START: Final = Position(0, 0)
NOT_BEGUN: Final = Position(0, -1)
"""Of a target that was only probed, or sent ranges: nothing is owed to it, and a forward begins as for a new one."""

type Learnt = dict[str, Any]
"""What a sender has found out about its target, as JSON; only the sender knows what it means."""


class Selection(Struct, frozen=True):
    """Which events a target wants, as LIKE patterns; an empty tuple = all."""

    namespaces: tuple[str, ...] = ()
    not_namespaces: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    not_jobs: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    not_types: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """Names, not patterns: run, job, dataset."""


class StoredEvent(Struct, frozen=True, gc=False):
    """An event as it is stored, with its place in the order of arrival."""

    position: Position
    run_id: str
    event_time: datetime
    event_type: str
    event_hash: bytes
    job_namespace: str
    job_name: str
    is_exact: bool
    """Whether ``body`` has the bytes as received; else it is the JSON text that PostgreSQL gives."""
    body: bytes | None
    """None for an event that the selection leaves out."""


class EventPage(Struct, frozen=True):
    """Events that follow a place, in order."""

    events: tuple[StoredEvent, ...]
    is_last: bool
    """Whether nothing more was there to read."""


class Letter(Struct, frozen=True):
    """An event to be parked, and why."""

    event: StoredEvent
    size: int
    reason: str
    status: int | None
    detail: str


class Progress(Struct, frozen=True):
    """What a forwarder has done since it saved last."""

    position: Position
    delivered: int = 0
    filtered: int = 0
    letters: tuple[Letter, ...] = ()
    file_size: int | None = None
    rate: float | None = None


class Known(Struct, frozen=True):
    """What is remembered of a target that is about to be forwarded to."""

    position: Position | None = None
    """None where nothing was begun."""
    file_size: int | None = None
    learnt: Learnt | None = None


class Forgotten(Struct, frozen=True):
    """What went with a target."""

    delivered: int
    lag_events: int
    parked: int


class CursorRow(Struct, frozen=True):
    """How far a target is."""

    target: str
    position: Position
    delivered: int
    parked: int
    """Events parked now."""
    filtered: int
    file_size: int | None
    rate: float | None
    problem: str | None
    problem_at: datetime | None
    updated_at: datetime
    learnt: Learnt | None
    gap: int
    """Events that a purge has taken before they were sent."""
    gap_before: datetime | None
    """The latest cut-off of such a purge."""
    is_running: bool
    """Whether a process forwards to it at this moment."""

    @property
    def is_begun(self) -> bool:
        """Whether it is to get all that arrives, and not only what it was sent by hand."""
        return self.position != NOT_BEGUN


class ForwardLag(Struct, frozen=True):
    """What lies between a cursor and the end of the log."""

    events: int
    """At most LAG_COUNTED."""
    oldest: datetime | None
    """When the oldest of them was received."""
    held_back: int
    """Of the events, those that wait for an older transaction to end."""
    holder: str | None
    """That transaction: process id, since when, program. None if none is seen."""


class LetterRow(Struct, frozen=True):
    """A parked event as it is listed."""

    id: int
    target: str
    state: str
    reason: str
    status: int | None
    detail: str
    count: int
    run_id: str
    event_time: datetime
    event_type: str
    job_namespace: str
    job_name: str
    size: int
    parked_at: datetime
    last_parked_at: datetime


_COLUMNS: Final = """e.arrival_xid::text::bigint, e.arrival, e.run_id, e.event_time, e.event_type, e.event_hash,
    e.job_namespace, e.job_name, e.raw IS NOT NULL"""
_BODY: Final = "coalesce(e.raw, convert_to(e.event::text, 'UTF8'))"
WANTED: Final = """(cardinality(%(namespaces)s::text[]) = 0 OR e.job_namespace LIKE ANY (%(namespaces)s::text[]))
    AND NOT e.job_namespace LIKE ANY (%(not_namespaces)s::text[])
    AND (cardinality(%(jobs)s::text[]) = 0 OR e.job_name LIKE ANY (%(jobs)s::text[]))
    AND NOT e.job_name LIKE ANY (%(not_jobs)s::text[])
    AND (cardinality(%(types)s::text[]) = 0 OR e.event_type LIKE ANY (%(types)s::text[]))
    AND NOT e.event_type LIKE ANY (%(not_types)s::text[])
    AND (cardinality(%(kinds)s::text[]) = 0 OR e.event_kind = ANY (%(kinds)s::text[]))"""
_ENDED: Final = "arrival_xid < pg_snapshot_xmin(pg_current_snapshot())"
"""Transactions that have ended, as this statement sees them: no event can appear among them any more."""
FOREIGN: Final = "arrival_xid >= pg_snapshot_xmax(pg_current_snapshot())"
_AFTER: Final = "(arrival_xid, arrival) > (%(xid)s::text::xid8, %(arrival)s::bigint)"


class Forwarding:
    """Reading for forwarders. Safe for many threads. All calls raise StoreUnavailable and StoreNotCreated."""

    def __init__(self, database: Database) -> None:
        self.engine = database.engine
        self.schema = keep_to_version(database)
        self._event = self.schema.table(tables.EVENT_TABLE)
        self._cursor = self.schema.table(tables.FORWARD_CURSOR_TABLE)
        self._letter = self.schema.table(tables.FORWARD_LETTER_TABLE)

    # --- events -----------------------------------------------------------------------------------------------------

    def page(self, after: Position, selection: Selection, *, limit: int, max_bytes: int) -> EventPage:
        """The events that arrived after a place, in order of arrival, as far as nothing can slip in before them.

        Ends after ``limit`` events or when their bodies reach ``max_bytes`` (one event may be larger).
        """
        inner = f"SELECT * FROM {self._event} WHERE {_AFTER} AND {_ENDED} ORDER BY arrival_xid, arrival LIMIT %(limit)s"
        place = {"xid": str(after.xid), "arrival": after.arrival}
        return self._read(inner, "e.arrival_xid, e.arrival", place, selection, limit, max_bytes)

    def range_page(
        self,
        since: datetime | None,
        until: datetime | None,
        after: StoredEvent | None,
        selection: Selection,
        *,
        limit: int,
        max_bytes: int,
    ) -> EventPage:
        """The events of a range of event times, [since, until), oldest first, after the last of the page before."""
        conditions, values = _between(since, until)
        if after is not None:
            conditions.append("(event_time, arrival) > (%(time)s::timestamptz, %(arrival)s::bigint)")
            values |= {"time": after.event_time, "arrival": after.position.arrival}
        inner = (
            f"SELECT * FROM {self._event} WHERE {' AND '.join(conditions)} ORDER BY event_time, arrival LIMIT %(limit)s"
        )
        return self._read(inner, "e.event_time, e.arrival", values, selection, limit, max_bytes)

    def _read(
        self, inner: str, order: str, values: dict[str, Any], selection: Selection, limit: int, max_bytes: int
    ) -> EventPage:
        wanted = f"CASE WHEN {WANTED} THEN {_BODY} END"
        query = f"SELECT {_COLUMNS}, {wanted} FROM ({inner}) e ORDER BY {order}"
        events: list[StoredEvent] = []
        size = 0
        with translated_errors(), driver_connection(self.engine) as connection, connection.cursor() as cursor:
            # rows come one by one, so that a page of very large events is cut before it is in memory
            rows: Any = cursor.stream(query, values | wanted_values(selection) | {"limit": limit}, binary=True)
            for xid, arrival, *rest in rows:
                event = StoredEvent(Position(xid, arrival), *rest)
                events.append(event)
                size += len(event.body or b"")
                if size >= max_bytes:
                    rows.close()
                    break
            connection.rollback()
        return EventPage(tuple(events), len(events) < limit and size < max_bytes)

    def count_range(self, since: datetime | None, until: datetime | None) -> int:
        """The number of events of a range."""
        conditions, values = _between(since, until)
        query = f"SELECT count(*) FROM {self._event} WHERE {' AND '.join(conditions)}"
        return int(self._one(query, values)[0])

    def end(self) -> Position:
        """The place of the last event that page() would give now: where a target begins that wants no history."""
        query = (
            f"SELECT arrival_xid::text::bigint, arrival FROM {self._event} WHERE {_ENDED} "
            "ORDER BY arrival_xid DESC, arrival DESC LIMIT 1"
        )
        with translated_errors(), driver_connection(self.engine) as connection:
            row = connection.execute(query).fetchone()
        return Position(*row) if row else START

    def has_foreign(self) -> bool:
        """Whether there are events whose transaction ids lie in the future of this database cluster.

        They come from another cluster, by pg_dump or logical replication, and would wait for years: see rebase().
        """
        return bool(self._one(f"SELECT EXISTS (SELECT 1 FROM {self._event} WHERE {FOREIGN})", {})[0])

    def rebase(self) -> int:
        """Give the events of a restored store a place before all that arrives from now on; how many.

        Cursors are moved so that what was not forwarded still comes; events near a cursor may be forwarded twice.
        Needs the store without writers.
        """
        origin = Position(3, 0)  # PostgreSQL's first normal transaction id
        with translated_errors(), driver_connection(self.engine) as connection:
            connection.execute(f"LOCK TABLE {self._event} IN SHARE ROW EXCLUSIVE MODE")
            connection.execute(f"LOCK TABLE {self._cursor} IN EXCLUSIVE MODE")
            # what came in after the restore has low transaction ids, and numbers above all that was restored
            connection.execute(
                f"""UPDATE {self._cursor} c SET arrival_xid = '{origin.xid}', arrival = coalesce(
                      (SELECT min(arrival) - 1 FROM {self._event}
                       WHERE (arrival_xid, arrival) > (c.arrival_xid, c.arrival) OR arrival > (
                         SELECT max(arrival) FROM {self._event} WHERE {FOREIGN})),
                      (SELECT max(arrival) FROM {self._event}), 0)
                    WHERE arrival >= 0"""
            )
            moved = connection.execute(
                f"UPDATE {self._event} SET arrival_xid = '{origin.xid}' WHERE arrival_xid <> '{origin.xid}'"
            )
            connection.commit()
        return moved.rowcount

    # --- status -----------------------------------------------------------------------------------------------------

    def cursors(self) -> list[CursorRow]:
        """All targets that were ever forwarded to, by name."""
        query = f"""
            SELECT target, arrival_xid::text::bigint, arrival, delivered,
              (SELECT count(*) FROM {self._letter} l WHERE l.target = c.target AND l.state = 'parked'),
              filtered, file_size, rate, problem, problem_at, updated_at, learnt, gap, gap_before
            FROM {self._cursor} c ORDER BY target"""
        with translated_errors(), driver_connection(self.engine) as connection:
            rows = connection.execute(query).fetchall()
            locks = {row[0] for row in connection.execute(_HELD_LOCKS)}
        return [
            CursorRow(*(target, Position(xid, arrival), *rest, self._key(target) in locks))
            for target, xid, arrival, *rest in rows
        ]

    def remember(self, target: str, learnt: Learnt) -> None:
        """Keep what was found out about a target, beside whoever forwards to it."""
        query = f"""
            INSERT INTO {self._cursor} (target, arrival_xid, arrival, learnt) VALUES (%s, %s::text::xid8, %s, %s)
            ON CONFLICT (target) DO UPDATE SET learnt = excluded.learnt"""
        values = (target, str(NOT_BEGUN.xid), NOT_BEGUN.arrival, Jsonb(learnt))
        with translated_errors(), driver_connection(self.engine) as connection:
            connection.execute(query, values)
            connection.commit()

    def forget(self, target: str) -> Forgotten | None:
        """Remove the cursor of a target and its parked events; None if there is none. Raises TargetBusy."""
        row = {each.target: each for each in self.cursors()}.get(target)
        if row is None:
            return None
        with self.lease(target) as lease:
            lag = self.lag(row.position).events if row.is_begun else 0
            lease.forget()
        return Forgotten(row.delivered, lag, row.parked)

    def lag(self, after: Position) -> ForwardLag:
        """How much has arrived after a place."""
        query = f"""
            SELECT count(*), min(received_at), count(*) FILTER (WHERE NOT {_ENDED})
            FROM (SELECT received_at, arrival_xid FROM {self._event} WHERE {_AFTER}
                  ORDER BY arrival_xid, arrival LIMIT {LAG_COUNTED}) behind"""
        events, oldest, held = self._one(query, {"xid": str(after.xid), "arrival": after.arrival})
        holder = None
        if held:
            with translated_errors(), driver_connection(self.engine) as connection:
                row = connection.execute(_OLDEST_TRANSACTION).fetchone()
            holder = None if row is None else f"process {row[0]} since {row[1]:%Y-%m-%d %H:%M:%SZ} ({row[2]})"
        return ForwardLag(events, oldest, held, holder)

    # --- parked events ----------------------------------------------------------------------------------------------

    def letters(self, target: str | None, state: str | None = "parked", *, after: int = 0) -> Iterator[LetterRow]:
        """The parked events, oldest first, read in pages; None = of all targets, in all states."""
        query = f"""
            SELECT {", ".join(LetterRow.__struct_fields__)} FROM {self._letter}
            WHERE id > %(after)s AND (%(target)s::text IS NULL OR target = %(target)s)
              AND (%(state)s::text IS NULL OR state = %(state)s) ORDER BY id LIMIT {_LETTERS_AT_ONCE}"""
        while True:
            with translated_errors(), driver_connection(self.engine) as connection:
                cursor = connection.cursor(row_factory=class_row(LetterRow))
                rows = cursor.execute(query, {"after": after, "target": target, "state": state}).fetchall()
            yield from rows
            if len(rows) < _LETTERS_AT_ONCE:
                return
            after = rows[-1].id

    def letter_events(self, letter_ids: Sequence[int]) -> list[tuple[int, StoredEvent | None]]:
        """The events of parked ones, in order of their ids; None where retention has purged the event since."""
        same = " AND ".join(f"e.{name} = l.{name}" for name in ("run_id", "event_time", "event_type", "event_hash"))
        query = f"""
            SELECT l.id, {_COLUMNS}, {_BODY} FROM {self._letter} l LEFT JOIN {self._event} e ON {same}
            WHERE l.id = ANY (%(ids)s) ORDER BY l.id"""
        with translated_errors(), driver_connection(self.engine) as connection:
            rows = connection.cursor(binary=True).execute(query, {"ids": list(letter_ids)}).fetchall()
        return [
            (number, None if xid is None else StoredEvent(Position(xid, arrival), *rest))
            for number, xid, arrival, *rest in rows
        ]

    def mark_letters(self, letter_ids: Sequence[int], state: str) -> int:
        """Set the state of parked events; how many changed."""
        query = f"UPDATE {self._letter} SET state = %s WHERE id = ANY (%s) AND state <> %s"
        changed = 0
        with translated_errors(), driver_connection(self.engine) as connection:
            for some in batched(letter_ids, _LETTERS_AT_ONCE):
                changed += connection.execute(query, (state, list(some), state)).rowcount
            connection.commit()
        return changed

    # --- forwarding -------------------------------------------------------------------------------------------------

    @contextmanager
    def lease(self, target: str) -> Iterator[Lease]:
        """Be the one forwarder of a target, until the end of the block or the loss of the connection.

        Raises TargetBusy if another process is it, and SettingsError behind a pooler of transactions.
        """
        with translated_errors(), driver_connection(self.engine) as connection:
            connection.require_session("forwarding")
            connection.autocommit = True
            connection.end_soon()
            row = connection.execute("SELECT pg_try_advisory_lock(%s)", (self._key(target),)).fetchone()
            if row is None or not row[0]:
                connection.autocommit = False
                raise TargetBusy(f"another process forwards to {target!r}: one at a time (lineagelog forward status)")
            try:
                yield Lease(connection, target, self._cursor, self._letter)
            finally:
                if not connection.closed and not connection.broken:
                    connection.execute("SELECT pg_advisory_unlock(%s)", (self._key(target),))
                    connection.autocommit = False

    def _key(self, target: str) -> int:
        return advisory_key(self.schema, f"forward:{target}")

    def _one(self, query: str, values: dict[str, Any]) -> tuple[Any, ...]:
        with translated_errors(), driver_connection(self.engine) as connection:
            row: tuple[Any, ...] | None = connection.execute(query, values).fetchone()
        if row is None:
            raise StoreUnavailable("the database gave no answer")
        return row


class Lease:
    """The right to forward to a target, bound to a database session.

    Everything is saved on the session that holds the lock: who has lost the lock cannot save.
    """

    def __init__(self, connection: psycopg.Connection[Any], target: str, cursor: str, letter: str) -> None:
        self._connection, self._target = connection, target
        self._cursor, self._letter = cursor, letter

    def recall(self) -> Known:
        """What is remembered of the target."""
        query = f"SELECT arrival_xid::text::bigint, arrival, file_size, learnt FROM {self._cursor} WHERE target = %s"
        with translated_errors():
            row = self._connection.execute(query, (self._target,)).fetchone()
        if row is None:
            return Known()
        position = Position(row[0], row[1])
        return Known(None if position == NOT_BEGUN else position, row[2], row[3])

    def begin(self, position: Position) -> None:
        """Remember where a new target begins; NOT_BEGUN changes nothing for one that is known."""
        query = f"""
            INSERT INTO {self._cursor} AS c (target, arrival_xid, arrival) VALUES (%s, %s::text::xid8, %s)
            ON CONFLICT (target) DO UPDATE SET arrival_xid = excluded.arrival_xid, arrival = excluded.arrival
            WHERE c.arrival < 0"""
        with translated_errors():
            self._connection.execute(query, (self._target, str(position.xid), position.arrival))

    def remember(self, learnt: Learnt) -> None:
        """Keep what the sender has found out about the target."""
        with translated_errors():
            self._connection.execute(
                f"UPDATE {self._cursor} SET learnt = %s WHERE target = %s", (Jsonb(learnt), self._target)
            )

    def forget(self) -> None:
        """Remove the target's place and its parked events."""
        with translated_errors(), self._connection.transaction():
            for table in (self._letter, self._cursor):
                self._connection.execute(f"DELETE FROM {table} WHERE target = %s", (self._target,))

    def save(self, progress: Progress) -> None:
        """Move the cursor and park what was refused, in one transaction."""
        query = f"""
            UPDATE {self._cursor} SET arrival_xid = %(xid)s::text::xid8, arrival = %(arrival)s::bigint,
              delivered = delivered + %(delivered)s, filtered = filtered + %(filtered)s, parked = parked + %(parked)s,
              file_size = coalesce(%(file_size)s::bigint, file_size), rate = coalesce(%(rate)s::float8, rate),
              problem = NULL, problem_at = NULL, updated_at = now()
            WHERE target = %(target)s"""
        values = {
            "xid": str(progress.position.xid),
            "arrival": progress.position.arrival,
            "delivered": progress.delivered,
            "filtered": progress.filtered,
            "parked": len(progress.letters),
            "file_size": progress.file_size,
            "rate": progress.rate,
            "target": self._target,
        }
        with translated_errors(), self._connection.transaction():
            self._park(progress.letters)
            self._connection.execute(query, values)

    def park(self, letters: Sequence[Letter]) -> None:
        """Park what was refused, without moving the cursor."""
        with translated_errors(), self._connection.transaction():
            self._park(letters)

    def _park(self, letters: Sequence[Letter]) -> None:
        query = f"""
            INSERT INTO {self._letter} AS l (target, run_id, event_time, event_type, event_hash, job_namespace,
              job_name, size, reason, status, detail)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
            ON CONFLICT (target, run_id, event_time, event_type, event_hash) DO UPDATE SET
              size = excluded.size, reason = excluded.reason, status = excluded.status, detail = excluded.detail,
              state = 'parked', count = l.count + 1, last_parked_at = now()"""
        rows = []
        for letter in letters:
            event = letter.event
            detail = letter.detail.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
            why = (letter.reason, letter.status, detail)
            identity = (event.run_id, event.event_time, event.event_type, event.event_hash)
            rows.append((self._target, *identity, event.job_namespace, event.job_name, letter.size, *why))
        if rows:
            self._connection.cursor().executemany(query, rows)

    def keep_size(self, file_size: int) -> None:
        """Remember the complete size of a target's file without moving its cursor."""
        query = f"UPDATE {self._cursor} SET file_size = %s, updated_at = now() WHERE target = %s"
        with translated_errors():
            self._connection.execute(query, (file_size, self._target))

    def tell(self, problem: str | None) -> None:
        """Say why nothing is delivered at the moment."""
        query = f"""
            UPDATE {self._cursor} SET problem = %(problem)s,
              problem_at = CASE WHEN %(problem)s::text IS NOT NULL THEN coalesce(problem_at, now()) END
            WHERE target = %(target)s"""
        with translated_errors():
            self._connection.execute(query, {"problem": problem, "target": self._target})


def wanted_values(selection: Selection) -> dict[str, Any]:
    """The parameters of WANTED."""
    return {name: list(getattr(selection, name)) for name in Selection.__struct_fields__}


def _between(since: datetime | None, until: datetime | None) -> tuple[list[str], dict[str, Any]]:
    conditions, values = ["true"], {}
    if since is not None:
        conditions.append("event_time >= %(since)s::timestamptz")
        values["since"] = since
    if until is not None:
        conditions.append("event_time < %(until)s::timestamptz")
        values["until"] = until
    return conditions, values


_HELD_LOCKS: Final = """
    SELECT (classid::bigint << 32) | objid::bigint FROM pg_catalog.pg_locks
    WHERE locktype = 'advisory' AND granted AND objsubid = 1
      AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())"""
_OLDEST_TRANSACTION: Final = """
    SELECT pid, xact_start, coalesce(nullif(application_name, ''), backend_type) FROM pg_catalog.pg_stat_activity
    WHERE backend_xid IS NOT NULL ORDER BY xact_start LIMIT 1"""
