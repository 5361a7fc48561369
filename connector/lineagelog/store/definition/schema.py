"""The definition of a log store that writer and readers share: names, DDL, and every statement.

The counterpart of Egeria's Java class ``PostgresOpenLineageLogStoreSchema``; each method of it has its counterpart
here. Statements are SQLAlchemy Core with named parameters; their text for other languages is generated into ``sql/``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    ColumnElement,
    Select,
    Subquery,
    Table,
    Text,
    Uuid,
    bindparam,
    cast,
    column,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, Insert, insert
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.schema import (
    CreateIndex,
    CreateSchema,
    CreateSequence,
    CreateTable,
    Sequence,
    SetColumnComment,
    SetTableComment,
)
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import ReturningInsert
from sqlalchemy.sql.expression import ClauseElement, TableValuedAlias
from sqlalchemy.types import TypeEngine

from lineagelog.errors import SettingsError
from lineagelog.event import facts
from lineagelog.postgres.blocks import do_block
from lineagelog.postgres.connection import SEARCH_PATH
from lineagelog.postgres.database import Database

from . import migrations, tables
from .merge import Registers, entity_merge, report_told, run_dataset_merge, run_merge, said_merge
from .tables import Time

MAX_NAME_BYTES: Final = 63
"""PostgreSQL cuts longer identifiers silently, which would quietly use a different schema."""


SCRIPT_SETTINGS: Final = (
    f"SET search_path = {SEARCH_PATH}",
    "SET standard_conforming_strings = on",
)
"""What a session must have in which our SQL runs by other hands."""


class LogStoreSchema:
    """Tables, statements and names of the log store in one database schema.

    Raises SettingsError if the name cannot be used as a quoted identifier.
    """

    EVENT_TABLE = tables.EVENT_TABLE
    RUN_TABLE = tables.RUN_TABLE
    RUN_DATASET_TABLE = tables.RUN_DATASET_TABLE
    ASSERTION_TABLE = tables.ASSERTION_TABLE
    TEST_TABLE = tables.TEST_TABLE
    INPUT_DIRECTION = tables.INPUT_DIRECTION
    OUTPUT_DIRECTION = tables.OUTPUT_DIRECTION

    def __init__(self, schema_name: str = "openlineage") -> None:
        if not self.is_valid_schema_name(schema_name):
            raise SettingsError(
                f"schema name {schema_name!r} cannot be used: it must not be empty, hold no double quote and no NUL, "
                f"and be at most {MAX_NAME_BYTES} bytes long in UTF-8"
            )
        self.schema_name = schema_name
        self.metadata = tables.build(schema_name)

    # --- names ------------------------------------------------------------------------------------------------------

    @staticmethod
    def is_valid_schema_name(schema_name: str | None) -> bool:
        """Whether the name can be used: it is always quoted, so any characters but ``"`` and NUL are allowed."""
        if not schema_name or '"' in schema_name or "\0" in schema_name:
            return False
        try:
            return len(schema_name.encode()) <= MAX_NAME_BYTES
        except UnicodeEncodeError:  # a lone surrogate
            return False

    def table(self, table_name: str) -> str:
        """The qualified, quoted name of a table (or other object) of this schema."""
        return f'"{self.schema_name}"."{table_name}"'

    def table_beside_placeholders(self, table_name: str) -> str:
        """The same for a statement that is given parameters: there the driver reads a percent sign as a placeholder."""
        return self.table(table_name).replace("%", "%%")

    def t(self, table_name: str) -> Table:
        """The SQLAlchemy table of that name."""
        return self.metadata.tables[f"{self.schema_name}.{table_name}"]

    @staticmethod
    def to_stored_namespace(namespace: str | None) -> str:
        """A namespace is optional in an event but part of keys: a missing one is stored as ''."""
        return namespace or ""

    @staticmethod
    def from_stored_namespace(stored_namespace: str) -> str | None:
        """The value from the event: None if it had no namespace."""
        return stored_namespace or None

    # --- definition -------------------------------------------------------------------------------------------------

    def ddl_statements(self) -> list[str]:
        """The statements that create schema, tables, indexes and the two catch-all partitions, and migrate older ones.

        Each does nothing if its object exists. They need no parameters and are run in order, in one transaction.
        """
        texts = [sql_named(CreateSchema(self.schema_name, if_not_exists=True))]
        relations = [statement for _, statement in self.relation_statements()]
        texts += [*relations[:-2], self.lz4_statement(), *relations[-2:]]
        store = self.table(tables.STORE_TABLE)
        texts.append(f"INSERT INTO {store} (id, version) VALUES (1, {tables.VERSION}) ON CONFLICT (id) DO NOTHING")
        return [*texts, *migrations.statements(self.table), *(text for _, text in self.later_index_statements())]

    def later_index_statements(self) -> list[tuple[str, str]]:
        """The indexes on columns that a migration brings: the name and the statement of each."""
        indexes = [i for table in self.metadata.sorted_tables for i in table.indexes if tables.is_later(i)]
        found = sorted((str(index.name), index) for index in indexes)
        return [(name, sql_named(CreateIndex(index, if_not_exists=True))) for name, index in found]

    def relation_statements(self) -> list[tuple[str, str]]:
        """Sequences, tables, indexes and at last the two catch-all partitions: the name and the statement of each.

        `later_index_statements` are not among them.
        """
        statements: list[tuple[str, ClauseElement]] = [
            (sequence.name, CreateSequence(sequence, if_not_exists=True)) for sequence in self._sequences
        ]
        for table in self.metadata.sorted_tables:
            statements.append((table.name, CreateTable(table, if_not_exists=True)))
            statements += [
                (str(index.name), CreateIndex(index, if_not_exists=True))
                for index in sorted(table.indexes, key=lambda index: str(index.name))
                if not tables.is_later(index)
            ]
        first, last = "'2000-01-01 00:00:00+00'", "'2100-01-01 00:00:00+00'"
        return [
            *((name, sql_named(statement)) for name, statement in statements),
            self._catch_all("ol_event_before_2000", "MINVALUE", first),
            self._catch_all("ol_event_from_2100", last, "MAXVALUE"),
        ]

    def comment_statements(self) -> dict[str, list[str]]:
        """The statements that describe each table and its columns in the catalog, for people who look there."""
        return {
            table.name: [
                sql_named(SetTableComment(table)),
                *(sql_named(SetColumnComment(column)) for column in table.columns if column.comment),
            ]
            for table in self.metadata.sorted_tables
        }

    def script(self) -> list[str]:
        """All statements as a script for psql, which first takes care that names mean PostgreSQL's own things."""
        comments = [statement for statements in self.comment_statements().values() for statement in statements]
        return [*SCRIPT_SETTINGS, *self.ddl_statements(), *comments]

    @property
    def _sequences(self) -> list[Sequence]:
        return list(self.metadata._sequences.values())

    @property
    def _arrival(self) -> Sequence:
        return self.metadata._sequences[f"{self.schema_name}.{tables.ARRIVAL_SEQUENCE}"]

    def lz4_statement(self) -> str:
        """Compress events with lz4 where the server has it: 1.3 to 1.6 times faster writes for 11 % more space."""
        event = self.table(tables.EVENT_TABLE)
        literal = "'" + event.replace("'", "''") + "'"
        return do_block(
            "BEGIN\n"
            "  IF (SELECT attcompression FROM pg_catalog.pg_attribute\n"
            f"      WHERE attrelid = {literal}::regclass AND attname = 'event') <> 'l' THEN\n"
            f"    ALTER TABLE {event} ALTER COLUMN event SET COMPRESSION lz4;\n"
            "  END IF;\n"
            "EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN NULL;\n"
            "END",
            "lz4",
        )

    def _catch_all(self, name: str, low: str, high: str) -> tuple[str, str]:
        return name, (
            f"CREATE TABLE IF NOT EXISTS {self.table(name)} PARTITION OF {self.table(tables.EVENT_TABLE)} "
            f"FOR VALUES FROM ({low}) TO ({high})"
        )

    @staticmethod
    def partition_name(year: int, month: int) -> str:
        """The name of a month's partition of ol_event."""
        return f"{tables.EVENT_TABLE}_y{year:04}m{month:02}"

    @staticmethod
    def partition_bounds(year: int, month: int) -> tuple[datetime, datetime]:
        """First instant of the month and of the next one, UTC."""
        following = (year + 1, 1) if month == 12 else (year, month + 1)
        return datetime(year, month, 1, tzinfo=UTC), datetime(*following, 1, tzinfo=UTC)

    def partition_statements(self, year: int, month: int) -> list[str]:
        """Create and attach the partition of a month (2000 to 2099); run them in one transaction, once.

        The table is made aside and attached with a matching CHECK, so that no lock on ol_event blocks its writers.
        """
        name = self.partition_name(year, month)
        leaf, check, parent = self.table(name), f'"{name}_month"', self.table(tables.EVENT_TABLE)
        low, high = (f"'{bound:%Y-%m-%d} 00:00:00+00'" for bound in self.partition_bounds(year, month))
        like = f"LIKE {parent} INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMPRESSION"
        return [
            f"CREATE TABLE {leaf} ({like}, CONSTRAINT {check} CHECK (event_time >= {low} AND event_time < {high}))",
            f"ALTER TABLE {parent} ATTACH PARTITION {leaf} FOR VALUES FROM ({low}) TO ({high})",
            f"ALTER TABLE {leaf} DROP CONSTRAINT {check}",
        ]

    # --- writing: one event at a time -------------------------------------------------------------------------------

    def insert_event(self) -> ReturningInsert[Any]:
        """Insert a raw event; returns no row if the event is already stored.

        Parameters: run_id, event_time, event_type, event_hash, event_kind, job_namespace, job_name, producer,
        event (JSON text), raw, notices.
        """
        table = self.t(tables.EVENT_TABLE)
        columns = {name: bindparam(name, type_=table.c[name].type) for name in EVENT_COLUMNS}
        columns["event"] = cast(bindparam("event", type_=Text), JSONB)  # type: ignore[assignment]
        return insert(table).values(columns).on_conflict_do_nothing().returning(table.c.arrival)

    def upsert_run(self) -> Insert:
        """Add an event to its run. Parameters: RUN_PARAMETERS, those of JSONB as JSON text.

        ``X_at`` is the event's time if the event carries X, else NULL.
        """
        values: dict[str, Any] = self._parameters(tables.RUN_TABLE, RUN_PARAMETERS)
        values["run_key"] = key_of(*(_text(name) for name in ("run_id", "job_namespace", "job_name")))
        values["job_key"] = key_of(*(_text(name) for name in ("job_namespace", "job_name")))
        return self._upsert_run(insert(self.t(tables.RUN_TABLE)).values(values).inline())

    def upsert_run_dataset(self) -> Insert:
        """Record a dataset read or written by a run. Parameters: RUN_DATASET_PARAMETERS.

        ``X_at`` is NULL, or the event's time where the event deletes X (then X is NULL).
        """
        values: dict[str, Any] = self._parameters(tables.RUN_DATASET_TABLE, RUN_DATASET_PARAMETERS)
        values["run_dataset_key"] = key_of(*(_text(name) for name in _DATASET_NAMES))
        values["run_key"] = key_of(*(_text(name) for name in _DATASET_NAMES[:3]))
        values["dataset_key"] = key_of(*(_text(name) for name in _DATASET_NAMES[-2:]))
        return self._upsert_run_dataset(insert(self.t(tables.RUN_DATASET_TABLE)).values(values).inline())

    def insert_assertion(self) -> Insert:
        """Insert an assertion. Parameters: ASSERTION_PARAMETERS."""
        values: dict[str, Any] = self._parameters(tables.ASSERTION_TABLE, ASSERTION_PARAMETERS)
        values["assertion_key"] = key_of(*(_key_part(name, values[name]) for name in _ASSERTION_IDENTITY))
        values["dataset_key"] = key_of(*(_text(name) for name in ("dataset_namespace", "dataset_name")))
        values["result_key"] = key_of(*(cast(values[name], Text) for name in tables.ASSERTION_RESULT))
        return self._insert_report(insert(self.t(tables.ASSERTION_TABLE)).values(values).inline(), _ASSERTION_TOLD)

    def insert_test(self) -> Insert:
        """Insert a test. Parameters: TEST_PARAMETERS."""
        values: dict[str, Any] = self._parameters(tables.TEST_TABLE, TEST_PARAMETERS)
        values["test_key"] = key_of(*(_key_part(name, values[name]) for name in _TEST_IDENTITY))
        values["result_key"] = key_of(*(cast(values[name], Text) for name in tables.TEST_RESULT))
        return self._insert_report(insert(self.t(tables.TEST_TABLE)).values(values).inline(), _TEST_TOLD)

    def insert_schema_version(self) -> Insert:
        """Insert a dataset's schema fields. Parameters: schema_hash, fields (JSON text)."""
        return self._insert_content(tables.SCHEMA_VERSION_TABLE, "schema_hash", "fields")

    def insert_lineage_version(self) -> Insert:
        """Insert a dataset's column lineage. Parameters: lineage_hash, edges (JSON text)."""
        return self._insert_content(tables.LINEAGE_VERSION_TABLE, "lineage_hash", "edges")

    def _insert_content(self, table_name: str, key: str, content: str) -> Insert:
        values = {key: bindparam(key, type_=Uuid), content: cast(bindparam(content, type_=Text), JSONB)}
        return self._renew_content(insert(self.t(table_name)).values(values).inline(), key)

    def _renew_content(self, statement: Insert, key: str) -> Insert:
        """A content that is there already gets a new row version, which tells the purge that it was just sent."""
        return statement.on_conflict_do_update(index_elements=[key], set_={key: statement.excluded[key]})

    def _parameters(self, table_name: str, names: tuple[str, ...]) -> dict[str, Any]:
        table = self.t(table_name)
        return {name: _parameter(name, table.c[name].type) for name in names}

    def upsert_job(self) -> Insert:
        """Record a job. Parameters: JOB_PARAMETERS, those of JSONB as JSON text.

        ``X_at`` is the event's time if the event carries X or deletes it (then X is NULL), else NULL.
        """
        values: dict[str, Any] = self._parameters(tables.JOB_TABLE, JOB_PARAMETERS)
        values["job_key"] = key_of(*(_text(name) for name in ("job_namespace", "job_name")))
        return self._upsert_job(insert(self.t(tables.JOB_TABLE)).values(values).inline())

    def upsert_dataset(self) -> Insert:
        """Record a dataset. Parameters: DATASET_PARAMETERS, those of JSONB as JSON text; ``X_at`` as for a job."""
        values: dict[str, Any] = self._parameters(tables.DATASET_TABLE, DATASET_PARAMETERS)
        values["dataset_key"] = key_of(*(_text(name) for name in ("dataset_namespace", "dataset_name")))
        return self._upsert_dataset(insert(self.t(tables.DATASET_TABLE)).values(values).inline())

    def upsert_dataset_name(self) -> Insert:
        """Record that names are said to be one dataset's. Parameters: DATASET_NAME_PARAMETERS."""
        values: dict[str, Any] = self._parameters(tables.DATASET_NAME_TABLE, DATASET_NAME_PARAMETERS)
        values["dataset_name_key"] = key_of(*(_text(name) for name in DATASET_NAME_PARAMETERS[:7]))
        values["dataset_key"] = key_of(*(_text(name) for name in ("dataset_namespace", "dataset_name")))
        values["other_key"] = key_of(*(_text(name) for name in ("other_namespace", "other_name")))
        return self._upsert_dataset_name(insert(self.t(tables.DATASET_NAME_TABLE)).values(values).inline())

    # --- writing: many rows at once ---------------------------------------------------------------------------------
    #
    # The columns of registers that no row carries may be left out: `registers` are the others.

    def insert_events(self) -> ReturningInsert[Any]:
        """As insert_event, for arrays of rows in the order of their arrival; returns the hashes of the new ones.

        They are numbered as they came, and inserted by key: writers that meet on events never deadlock. (A subquery
        with nextval is computed as it stands, before what is around it is sorted.)
        """
        table = self.t(tables.EVENT_TABLE)
        rows = self._rows(tables.EVENT_TABLE, EVENT_COLUMNS)
        numbered = select(*rows.c, self._arrival.next_value().label("arrival")).subquery("numbered")
        ordered = select(*numbered.c).order_by(*(numbered.c[name] for name in EVENT_KEY))
        statement = insert(table).from_select([*EVENT_COLUMNS, "arrival"], ordered)
        return statement.on_conflict_do_nothing().returning(table.c.event_hash)

    def arrivals(self) -> Select[Any]:
        """The next numbers of arrival, ascending. Parameter: count."""
        count: Any = bindparam("count", type_=BigInteger)
        return select(self._arrival.next_value()).select_from(func.generate_series(literal_column("1"), count))

    def upsert_runs(self, registers: Registers = facts.RUN) -> Insert:
        """As upsert_run, for arrays of rows with their keys, each key once."""
        return self._upsert_run(self.insert_rows(tables.RUN_TABLE, only(RUN_COLUMNS, facts.RUN, registers)), registers)

    def upsert_run_datasets(self, registers: Registers = facts.DATASET) -> Insert:
        """As upsert_run_dataset, for arrays of rows with their keys, each key once."""
        return self._upsert_run_dataset(
            self.insert_rows(tables.RUN_DATASET_TABLE, only(RUN_DATASET_COLUMNS, facts.DATASET, registers)), registers
        )

    def insert_assertions(self) -> Insert:
        """As insert_assertion, for arrays of rows with their keys."""
        return self._insert_report(self.insert_rows(tables.ASSERTION_TABLE, ASSERTION_COLUMNS), _ASSERTION_TOLD)

    def insert_tests(self) -> Insert:
        """As insert_test, for arrays of rows with their keys."""
        return self._insert_report(self.insert_rows(tables.TEST_TABLE, TEST_COLUMNS), _TEST_TOLD)

    def insert_schema_versions(self) -> Insert:
        """As insert_schema_version, for arrays."""
        statement = self.insert_rows(tables.SCHEMA_VERSION_TABLE, SCHEMA_VERSION_COLUMNS)
        return self._renew_content(statement, "schema_hash")

    def insert_lineage_versions(self) -> Insert:
        """As insert_lineage_version, for arrays."""
        statement = self.insert_rows(tables.LINEAGE_VERSION_TABLE, LINEAGE_VERSION_COLUMNS)
        return self._renew_content(statement, "lineage_hash")

    def upsert_jobs(self, registers: Registers = facts.JOB_ENTITY) -> Insert:
        """As upsert_job, for arrays of rows with their keys, each key once."""
        return self._upsert_job(
            self.insert_rows(tables.JOB_TABLE, only(JOB_COLUMNS, facts.JOB_ENTITY, registers)), registers
        )

    def upsert_datasets(self, registers: Registers = facts.DATASET_ENTITY) -> Insert:
        """As upsert_dataset, for arrays of rows with their keys, each key once."""
        return self._upsert_dataset(
            self.insert_rows(tables.DATASET_TABLE, only(DATASET_COLUMNS, facts.DATASET_ENTITY, registers)), registers
        )

    def upsert_dataset_names(self) -> Insert:
        """As upsert_dataset_name, for arrays of rows with their keys, each key once."""
        return self._upsert_dataset_name(self.insert_rows(tables.DATASET_NAME_TABLE, DATASET_NAME_COLUMNS))

    def known_events(self) -> Select[Any]:
        """The hashes of those events that are already stored.

        Parameters: arrays run_id, event_time, event_type, event_hash; low and high, the bounds of event_time.
        """
        table = self.t(tables.EVENT_TABLE)
        rows = self._rows(tables.EVENT_TABLE, EVENT_KEY)
        same = [table.c[name] == rows.c[name] for name in EVENT_KEY]
        bounds = table.c.event_time.between(bindparam("low", type_=Time), bindparam("high", type_=Time))
        return select(table.c.event_hash).where(bounds, *same)

    def copy_events(self) -> str:
        """COPY of raw events with their numbers of arrival in binary form; fails if one of them is already stored."""
        columns = ", ".join([*EVENT_COLUMNS, "arrival"])
        return f"COPY {self.table(tables.EVENT_TABLE)} ({columns}) FROM STDIN (FORMAT BINARY)"

    def insert_rows(self, table_name: str, names: tuple[str, ...], by: int = 1) -> Insert:
        """INSERT of rows given as one array per column, sorted by key: writers that meet on keys never deadlock.

        The key are the first ``by`` columns.
        """
        rows = self._rows(table_name, names)
        ordered = select(*rows.c).order_by(*list(rows.c)[:by])
        return insert(self.t(table_name)).from_select(list(names), ordered)

    def _rows(self, table_name: str, names: tuple[str, ...]) -> TableValuedAlias:
        columns = self.t(table_name).c
        arrays = [bindparam(name, type_=ARRAY(columns[name].type)) for name in names]
        typed = [column(name, columns[name].type) for name in names]
        return func.unnest(*arrays).table_valued(*typed).render_derived(name="rows")

    def _upsert_run(self, statement: Insert, registers: Registers = facts.RUN) -> Insert:
        table = self.t(tables.RUN_TABLE)
        merge = run_merge(table, statement.excluded, registers)
        return statement.on_conflict_do_update(index_elements=[table.c.run_key], set_=merge)

    def _upsert_run_dataset(self, statement: Insert, registers: Registers = facts.DATASET) -> Insert:
        table = self.t(tables.RUN_DATASET_TABLE)
        merge = run_dataset_merge(table, statement.excluded, registers)
        return statement.on_conflict_do_update(index_elements=[table.c.run_dataset_key], set_=merge)

    def _insert_report(self, statement: Insert, told: tuple[str, ...]) -> Insert:
        """Of two reports with one key stays that which says the greater things beside what the key is made of."""
        table, x = statement.table, statement.excluded
        return statement.on_conflict_do_update(
            index_elements=[*table.primary_key],
            set_={name: x[name] for name in (*told, "result_key")},
            where=report_told(table.c, x, told),
        )

    def _upsert_job(self, statement: Insert, registers: Registers = facts.JOB_ENTITY) -> Insert:
        table = self.t(tables.JOB_TABLE)
        merge = entity_merge(table, statement.excluded, registers)
        return statement.on_conflict_do_update(index_elements=[table.c.job_key], set_=merge)

    def _upsert_dataset(self, statement: Insert, registers: Registers = facts.DATASET_ENTITY) -> Insert:
        table = self.t(tables.DATASET_TABLE)
        merge = entity_merge(table, statement.excluded, registers)
        return statement.on_conflict_do_update(index_elements=[table.c.dataset_key], set_=merge)

    def _upsert_dataset_name(self, statement: Insert) -> Insert:
        table = self.t(tables.DATASET_NAME_TABLE)
        merge = said_merge(table, statement.excluded)
        return statement.on_conflict_do_update(index_elements=[table.c.dataset_name_key], set_=merge)

    # --- purging ----------------------------------------------------------------------------------------------------

    def purge(self) -> list[ClauseElement]:
        """The statements that delete what is older than a cut-off; each takes ``cutoff`` as its only parameter.

        Run them in order. A run goes when its last event is older, its datasets with it; assertions and tests go by
        their own time. The floor is remembered first, so that older events that
        arrive later are not stored again. Raw events that a target of forwarding has not got stay until it has them.
        (`store.purge` does the same in bounded batches, dropping whole partitions; it refuses where events are owed.)
        """
        cutoff = bindparam("cutoff", type_=Time)
        store, event, run = (self.t(n) for n in (tables.STORE_TABLE, tables.EVENT_TABLE, tables.RUN_TABLE))
        dataset, assertion, test = (
            self.t(n) for n in (tables.RUN_DATASET_TABLE, tables.ASSERTION_TABLE, tables.TEST_TABLE)
        )
        same_run = run.c.run_key == dataset.c.run_key
        cursor = self.t(tables.FORWARD_CURSOR_TABLE)
        is_owed = tuple_(event.c.arrival_xid, event.c.arrival) > tuple_(cursor.c.arrival_xid, cursor.c.arrival)
        return [
            update(store).values(retention_floor=func.greatest(store.c.retention_floor, cutoff)),
            delete(event).where(
                event.c.event_time < cutoff, ~exists().where(cursor.c.arrival >= literal_column("0"), is_owed)
            ),
            delete(assertion).where(assertion.c.event_time < cutoff),
            delete(test).where(test.c.event_time < cutoff),
            delete(dataset).where(exists().where(same_run, *self.run_is_over(cutoff))),
            delete(run).where(*self.run_is_over(cutoff)),
            *self._purge_entities(cutoff),
        ]

    def _purge_entities(self, cutoff: ColumnElement[datetime]) -> list[ClauseElement]:
        job, dataset, name = (self.t(n) for n in (tables.JOB_TABLE, tables.DATASET_TABLE, tables.DATASET_NAME_TABLE))
        gone = exists().where(dataset.c.dataset_key == name.c.dataset_key, dataset.c.last_seen < cutoff)
        return [
            delete(job).where(job.c.last_seen < cutoff),
            delete(name).where(gone),
            delete(dataset).where(dataset.c.last_seen < cutoff),
        ]

    def run_is_over(self, cutoff: ColumnElement[datetime]) -> tuple[ColumnElement[bool], ...]:
        """A run's last event is older than the cut-off, by way of the index on last_hour."""
        run = self.t(tables.RUN_TABLE).c
        return run.last_hour <= hour_of(cutoff), run.last_event_time < cutoff

    # --- reading windows --------------------------------------------------------------------------------------------

    def runs_in_window(
        self, *conditions: ColumnElement[bool], limit: int | None = None, newest_first: bool = False
    ) -> Select[Any]:
        """The runs that had an event in the window [window_start, window_end), oldest first.

        Exact, and an index scan in each of its three parts: runs that began inside; long runs and short runs that
        began before. Only for those that also go on after the window are events looked at; where these are purged
        already, the run counts. ``conditions`` on the columns of ol_run narrow every part, and ``limit`` ends every
        part, so that no plan reads a whole part for the first rows of it.
        """
        runs = self._runs_in_window(conditions, limit, newest_first=newest_first)
        return select(*runs.c).order_by(*_ordered(newest_first, runs.c.first_event_time, runs.c.run_key)).limit(limit)

    def run_datasets_in_window(self, *conditions: ColumnElement[bool]) -> Select[Any]:
        """The datasets read or written by the runs that had an event in the window, oldest first.

        ``conditions`` are on the columns of ol_run.
        """
        table = self.t(tables.RUN_DATASET_TABLE)
        runs = self._runs_in_window(conditions)
        return (
            select(*table.c)
            .where(table.c.run_key.in_(select(runs.c.run_key)))
            .order_by(table.c.event_time, table.c.run_dataset_key)
        )

    def assertions_in_window(
        self, *conditions: ColumnElement[bool], limit: int | None = None, newest_first: bool = False
    ) -> Select[Any]:
        """The assertions reported in the window, oldest first."""
        table = self.t(tables.ASSERTION_TABLE)
        inside = (*_within(table.c.event_time), *conditions)
        return (
            select(*table.c)
            .where(*inside)
            .order_by(*_ordered(newest_first, table.c.event_time, table.c.assertion_key))
            .limit(limit)
        )

    def tests_in_window(
        self, *conditions: ColumnElement[bool], limit: int | None = None, newest_first: bool = False
    ) -> Select[Any]:
        """The tests reported in the window, oldest first."""
        table = self.t(tables.TEST_TABLE)
        inside = (*_within(table.c.event_time), *conditions)
        return (
            select(*table.c)
            .where(*inside)
            .order_by(*_ordered(newest_first, table.c.event_time, table.c.test_key))
            .limit(limit)
        )

    def events_in_window(
        self, *conditions: ColumnElement[bool], limit: int | None = None, newest_first: bool = False
    ) -> Select[Any]:
        """The raw events of the window without their content, oldest first, at one time in the order of arrival."""
        event = self.t(tables.EVENT_TABLE).c
        inside = (*_within(event.event_time), *conditions)
        return (
            select(*self.event_columns())
            .where(*inside)
            .order_by(*_ordered(newest_first, event.event_time, event.arrival))
            .limit(limit)
        )

    def event_columns(self) -> list[ColumnElement[Any]]:
        """The columns of ol_event but for the content, and stored_size, the bytes of that (compressed)."""
        event = self.t(tables.EVENT_TABLE).c
        small = [column for column in event if column.name not in ("event", "raw", "arrival_xid")]
        return [*small, func.pg_column_size(event.event).label("stored_size")]

    def event_summary_in_window(self) -> Select[Any, Any, Any]:
        """The number of events in the window, and the times of the first and the last: one row."""
        time = self.t(tables.EVENT_TABLE).c.event_time
        return select(
            func.count().label("event_count"),
            func.min(time).label("first_event_time"),
            func.max(time).label("last_event_time"),
        ).where(*_within(time))

    def _runs_in_window(
        self, conditions: tuple[ColumnElement[bool], ...], limit: int | None = None, *, newest_first: bool = False
    ) -> Subquery:
        run = self.t(tables.RUN_TABLE)
        first, last = run.c.first_event_time, run.c.last_event_time
        start, end = _WINDOW_START, _WINDOW_END
        reaches_in = (first < start, last >= start, self._is_seen_in_window(run.c))
        parts = (
            (first >= start, first < end),
            (run.c.is_long, run.c.last_hour >= hour_of(start), *reaches_in),
            (~run.c.is_long, first >= start - literal_column("interval '1 hour'"), *reaches_in),
        )
        selects = [select(*run.c).where(*part, *conditions) for part in parts]
        if limit is not None:
            selects = [
                select(
                    part.order_by(*_ordered(newest_first, first, run.c.run_key)).limit(limit).subquery(f"part_{place}")
                )
                for place, part in enumerate(selects)
            ]
        return union_all(*selects).subquery("runs")

    def _is_seen_in_window(self, run: Any) -> ColumnElement[bool]:
        """Whether a run that began before the window had an event in it, given that its last is not before it."""
        event = self.t(tables.EVENT_TABLE).c
        same = [getattr(event, name) == getattr(run, name) for name in ("run_id", "job_namespace", "job_name")]
        floor = select(self.t(tables.STORE_TABLE).c.retention_floor).scalar_subquery()
        return or_(
            run.last_event_time < _WINDOW_END,
            floor > _WINDOW_START,
            exists().where(*same, *_within(event.event_time)),
        )


