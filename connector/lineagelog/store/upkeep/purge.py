"""Deletes what is older than a cut-off, in short transactions, while writers and readers go on.

Order: the retention floor moves first, so that no writer brings anything older from then on; then whole months of raw
events, the rest of the boundary month, assertions, tests, runs with their datasets, then the schema and lineage
versions that nothing refers to any more, and the jobs and datasets that no event is of any more. A purge that was
interrupted is finished by the next one, whatever its cut-off: what lies before the floor is half gone, and goes as a
whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

import psycopg
from msgspec import Struct, structs
from psycopg import errors as pg

from lineagelog.errors import StoreError, StoreReadOnly, StoreUnavailable
from lineagelog.postgres.connection import Connection
from lineagelog.postgres.engine import driver_connection, translated_errors
from lineagelog.postgres.patience import patiently
from lineagelog.store.append.log import LogStore
from lineagelog.store.definition import tables
from lineagelog.store.definition.partitions import advisory_key
from lineagelog.store.definition.schema import LogStoreSchema

from .unforwarded import Owed, Unforwarded, Wish

STATEMENT_TIMEOUT: Final = "30s"
"""Of each batch."""
ATTEMPTS: Final = 50
_GIVES_UP: Final = "a lock that the purge needs is held by others all the time: run the purge again"

type Progress = Callable[[str, int], None]
"""Called with a table's name and the number of its rows that are gone so far."""


class Purged(Struct, frozen=True):
    """What was deleted, or would be (``dry_run``)."""

    cutoff: datetime
    dry_run: bool
    partitions: tuple[str, ...]
    """Months of ol_event that were dropped as a whole; their events are counted in ``events``."""
    events: int
    runs: int
    run_datasets: int
    assertions: int
    tests: int
    schema_versions: int
    lineage_versions: int
    jobs: int = 0
    datasets: int = 0
    dataset_names: int = 0
    unforwarded: dict[str, int] = {}
    """Of the events, those that a target of forwarding has not got; by target."""

    @property
    def rows(self) -> int:
        """The number of all rows."""
        contents = self.schema_versions + self.lineage_versions + self.jobs + self.datasets + self.dataset_names
        return self.events + self.runs + self.run_datasets + self.assertions + self.tests + contents


def purge(
    store: LogStore,
    cutoff: datetime,
    *,
    batch: int = 1000,
    progress: Progress | None = None,
    wishes: Mapping[str, Wish] | None = None,
    even_unforwarded: bool = False,
) -> Purged:
    """Delete what is older than ``cutoff`` (with a time zone, not in the future), in batches of ``batch`` rows.

    Raw events, assertions and tests go by their own time; a run goes when its last event is older, its datasets with
    it. Raises StoreError if another purge is at work on this store, or for a cut-off that cannot be meant;
    StoreUnavailable if a lock is not to be had for long: then run it again.

    Events that a target of forwarding has not got yet (``wishes``: those of the settings) are StoreError, too, and
    nothing is deleted; with ``even_unforwarded`` they go, and the target's cursor tells of the gap.
    """
    if batch < 1:
        raise StoreError("a batch has at least one row")
    with _purging(store, cutoff) as (connection, cutoff):
        _refuse_other_roles(connection, store.schema)
        guard = Unforwarded(store.schema, cutoff, wishes or {})
        owed = _owed(connection, guard, refuses=not even_unforwarded)
        work = _Purge(connection, store.schema, cutoff, batch, progress)
        work.before_floor = partial(guard.record, owed=owed) if even_unforwarded else guard.refuse
        return _with_owed(work.run(), owed)


def count_purgeable(store: LogStore, cutoff: datetime, *, wishes: Mapping[str, Wish] | None = None) -> Purged:
    """What `purge` would delete, with the events that targets have not got among it; changes nothing."""
    with _purging(store, cutoff) as (connection, cutoff):
        owed = _owed(connection, Unforwarded(store.schema, cutoff, wishes or {}), refuses=False)
        return _with_owed(_Purge(connection, store.schema, cutoff).count(), owed)


@contextmanager
def _purging(store: LogStore, cutoff: datetime) -> Iterator[tuple[Connection, datetime]]:
    """A connection that is the store's one purger, and the cut-off in UTC, if it can be meant."""
    if cutoff.tzinfo is None:
        raise StoreError(f"the cut-off {cutoff.isoformat()} names no time zone")
    cutoff = cutoff.astimezone(UTC)
    with translated_errors(), driver_connection(store.engine) as connection, _alone(connection, store.schema):
        _refuse_future(connection, cutoff)
        yield connection, cutoff


