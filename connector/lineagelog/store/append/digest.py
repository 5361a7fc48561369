"""The digest's merge in Python: events folded to rows, so that one batch sends each row once.

The same join as `definition/merge.py` has in SQL (rules and proof: the property tests), over the registers that
`event/facts.py` declares. A row here holds absolute times; the compact times of ol_run_dataset are made when the row is
written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from lineagelog.event import facts
from lineagelog.event.canonical import content_key, name_key
from lineagelog.event.facts import Kind, Register
from lineagelog.event.model import DatasetSighting, Event, RunSighting
from lineagelog.event.times import to_microseconds
from lineagelog.store.definition.merge import STATUS_RANK

from .entities import Entities

_content_key = lru_cache(maxsize=4096)(content_key)
"""Schemas and lineage come again with every run; hashing them anew would cost more than finding them."""

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_TERMINAL: Final = frozenset(("COMPLETE", "FAIL", "ABORT"))

type Carried = list[tuple[datetime, Any] | None]
"""The registers in their order: the time of the event that carried a value, and the value; None = never carried.

In ol_run_dataset a time without a value is a deletion.
"""
type Order = Callable[[Any], Any]
"""What a value is compared by with another of the same time."""


def _merge(mine: Carried, others: Carried, orders: tuple[Order, ...]) -> None:
    """Of each register the one of the greater (time, value)."""
    for slot, theirs in enumerate(others):
        if theirs is None:
            continue
        ours = mine[slot]
        if (
            ours is None
            or theirs[0] > ours[0]
            or (theirs[0] == ours[0] and orders[slot](theirs[1]) > orders[slot](ours[1]))
        ):
            mine[slot] = theirs


def _run_order(register: Register) -> Order:
    """Values as the columns that SQL compares have them, the lowest one for a member that is missing."""
    if len(register.facts) == 1:
        return content_key if register.facts[0].kind is Kind.JSON else _itself
    lows = [fact.kind.low for fact in register.facts]
    deleted = tuple(lows)
    return lambda values: (
        deleted if values is None else tuple([low if v is None else v for v, low in zip(values, lows, strict=True)])
    )


def _later(mine: datetime | None, other: datetime | None) -> datetime | None:
    return other if mine is None or (other is not None and other > mine) else mine


def _itself(value: Any) -> Any:
    return value


def _or_deleted(value: Any) -> tuple[Any, ...]:
    """A value beats a deletion, then the greater value."""
    return (False,) if value is None else (True, value)


_RUN: Final = (*(r for r in facts.RUN if r.places), *(r for r in facts.RUN if not r.places))
"""What facets give, then what the event itself has."""
_run_values: Final = attrgetter(*(register.member for register in _RUN if register.places))
_event_values: Final = tuple([attrgetter(register.member) for register in _RUN if not register.places])
_RUN_SLOTS: Final = {register.member: slot for slot, register in enumerate(_RUN)}
_RUN_ORDERS: Final = tuple(map(_run_order, _RUN))
_RUN_OWN: Final = 10
"""Columns of RunRow.values before the registers."""
_RUN_COLUMNS: Final = [fact.name for register in facts.RUN for fact in register.columns]
_RUN_PLACES: Final = tuple(
    [(_RUN_OWN + _RUN_COLUMNS.index(r.facts[0].name), _RUN_OWN + _RUN_COLUMNS.index(r.at)) for r in _RUN]
)
"""Where a register's columns begin, and where its time stands."""
_JSON_SLOTS: Final = frozenset([slot for slot, register in enumerate(_RUN) if register.facts[0].kind is Kind.JSON])
_NO_RUN: Final = (None,) * (_RUN_OWN + sum([len(register.columns) for register in _RUN]))


