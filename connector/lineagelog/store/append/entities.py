"""Jobs, datasets and the names of these: events folded to rows of ol_job, ol_dataset and ol_dataset_name.

The merge is that of runs (`digest.py`, in SQL `definition/merge.py`): of each register the greater (time, value), where
a deletion is less than any value of its time; of times seen the earliest and the latest.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from lineagelog.event import facts
from lineagelog.event.canonical import content_key, name_key
from lineagelog.event.facts import Kind, Register
from lineagelog.event.model import DatasetSighting, EntitySighting, Event, EventKind

type Name = tuple[str, str]
"""Namespace and name."""
type Link = tuple[str, str, str, str, str, str, str]
"""Kind, namespace and name of a dataset, of the other name, and of the job that said so."""

type Keyed = dict[bytes, tuple[Any, ...]]
"""Rows of a table, in the order of its PARAMETERS in `definition/schema.py`, by their keys."""

_name_key = lru_cache(maxsize=50_000)(name_key)

SYMLINK, DELETED, RENAME = "symlink", "deleted", "rename"
"""Kinds of ol_dataset_name: the dataset has the other name, too; it has none of those said before; it had that name."""


class EntityShape:
    """Where the registers of a kind of entity stand in its rows, and how their values compare."""

    def __init__(self, registers: tuple[Register, ...]) -> None:
        columns = [fact.name for register in registers for fact in register.columns]
        self.registers = registers
        self.width = len(columns)
        self.places = [(columns.index(r.facts[0].name), columns.index(r.at)) for r in registers]
        self.orders: list[Callable[[Any], Any]] = [_order(register) for register in registers]
        self.slots = {register.member: slot for slot, register in enumerate(registers)}


def _order(register: Register) -> Callable[[Any], Any]:
    """Values as the columns that SQL compares have them; a deletion has none."""
    if register.facts[0].kind is Kind.JSON:
        return lambda value: b"" if value is None else content_key(value)
    if len(register.facts) == 1:
        return lambda value: "" if value is None else value
    low = ("",) * len(register.facts)
    return lambda values: low if values is None else tuple([value or "" for value in values])


JOB: Final = EntityShape(facts.JOB_ENTITY)
DATASET: Final = EntityShape(facts.DATASET_ENTITY)


class EntityRow:
    """A row of ol_job or ol_dataset in the making."""

    __slots__ = ("_carried", "_held", "_held_at", "first_seen", "last_seen")

    def __init__(self, time: datetime) -> None:
        self.first_seen = self.last_seen = self._held_at = time
        self._carried: list[tuple[datetime, Any] | None] | None = None
        """The registers in their order: time and value; a time without a value is a deletion."""
        self._held: EntitySighting | None = None
        """What was said at _held_at and is not in the registers yet: most events say the same again."""

    def see(self, time: datetime, sighting: EntitySighting | None, shape: EntityShape) -> None:
        """Join what an event of that time says."""
        if time > self.last_seen:
            self.last_seen = time
        elif time < self.first_seen:
            self.first_seen = time
        if sighting is None:
            return
        if self._held == sighting:
            self._held_at = max(self._held_at, time)
            return
        self._put(shape)
        self._held, self._held_at = sighting, time

    def merge(self, other: EntityRow, shape: EntityShape) -> None:
        """Join another contribution to the same row into this one."""
        self.first_seen, self.last_seen = min(self.first_seen, other.first_seen), max(self.last_seen, other.last_seen)
        self._put(shape)
        for slot, register in enumerate(other.carried(shape) or ()):
            if register is not None:
                self._carry(slot, *register, shape)

    def carried(self, shape: EntityShape) -> list[tuple[datetime, Any] | None] | None:
        """The registers in their order; None = nothing was ever said."""
        self._put(shape)
        return self._carried

    def _put(self, shape: EntityShape) -> None:
        sighting, time = self._held, self._held_at
        if sighting is None:
            return
        for slot, value in enumerate(sighting.values):
            if value is not None:
                self._carry(slot, time, value, shape)
        for member in sighting.deleted:
            self._carry(shape.slots[member], time, None, shape)
        self._held = None

    def _carry(self, slot: int, time: datetime, value: Any, shape: EntityShape) -> None:
        if self._carried is None:
            self._carried = [None] * len(shape.registers)
        ours = self._carried[slot]
        order = shape.orders[slot]
        if ours is None or time > ours[0] or (time == ours[0] and order(value) > order(ours[1])):
            self._carried[slot] = (time, value)

    def values(self, shape: EntityShape) -> tuple[Any, ...]:
        """Times seen, then the columns of the registers."""
        row: list[Any] = [None] * shape.width
        for (first, at), register in zip(shape.places, self.carried(shape) or (), strict=False):
            if register is None:
                continue
            row[at], value = register
            if value is None:
                continue
            if first + 1 == at:
                row[first] = value
            else:
                row[first:at] = value
            if type(value) is bytes:
                row[at + 1] = content_key(value)
        return self.first_seen, self.last_seen, *row


class Entities:
    """The rows that a set of events adds up to."""

    def __init__(self) -> None:
        self.jobs: dict[Name, EntityRow] = {}
        self.datasets: dict[Name, EntityRow] = {}
        self.names: dict[Link, tuple[datetime, datetime]] = {}
        """When it was said first and last."""

    def add(self, event: Event) -> None:
        """Join one event."""
        time = event.event_time
        job = (event.job_namespace, event.job_name)
        if event.kind is not EventKind.DATASET:
            _row(self.jobs, job, time).see(time, event.job, JOB)
        datasets = self.datasets
        for dataset in event.datasets:
            name, entity = (dataset.namespace, dataset.name), dataset.entity
            if (row := datasets.get(name)) is None:
                row = datasets[name] = EntityRow(time)
            if entity is None and row.first_seen <= time <= row.last_seen:
                continue
            row.see(time, entity, DATASET)
            if entity is not None and (entity.symlinks or entity.symlinks_deleted or entity.renamed_from):
                self._add_names(dataset, entity, job, time)

    def _add_names(self, dataset: DatasetSighting, entity: EntitySighting, job: Name, time: datetime) -> None:
        own = (dataset.namespace, dataset.name)
        said: list[tuple[str, Name]] = [(SYMLINK, other) for other in entity.symlinks]
        if entity.symlinks_deleted:
            said.append((DELETED, ("", "")))
        if entity.renamed_from is not None:
            said.append((RENAME, entity.renamed_from))
        for kind, other in said:
            if other != own:
                self._say((kind, *own, *other, *job), time, time)

    def _say(self, link: Link, first: datetime, last: datetime) -> None:
        known = self.names.get(link)
        self.names[link] = (first, last) if known is None else (min(known[0], first), max(known[1], last))

    def rows(self) -> tuple[Keyed, Keyed, Keyed]:
        """The rows of ol_job, ol_dataset and ol_dataset_name."""
        return (
            {_name_key(*name): (*name, *row.values(JOB)) for name, row in self.jobs.items()},
            {_name_key(*name): (*name, *row.values(DATASET)) for name, row in self.datasets.items()},
            {_name_key(*link): (*link, *said) for link, said in self.names.items()},
        )

    def merge(self, other: Entities) -> None:
        """Join the rows of other events."""
        for mine, theirs, shape in ((self.jobs, other.jobs, JOB), (self.datasets, other.datasets, DATASET)):
            for name, row in theirs.items():
                _row(mine, name, row.first_seen).merge(row, shape)
        for link, said in other.names.items():
            self._say(link, *said)


def _row(rows: dict[Name, EntityRow], name: Name, time: datetime) -> EntityRow:
    row = rows.get(name)
    if row is None:
        row = rows[name] = EntityRow(time)
    return row
