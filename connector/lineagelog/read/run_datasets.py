"""Reads the datasets of the runs of a window: from run to run, oldest first, so that a page costs what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, func, literal, or_, select

from lineagelog.store.definition import tables
from lineagelog.store.definition.schema import LogStoreSchema

from . import making
from .conditions import Conditions, RunFilter, after, after_parameters
from .cursor import Key
from .rows import RunDataset

RUNS_AT_ONCE: Final = 200
"""Runs whose datasets are looked up together."""

type Execute = Callable[[Any, dict[str, Any]], Sequence[Any]]


class RunDatasets:
    """One listing: the key of a row is its run's first event time, its run's key, and its own key."""

    def __init__(
        self,
        schema: LogStoreSchema,
        execute: Execute,
        bounds: dict[str, Any],
        runs: RunFilter,
        datasets: Conditions,
        *,
        newest_first: bool = False,
    ) -> None:
        self._newest_first = newest_first
        self._schema, self._execute, self._bounds = schema, execute, bounds
        self._runs, self._wanted = runs, datasets

    def fetch(self, key: Key | None, limit: int) -> list[tuple[Key, RunDataset]]:
        """At most ``limit`` datasets after a key."""
        found: list[tuple[Key, RunDataset]] = []
        runs = self._next_runs(key and key[:2], inclusive=True)
        last = key[2] if key and runs and runs[0] == key[:2] else None
        while runs:
            found += self._datasets_of(runs, limit - len(found), last)
            if len(found) == limit or len(runs) < RUNS_AT_ONCE:
                break
            runs, last = self._next_runs(runs[-1]), None
        return found

    def _next_runs(self, key: Key | None, *, inclusive: bool = False) -> list[Key]:
        """The first event times and keys of the next runs of the window."""
        run = self._schema.t(tables.RUN_TABLE).c
        order = (run.first_event_time, run.run_key)
        more = () if key is None else after(order, inclusive=inclusive, newest_first=self._newest_first)
        wanted = (*self._runs.on(run), *more)
        statement = self._schema.runs_in_window(*wanted, limit=RUNS_AT_ONCE, newest_first=self._newest_first)
        rows = self._execute(statement, self._bounds | after_parameters(key))
        return [(row.first_event_time, row.run_key) for row in rows]

    def _datasets_of(self, runs: list[Key], limit: int, last: UUID | None) -> list[tuple[Key, RunDataset]]:
        """The first datasets of some runs, run by run; of the first run those after ``last``."""
        dataset = self._schema.t(tables.RUN_DATASET_TABLE).c
        run_keys = literal([run_key for _, run_key in runs], ARRAY(Uuid))
        place, key = func.array_position(run_keys, dataset.run_key), dataset.run_dataset_key
        more = () if last is None else (or_(place > 1, key > literal(last, key.type)),)
        statement = (
            select(*dataset, place.label("place"))
            .where(dataset.run_key == func.any(run_keys), *self._wanted, *more)
            .order_by(place, key)
            .limit(limit)
        )
        rows = self._execute(statement, {})
        return [((*runs[row.place - 1], row.run_dataset_key), making.dataset(row)) for row in rows]