def _with_owed(purged: Purged, owed: Sequence[Owed]) -> Purged:
    return structs.replace(purged, unforwarded={each.target: each.events for each in owed})


@contextmanager
def _alone(connection: Connection, schema: LogStoreSchema) -> Iterator[None]:
    """Hold the lock of the store's one purger, for as long as the session lives or until the end."""
    connection.require_session("a purge")
    connection.end_soon()
    key = (advisory_key(schema, "purge"),)
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", key).fetchone()
    connection.commit()
    if row is None or not row[0]:
        raise StoreError(f"another purge is at work on the store {schema.schema_name!r}: wait until it has ended")
    try:
        yield
    finally:
        if not connection.closed:
            connection.rollback()
            connection.execute("SELECT pg_advisory_unlock(%s)", key)
            connection.commit()


def _refuse_future(connection: psycopg.Connection[Any], cutoff: datetime) -> None:
    """The floor never sinks again: one in the future would shut out all events until then."""
    row = connection.execute("SELECT now() < %s", (cutoff,)).fetchone()
    connection.rollback()
    if row is not None and row[0]:
        raise StoreError(f"the cut-off {cutoff.isoformat()} lies in the future")


def _refuse_other_roles(connection: psycopg.Connection[Any], schema: LogStoreSchema) -> None:
    """The floor moves first: a role that may move it and delete nothing would shut out events that are still there."""
    names = [schema.table(name) for name in _DELETED_FROM]
    query = "SELECT name FROM unnest(%s::text[]) AS t (name) WHERE NOT has_table_privilege(name, 'DELETE')"
    refused = [row[0] for row in connection.execute(query, (names,))]
    connection.rollback()
    if refused:
        raise StoreReadOnly(f"the database refuses writes: no permission to delete from {', '.join(refused)}")


def _owed(connection: psycopg.Connection[Any], guard: Unforwarded, *, refuses: bool) -> tuple[Owed, ...]:
    """What targets have not got, looked up before any lock is taken: it is a long look only where it is much."""
    try:
        if refuses:
            guard.refuse(connection)
            return ()
        return guard.owed(connection)
    finally:
        connection.rollback()


