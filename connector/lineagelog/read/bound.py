"""What a reader that is bound to job namespaces sees: its part of a run id that jobs of other namespaces use, too.

Runs, assertions, tests and events say whose they are. A dataset row says only the run id: where others have used that,
the reader's own events tell which datasets are its, and what it said of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final
from uuid import UUID

from msgspec import structs
from sqlalchemy import ColumnElement, Text, and_, case, cast, exists, func, literal, or_, select
from sqlalchemy.dialects.postgresql import JSONPATH

from lineagelog.event.model import Event
from lineagelog.event.parse import parse
from lineagelog.store.append.digest import Digest
from lineagelog.store.definition import tables
from lineagelog.store.definition.schema import LogStoreSchema

from .rows import RunDataset

_BARE: Final = "$[*] ? (@.name == $name && (!exists(@.namespace) || @.namespace == null))"
EVENTS_AT_ONCE: Final = 50
"""Events of a run that are in memory together: each may be 32 MiB."""

type Execute = Callable[[Any, dict[str, Any]], Sequence[Any]]
type Columns = Any


class Bound:
    """The job namespaces that a reader may see; None = all of them."""

    def __init__(self, schema: LogStoreSchema, namespaces: Iterable[str] | None) -> None:
        self._schema = schema
        self.namespaces = None if namespaces is None else sorted(namespaces)

    def on(self, columns: Columns) -> tuple[ColumnElement[bool], ...]:
        """The condition on a table whose rows name their job's namespace."""
        return () if self.namespaces is None else (columns.job_namespace.in_(self.namespaces),)

    def on_datasets(self, dataset: Columns) -> tuple[ColumnElement[bool], ...]:
        """The condition on rows of ol_run_dataset whose run id has a run that may be seen."""
        if self.namespaces is None:
            return ()
        return (or_(~self._is_shared(dataset.run_id), self._is_named(dataset)),)

    def shared(self, execute: Execute, run_ids: Iterable[str]) -> list[str]:
        """Those of the run ids that jobs of other namespaces use, too."""
        if self.namespaces is None:
            return []
        run = self._schema.t(tables.RUN_TABLE).c
        wanted = select(run.run_id).distinct()
        others = wanted.where(run.run_id.in_(list(run_ids)), run.job_namespace.not_in(self.namespaces))
        return [row[0] for row in execute(others, {})]

    def own(self, execute: Execute, rows: list[RunDataset]) -> list[RunDataset]:
        """The same rows, those of shared run ids as the reader's own events tell."""
        told: dict[tuple[str, str, str, str], RunDataset] = {}
        shared = set(self.shared(execute, {row.run_id for row in rows}))
        for run_id in sorted(shared):
            told |= self._told(execute, run_id)
        return [told.get(_identity(row), _bare(row)) if row.run_id in shared else row for row in rows]

    def _is_shared(self, run_id: ColumnElement[str]) -> ColumnElement[bool]:
        other = self._schema.t(tables.RUN_TABLE).alias("foreign").c
        return exists().where(other.run_id == run_id, other.job_namespace.not_in(self.namespaces or ()))

    def _is_named(self, dataset: Columns) -> ColumnElement[bool]:
        """Whether an own event of the run names the dataset, on the same side."""
        event = self._schema.t(tables.EVENT_TABLE).alias("own").c
        entries = case((dataset.direction == "I", event.event["inputs"]), else_=event.event["outputs"])
        named = func.jsonb_build_object("namespace", dataset.dataset_namespace, "name", dataset.dataset_name)
        bare = func.jsonb_path_exists(entries, cast(_BARE, JSONPATH), named)
        is_named = or_(entries.op("@>")(func.jsonb_build_array(named)), and_(dataset.dataset_namespace == "", bare))
        return exists().where(event.run_id == dataset.run_id, *self.on(event), is_named)

    def _told(self, execute: Execute, run_id: str) -> dict[tuple[str, str, str, str], RunDataset]:
        """What the reader's own events say of the datasets of a run."""
        event = self._schema.t(tables.EVENT_TABLE).c
        digest, last = Digest(), -1
        while True:
            statement = (
                select(event.arrival, cast(event.event, Text))
                .where(event.run_id == run_id, event.arrival > literal(last), *self.on(event))
                .order_by(event.arrival)
                .limit(EVENTS_AT_ONCE)
            )
            found = execute(statement, {})
            for arrival, text in found:
                last = arrival
                parsed = parse(text.encode())
                if isinstance(parsed, Event):
                    digest.add(parsed)
            if len(found) < EVENTS_AT_ONCE:
                rows = (_row(row.values()) for row in digest.datasets.values())
                return {_identity(row): row for row in rows}


def _identity(row: RunDataset) -> tuple[str, str, str, str]:
    return row.run_id, row.direction, row.dataset_namespace or "", row.dataset_name


def _bare(row: RunDataset) -> RunDataset:
    """The row without what was said of it."""
    nothing: Any = (None,) * (len(RunDataset.__struct_fields__) - 6)
    return RunDataset(*structs.astuple(row)[:6], *nothing)


def _row(values: tuple[Any, ...]) -> RunDataset:
    """A row of the digest as a read gives it; every second of the later values is the time of the one before."""
    run_id, direction, namespace, name, time, kind = values[:6]
    carried: Any = [UUID(bytes=value) if isinstance(value, bytes) else value for value in values[6::2]]
    return RunDataset(run_id, direction, namespace or None, name, time, kind, *carried)
