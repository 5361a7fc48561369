"""Recomputes the digest from the raw events: `verify` compares and names what differs, `rebuild` puts it right.

Both go through the store in chunks of runs, since what is kept of a run depends on the events of one run id only; jobs
and datasets, which depend on all, come in the end (`verify_entities.py`). Runs, jobs and datasets whose first event
lies before the retention floor are left alone: some of their events are gone. What else lies before it is gone or on
its way out (a purge may be under way, or have been stopped), and is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg
from msgspec import Struct

from lineagelog.event import facts
from lineagelog.event.canonical import canonical, name_key
from lineagelog.event.facts import Kind
from lineagelog.event.model import Event
from lineagelog.event.parse import decode, parse
from lineagelog.postgres.engine import driver_connection, translated_errors
from lineagelog.postgres.pipeline import StatementPipeline
from lineagelog.store.append.digest import Digest
from lineagelog.store.append.entities import Entities
from lineagelog.store.append.log import LogStore
from lineagelog.store.append.writer import BatchWriter
from lineagelog.store.definition import schema as columns
from lineagelog.store.definition import tables
from lineagelog.store.definition.partitions import advisory_key

from .verify_entities import PARTS, EntityCheck, Part, Rows, without_older

CHUNK: Final = 500
"""Run ids per transaction."""

type Progress = Callable[[int, int], None]
"""Called with the numbers of runs and of events so far."""


class Difference(Struct, frozen=True):
    """One place where the stored digest is not what the events add up to."""

    table: str
    row: str
    """The names that identify the row."""
    column: str
    """'' where the whole row is missing or too much."""
    stored: str | None
    expected: str | None

    def __str__(self) -> str:
        place = f"{self.table} [{self.row}]" + (f".{self.column}" if self.column else "")
        return f"{place}: stored {self.stored}, expected {self.expected}"


class Checked(Struct, frozen=True):
    """How much was gone through."""

    runs: int
    events: int
    skipped: int
    """Runs left alone because their first event lies before the retention floor."""


_PARTS: Final = (
    Part(tables.RUN_TABLE, "run_key", 3, columns.RUN_PARAMETERS),
    Part(tables.RUN_DATASET_TABLE, "run_dataset_key", 6, columns.RUN_DATASET_PARAMETERS),
    Part(tables.ASSERTION_TABLE, "assertion_key", 8, columns.ASSERTION_PARAMETERS),
    Part(tables.TEST_TABLE, "test_key", 5, columns.TEST_PARAMETERS),
)

_JSON: Final = frozenset(fact.name for register in facts.RUN for fact in register.facts if fact.kind is Kind.JSON)
"""Columns whose spelling is PostgreSQL's."""


