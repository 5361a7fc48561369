"""Reads the log store: the runs, datasets, assertions, tests and events of a window, and one run in full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, NamedTuple
from uuid import UUID

from msgspec import structs
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Integer,
    Select,
    Text,
    case,
    cast,
    exists,
    func,
    literal,
    select,
    true,
    tuple_,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by

from lineagelog.analysis import Analysis
from lineagelog.event.canonical import name_key
from lineagelog.event.run_ids import stored_run_id
from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.version import keep_to_version
from lineagelog.store.ledgers.finding_rows import FindingFilter, FindingRow, FindingRows

from . import conditions, making
from .analyses import Answer, Terms, ask
from .bound import Bound
from .catalogue.datasets import datasets
from .catalogue.jobs import jobs
from .catalogue.search import Sought
from .conditions import Conditions, RunFilter, after, after_parameters, of_dataset, of_family, of_job, of_one_task
from .cursor import Key
from .explore import Explorer, Lineages
from .listing import Listing
from .making import Make, utc
from .rows import Assertion, EventRow, EventSummary, ListedDataset, ListedJob, Run, RunDataset, RunDetails, Test, Window
from .run_datasets import RunDatasets
from .script import Stop
from .status import Status, read_status

CONTENT_BYTES: Final = 1 << 20
"""Stored (compressed) bytes of event content that are read at once."""

type Wanted = Callable[[Any], Conditions]
"""The conditions on a table's columns."""


class _Source(NamedTuple):
    """Where the rows of a listing come from: a statement that is ordered by a key, or against it."""

    name: str
    statement: Callable[..., Select[Any]]
    key: tuple[ColumnElement[Any], ...]
    reverse: bool