def _ordered(newest_first: bool, *columns: ColumnElement[Any]) -> tuple[ColumnElement[Any], ...]:
    """The order of a listing; the other way round, all of it, so that one index serves both."""
    return tuple(column.desc() for column in columns) if newest_first else columns


@lru_cache(maxsize=16)
def _schema_named(schema_name: str) -> LogStoreSchema:
    return LogStoreSchema(schema_name)


def schema_of(database: Database) -> LogStoreSchema:
    """The definition of the store in a database. Raises SettingsError for a name that no schema can have."""
    return _schema_named(database.schema)


_WINDOW_START: Final = bindparam("window_start", type_=Time)
_WINDOW_END: Final = bindparam("window_end", type_=Time)


def _within(time: ColumnElement[datetime]) -> tuple[ColumnElement[bool], ...]:
    return time >= _WINDOW_START, time < _WINDOW_END


def hour_of(time: ColumnElement[datetime]) -> ColumnElement[datetime]:
    """The hour as ol_run.last_hour has it."""
    return func.date_trunc(literal_column("'hour'"), func.timezone(literal_column("'UTC'"), time))


def key_of(*parts: ColumnElement[Any]) -> ColumnElement[Any]:
    """The key that `event.canonical.name_key` gives for the same texts, computed by PostgreSQL."""
    prefixed = [
        func.coalesce(func.octet_length(part).op("||")(literal_column("':'")).op("||")(part), literal_column("'-'"))
        for part in parts
    ]
    joined: ColumnElement[Any] = prefixed[0]
    for part in prefixed[1:]:
        joined = joined.op("||")(part)
    digest = func.sha256(func.convert_to(joined, literal_column("'UTF8'")))
    half = func.substr(digest, literal_column("1"), literal_column("16"))
    return cast(func.encode(half, literal_column("'hex'")), Uuid)