class Verifier:
    """Goes through the events of a LogStore, run by run."""

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self._schema = store.schema
        names = (part.table for part in _PARTS)
        part = "(SELECT DISTINCT run_id FROM {} WHERE run_id > %(last)s ORDER BY run_id LIMIT %(limit)s)"
        parts = [part.format(self._table(name)) for name in (tables.EVENT_TABLE, *names)]
        self._next_runs = f"{' UNION '.join(parts)} ORDER BY run_id LIMIT %(limit)s"
        event, run = self._table(tables.EVENT_TABLE), self._table(tables.RUN_TABLE)
        self._events = f"SELECT event::text FROM {event} WHERE run_id = ANY(%(runs)s)"
        self._from_floor = f"{self._events} AND event_time >= %(floor)s"
        self._floor = f"SELECT retention_floor FROM {self._schema.table(tables.STORE_TABLE)}"
        dataset = self._schema.table(tables.RUN_DATASET_TABLE)
        times = ", ".join(("event_time", *(register.at for register in facts.DATASET)))
        self._cut = (
            f"SELECT run_id FROM {run} WHERE run_id = ANY(%(runs)s) AND first_event_time < %(floor)s "
            f"UNION SELECT run_id FROM {dataset} WHERE run_id = ANY(%(runs)s) AND least({times}) < %(floor)s "
            f"UNION SELECT run_id FROM {event} WHERE run_id = ANY(%(runs)s) AND event_time < %(floor)s"
        )
        self.checked = Checked(0, 0, 0)
        """How much the last verify or rebuild went through."""

    def _table(self, name: str) -> str:
        """The qualified name for a statement with parameters."""
        return self._schema.table_beside_placeholders(name)

    def verify(self, progress: Progress | None = None) -> Iterator[Difference]:
        """Compare in consistent snapshots, while writers go on; yields the differences as they are found."""
        return self._through(progress, rebuild=False)

    def rebuild(self, progress: Progress | None = None) -> Iterator[Difference]:
        """Write the digest anew from the events; writers wait while a chunk is at work. Yields what differed."""
        return self._through(progress, rebuild=True)

    def _through(self, progress: Progress | None, *, rebuild: bool) -> Iterator[Difference]:
        last, runs, events, skipped = "", 0, 0, 0
        with translated_errors(), driver_connection(self._store.engine) as connection:
            entities = EntityCheck(self._schema, connection)
            connection.commit()
        while True:
            with translated_errors(), driver_connection(self._store.engine) as connection:
                self._begin(connection, rebuild=rebuild)
                ids = [row[0] for row in connection.execute(self._next_runs, {"last": last, "limit": CHUNK})]
                if not ids:
                    break
                floor, cut = self._cut_runs(connection, ids)
                digest, count = self._fold(connection, ids, floor)
                entities.add(digest.entities)
                expected = _without(rows_of(digest), cut)
                stored = _without(self.stored_rows(connection, ids, floor), cut)
                differences = [*_compare(stored, expected, _PARTS), *self._missing_content(connection, expected)]
                if rebuild and differences:
                    self._replace(connection, digest, stored, cut)
                connection.commit()
            last = ids[-1]
            runs, events, skipped = runs + len(ids), events + count, skipped + len(cut)
            self.checked = Checked(runs, events, skipped)
            yield from differences
            if progress is not None:
                progress(runs, events)
        yield from self._check(entities, rebuild=rebuild)

    def _check(self, entities: EntityCheck, *, rebuild: bool) -> list[Difference]:
        with translated_errors(), driver_connection(self._store.engine) as connection:
            self._begin(connection, rebuild=rebuild)
            floor = self._floor_of(connection)
            stored = entities.stored(connection)
            stored, expected = without_older(stored, entities.expected(connection, floor), floor)
            differences = list(_compare(stored, expected, PARTS))
            if rebuild and differences:
                entities.replace(connection, stored, expected)
            connection.commit()
        return differences

    def _begin(self, connection: psycopg.Connection[Any], *, rebuild: bool) -> None:
        if rebuild:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (advisory_key(self._schema, "retention"),))
        else:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _cut_runs(self, connection: psycopg.Connection[Any], ids: list[str]) -> tuple[datetime | None, set[str]]:
        """The floor, and the run ids some of whose events it took.

        A run that is gone may have left datasets behind, where another job shares its run id: their times tell.
        """
        floor = self._floor_of(connection)
        if floor is None:
            return None, set()
        return floor, {row[0] for row in connection.execute(self._cut, {"runs": ids, "floor": floor})}

    def _floor_of(self, connection: psycopg.Connection[Any]) -> datetime | None:
        row = connection.execute(self._floor).fetchone()
        return row[0] if row else None

    def _fold(self, connection: psycopg.Connection[Any], ids: list[str], floor: datetime | None) -> tuple[Digest, int]:
        """What the events of some runs add up to, from the floor on, and their number."""
        digest, count = Digest(), 0
        query = self._events if floor is None else self._from_floor
        with connection.cursor(name="events") as cursor:
            for (text,) in cursor.execute(query, {"runs": ids, "floor": floor}):
                event = parse(text.encode())
                count += 1
                if isinstance(event, Event):
                    digest.add(event)
        return digest, count

    def stored_rows(
        self, connection: psycopg.Connection[Any], ids: Sequence[str], floor: datetime | None = None
    ) -> Rows:
        """The digest rows of some runs as the database has them; assertions and tests from the floor on."""
        found: Rows = {}
        for part in _PARTS:
            names = ", ".join(f"{name}::text" if name in _JSON else name for name in part.columns)
            query = f"SELECT {part.key}, {names} FROM {self._table(part.table)} WHERE run_id = ANY(%(runs)s)"
            if floor is not None and part.table in (tables.ASSERTION_TABLE, tables.TEST_TABLE):
                query += " AND event_time >= %(floor)s"
            rows = connection.execute(query, {"runs": list(ids), "floor": floor})
            found[part.table] = {row[0].bytes: _plain(part, row[1:]) for row in rows}
        return found

    def _missing_content(self, connection: psycopg.Connection[Any], expected: Rows) -> Iterator[Difference]:
        """Schema and lineage versions that rows refer to and that are not there."""
        rows = expected[tables.RUN_DATASET_TABLE].values()
        for table, key in (
            (tables.SCHEMA_VERSION_TABLE, "schema_hash"),
            (tables.LINEAGE_VERSION_TABLE, "lineage_hash"),
        ):
            place = columns.RUN_DATASET_PARAMETERS.index(key)
            wanted = sorted({row[place] for row in rows if row[place] is not None})
            query = f"SELECT {key} FROM {self._table(table)} WHERE {key} = ANY(%s::uuid[])"
            there = {row[0].bytes for row in connection.execute(query, ([UUID(bytes=hash_) for hash_ in wanted],))}
            for missing in wanted:
                if missing not in there:
                    yield Difference(table, str(UUID(bytes=missing)), "", None, "a row")

    def _replace(self, connection: psycopg.Connection[Any], digest: Digest, stored: Rows, cut: set[str]) -> None:
        for part in _PARTS:
            keys = [UUID(bytes=key) for key in stored[part.table]]
            query = f"DELETE FROM {self._table(part.table)} WHERE {part.key} = ANY(%s::uuid[])"
            connection.execute(query, (keys,))
        digest.drop_runs(cut)
        digest.entities = Entities()  # of all runs together, in the end
        pipeline = StatementPipeline(connection)
        BatchWriter(self._schema).write_digest(pipeline, digest)
        pipeline.run()


