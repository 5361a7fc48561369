"""Writes one batch inside the caller's transaction: raw events, digest rows, dead letters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from operator import itemgetter
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg import errors as pg
from psycopg.pq.abc import PGresult
from sqlalchemy import Table, func, literal_column
from sqlalchemy.sql.expression import ClauseElement

from lineagelog.event import facts
from lineagelog.event.canonical import name_key
from lineagelog.event.model import Event, Rejected
from lineagelog.postgres.pipeline import Prepared, StatementPipeline
from lineagelog.postgres.wire import (
    BIGINT_OID,
    TIME_OID,
    ColumnType,
    array,
    bigint_of,
    bigint_value,
    column_type,
    copy_parts,
    time_of,
    time_value,
)
from lineagelog.store.definition import schema as columns
from lineagelog.store.definition import tables
from lineagelog.store.definition.merge import Registers
from lineagelog.store.definition.partitions import advisory_key
from lineagelog.store.definition.schema import LogStoreSchema, only, sql_numbered

from .digest import Digest
from .entities import Keyed

COPY_FROM: Final = 100
"""From this many events on COPY beats INSERT: it skips the tuple store of unnest and inserts rows page-wise."""

MAX_KNOWN_CONTENT: Final = 200_000
"""Hashes of schema and lineage versions that a writer remembers as stored (16 bytes each)."""

_name_key = lru_cache(maxsize=50_000)(name_key)
_run_key = lru_cache(maxsize=1_000)(name_key)
"""A run's key is that of its datasets, too."""


type _Numbered = tuple[Event, int]
"""An event with its number in the order of arrival."""


class DeadLetter(Struct, frozen=True):
    """A refused event with where it came from."""

    rejected: Rejected
    source: str
    position: str


class Begun(Struct, frozen=True):
    """What begin() found: to be finished if the floor is the one that was assumed."""

    floor: datetime | None
    new: frozenset[bytes]
    """Hashes of the events that were not stored before."""


class _Known:
    """The contents that batches committed under one retention floor have sent, and that need not be sent again.

    A purge moves the floor, and may then delete any content that nobody has sent since. So what was learned under one
    floor says nothing under another.
    """

    def __init__(self, floor: datetime | None) -> None:
        self.floor = floor
        self.schemas: set[bytes] = set()
        self.lineages: set[bytes] = set()

    def learn(self, schemas: Iterable[bytes], lineages: Iterable[bytes]) -> None:
        """Add what a committed batch has sent."""
        for hashes, added in ((self.schemas, schemas), (self.lineages, lineages)):
            if len(hashes) > MAX_KNOWN_CONTENT:
                hashes.clear()
            hashes.update(added)


class _Rows:
    """One statement that takes rows as one array per column."""

    def __init__(self, statement: ClauseElement, names: tuple[str, ...], kinds: Sequence[ColumnType]) -> None:
        text, order = sql_numbered(statement)
        self._statement = Prepared(text)
        self._types = [kind.array_oid for kind in kinds]
        if [*order[: len(names)]] != [*names]:
            raise AssertionError(f"parameters {order} are not the columns {names}")
        self.kinds = kinds

    def add(self, pipeline: StatementPipeline, rows: Sequence[Sequence[Any]], *further: datetime) -> int:
        """Put the statement with these rows into the pipeline; ``further`` are parameters after the columns."""
        return self.add_columns(pipeline, zip(*rows, strict=True), *further)

    def add_columns(self, pipeline: StatementPipeline, columns: Iterable[Sequence[Any]], *further: datetime) -> int:
        """The same, for the columns of rows."""
        values = [array(kind, column) for kind, column in zip(self.kinds, columns, strict=True)]
        values += [time_value(time) for time in further]
        return pipeline.add(self._statement, values, [*self._types, *[TIME_OID] * len(further)])