class _Purge:
    """One purge on one connection."""

    before_floor: Callable[[psycopg.Connection[Any]], None] | None = None
    """Called in the transaction that raises the floor, while no writer is at work; what it raises ends the purge."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        schema: LogStoreSchema,
        cutoff: datetime,
        batch: int = 1000,
        progress: Progress | None = None,
    ) -> None:
        self._connection, self._schema = connection, schema
        self._parameters: dict[str, Any] = {"cutoff": cutoff, "batch": batch}
        self._cutoff, self._progress = cutoff, progress
        self._table = schema.table_beside_placeholders
        self._done: dict[str, int] = {}

    # --- the order of things ----------------------------------------------------------------------------------------

    def run(self) -> Purged:
        """Raise the floor, then delete what is below it; at every point the store is whole."""
        floor, epoch = self._move_floor()
        self._begin_from(floor)
        dropped = tuple([name for name in self._whole_months() if self._drop(name)])
        for leaf in self._partitions_before_cutoff():
            self._delete_older(leaf, counted_as=tables.EVENT_TABLE)
        self._delete_older(tables.ASSERTION_TABLE)
        self._delete_older(tables.TEST_TABLE)
        self._delete_runs()
        for name, key in _CONTENTS:
            self._delete_contents(name, key, epoch)
        for name, key in _ENTITIES:
            self._delete_entities(name, key)
        return self._purged(dropped, dry_run=False)

    def count(self) -> Purged:
        """Count what run() would delete, in one snapshot."""
        self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        floor, epoch = self._floor()
        moves = self._is_above(floor)
        self._begin_from(floor)
        dropped = tuple(self._whole_months())
        run, dataset = self._table(tables.RUN_TABLE), self._table(tables.RUN_DATASET_TABLE)
        stays = f"EXISTS (SELECT FROM {run} r WHERE r.run_key = d.run_key AND r.last_event_time >= %(cutoff)s)"
        for name in (tables.EVENT_TABLE, tables.ASSERTION_TABLE, tables.TEST_TABLE):
            self._add(name, self._number(f"SELECT count(*) FROM {self._table(name)} WHERE event_time < %(cutoff)s"))
        self._add(tables.RUN_TABLE, self._number(f"SELECT count(*) FROM {run} WHERE {_OVER}"))
        self._add(tables.RUN_DATASET_TABLE, self._number(f"SELECT count(*) FROM {dataset} d WHERE NOT {stays}"))
        for name, key in _CONTENTS:
            used = f"SELECT FROM {dataset} d WHERE d.{key} = c.{key} AND {stays}"
            count = f"SELECT count(*) FROM {self._table(name)} c WHERE NOT EXISTS ({used})"
            if not moves:
                count += f" AND {_OLDER}"
            self._add(name, int(self._row(count, self._parameters | {"epoch": epoch})[0]))
        for name, key in _ENTITIES:
            gone = f"FROM {self._table(name)} WHERE last_seen < %(cutoff)s"
            self._add(name, self._number(f"SELECT count(*) {gone}"))
            if name == tables.DATASET_TABLE:
                said = self._table(tables.DATASET_NAME_TABLE)
                number = self._number(f"SELECT count(*) FROM {said} WHERE dataset_key IN (SELECT {key} {gone})")
                self._add(tables.DATASET_NAME_TABLE, number)
        self._connection.rollback()
        return self._purged(dropped, dry_run=True)

    def _purged(self, dropped: tuple[str, ...], *, dry_run: bool) -> Purged:
        done = self._done.get
        return Purged(
            self._cutoff,
            dry_run,
            dropped,
            done(tables.EVENT_TABLE, 0),
            done(tables.RUN_TABLE, 0),
            done(tables.RUN_DATASET_TABLE, 0),
            done(tables.ASSERTION_TABLE, 0),
            done(tables.TEST_TABLE, 0),
            done(tables.SCHEMA_VERSION_TABLE, 0),
            done(tables.LINEAGE_VERSION_TABLE, 0),
            done(tables.JOB_TABLE, 0),
            done(tables.DATASET_TABLE, 0),
            done(tables.DATASET_NAME_TABLE, 0),
        )

    def _add(self, name: str, rows: int) -> None:
        self._done[name] = self._done.get(name, 0) + rows
        if self._progress is not None and rows:
            self._progress(name, self._done[name])

    # --- the floor --------------------------------------------------------------------------------------------------

    def _move_floor(self) -> tuple[datetime | None, str]:
        """Raise the floor to the cut-off while no writer is at work, if it is lower; return what _floor() gives then.

        The exclusive lock waits for the batches under way, and new batches wait behind it.
        """
        key = advisory_key(self._schema, "retention")
        raise_floor = (
            f"UPDATE {self._table(tables.STORE_TABLE)} SET retention_floor = %(cutoff)s "
            "WHERE retention_floor IS NULL OR retention_floor < %(cutoff)s"
        )

        def move() -> tuple[datetime | None, str]:
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (key,))
            if self.before_floor is not None and self._is_above(self._floor()[0]):
                self.before_floor(self._connection)
            self._connection.execute(raise_floor, self._parameters)
            return self._floor()

        return self._patiently(move)

    def _floor(self) -> tuple[datetime | None, str]:
        """The floor, and the transaction that raised it: also of an earlier purge, which this one may have to finish.

        (Migrations write the same row, too. After one it is theirs: then a program of the version before, if it still
        writes and a purge was stopped before the migration, may count on a content that goes; `verify` names it.)
        """
        row = self._row(f"SELECT retention_floor, xmin::text FROM {self._table(tables.STORE_TABLE)}", {})
        return row[0], row[1]

    def _is_above(self, floor: datetime | None) -> bool:
        """Whether the cut-off moves the floor."""
        return floor is None or floor < self._cutoff

    def _begin_from(self, floor: datetime | None) -> None:
        """Take all that lies before the floor, where it is above the cut-off."""
        if floor is not None and floor > self._cutoff:
            self._cutoff = floor.astimezone(UTC)
            self._parameters["cutoff"] = self._cutoff

    # --- raw events -------------------------------------------------------------------------------------------------

    def _leaves(self) -> list[str]:
        """The names of the partitions of ol_event."""
        query = (
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = %s::regclass"
        )
        rows = self._connection.execute(query, (self._schema.table(tables.EVENT_TABLE),)).fetchall()
        return sorted(str(row[0]) for row in rows)

    def _whole_months(self) -> list[str]:
        """Partitions of months that end at or before the cut-off."""
        months = {
            self._schema.partition_name(year, month): self._schema.partition_bounds(year, month)[1]
            for year in range(2000, 2100)
            for month in range(1, 13)
        }
        return [name for name in self._leaves() if name in months and months[name] <= self._cutoff]

    def _partitions_before_cutoff(self) -> list[str]:
        """Partitions that hold older events all the same; all are looked at, by an index probe each."""
        found = []
        for name in self._leaves():
            query = f"SELECT EXISTS (SELECT FROM {self._table(name)} WHERE event_time < %(cutoff)s)"
            if self._number(query):
                found.append(name)
        self._connection.rollback()
        return found

    def _drop(self, name: str) -> bool:
        """Drop a month. Where somebody reads it for long, or owns it, leave it: its rows are deleted like the others.

        One statement under a lock on ol_event that is not waited for long; between DETACH CONCURRENTLY
        and DROP writers would meet a table that is neither a partition nor gone.
        """
        rows = self._number(f"SELECT count(*) FROM {self._table(name)}")
        self._connection.rollback()
        try:
            self._patiently(lambda: self._connection.execute(f"DROP TABLE {self._schema.table(name)}"))
        except (StoreUnavailable, pg.InsufficientPrivilege):
            self._connection.rollback()
            return False
        self._add(tables.EVENT_TABLE, rows)
        return True

    def _delete_older(self, name: str, counted_as: str | None = None) -> None:
        """Delete rows by their event time, oldest first, each batch from where the last one ended."""
        table = self._table(name)
        statement = f"""
            WITH gone AS (DELETE FROM {table} WHERE ctid = ANY (ARRAY (
              SELECT ctid FROM {table} WHERE event_time >= %(from)s AND event_time < %(cutoff)s
              ORDER BY event_time LIMIT %(batch)s)) RETURNING event_time)
            SELECT count(*), max(event_time) FROM gone"""
        begin: Any = "-infinity"
        while True:
            parameters = self._parameters | {"from": begin}
            rows, latest = self._patiently(partial(self._row, statement, parameters))
            if not rows:
                return
            begin = latest
            self._add(counted_as or name, rows)

    # --- runs -------------------------------------------------------------------------------------------------------

    def _delete_runs(self) -> None:
        """Delete runs that are over, with their datasets."""
        begin: Any = "-infinity"
        while True:
            step = self._patiently(partial(self._delete_some_runs, begin))
            if step is None:
                return
            begin, runs, datasets = step
            self._add(tables.RUN_DATASET_TABLE, datasets)
            self._add(tables.RUN_TABLE, runs)

    def _delete_some_runs(self, begin: Any) -> tuple[Any, int, int] | None:
        """One batch of runs: the hour it came to, and the numbers of runs and datasets; None at the end.

        Writers may bring a new event for one of these runs at any moment. Run rows are locked first, in the order in
        which writers lock them: a run with a new event is left out, and a later event waits and begins a new row.
        The dataset rows are locked in their order, too, before they go.
        """
        run, dataset = self._table(tables.RUN_TABLE), self._table(tables.RUN_DATASET_TABLE)
        execute = self._connection.execute
        chosen = execute(
            f"SELECT run_key, last_hour FROM {run} WHERE last_hour >= %(begin)s AND {_OVER} "
            "ORDER BY last_hour LIMIT %(batch)s",
            self._parameters | {"begin": begin},
        ).fetchall()
        if not chosen:
            return None
        locked = execute(
            f"SELECT run_key FROM {run} WHERE run_key = ANY(%(keys)s) AND last_event_time < %(cutoff)s "
            "ORDER BY run_key FOR UPDATE",
            self._parameters | {"keys": [row[0] for row in chosen]},
        ).fetchall()
        parameters = {"keys": [row[0] for row in locked]}
        execute(
            f"SELECT FROM {dataset} WHERE run_key = ANY(%(keys)s) ORDER BY run_dataset_key FOR UPDATE", parameters
        ).fetchall()
        datasets = execute(f"DELETE FROM {dataset} WHERE run_key = ANY(%(keys)s)", parameters).rowcount
        runs = execute(f"DELETE FROM {run} WHERE run_key = ANY(%(keys)s)", parameters).rowcount
        return chosen[-1][1], runs, datasets

    # --- contents ---------------------------------------------------------------------------------------------------

    def _delete_contents(self, name: str, key: str, epoch: str) -> None:
        """Delete schema or lineage versions that no dataset refers to and that no writer counts on.

        Writers remember which contents they have sent and send them once only. They forget when the floor moves
        (in transaction ``epoch``, while none was at work), and sending renews a row's version. So a content whose
        version is older than ``epoch`` is remembered by no writer; if no dataset refers to it either, none will
        without sending it again: then it is renewed before, and stays, or inserted after.
        """
        table, dataset = self._table(name), self._table(tables.RUN_DATASET_TABLE)
        unused = f"NOT EXISTS (SELECT FROM {dataset} d WHERE d.{key} = c.{key})"
        query = f"SELECT c.{key} FROM {table} c WHERE {unused} AND {_OLDER} ORDER BY 1"
        candidates = [row[0] for row in self._connection.execute(query, {"epoch": epoch})]
        self._connection.rollback()
        size = self._parameters["batch"]
        for place in range(0, len(candidates), size):
            some: list[UUID] = candidates[place : place + size]
            parameters = {"keys": some, "epoch": epoch}

            def delete(parameters: dict[str, Any] = parameters) -> int:
                lock = f"SELECT FROM {table} WHERE {key} = ANY(%(keys)s) ORDER BY {key} FOR UPDATE"
                self._connection.execute(lock, parameters)
                statement = f"DELETE FROM {table} c WHERE {key} = ANY(%(keys)s) AND {_OLDER}"
                return self._connection.execute(statement, parameters).rowcount

            self._add(name, self._patiently(delete))

    # --- jobs and datasets --------------------------------------------------------------------------------------------

    def _delete_entities(self, name: str, key: str) -> None:
        """Delete jobs or datasets that were last seen before the cut-off, and what was said of their names.

        A writer that has one again brings an event from the floor on: its row is newer then, or made anew.
        """
        table, said = self._table(name), self._table(tables.DATASET_NAME_TABLE)
        begin = UUID(int=0)

        def delete() -> tuple[list[UUID], int]:
            locked = (
                f"SELECT {key} FROM {table} WHERE last_seen < %(cutoff)s AND {key} > %(from)s "
                f"ORDER BY {key} LIMIT %(batch)s FOR UPDATE"
            )
            keys = [row[0] for row in self._connection.execute(locked, self._parameters | {"from": begin})]
            self._connection.execute(f"DELETE FROM {table} WHERE {key} = ANY(%s)", (keys,))
            if name != tables.DATASET_TABLE:
                return keys, 0
            gone = self._connection.execute(f"DELETE FROM {said} WHERE dataset_key = ANY(%s)", (keys,))
            return keys, gone.rowcount

        while True:
            keys, names = self._patiently(delete)
            if not keys:
                return
            begin = keys[-1]
            self._add(tables.DATASET_NAME_TABLE, names)
            self._add(name, len(keys))

    # --- statements -------------------------------------------------------------------------------------------------

    def _patiently[T](self, work: Callable[[], T]) -> T:
        """Do the work in a transaction of its own; where a lock is held, stand back and try again."""
        return patiently(
            self._connection, work, attempts=ATTEMPTS, statement_timeout=STATEMENT_TIMEOUT, gives_up=_GIVES_UP
        )

    def _row(self, statement: str, parameters: dict[str, Any]) -> tuple[Any, ...]:
        row: tuple[Any, ...] | None = self._connection.execute(statement, parameters).fetchone()
        assert row is not None  # noqa: S101  # an aggregate gives a row
        return row

    def _number(self, statement: str) -> int:
        return int(self._row(statement, self._parameters)[0])


_OVER: Final = (
    "last_hour <= date_trunc('hour', %(cutoff)s::timestamptz AT TIME ZONE 'UTC') AND last_event_time < %(cutoff)s"
)
_OLDER: Final = "age(c.xmin) >= age(%(epoch)s::text::xid) AND age(%(epoch)s::text::xid) >= 0"
"""A content that was last sent before the floor was raised. (Half of all transaction ids later it cannot be told.)"""
_DELETED_FROM: Final = (
    *(tables.EVENT_TABLE, tables.RUN_TABLE, tables.RUN_DATASET_TABLE, tables.ASSERTION_TABLE, tables.TEST_TABLE),
    *(tables.SCHEMA_VERSION_TABLE, tables.LINEAGE_VERSION_TABLE),
    *(tables.JOB_TABLE, tables.DATASET_TABLE, tables.DATASET_NAME_TABLE),
)
_ENTITIES: Final = ((tables.JOB_TABLE, "job_key"), (tables.DATASET_TABLE, "dataset_key"))
_CONTENTS: Final = (
    (tables.SCHEMA_VERSION_TABLE, "schema_hash"),
    (tables.LINEAGE_VERSION_TABLE, "lineage_hash"),
)