def rows_of(digest: Digest) -> Rows:
    """The rows that a digest adds up to, as they are stored."""
    return {
        tables.RUN_TABLE: {name_key(*key): row.values() for key, row in digest.runs.items()},
        tables.RUN_DATASET_TABLE: {name_key(*key): row.values() for key, row in digest.datasets.items()},
        tables.ASSERTION_TABLE: dict(digest.assertions),
        tables.TEST_TABLE: dict(digest.tests),
    }


def _without(rows: Rows, cut: set[str]) -> Rows:
    """Leave out the runs and datasets of runs that cannot be recomputed; assertions and tests go by their own time."""
    if not cut:
        return rows
    kept = {
        table: {key: row for key, row in rows[table].items() if row[0] not in cut}
        for table in (tables.RUN_TABLE, tables.RUN_DATASET_TABLE)
    }
    return rows | kept


def _plain(part: Part, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A database row with the types that a digest row has: hashes as bytes, JSON canonical."""
    values: list[Any] = [value.bytes if isinstance(value, UUID) else value for value in row]
    if part.table == tables.RUN_TABLE:
        for place, name in enumerate(part.columns):
            if name in _JSON and values[place] is not None:
                values[place] = canonical(decode(values[place].encode()))
    return tuple(values)


def _compare(stored: Rows, expected: Rows, parts: Sequence[Part]) -> Iterator[Difference]:
    for part in parts:
        have, want = stored[part.table], expected[part.table]
        for key in sorted(have.keys() | want.keys()):
            mine, theirs = have.get(key), want.get(key)
            if mine == theirs:
                continue
            name = ", ".join(str(value) for value in (mine or theirs or ())[: part.names])
            if mine is None or theirs is None:
                yield Difference(part.table, name, "", "a row" if mine else None, "a row" if theirs else None)
                continue
            for column, value, wanted in zip(part.columns, mine, theirs, strict=True):
                if value != wanted:
                    yield Difference(part.table, name, column, _show(value), _show(wanted))


def _show(value: Any) -> str | None:
    if isinstance(value, bytes):
        return str(UUID(bytes=value)) if len(value) == 16 else value.decode()
    return None if value is None else str(value)