class _Registered:
    """The upsert of a table with registers: a statement for each set of registers that the rows of a batch carry.

    Most events carry few. What none of them does is neither sent nor compared.
    """

    def __init__(
        self,
        table: Table,
        names: tuple[str, ...],
        registers: Registers,
        upsert: Callable[[Registers], ClauseElement],
    ) -> None:
        self._table, self._names, self._registers, self._upsert = table, names, registers, upsert
        self._told = [(names.index(each.at), names.index(each.facts[0].name)) for each in registers]
        """Where it shows that a register is carried: a time, or a value of the row's own time."""
        self._statements: dict[tuple[bool, ...], tuple[_Rows, list[int]]] = {}

    def add(self, pipeline: StatementPipeline, rows: Sequence[Sequence[Any]]) -> None:
        """Put the statement with these rows into the pipeline."""
        columns, nothing = list(zip(*rows, strict=True)), len(rows)
        carried = tuple(
            [columns[at].count(None) < nothing or columns[first].count(None) < nothing for at, first in self._told]
        )
        found = self._statements.get(carried)
        if found is None:
            found = self._statements[carried] = self._compile(carried)
        statement, places = found
        statement.add_columns(pipeline, [columns[place] for place in places])

    def _compile(self, carried: tuple[bool, ...]) -> tuple[_Rows, list[int]]:
        registers = tuple([each for each, is_carried in zip(self._registers, carried, strict=True) if is_carried])
        names = only(self._names, self._registers, registers)
        kinds = [column_type(self._table.c[name].type) for name in names]
        return _Rows(self._upsert(registers), names, kinds), [self._names.index(name) for name in names]