def _parameter(name: str, type_: TypeEngine[Any]) -> ColumnElement[Any]:
    if isinstance(type_, Boolean):
        return cast(bindparam(name, type_=Boolean), Boolean)
    if isinstance(type_, JSONB):
        return cast(bindparam(name, type_=Text), JSONB)
    return bindparam(name, type_=type_)


def _text(name: str) -> ColumnElement[str]:
    return bindparam(name, type_=Text)


def _key_part(name: str, value: ColumnElement[Any]) -> ColumnElement[str]:
    """A parameter as text for a key: times as microseconds since 1970, booleans as true or false."""
    if name == "event_time":
        microseconds = func.extract("epoch", value) * literal_column("1000000")
        return cast(cast(microseconds, BigInteger), Text)
    return cast(value, Text)


EVENT_KEY: Final = ("run_id", "event_time", "event_type", "event_hash")
EVENT_COLUMNS: Final = (
    "run_id",
    "event_time",
    "event_type",
    "event_hash",
    "event_kind",
    "job_namespace",
    "job_name",
    "producer",
    "event",
    "raw",
    "notices",
)
_RUN_VALUES: Final = (
    "status",
    "start_time",
    "end_time",
    "first_event_time",
    "last_event_time",
    "last_start_time",
    "last_fail_time",
    *(fact.name for register in facts.RUN for fact in register.columns),
)
RUN_PARAMETERS: Final = ("run_id", "job_namespace", "job_name", *_RUN_VALUES)
RUN_COLUMNS: Final = ("run_key", "run_id", "job_namespace", "job_name", "job_key", *_RUN_VALUES)
_DATASET_VALUES: Final = (
    "event_time",
    "event_type",
    *(fact.name for register in facts.DATASET for fact in register.columns),
)
_DATASET_NAMES: Final = ("run_id", "job_namespace", "job_name", "direction", "dataset_namespace", "dataset_name")
RUN_DATASET_PARAMETERS: Final = (*_DATASET_NAMES, *_DATASET_VALUES)
RUN_DATASET_COLUMNS: Final = ("run_dataset_key", "run_key", *_DATASET_NAMES, "dataset_key", *_DATASET_VALUES)
_ASSERTION_IDENTITY: Final = (
    "event_time",
    "run_id",
    "job_namespace",
    "job_name",
    "dataset_namespace",
    "dataset_name",
    "assertion",
    "column_name",
    "success",
    "severity",
    "assertion_name",
    "occurrence",
)
_ASSERTION_TOLD: Final = ("expected", "actual", "params", "side", "position", "skipped")
"""What a report says beside what its key is made of."""
ASSERTION_PARAMETERS: Final = (*_ASSERTION_IDENTITY, *_ASSERTION_TOLD)
ASSERTION_COLUMNS: Final = ("assertion_key", *ASSERTION_PARAMETERS, "dataset_key", "result_key")
_TEST_IDENTITY: Final = (
    "event_time",
    "run_id",
    "job_namespace",
    "job_name",
    "test_name",
    "status",
    "test_type",
    "severity",
    "occurrence",
)
_TEST_TOLD: Final = ("expected", "actual", "params", "position", "skipped")
TEST_PARAMETERS: Final = (*_TEST_IDENTITY, *_TEST_TOLD)
TEST_COLUMNS: Final = ("test_key", *TEST_PARAMETERS, "result_key")
SCHEMA_VERSION_COLUMNS: Final = ("schema_hash", "fields")
LINEAGE_VERSION_COLUMNS: Final = ("lineage_hash", "edges")


