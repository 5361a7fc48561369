"""Filters as conditions on tables, and the condition that continues after a key."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Uuid, and_, bindparam, exists, func, literal, or_, tuple_

from lineagelog.event.canonical import name_key
from lineagelog.event.run_ids import stored_run_id
from lineagelog.store.definition import tables
from lineagelog.store.definition.schema import LogStoreSchema
from lineagelog.store.definition.tables import is_run_id

from .bound import Bound
from .cursor import Key

type Columns = Any
"""``table.c``, or that of an alias."""
type Conditions = tuple[ColumnElement[bool], ...]


def key_literal(*names: str) -> ColumnElement[UUID]:
    """The key of a pair of names, as the digest tables have it."""
    return literal(UUID(bytes=name_key(*names)), Uuid)


def of_job(columns: Columns, job: str | None, namespace: str | None) -> Conditions:
    """Rows of a job, of the jobs of a namespace ('' = none), or of jobs of that name in any namespace."""
    found: list[ColumnElement[bool]] = []
    if job is not None and namespace is not None and "job_key" in columns:
        return (columns.job_key == key_literal(namespace, job),)
    if job is not None:
        found.append(columns.job_name == job)
    if namespace is not None:
        found.append(columns.job_namespace == namespace)
    return tuple(found)


def of_dataset(columns: Columns, name: str | None, namespace: str | None) -> Conditions:
    """Rows of a dataset, of the datasets of a namespace ('' = none), or of datasets of that name anywhere."""
    if name is not None and namespace is not None:
        return (columns.dataset_key == key_literal(namespace, name),)
    found: list[ColumnElement[bool]] = []
    if name is not None:
        found.append(columns.dataset_name == name)
    if namespace is not None:
        found.append(columns.dataset_namespace == namespace)
    return tuple(found)


class RunFilter:
    """Which runs are wanted: by job, by dataset read or written, by status."""

    def __init__(
        self,
        schema: LogStoreSchema,
        job: str | None,
        namespace: str | None,
        dataset: tuple[str | None, str | None],
        status: str | None,
        bound: Bound,
    ) -> None:
        self._bound = bound
        self._datasets = schema.t(schema.RUN_DATASET_TABLE).c
        self._job, self._namespace, self._status = job, namespace, status
        self._dataset = dataset

    def on(self, run: Columns) -> Conditions:
        """The conditions on the columns of ol_run, or of an alias of it."""
        found = [*of_job(run, self._job, self._namespace), *self._bound.on(run)]
        if self._status is not None:
            found.append(_came_to(run, self._status.upper()))
        if touched := of_dataset(self._datasets, *self._dataset):
            found.append(exists().where(self._datasets.run_key == run.run_key, *touched))
        return tuple(found)


def _came_to(run: Columns, status: str) -> ColumnElement[bool]:
    """Runs of an outcome; no outcome is START, so that this asks for those of which only a START is known."""
    came_to: ColumnElement[bool] = (run.status if status == "START" else run.outcome) == status
    return came_to


def of_family(run: Columns, parent: str | None, root: str | None) -> Conditions:
    """Runs whose parent facet names these run ids; it has them in the spelling of whoever wrote it."""
    wanted = ((run.parent_run_id, parent), (run.root_run_id, root))
    return tuple(
        and_(column.in_(sorted({run_id, stored_run_id(run_id)})), is_run_id(column))
        for column, run_id in wanted
        if run_id is not None
    )


def of_one_task(run: Columns, other: Columns) -> Conditions:
    """Whether both are attempts at one task: of one job, due at one time (or, where that is not known, started by one
    run), and of one place in a mapped task. A producer that counts attempts says so (`attempt`)."""
    return (
        other.job_key == run.job_key,
        tables.due(other) == tables.due(run),
        or_(run.nominal_start_time.is_not(None), other.parent_run_id == run.parent_run_id),
        func.coalesce(other.map_index, -1) == func.coalesce(run.map_index, -1),
        other.attempt.is_not(None),
    )


def last_attempts(schema: LogStoreSchema, run: Columns) -> Conditions:
    """Runs that no later attempt at the same task replaces."""
    later = schema.t(tables.RUN_TABLE).alias("later").c
    return (~exists().where(*of_one_task(run, later), later.attempt > run.attempt),)


def after(
    columns: tuple[ColumnElement[Any], ...], *, inclusive: bool = False, newest_first: bool = False
) -> Conditions:
    """Rows after the key given as parameters ``after_0``, ``after_1``, …, in the order of the columns, or against it.

    The first column's own condition says nothing new; by it PostgreSQL leaves out partitions and whole parts of a
    union.
    """
    key = [bindparam(f"after_{place}", type_=column.type) for place, column in enumerate(columns)]
    mine, last = tuple_(*columns), tuple_(*key)
    if newest_first:
        return columns[0] <= key[0], mine <= last if inclusive else mine < last
    return columns[0] >= key[0], mine >= last if inclusive else mine > last


def after_parameters(key: Key | None) -> dict[str, Any]:
    """The parameters of after()."""
    return {f"after_{place}": part for place, part in enumerate(key or ())}
