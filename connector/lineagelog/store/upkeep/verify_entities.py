"""Verifies and rebuilds jobs, datasets and their names, which depend on the events of all runs.

What the runs' events told is gathered while `verify.py` goes through them. In the end come the events without a run,
and those that were written meanwhile: in one snapshot, or, to rebuild, while writers wait for that moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import psycopg

from lineagelog.event import facts
from lineagelog.event.canonical import canonical
from lineagelog.event.facts import Kind
from lineagelog.event.model import Event
from lineagelog.event.parse import decode, parse
from lineagelog.postgres.pipeline import StatementPipeline
from lineagelog.store.append.entities import Entities, Keyed
from lineagelog.store.append.writer import BatchWriter
from lineagelog.store.definition import schema as columns
from lineagelog.store.definition import tables
from lineagelog.store.definition.schema import LogStoreSchema


class Part(NamedTuple):
    """One table of the digest, for comparison: its key, what names a row for people, and its columns."""

    table: str
    key: str
    names: int
    columns: tuple[str, ...]


PARTS: Final = (
    Part(tables.JOB_TABLE, "job_key", 2, columns.JOB_PARAMETERS),
    Part(tables.DATASET_TABLE, "dataset_key", 2, columns.DATASET_PARAMETERS),
    Part(tables.DATASET_NAME_TABLE, "dataset_name_key", 7, columns.DATASET_NAME_PARAMETERS),
)
_FIRST: Final = {tables.JOB_TABLE: 2, tables.DATASET_TABLE: 2, tables.DATASET_NAME_TABLE: 7}
"""Where the earliest time of a row stands."""
_JSON: Final = frozenset(
    fact.name
    for register in (*facts.JOB_ENTITY, *facts.DATASET_ENTITY)
    for fact in register.facts
    if fact.kind is Kind.JSON
)

type Rows = dict[str, Keyed]
"""Table to key to row."""


class EntityCheck:
    """The entities of a store, as its events tell."""

    def __init__(self, schema: LogStoreSchema, connection: psycopg.Connection[Any]) -> None:
        self._schema = schema
        self._entities = Entities()
        event = schema.table_beside_placeholders(tables.EVENT_TABLE)
        self._rest = (
            f"SELECT event::text FROM {event} WHERE (run_id = '' OR arrival_xid >= %(since)s::text::xid8) "
            "AND event_time >= %(floor)s"
        )
        row = connection.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text").fetchone()
        self._since = row[0] if row else "0"
        """The oldest transaction that was not over: what was committed before is found with its run."""

    def add(self, entities: Entities) -> None:
        """Join what the events of some runs told."""
        self._entities.merge(entities)

    def expected(self, connection: psycopg.Connection[Any], floor: datetime | None) -> Rows:
        """The rows that all events from the floor on add up to; those that had begun before it are left out."""
        with connection.cursor(name="rest") as cursor:
            for (text,) in cursor.execute(self._rest, {"since": self._since, "floor": floor or "-infinity"}):
                event = parse(text.encode())
                if isinstance(event, Event):
                    self._entities.add(event)
        return rows_of(self._entities)

    def stored(self, connection: psycopg.Connection[Any]) -> Rows:
        """The rows as the database has them."""
        return stored_rows(self._schema, connection)

    def replace(self, connection: psycopg.Connection[Any], stored: Rows, expected: Rows) -> None:
        """Write the rows that differ."""
        wanted: list[Keyed] = []
        for part in PARTS:
            have, want = stored[part.table], expected[part.table]
            wrong = [key for key in have.keys() | want.keys() if have.get(key) != want.get(key)]
            query = f"DELETE FROM {self._schema.table(part.table)} WHERE {part.key} = ANY(%s::uuid[])"
            connection.execute(query, ([UUID(bytes=key) for key in wrong],))
            wanted.append({key: want[key] for key in wrong if key in want})
        pipeline = StatementPipeline(connection)
        BatchWriter(self._schema).write_entities(pipeline, *wanted)
        pipeline.run()


def rows_of(entities: Entities) -> Rows:
    """The rows that entities add up to, by key, as they are stored."""
    return {part.table: rows for part, rows in zip(PARTS, entities.rows(), strict=True)}


def stored_rows(schema: LogStoreSchema, connection: psycopg.Connection[Any]) -> Rows:
    """All jobs, datasets and names as the database has them."""
    found: Rows = {}
    for part in PARTS:
        names = ", ".join(f"{name}::text" if name in _JSON else name for name in part.columns)
        rows = connection.execute(f"SELECT {part.key}, {names} FROM {schema.table(part.table)}")
        found[part.table] = {row[0].bytes: _plain(part, row[1:]) for row in rows}
    return found


def without_older(stored: Rows, expected: Rows, floor: datetime | None) -> tuple[Rows, Rows]:
    """Leave out the rows that had begun before the floor: some of their events are gone."""
    if floor is None:
        return stored, expected
    old = {table: {key for key, row in rows.items() if row[_FIRST[table]] < floor} for table, rows in stored.items()}

    def kept(all_rows: Rows) -> Rows:
        return {
            table: {key: row for key, row in rows.items() if key not in old[table]} for table, rows in all_rows.items()
        }

    return kept(stored), kept(expected)


def _plain(part: Part, row: Iterable[Any]) -> tuple[Any, ...]:
    """A database row with the types that a digest row has: hashes as bytes, JSON canonical."""
    return tuple(
        [
            canonical(decode(value.encode()))
            if name in _JSON and value is not None
            else value.bytes
            if isinstance(value, UUID)
            else value
            for name, value in zip(part.columns, row, strict=True)
        ]
    )