class RunRow:
    """A row of ol_run in the making."""

    __slots__ = (
        "carried",
        "end_time",
        "first_event_time",
        "job_name",
        "job_namespace",
        "last_event_time",
        "last_fail_time",
        "last_start_time",
        "run_id",
        "start_time",
        "status",
    )

    def __init__(self, event: Event, sighting: RunSighting) -> None:
        time = event.event_time
        self.run_id, self.job_namespace, self.job_name = event.run_id, event.job_namespace, event.job_name
        self.status = sighting.status
        self.start_time = self.last_start_time = time if sighting.status == "START" else None
        self.end_time = time if sighting.status in _TERMINAL else None
        self.last_fail_time = time if sighting.status == "FAIL" else None
        self.first_event_time = self.last_event_time = time
        self.carried: Carried = [None if value is None else (time, value) for value in _run_values(sighting)]
        for value_of in _event_values:
            self.carried.append((time, value) if (value := value_of(event)) else None)
        for member in sighting.deleted:
            self.carried[_RUN_SLOTS[member]] = (time, None)

    def merge(self, other: RunRow) -> None:
        """Join another contribution to the same run into this one."""
        mine, theirs = (self.end_time or _NEVER), (other.end_time or _NEVER)
        if (theirs, STATUS_RANK[other.status]) > (mine, STATUS_RANK[self.status]):
            self.status = other.status
        if theirs > mine:
            self.end_time = other.end_time
        if other.start_time is not None and (self.start_time is None or other.start_time < self.start_time):
            self.start_time = other.start_time
        self.last_start_time = _later(self.last_start_time, other.last_start_time)
        self.last_fail_time = _later(self.last_fail_time, other.last_fail_time)
        self.first_event_time = min(self.first_event_time, other.first_event_time)
        self.last_event_time = max(self.last_event_time, other.last_event_time)
        _merge(self.carried, other.carried, _RUN_ORDERS)

    def values(self) -> tuple[Any, ...]:
        """The row in the order of schema.RUN_PARAMETERS."""
        row: list[Any] = [*_NO_RUN]
        row[:_RUN_OWN] = (
            *(self.run_id, self.job_namespace, self.job_name, self.status, self.start_time, self.end_time),
            *(self.first_event_time, self.last_event_time, self.last_start_time, self.last_fail_time),
        )
        for slot, register in enumerate(self.carried):
            if register is None:
                continue
            time, value = register
            first, at = _RUN_PLACES[slot]
            if first + 1 == at:
                row[first] = value
            elif value is not None:
                row[first:at] = value
            row[at] = time
            if slot in _JSON_SLOTS:
                row[at + 1] = content_key(value)
        return tuple(row)


_DATASET_OWN: Final = 8
"""Columns of DatasetRow.values before the registers, which have two each."""
_DATASET_SLOTS: Final = {register.member: slot for slot, register in enumerate(facts.DATASET)}
_dataset_values: Final = attrgetter(*_DATASET_SLOTS)
_HASHED_SLOTS: Final = tuple(
    [slot for slot, register in enumerate(facts.DATASET) if register.facts[0].kind is Kind.HASH]
)
_DATASET_ORDERS: Final = (_or_deleted,) * len(facts.DATASET)
_NO_DATASET: Final = (None,) * (_DATASET_OWN + 2 * len(facts.DATASET))


class DatasetRow:
    """A row of ol_run_dataset in the making."""

    __slots__ = (
        "carried",
        "counts",
        "direction",
        "event_time",
        "event_type",
        "job_name",
        "job_namespace",
        "name",
        "namespace",
        "run_id",
    )

    def __init__(self, event: Event, status: str, sighting: DatasetSighting) -> None:
        time = event.event_time
        self.run_id, self.job_namespace, self.job_name = event.run_id, event.job_namespace, event.job_name
        self.direction = sighting.direction
        self.namespace, self.name = sighting.namespace, sighting.name
        self.event_time, self.event_type = time, status
        self.counts = status != "START" or sighting.row_count is not None or sighting.size_bytes is not None
        self.carried: Carried = [None if value is None else (time, value) for value in _dataset_values(sighting)]
        for slot in _HASHED_SLOTS:
            if (register := self.carried[slot]) is not None:
                self.carried[slot] = (time, _content_key(register[1]))
        for member in sighting.deleted:
            self.carried[_DATASET_SLOTS[member]] = (time, None)

    def merge(self, other: DatasetRow) -> None:
        """Join another contribution to the same run and dataset into this one."""
        if self._is_led_by(other):
            self.event_time, self.event_type, self.counts = other.event_time, other.event_type, other.counts
        _merge(self.carried, other.carried, _DATASET_ORDERS)

    def _is_led_by(self, other: DatasetRow) -> bool:
        if other.counts != self.counts:
            return other.counts
        if self.counts:
            return (other.event_time, STATUS_RANK[other.event_type]) > (
                self.event_time,
                STATUS_RANK[self.event_type],
            )
        return other.event_time < self.event_time

    def values(self) -> tuple[Any, ...]:
        """The row in the order of schema.RUN_DATASET_PARAMETERS."""
        row: list[Any] = [*_NO_DATASET]
        row[:_DATASET_OWN] = (
            *(self.run_id, self.job_namespace, self.job_name, self.direction, self.namespace, self.name),
            *(self.event_time, self.event_type),
        )
        place = _DATASET_OWN
        for register in self.carried:
            if register is not None:
                time, row[place] = register
                if register[1] is None or time != self.event_time:
                    row[place + 1] = time
            place += 2
        return tuple(row)