class Reader:
    """Reads one store. Safe for many threads; no transaction outlives a call or a page.

    Every listing can be iterated over (constant memory) or taken in pages, oldest first, or newest first with
    ``reverse``: runs by their first event, run datasets by their run, the others by event time. Filters: ``namespace``
    is the job's, and '' stands for a missing one. ``within`` are the job namespaces that the asker may see, None = all:
    where jobs of others share a run id, it sees what its own said. All calls raise StoreUnavailable, StoreNotCreated
    and StoreTooOld.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._schema = keep_to_version(database)
        self._lineages = Lineages()

    # --- windows ----------------------------------------------------------------------------------------------------

    def runs(
        self,
        window: Window,
        *,
        job: str | None = None,
        namespace: str | None = None,
        dataset_name: str | None = None,
        dataset_namespace: str | None = None,
        status: str | None = None,
        parent: str | None = None,
        root: str | None = None,
        last_attempts: bool = False,
        reverse: bool = False,
        within: Iterable[str] | None = None,
    ) -> Listing[Run]:
        """The runs that had an event in the window. ``status`` is the outcome; START: only a START is known.

        ``parent`` and ``root`` are ids of the run that started them, and of the one that everything began with.
        ``last_attempts`` leaves out what a later attempt at the same task replaced, wherever that is, and gives what
        came of it with the last one.
        """
        run = self._schema.t(tables.RUN_TABLE).c
        runs = RunFilter(self._schema, job, namespace, (dataset_name, dataset_namespace), status, Bound(within))
        wanted = (*runs.on(run), *of_family(run, parent, root))
        key = (run.first_event_time, run.run_key)
        source = _Source("runs", self._schema.runs_in_window, key, reverse=reverse)
        if not last_attempts:
            return self._listing(window, source, wanted, making.run)
        wanted += conditions.last_attempts(self._schema, run)
        return self._listing(window, source, wanted, making.run, self._with_earlier)

    def run_datasets(
        self,
        window: Window,
        *,
        job: str | None = None,
        namespace: str | None = None,
        dataset_name: str | None = None,
        dataset_namespace: str | None = None,
        status: str | None = None,
        direction: str | None = None,
        reverse: bool = False,
        within: Iterable[str] | None = None,
    ) -> Listing[RunDataset]:
        """The datasets read or written by the runs that had an event in the window, each once.

        ``status`` is the run's, as in `runs`. ``direction`` is ``I`` or ``O``.
        """
        dataset = self._schema.t(tables.RUN_DATASET_TABLE).c
        wanted = list(of_dataset(dataset, dataset_name, dataset_namespace))
        if direction is not None:
            wanted.append(dataset.direction == direction.upper())
        bound = Bound(within)
        runs = RunFilter(self._schema, job, namespace, (dataset_name, dataset_namespace), status, bound)
        found = RunDatasets(self._schema, self._execute, _bounds(window), runs, tuple(wanted), newest_first=reverse)
        return Listing(_named("run datasets", reverse), (datetime, UUID, UUID), found.fetch)

    def assertions(
        self,
        window: Window,
        *,
        job: str | None = None,
        namespace: str | None = None,
        dataset_name: str | None = None,
        dataset_namespace: str | None = None,
        success: bool | None = None,
        reports: bool = False,
        reverse: bool = False,
    ) -> Listing[Assertion]:
        """The results of data quality assertions: what was said last of each, in the window; or each report of it."""
        table = self._schema.t(tables.ASSERTION_TABLE).c
        wanted = [*of_job(table, job, namespace), *of_dataset(table, dataset_name, dataset_namespace)]
        if success is not None:
            wanted += [table.success.is_(success), table.skipped.is_not(true())]
        if not reports:
            wanted += self._is_last(tables.ASSERTION_TABLE)
        key = (table.event_time, table.assertion_key)
        source = _Source("assertions", self._schema.assertions_in_window, key, reverse=reverse)
        return self._listing(window, source, tuple(wanted), making.assertion)

    def tests(
        self,
        window: Window,
        *,
        job: str | None = None,
        namespace: str | None = None,
        status: str | None = None,
        reports: bool = False,
        reverse: bool = False,
    ) -> Listing[Test]:
        """The results of tests: what was said last of each, in the window; or each report of it."""
        table = self._schema.t(tables.TEST_TABLE).c
        wanted = list(of_job(table, job, namespace))
        if status is not None:
            told = case((table.skipped, "skip"), else_=func.lower(table.status))
            wanted.append(told == status.lower())
        if not reports:
            wanted += self._is_last(tables.TEST_TABLE)
        key = (table.event_time, table.test_key)
        source = _Source("tests", self._schema.tests_in_window, key, reverse=reverse)
        return self._listing(window, source, tuple(wanted), making.test)

    def events(
        self,
        window: Window,
        *,
        job: str | None = None,
        namespace: str | None = None,
        event_type: str | None = None,
        content: bool = False,
        reverse: bool = False,
    ) -> Listing[EventRow]:
        """The raw events of the window; with ``content`` also their JSON text."""
        event = self._schema.t(tables.EVENT_TABLE).c
        wanted = list(of_job(event, job, namespace))
        if event_type is not None:
            wanted.append(event.event_type == event_type.upper())
        key = (event.event_time, event.arrival)
        fill = self._with_content if content else None
        source = _Source("events", self._schema.events_in_window, key, reverse=reverse)
        return self._listing(window, source, tuple(wanted), making.event, fill)

    def event_summary(self, window: Window) -> EventSummary:
        """The number of events in the window, and the times of the first and the last."""
        ((count, first, last),) = self._execute(self._schema.event_summary_in_window(), _bounds(window))
        return EventSummary(count, utc(first), utc(last))

    def jobs(
        self,
        window: Window,
        *,
        search: str | None = None,
        job: str | None = None,
        namespace: str | None = None,
        status: str | None = None,
        reverse: bool = False,
        within: Iterable[str] | None = None,
    ) -> Listing[ListedJob]:
        """The jobs that were seen in a window, by first sight; ``status`` is the outcome of the newest run.

        ``search`` is a part of a name, a tag, an owner or the description, in any case of letters.
        """
        sought = Sought(window, job, namespace, search, reverse)
        return jobs(self._database, self._schema, sought, Bound(within), status)

    def datasets(
        self,
        window: Window,
        *,
        search: str | None = None,
        dataset: str | None = None,
        dataset_namespace: str | None = None,
        reverse: bool = False,
        within: Iterable[str] | None = None,
    ) -> Listing[ListedDataset]:
        """The datasets that were seen in a window, by first sight: each once, whatever names it has.

        ``search`` as in `jobs`.
        """
        sought = Sought(window, dataset, dataset_namespace, search, reverse)
        return datasets(self._database, self._schema, sought, Bound(within))

    # --- one run ----------------------------------------------------------------------------------------------------

    def run(
        self, run_id: str, *, limit: int = 1000, content: bool = False, within: Iterable[str] | None = None
    ) -> RunDetails | None:
        """All that is known of a run id, or None if it has no run.

        At most ``limit`` runs, datasets, assertions, tests and events each; `run_events` streams all events. With
        ``content`` also the schemas and the column lineage of the datasets.
        """
        run_id, bound = stored_run_id(run_id), Bound(within)

        def part[T](table: str, order: tuple[str, ...], make: Make[T], wanted: Wanted = bound.on) -> list[T]:
            return self._of_run(table, run_id, order, make, limit, wanted)

        def last(table: str) -> Wanted:
            return lambda columns: (*bound.on(columns), *self._is_last(table))

        runs = part(tables.RUN_TABLE, ("first_event_time", "run_key"), making.run)
        if not runs:
            return None
        datasets = part(tables.RUN_DATASET_TABLE, ("direction", "run_dataset_key"), making.dataset)
        assertions = part(
            tables.ASSERTION_TABLE, ("event_time", "assertion_key"), making.assertion, last(tables.ASSERTION_TABLE)
        )
        tests = part(tables.TEST_TABLE, ("event_time", "test_key"), making.test, last(tables.TEST_TABLE))
        events = [row for _, row in self._fetch_run_events(run_id, None, limit + 1, bound)]
        return RunDetails(
            run_id,
            tuple(runs[:limit]),
            tuple(datasets[:limit]),
            tuple(assertions[:limit]),
            tuple(tests[:limit]),
            tuple(events[:limit]),
            any(len(rows) > limit for rows in (runs, datasets, assertions, tests, events)),
            self.schema_fields(row.schema_hash for row in datasets[:limit]) if content else {},
            self.column_lineage(row.lineage_hash for row in datasets[:limit]) if content else {},
        )

    def run_events(self, run_id: str) -> Listing[EventRow]:
        """The time line of a run id: its raw events, oldest first."""
        stored = stored_run_id(run_id)
        everything = Bound(None)
        kinds = (datetime, int)
        return Listing("run events", kinds, lambda key, limit: self._fetch_run_events(stored, key, limit, everything))

    def schema_fields(self, hashes: Iterable[UUID | None]) -> dict[UUID, Any]:
        """The fields of the schemas with these hashes, decoded."""
        return self._contents(tables.SCHEMA_VERSION_TABLE, hashes)

    def column_lineage(self, hashes: Iterable[UUID | None]) -> dict[UUID, Any]:
        """The column lineage (members ``fields`` and ``dataset`` of the facet) with these hashes, decoded."""
        return self._contents(tables.LINEAGE_VERSION_TABLE, hashes)

    def ask(
        self,
        analysis: Analysis[Any],
        window: Window,
        values: Mapping[str, str],
        *,
        as_of: datetime | None = None,
        terms: Terms = Terms(),  # noqa: B008  # frozen
    ) -> Answer:
        """What an analysis says of a window; `read.analyses.ask` says how, and what it raises."""
        return ask(self._database, analysis, window, values, as_of=as_of, terms=terms)

    def findings(self, wanted: FindingFilter, *, reverse: bool = False) -> Listing[FindingRow]:
        """What recorded runs of analyses found, seen longest ago first."""
        rows = FindingRows(self._database)

        def fetch(last: Key | None, limit: int) -> Sequence[tuple[Key, FindingRow]]:
            return rows.page(wanted, last, limit, reverse=reverse)

        return Listing(_named("findings", reverse), (datetime, UUID), fetch)

    def finding(self, finding_id: UUID, *, within: Iterable[str] | None = None) -> FindingRow | None:
        """One of them; None if there is none, or none of the namespaces ``within``."""
        return FindingRows(self._database).get(finding_id, within)

    def explore(self, within: Iterable[str] | None = None, stop: Stop | None = None) -> Explorer:
        """What people look at: executions, trends, lineage, search."""
        return Explorer(self._database, within, self._lineages, stop)

    def status(self) -> Status:
        """How much the whole store holds, how fresh and how large it is, for its operator."""
        return read_status(self._database)

    # --- how it is read ---------------------------------------------------------------------------------------------

    def _execute(self, statement: Any, parameters: dict[str, Any]) -> Sequence[Any]:
        with translated_errors(), self._database.engine.connect() as connection:
            return connection.execute(statement, parameters).all()

    def _listing[T](
        self,
        window: Window,
        source: _Source,
        wanted: Conditions,
        make: Make[T],
        fill: Callable[[list[T]], list[T]] | None = None,
    ) -> Listing[T]:
        """The listing of a window; ``fill`` completes the rows of a page."""
        key_of = attrgetter(*(str(column.key) for column in source.key))

        def fetch(last: Key | None, limit: int) -> Sequence[tuple[Key, T]]:
            conditions = wanted if last is None else (*wanted, *after(source.key, newest_first=source.reverse))
            statement = source.statement(*conditions, limit=limit, newest_first=source.reverse)
            found = self._execute(statement, _bounds(window) | after_parameters(last))
            rows = [make(row) for row in found]
            return list(zip(map(key_of, found), rows if fill is None else fill(rows), strict=True))

        kinds = tuple(column.type.python_type for column in source.key)
        return Listing(_named(source.name, source.reverse), kinds, fetch)

    def _of_run[T](
        self, table_name: str, run_id: str, order: tuple[str, ...], make: Make[T], limit: int, wanted: Wanted
    ) -> list[T]:
        """The first rows of a run in one table, and one more if there are more."""
        table = self._schema.t(table_name)
        conditions = (table.c.run_id == run_id, *wanted(table.c))
        statement = select(table).where(*conditions).order_by(*(table.c[name] for name in order))
        return [make(row) for row in self._execute(statement.limit(limit + 1), {})]

    def _fetch_run_events(self, run_id: str, last: Key | None, limit: int, bound: Bound) -> list[tuple[Key, EventRow]]:
        """A run's events; the times in its rows of ol_run say which partitions hold them."""
        run, event = self._schema.t(tables.RUN_TABLE).c, self._schema.t(tables.EVENT_TABLE).c
        times = select(func.min(run.first_event_time), func.max(run.last_event_time)).where(run.run_id == run_id)
        ((first, latest),) = self._execute(times, {})
        if first is None:
            return []
        order = (event.event_time, event.arrival)
        span = event.event_time.between(first, latest)
        statement = (
            select(*self._schema.event_columns())
            .where(event.run_id == run_id, span, *bound.on(event), *(after(order) if last else ()))
            .order_by(*order)
            .limit(limit)
        )
        rows = self._execute(statement, after_parameters(last))
        return [((row.event_time, row.arrival), making.event(row)) for row in rows]

    def _is_last(self, table_name: str) -> Conditions:
        """The condition on reports that none is later of the same result; v_ol_result (sql/views.sql) has the same."""
        mine = self._schema.t(table_name)
        later = mine.alias("later")
        orders = [
            tuple_(
                table.c.event_time,
                func.coalesce(cast(table.c.success, Integer), -1)
                if "success" in table.c
                else func.coalesce(table.c.status, ""),
                *table.primary_key,
            )
            for table in (later, mine)
        ]
        return (~exists().where(later.c.result_key == mine.c.result_key, orders[0] > orders[1]),)

    def _with_earlier(self, rows: list[Run]) -> list[Run]:
        """The same runs with the outcomes of the attempts before them."""
        keys = {UUID(bytes=name_key(row.run_id, row.job_namespace or "", row.job_name)): row for row in rows}
        retried = [key for key, row in keys.items() if (row.attempt or 0) > 1]
        run, other = (self._schema.t(tables.RUN_TABLE).alias(name).c for name in ("run", "other"))
        statement = (
            select(
                run.run_key,
                func.array_agg(aggregate_order_by(other.outcome, other.attempt, other.first_event_time)),
            )
            .where(run.run_key.in_(retried), *of_one_task(run, other), other.attempt < run.attempt)
            .group_by(run.run_key)
        )
        earlier = dict(self._execute(statement, {})) if retried else {}
        return [structs.replace(row, earlier_outcomes=tuple(earlier.get(key, ()))) for key, row in keys.items()]

    def _with_content(self, rows: list[EventRow]) -> list[EventRow]:
        """The same events with their content; what a purge has taken meanwhile stays without."""
        event = self._schema.t(tables.EVENT_TABLE).c
        filled: list[EventRow] = []
        for portion in _portions(rows):
            first, last = sorted((portion[0].event_time, portion[-1].event_time))
            statement = select(event.arrival, cast(event.event, Text), event.raw).where(
                event.event_time.between(first, last),
                event.arrival == func.any(literal([row.arrival for row in portion], ARRAY(BigInteger))),
            )
            contents = {arrival: (text.encode(), raw) for arrival, text, raw in self._execute(statement, {})}
            for row in portion:
                text, raw = contents.get(row.arrival, (None, None))
                filled.append(structs.replace(row, event=text, raw=raw))
        return filled

    def _contents(self, table_name: str, hashes: Iterable[UUID | None]) -> dict[UUID, Any]:
        wanted = sorted({hash_ for hash_ in hashes if hash_ is not None})
        key, content = self._schema.t(table_name).c
        return (
            {row[0]: row[1] for row in self._execute(select(key, content).where(key.in_(wanted)), {})} if wanted else {}
        )


def _named(listing: str, reverse: bool) -> str:
    """The name that cursors carry: one of the other order would begin somewhere else."""
    return f"{listing}, newest first" if reverse else listing


def _bounds(window: Window) -> dict[str, Any]:
    return {"window_start": window.start, "window_end": window.end}


def _portions(rows: list[EventRow]) -> Iterator[list[EventRow]]:
    """Runs of rows whose stored content adds up to CONTENT_BYTES at most, or single larger ones."""
    portion: list[EventRow] = []
    size = 0
    for row in rows:
        if portion and size + row.stored_size > CONTENT_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(row)
        size += row.stored_size
    if portion:
        yield portion
