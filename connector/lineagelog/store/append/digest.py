"""The digest's merge in Python: events folded to rows, so that one batch sends each row once.

The same join as `merge.py` has in SQL (rules and proof: the property tests). A row here holds absolute times; the
compact times of ol_run_dataset are made when the row is written out.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from lineagelog.event.canonical import content_key, name_key
from lineagelog.event.model import DatasetSighting, Event, RunSighting
from lineagelog.event.times import to_microseconds
from lineagelog.store.definition.merge import STATUS_RANK
from lineagelog.store.definition.tables import DATASET_REGISTERS

_content_key = lru_cache(maxsize=4096)(content_key)
"""Schemas and lineage come again with every run; hashing them anew would cost more than finding them."""

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_TERMINAL: Final = frozenset(("COMPLETE", "FAIL", "ABORT"))
_NIL: Final = bytes(16)
_DATASET_LOWS: Final = tuple(
    _NIL if register.name.endswith("_hash") else register.low for register in DATASET_REGISTERS
)
_DATASET_SLOTS: Final = {register.name: slot for slot, register in enumerate(DATASET_REGISTERS)}

type Carried = tuple[datetime, Any] | None
"""A register: the time of the event that carried the value, and the value."""


class RunRow:
    """A row of ol_run in the making."""

    __slots__ = (
        "end_time",
        "error_message",
        "first_event_time",
        "governance_action",
        "job_name",
        "job_namespace",
        "last_event_time",
        "nominal",
        "parent",
        "processing",
        "producer",
        "run_id",
        "start_time",
        "status",
    )

    def __init__(self, event: Event, sighting: RunSighting) -> None:
        time = event.event_time
        self.run_id, self.job_namespace, self.job_name = event.run_id, event.job_namespace, event.job_name
        self.status = sighting.status
        self.start_time = time if sighting.status == "START" else None
        self.end_time = time if sighting.status in _TERMINAL else None
        self.first_event_time = self.last_event_time = time
        self.governance_action = _carried(time, sighting.governance_action)
        self.error_message = _carried(time, sighting.error_message)
        self.processing = _carried(time, sighting.processing)
        self.producer = _carried(time, event.producer or None)
        self.parent = _carried(time, sighting.parent)
        self.nominal = _carried(time, sighting.nominal)

    def merge(self, other: RunRow) -> None:
        """Join another contribution to the same run into this one."""
        mine, theirs = (self.end_time or _NEVER), (other.end_time or _NEVER)
        if (theirs, STATUS_RANK[other.status]) > (mine, STATUS_RANK[self.status]):
            self.status = other.status
        if theirs > mine:
            self.end_time = other.end_time
        if other.start_time is not None and (self.start_time is None or other.start_time < self.start_time):
            self.start_time = other.start_time
        self.first_event_time = min(self.first_event_time, other.first_event_time)
        self.last_event_time = max(self.last_event_time, other.last_event_time)
        self.governance_action = _newest(self.governance_action, other.governance_action, content_key)
        self.error_message = _newest(self.error_message, other.error_message, _itself)
        self.processing = _newest(self.processing, other.processing, _texts)
        self.producer = _newest(self.producer, other.producer, _itself)
        self.parent = _newest(self.parent, other.parent, _texts)
        self.nominal = _newest(self.nominal, other.nominal, _times)

    def values(self) -> tuple[Any, ...]:
        """The row in the order of schema.RUN_PARAMETERS."""
        governance_at, governance = self.governance_action or (None, None)
        error_at, error = self.error_message or (None, None)
        processing_at, processing = self.processing or (None, (None,) * 3)
        producer_at, producer = self.producer or (None, None)
        parent_at, parent = self.parent or (None, (None,) * 6)
        nominal_at, nominal = self.nominal or (None, (None,) * 2)
        return (
            *(self.run_id, self.job_namespace, self.job_name, self.status, self.start_time, self.end_time),
            *(self.first_event_time, self.last_event_time),
            *(governance, governance_at, None if governance is None else content_key(governance)),
            *(error, error_at, *processing, processing_at, producer, producer_at),
            *(*parent, parent_at, *nominal, nominal_at),
        )


def _carried(time: datetime, value: Any) -> Carried:
    return None if value is None else (time, value)


def _newest(mine: Carried, theirs: Carried, order: Any) -> Carried:
    """The one of the greater (time, value)."""
    if theirs is None or mine is theirs:
        return mine
    if mine is None or theirs[0] > mine[0]:
        return theirs
    if theirs[0] == mine[0] and order(theirs[1]) > order(mine[1]):
        return theirs
    return mine


def _itself(value: Any) -> Any:
    return value


def _texts(values: tuple[str | None, ...]) -> tuple[str, ...]:
    return tuple([value or "" for value in values])


def _times(values: tuple[datetime | None, ...]) -> tuple[datetime, ...]:
    return tuple([value or _NEVER for value in values])


class DatasetRow:
    """A row of ol_run_dataset in the making."""

    __slots__ = (
        "counts",
        "direction",
        "event_time",
        "event_type",
        "name",
        "namespace",
        "registers",
        "run_id",
    )

    def __init__(self, event: Event, status: str, sighting: DatasetSighting) -> None:
        time = event.event_time
        self.run_id, self.direction = event.run_id, sighting.direction
        self.namespace, self.name = sighting.namespace, sighting.name
        self.event_time, self.event_type = time, status
        self.counts = status != "START" or sighting.row_count is not None or sighting.size_bytes is not None
        self.registers: dict[int, tuple[datetime, Any]] = {
            slot: (time, value) for slot, value in enumerate(_carried_values(sighting)) if value is not None
        }
        for name in sighting.deleted:
            self.registers[_DATASET_SLOTS[name]] = (time, None)

    def merge(self, other: DatasetRow) -> None:
        """Join another contribution to the same run and dataset into this one."""
        if self._is_led_by(other):
            self.event_time, self.event_type, self.counts = other.event_time, other.event_type, other.counts
        mine = self.registers
        for slot, theirs in other.registers.items():
            ours = mine.get(slot)
            if (
                ours is None
                or theirs[0] > ours[0]
                or (theirs[0] == ours[0] and _register_order(theirs, slot) > _register_order(ours, slot))
            ):
                mine[slot] = theirs

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
        row: list[Any] = [*_NOTHING_CARRIED]
        row[:6] = self.run_id, self.direction, self.namespace, self.name, self.event_time, self.event_type
        for slot, (time, value) in self.registers.items():
            row[6 + 2 * slot] = value
            if value is None or time != self.event_time:
                row[7 + 2 * slot] = time
        return tuple(row)


_NOTHING_CARRIED: Final = (None,) * (6 + 2 * len(DATASET_REGISTERS))


def _carried_values(sighting: DatasetSighting) -> tuple[Any, ...]:
    """The values of a sighting in the order of DATASET_REGISTERS."""
    schema, lineage = sighting.schema, sighting.lineage
    return (
        sighting.row_count,
        sighting.size_bytes,
        sighting.file_count,
        sighting.lifecycle_state_change,
        sighting.subset_type,
        sighting.dataset_version,
        None if schema is None else _content_key(schema),
        None if lineage is None else _content_key(lineage),
    )


def _register_order(register: tuple[datetime, Any], slot: int) -> tuple[bool, Any]:
    """Among registers of one time: a value beats a deletion, then the greater value."""
    value = register[1]
    return value is not None, _DATASET_LOWS[slot] if value is None else value


class Digest:
    """The rows that a set of run events adds up to."""

    def __init__(self) -> None:
        self.runs: dict[tuple[str, str, str], RunRow] = {}
        self.datasets: dict[tuple[str, str, str, str], DatasetRow] = {}
        self.assertions: dict[bytes, tuple[Any, ...]] = {}
        """Key to values in the order of schema.ASSERTION_PARAMETERS."""
        self.tests: dict[bytes, tuple[Any, ...]] = {}
        self.schemas: dict[bytes, bytes] = {}
        self.lineages: dict[bytes, bytes] = {}

    @classmethod
    def of(cls, events: Iterable[Event]) -> Digest:
        """Fold events; those of other kinds say nothing here."""
        digest = cls()
        for event in events:
            digest.add(event)
        return digest

    def add(self, event: Event) -> None:
        """Join one event."""
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
            self._add_dataset(event, sighting.status, dataset)
        if event.assertions:
            self._add_assertions(event, identity)
        if event.tests:
            self._add_tests(event, identity)

    def drop_runs(self, run_ids: set[str]) -> None:
        """Leave out the runs of these ids and their datasets."""
        self.runs = {key: row for key, row in self.runs.items() if key[0] not in run_ids}
        self.datasets = {key: row for key, row in self.datasets.items() if key[0] not in run_ids}

    def _add_dataset(self, event: Event, status: str, dataset: DatasetSighting) -> None:
        row = DatasetRow(event, status, dataset)
        key = (event.run_id, dataset.direction, dataset.namespace, dataset.name)
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
            self.assertions[key] = (event.event_time, *identity, *row)

    def _add_tests(self, event: Event, identity: tuple[str, str, str]) -> None:
        time = str(to_microseconds(event.event_time))
        for result in event.tests:
            row = (result.test_name, result.status, result.test_type, result.severity)
            key = name_key(time, *identity, *row, str(result.occurrence))
            self.tests[key] = (event.event_time, *identity, *row, result.occurrence)