class BatchWriter:
    """The statements of a store, compiled once, and what its writers know to be stored already."""

    def __init__(self, schema: LogStoreSchema) -> None:
        def rows(statement: Any, table: str, names: tuple[str, ...]) -> _Rows:
            kinds = [column_type(schema.t(table).c[name].type) for name in names]
            return _Rows(statement, names, kinds)

        self._insert_events = rows(schema.insert_events(), tables.EVENT_TABLE, columns.EVENT_COLUMNS)
        self._known_events = rows(schema.known_events(), tables.EVENT_TABLE, columns.EVENT_KEY)
        self._upsert_runs = _Registered(schema.t(tables.RUN_TABLE), columns.RUN_COLUMNS, facts.RUN, schema.upsert_runs)
        self._upsert_datasets = _Registered(
            schema.t(tables.RUN_DATASET_TABLE), columns.RUN_DATASET_COLUMNS, facts.DATASET, schema.upsert_run_datasets
        )
        self._insert_assertions = rows(schema.insert_assertions(), tables.ASSERTION_TABLE, columns.ASSERTION_COLUMNS)
        self._insert_tests = rows(schema.insert_tests(), tables.TEST_TABLE, columns.TEST_COLUMNS)
        self._insert_schemas = rows(
            schema.insert_schema_versions(), tables.SCHEMA_VERSION_TABLE, columns.SCHEMA_VERSION_COLUMNS
        )
        self._insert_lineages = rows(
            schema.insert_lineage_versions(), tables.LINEAGE_VERSION_TABLE, columns.LINEAGE_VERSION_COLUMNS
        )
        self._upsert_jobs = _Registered(
            schema.t(tables.JOB_TABLE), columns.JOB_COLUMNS, facts.JOB_ENTITY, schema.upsert_jobs
        )
        self._upsert_entities = _Registered(
            schema.t(tables.DATASET_TABLE), columns.DATASET_COLUMNS, facts.DATASET_ENTITY, schema.upsert_datasets
        )
        self._upsert_names = rows(
            schema.upsert_dataset_names(), tables.DATASET_NAME_TABLE, columns.DATASET_NAME_COLUMNS
        )
        self._copy_events = schema.copy_events()
        self._copied = [*self._insert_events.kinds, column_type(schema.t(tables.EVENT_TABLE).c.arrival.type)]
        self._arrivals = Prepared(sql_numbered(schema.arrivals())[0])
        self._lock = Prepared(f"SELECT pg_advisory_xact_lock_shared({advisory_key(schema, 'retention')})")
        self._read_floor = Prepared(f"SELECT retention_floor FROM {schema.table(tables.STORE_TABLE)}")
        self._upsert_letters = rows(upsert_dead_letters(schema), tables.DEAD_LETTER_TABLE, _LETTER_COLUMNS)
        self._known = _Known(None)
        self._expect_duplicates = False

    def begin(self, connection: psycopg.Connection[Any], events: Sequence[Event]) -> Begun:
        """Begin a transaction with the raw events of a batch (different ones, in the order of their arrival).

        The retention floor is read under a lock that keeps it still until the transaction ends.
        """
        if len(events) >= COPY_FROM:
            return self._copy(connection, events)
        pipeline = StatementPipeline(connection)
        pipeline.add(self._lock)
        floor = pipeline.add(self._read_floor)
        inserted = self._insert_events.add(pipeline, [event_row(event) for event in events]) if events else None
        results = pipeline.run()
        new = frozenset(_first_column(results[inserted])) if inserted is not None else frozenset()
        return Begun(_floor(results[floor]), new)

    def finish(
        self,
        connection: psycopg.Connection[Any],
        begun: Begun,
        events: Iterable[Event],
        letters: Sequence[DeadLetter],
        *,
        commit: bool = True,
    ) -> None:
        """Join the new ones of the events into the digest, keep dead letters, and end the transaction; one round trip.

        Writers meet on the rows that are written here: each holds them for as long as its COMMIT takes, and never
        while its process does something else, or is stopped.
        """
        known = self._known
        if known.floor != begun.floor:
            known = self._known = _Known(begun.floor)
        digest = Digest.of(event for event in events if event.event_hash in begun.new)
        pipeline = StatementPipeline(connection)
        if letters:
            self._upsert_letters.add(pipeline, _letter_rows(letters))
        schemas, lineages = self.write_digest(pipeline, digest, known)
        pipeline.end(commit=commit)
        pipeline.run()
        if commit:
            known.learn(schemas, lineages)

    def forget(self) -> None:
        """Drop what is known of the tables' content."""
        self._known = _Known(None)

    def _start(
        self, connection: psycopg.Connection[Any], events: Sequence[Event]
    ) -> tuple[datetime | None, list[_Numbered]]:
        """Begin under the lock: the floor, and the events by key, in which order all writers meet on them, numbered."""
        pipeline = StatementPipeline(connection)
        pipeline.add(self._lock)
        floor = pipeline.add(self._read_floor)
        drawn = pipeline.add(self._arrivals, [bigint_value(len(events))], [BIGINT_OID])
        results = pipeline.run()
        numbers = map(bigint_of, _first_column(results[drawn]))
        return _floor(results[floor]), sorted(zip(events, numbers, strict=True), key=lambda each: each[0].key)

    def _copy(self, connection: psycopg.Connection[Any], events: Sequence[Event]) -> Begun:
        """COPY the events that are new.

        Duplicates are rare, so the first try is without looking. One duplicate fails the whole COPY: the transaction
        is begun again and the known events are left out, as they are from the next batches until one has none.
        """
        floor, numbered = self._start(connection, events)
        if not self._expect_duplicates:
            try:
                self._copy_rows(connection, numbered)
                return Begun(floor, frozenset(event.event_hash for event in events))
            except pg.UniqueViolation:
                connection.rollback()
                self._expect_duplicates = True
                floor, numbered = self._start(connection, events)
        known = self._find_known(connection, events)
        fresh = [each for each in numbered if each[0].event_hash not in known]
        self._expect_duplicates = bool(known)
        self._copy_rows(connection, fresh)
        return Begun(floor, frozenset(event.event_hash for event, _ in fresh))

    def _copy_rows(self, connection: psycopg.Connection[Any], numbered: Sequence[_Numbered]) -> None:
        rows = ((*event_row(event), arrival) for event, arrival in numbered)
        with connection.cursor().copy(self._copy_events) as copy:
            for data in copy_parts(self._copied, rows):
                copy.write(data)

    def _find_known(self, connection: psycopg.Connection[Any], events: Sequence[Event]) -> set[bytes]:
        times = [event.event_time for event in events]
        pipeline = StatementPipeline(connection)
        place = self._known_events.add(pipeline, [event.key for event in events], min(times), max(times))
        return set(_first_column(pipeline.run()[place]))

    def write_digest(
        self, pipeline: StatementPipeline, digest: Digest, known: _Known | None = None
    ) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
        """Join a digest into the digest tables; return the schema and lineage versions that are sent along."""
        known = known or _Known(None)
        if digest.runs:
            self._upsert_runs.add(pipeline, [_run_row(row.values()) for row in digest.runs.values()])
        if digest.datasets:
            rows = [_dataset_row(row.values()) for row in digest.datasets.values()]
            self._upsert_datasets.add(pipeline, rows)
        if digest.assertions:
            rows = [
                (key, *row, _name_key(row[4], row[5]), _result_key(_ASSERTION_RESULT(row)))
                for key, row in digest.assertions.items()
            ]
            self._insert_assertions.add(pipeline, rows)
        if digest.tests:
            rows = [(key, *row, _result_key(_TEST_RESULT(row))) for key, row in digest.tests.items()]
            self._insert_tests.add(pipeline, rows)
        schemas = {key: value for key, value in digest.schemas.items() if key not in known.schemas}
        lineages = {key: value for key, value in digest.lineages.items() if key not in known.lineages}
        if schemas:
            self._insert_schemas.add(pipeline, list(schemas.items()))
        if lineages:
            self._insert_lineages.add(pipeline, list(lineages.items()))
        # last of all: writers meet on these rows most
        self.write_entities(pipeline, *digest.entities.rows())
        return schemas, lineages

    def write_entities(self, pipeline: StatementPipeline, jobs: Keyed, datasets: Keyed, names: Keyed) -> None:
        """Join rows of ol_job, ol_dataset and ol_dataset_name, given by their keys."""
        if jobs:
            self._upsert_jobs.add(pipeline, [(key, *row) for key, row in jobs.items()])
        if datasets:
            self._upsert_entities.add(pipeline, [(key, *row) for key, row in datasets.items()])
        if names:
            rows = [(key, *row, _name_key(*row[1:3]), _name_key(*row[3:5])) for key, row in names.items()]
            self._upsert_names.add(pipeline, rows)