class Digest:
    """The rows that a set of events adds up to."""

    def __init__(self) -> None:
        self.runs: dict[tuple[str, str, str], RunRow] = {}
        self.datasets: dict[tuple[str, str, str, str, str, str], DatasetRow] = {}
        self.assertions: dict[bytes, tuple[Any, ...]] = {}
        """Key to values in the order of schema.ASSERTION_PARAMETERS."""
        self.tests: dict[bytes, tuple[Any, ...]] = {}
        self.schemas: dict[bytes, bytes] = {}
        self.lineages: dict[bytes, bytes] = {}
        self.entities = Entities()
        """Jobs and datasets themselves."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> Digest:
        """Fold events."""
        digest = cls()
        for event in events:
            digest.add(event)
        return digest

    def add(self, event: Event) -> None:
        """Merge what one event says into the rows; those of other kinds than run events say nothing of runs."""
        self.entities.add(event)
        sighting = event.run
        if sighting is None:
            return
        identity = (event.run_id, event.job_namespace, event.job_name)
        run = RunRow(event, sighting)
        if (known := self.runs.get(identity)) is None:
            self.runs[identity] = run
        else:
            known.merge(run)
        for dataset in event.datasets:
            self._add_dataset(event, identity, sighting.status, dataset)
        if event.assertions:
            self._add_assertions(event, identity)
        if event.tests:
            self._add_tests(event, identity)

    def drop_runs(self, run_ids: set[str]) -> None:
        """Leave out the runs of these ids and their datasets."""
        self.runs = {key: row for key, row in self.runs.items() if key[0] not in run_ids}
        self.datasets = {key: row for key, row in self.datasets.items() if key[0] not in run_ids}

    def _add_dataset(self, event: Event, identity: tuple[str, str, str], status: str, dataset: DatasetSighting) -> None:
        row = DatasetRow(event, status, dataset)
        key = (*identity, dataset.direction, dataset.namespace, dataset.name)
        if (known := self.datasets.get(key)) is None:
            self.datasets[key] = row
        else:
            known.merge(row)
        if dataset.schema is not None:
            self.schemas[_content_key(dataset.schema)] = dataset.schema
        if dataset.lineage is not None:
            self.lineages[_content_key(dataset.lineage)] = dataset.lineage

    def _add_assertions(self, event: Event, identity: tuple[str, str, str]) -> None:
        time = str(to_microseconds(event.event_time))
        for result in event.assertions:
            row = (
                *(result.dataset_namespace, result.dataset_name, result.assertion, result.column_name),
                *(result.success, result.severity, result.assertion_name, result.occurrence),
            )
            success = None if result.success is None else str(result.success).lower()
            key = name_key(time, *identity, *row[:4], success, *row[5:7], str(result.occurrence))
            told = (result.expected, result.actual, result.params, result.side, result.position, result.skipped)
            _tell(self.assertions, key, (event.event_time, *identity, *row, *told), len(told))

    def _add_tests(self, event: Event, identity: tuple[str, str, str]) -> None:
        time = str(to_microseconds(event.event_time))
        for result in event.tests:
            row = (result.test_name, result.status, result.test_type, result.severity)
            key = name_key(time, *identity, *row, str(result.occurrence))
            told = (result.expected, result.actual, result.params, result.position, result.skipped)
            _tell(self.tests, key, (event.event_time, *identity, *row, result.occurrence, *told), len(told))


def _tell(reports: dict[bytes, tuple[Any, ...]], key: bytes, report: tuple[Any, ...], told: int) -> None:
    """Add a report; of two with one key that which says the greater things, `told` members from the end."""
    known = reports.get(key)
    if known is None or _told_order(report[-told:]) > _told_order(known[-told:]):
        reports[key] = report


def _told_order(told: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([(False,) if value is None else (True, value) for value in told])