def _entity_values(registers: tuple[facts.Register, ...]) -> tuple[str, ...]:
    return ("first_seen", "last_seen", *(fact.name for register in registers for fact in register.columns))


def only(names: tuple[str, ...], registers: Registers, kept: Registers) -> tuple[str, ...]:
    """Columns of rows without those of registers that are not kept."""
    out = {fact.name for register in registers if register not in kept for fact in register.columns}
    return tuple(name for name in names if name not in out)


JOB_PARAMETERS: Final = ("job_namespace", "job_name", *_entity_values(facts.JOB_ENTITY))
JOB_COLUMNS: Final = ("job_key", *JOB_PARAMETERS)
DATASET_PARAMETERS: Final = ("dataset_namespace", "dataset_name", *_entity_values(facts.DATASET_ENTITY))
DATASET_COLUMNS: Final = ("dataset_key", *DATASET_PARAMETERS)
DATASET_NAME_PARAMETERS: Final = (
    "kind",
    "dataset_namespace",
    "dataset_name",
    "other_namespace",
    "other_name",
    "job_namespace",
    "job_name",
    "first_said",
    "last_said",
)
DATASET_NAME_COLUMNS: Final = ("dataset_name_key", *DATASET_NAME_PARAMETERS, "dataset_key", "other_key")


def sql(statement: ClauseElement) -> str:
    """The text of a statement for psycopg, parameters as %(name)s."""
    return str(statement.compile(dialect=_PSYCOPG)).strip()


def sql_numbered(statement: ClauseElement) -> tuple[str, tuple[str, ...]]:
    """The text of a statement in PostgreSQL's own form, parameters as $1, $2 …, and their names in that order."""
    compiled = statement.compile(dialect=_NUMBERED)
    assert isinstance(compiled, SQLCompiler)  # noqa: S101  # for the type checker
    return compiled.string.strip(), tuple(compiled.positiontup or ())


def sql_named(statement: ClauseElement) -> str:
    """The text of a statement for people and other languages, parameters as :name or :name::TYPE."""
    return str(statement.compile(dialect=_NAMED)).strip()


_PSYCOPG: Final = PGDialect_psycopg()  # type: ignore[no-untyped-call]
_NUMBERED: Final = PGDialect_psycopg(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
_NAMED: Final = PGDialect_psycopg(paramstyle="named")  # type: ignore[no-untyped-call]
