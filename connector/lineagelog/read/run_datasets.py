"""Reads the datasets of the runs of a window: from run to run, oldest first, so that a page costs what it gives."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from sqlalchemy import ARRAY, Text, exists, func, literal, or_, select, tuple_

from lineagelog.store.definition import tables
from lineagelog.store.definition.schema import LogStoreSchema

from . import making
from .bound import Bound, Execute
from .conditions import Conditions, RunFilter, after, after_parameters
from .cursor import Key
from .rows import RunDataset

RUNS_AT_ONCE: Final = 200
"""Runs whose datasets are looked up together."""


class RunDatasets:
    """One listing: the key of a row is its run's first event time, its run's key, and its own key."""

    def __init__(
        self,
        schema: LogStoreSchema,
        execute: Execute,
        bounds: dict[str, Any],
        runs: RunFilter,
        datasets: Conditions,
        bound: Bound,
        *,
        newest_first: bool = False,
    ) -> None:
        self._newest_first = newest_first
        self._schema, self._execute, self._bounds = schema, execute, bounds
        self._runs, self._wanted, self._bound = runs, datasets, bound

    def fetch(self, key: Key | None, limit: int) -> list[tuple[Key, RunDataset]]:
        """At most ``limit`` datasets after a key; those of a run id come with the first of its runs."""
        found: list[tuple[Key, RunDataset]] = []
        leaders = self._leaders(key and key[:2], inclusive=True)
        last = key[2] if key and leaders and leaders[0][0] == key[:2] else None
        while leaders:
            found += self._datasets_of(leaders, limit - len(found), last)
            if len(found) == limit or len(leaders) < RUNS_AT_ONCE:
                break
            leaders, last = self._leaders(leaders[-1][0]), None
        return found

    def _leaders(self, key: Key | None, *, inclusive: bool = False) -> list[tuple[Key, str]]:
        """The next runs of the window with their run ids; of runs that share a run id only the first."""
        run = self._schema.t(tables.RUN_TABLE)
        other = run.alias("other")
        order = (run.c.first_event_time, run.c.run_key)
        others = tuple_(other.c.first_event_time, other.c.run_key)
        earlier = exists().where(
            other.c.run_id == run.c.run_id,
            others > tuple_(*order) if self._newest_first else others < tuple_(*order),
            *self._schema.run_is_in_window(other.c),
            *self._runs.on(other.c),
        )
        more = () if key is None else after(order, inclusive=inclusive, newest_first=self._newest_first)
        wanted = (*self._runs.on(run.c), ~earlier, *more)
        statement = self._schema.runs_in_window(*wanted, limit=RUNS_AT_ONCE, newest_first=self._newest_first)
        rows = self._execute(statement, self._bounds | after_parameters(key))
        return [((row.first_event_time, row.run_key), row.run_id) for row in rows]

    def _datasets_of(
        self, leaders: list[tuple[Key, str]], limit: int, last: UUID | None
    ) -> list[tuple[Key, RunDataset]]:
        """The first datasets of some runs, run by run; of the first run those after ``last``."""
        dataset = self._schema.t(tables.RUN_DATASET_TABLE).c
        run_ids = literal([run_id for _, run_id in leaders], ARRAY(Text))
        place, key = func.array_position(run_ids, dataset.run_id), dataset.run_dataset_key
        more = () if last is None else (or_(place > 1, key > literal(last, key.type)),)
        statement = (
            select(*dataset, place.label("place"))
            .where(dataset.run_id == func.any(run_ids), *self._wanted, *self._bound.on_datasets(dataset), *more)
            .order_by(place, key)
            .limit(limit)
        )
        rows = self._execute(statement, {})
        keys = [(*leaders[row.place - 1][0], row.run_dataset_key) for row in rows]
        return list(zip(keys, self._bound.own(self._execute, list(map(making.dataset, rows))), strict=True))