def _floor(result: PGresult) -> datetime | None:
    (found,) = _first_column(result)
    return time_of(found)


def _first_column(result: PGresult) -> list[Any]:
    return [result.get_value(row, 0) for row in range(result.ntuples)]


def event_row(event: Event) -> tuple[Any, ...]:
    """The row of ol_event, in the order of schema.EVENT_COLUMNS."""
    notices = "; ".join(map(str, event.notices)) or None
    return (
        *(event.run_id, event.event_time, event.event_type, event.event_hash, event.kind),
        *(event.job_namespace, event.job_name, event.producer, event.body, event.raw, notices),
    )


def _run_row(values: tuple[Any, ...]) -> tuple[Any, ...]:
    run_id, namespace, name, *rest = values
    return _run_key(run_id, namespace, name), run_id, namespace, name, _name_key(namespace, name), *rest


def _dataset_row(values: tuple[Any, ...]) -> tuple[Any, ...]:
    names = values[:6]
    return name_key(*names), _run_key(*names[:3]), *names, _name_key(*names[4:]), *values[6:]


_ASSERTION_RESULT: Final = itemgetter(*map(columns.ASSERTION_PARAMETERS.index, tables.ASSERTION_RESULT))
_TEST_RESULT: Final = itemgetter(*map(columns.TEST_PARAMETERS.index, tables.TEST_RESULT))


def _result_key(names: tuple[Any, ...]) -> bytes:
    *texts, position = names
    return name_key(*texts, str(position))


_LETTER_COLUMNS: Final = (
    *("sha256", "reason", "json_path", "detail", "source", "position", "payload", "payload_size", "count"),
    *("run_id", "job_namespace", "job_name", "event_type", "event_time"),
)


def upsert_dead_letters(schema: LogStoreSchema) -> Any:
    """Keep refused events once each; count them when they come again. Arrays of rows, each sha256 and reason once."""
    table = schema.t(tables.DEAD_LETTER_TABLE)
    statement = schema.insert_rows(tables.DEAD_LETTER_TABLE, _LETTER_COLUMNS, by=2)
    return statement.on_conflict_do_update(
        index_elements=[table.c.sha256, table.c.reason],
        set_={
            "count": table.c.count + statement.excluded["count"],
            "last_received_at": func.now(),
            "source": statement.excluded.source,
            "position": statement.excluded.position,
            "state": literal_column("'new'"),
        },
    )


def _letter_rows(letters: Iterable[DeadLetter]) -> list[tuple[Any, ...]]:
    """The parameters of upsert_dead_letters: of equal letters one, from where the last came."""
    rows: dict[tuple[bytes, str], dict[str, Any]] = {}
    for letter in letters:
        rejected = letter.rejected
        hash_, texts = sha256(rejected.payload).digest(), dead_letter_texts(rejected)
        row = rows.setdefault((hash_, texts["reason"]), {"sha256": hash_, **texts, "count": 0})
        row["payload"], row["payload_size"] = rejected.payload, rejected.size or len(rejected.payload)
        row["source"], row["position"] = letter.source, _clean(letter.position)
        row["count"] += 1
    return [tuple([row[name] for name in _LETTER_COLUMNS]) for row in rows.values()]


def dead_letter_texts(rejected: Rejected) -> dict[str, Any]:
    """What parsing says of a dead letter. Texts lose what PostgreSQL refuses; the payload keeps the bytes."""
    return {
        "reason": str(rejected.reason),
        "json_path": _clean(rejected.path),
        "detail": _clean(rejected.detail),
        "run_id": _clean(rejected.run_id),
        "job_namespace": _clean(rejected.job_namespace),
        "job_name": _clean(rejected.job_name),
        "event_type": _clean(rejected.event_type),
        "event_time": _clean(rejected.event_time),
    }


def _clean(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
