"""The values that reads give: frozen rows, times in UTC, a missing namespace as None."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from lineagelog.errors import InputError


class Window(Struct, frozen=True):
    """The instants from ``start`` on and before ``end``; both with a time zone, else InputError is raised."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        for name, value in (("start", self.start), ("end", self.end)):
            if value.tzinfo is None:
                raise InputError(f"the {name} of the window, {value.isoformat()}, names no time zone")

    @property
    def is_open(self) -> bool:
        """Whether it begins before everything."""
        return self.start == datetime.min.replace(tzinfo=UTC)


class Run(Struct, frozen=True):
    """A run of a job, as all its events together tell. Several jobs may share a run id; each is a row of its own."""

    run_id: str
    job_namespace: str | None
    job_name: str
    status: str
    """START, RUNNING, COMPLETE, FAIL, ABORT, OTHER (a type that OpenLineage does not know) or UNKNOWN (no type)."""
    outcome: str
    """What came of it: FAIL where a FAIL is later than the last START; else RUNNING where a START is later than every
    COMPLETE, FAIL and ABORT; else the status."""
    start_time: datetime | None
    """Of the earliest START."""
    end_time: datetime | None
    """Of the latest COMPLETE, FAIL or ABORT."""
    first_event_time: datetime
    last_event_time: datetime
    governance_action: Any
    """Facet egeria_governanceAction of the newest event that carried it, decoded."""
    error_message: str | None
    """Only of runs that failed or were aborted."""
    processing_type: str | None
    integration: str | None
    job_type: str | None
    producer: str | None
    parent_namespace: str | None
    parent_name: str | None
    parent_run_id: str | None
    root_namespace: str | None
    root_name: str | None
    root_run_id: str | None
    nominal_start_time: datetime | None
    nominal_end_time: datetime | None
    attempt: int | None
    """Which try of its task it is, from 1, as Airflow counts them."""
    map_index: int | None
    """Which of the runs of a mapped task it is, from 0."""
    duration: float | None = None
    """Seconds from ``start_time`` to ``end_time``, where both are known and in this order."""
    earlier_outcomes: tuple[str, ...] = ()
    """Of the attempts at the same task before it, in their order, where those were asked for."""


class RunDataset(Struct, frozen=True):
    """A dataset that a run of a job read or wrote. A statistic is None where no event carried it."""

    run_id: str
    job_namespace: str | None
    job_name: str
    direction: str
    """``I`` for an input, ``O`` for an output."""
    dataset_namespace: str | None
    dataset_name: str
    event_time: datetime
    event_type: str
    row_count: int | None
    size_bytes: int | None
    file_count: int | None
    lifecycle_state_change: str | None
    subset_type: str | None
    """'' for a subset condition without a type."""
    dataset_version: str | None
    schema_hash: UUID | None
    """Key for `Reader.schema_fields`."""
    lineage_hash: UUID | None
    """Key for `Reader.column_lineage`."""


class Assertion(Struct, frozen=True):
    """What a run said last of a data quality assertion; or one report of it, where each report is asked for."""

    event_time: datetime
    run_id: str
    job_namespace: str | None
    job_name: str
    dataset_namespace: str | None
    dataset_name: str
    assertion: str | None
    column_name: str | None
    success: bool | None
    """None: neither passed nor failed; where it was skipped, too."""
    severity: str | None
    assertion_name: str | None
    expected: str | None
    actual: str | None
    params: Any
    """Decoded."""
    side: str | None
    """input or output, by the facets of which it is one; dataset, where it stood among those of the dataset itself."""


class Test(Struct, frozen=True):
    """What a run said last of a test of the test run facet; or one report, where each report is asked for."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    event_time: datetime
    run_id: str
    job_namespace: str | None
    job_name: str
    test_name: str | None
    status: str | None
    """Such as pass, fail and skip."""
    test_type: str | None
    severity: str | None
    expected: str | None
    actual: str | None
    params: Any
    """Decoded."""


class ListedJob(Struct, frozen=True):
    """A job, as all its events together tell."""

    job_namespace: str | None
    job_name: str
    first_seen: datetime
    """Time of its earliest event."""
    last_seen: datetime
    """Time of its latest event."""
    job_type: str | None
    """QUERY, TASK, DAG, MODEL, …"""
    processing_type: str | None
    integration: str | None
    description: str | None
    description_type: str | None
    """Content type of the description."""
    owners: Any
    """Objects of name and type, decoded."""
    tags: Any
    """Objects of key, value and source, decoded."""
    source_code_location: str | None
    """A URL."""
    last_run_id: str | None
    """Of the run that began last; None where only job events are known."""
    last_run_time: datetime | None
    """Of that run's first event."""
    last_outcome: str | None
    """What came of that run."""


class ListedDataset(Struct, frozen=True):
    """A dataset, whatever names it has, as all events of all its names tell."""

    dataset_namespace: str | None
    dataset_name: str
    """The name that most runs use."""
    names: Any
    """All its names: objects of namespace and name, decoded."""
    first_seen: datetime
    last_seen: datetime
    dataset_type: str | None
    """TABLE, VIEW, TOPIC, MODEL, …"""
    dataset_sub_type: str | None
    description: str | None
    description_type: str | None
    owners: Any
    """Objects of name and type, decoded."""
    tags: Any
    """Objects of key, value, source and field, decoded."""
    storage_layer: str | None
    file_format: str | None
    catalog_framework: str | None
    catalog_type: str | None
    catalog_name: str | None
    catalog_uri: str | None
    warehouse_uri: str | None


class EventRow(Struct, frozen=True):
    """A raw event."""

    run_id: str | None
    """None for job and dataset events."""
    event_time: datetime
    event_type: str | None
    """None for job and dataset events; UNKNOWN for a run event without one."""
    event_hash: bytes
    """SHA-256 of the canonical JSON."""
    event_kind: str
    """run, job or dataset."""
    job_namespace: str | None
    job_name: str | None
    producer: str
    notices: str | None
    """What was passed over or repaired: ``code at JSON path; …``."""
    received_at: datetime
    arrival: int
    """Number in the order of arrival."""
    stored_size: int
    """Bytes of the stored event, compressed."""
    event: bytes | None = None
    """The JSON text as stored (PostgreSQL's spelling), where asked for."""
    raw: bytes | None = None
    """The exact bytes as received, where asked for and where ``event`` cannot hold them."""


class EventSummary(Struct, frozen=True):
    """The events of a window: how many, and when the first and the last happened."""

    event_count: int
    first_event_time: datetime | None
    last_event_time: datetime | None


class Page[T](Struct, frozen=True):
    """A part of a listing, and the cursor that continues after it (None at the end)."""

    rows: tuple[T, ...]
    next: str | None


class RunDetails(Struct, frozen=True):
    """All that is known of one run id."""

    run_id: str
    runs: tuple[Run, ...]
    """One per job that shares the run id."""
    datasets: tuple[RunDataset, ...]
    assertions: tuple[Assertion, ...]
    tests: tuple[Test, ...]
    events: tuple[EventRow, ...]
    """The time line: oldest first, the first ones up to the limit."""
    truncated: bool
    """Whether one of the lists has more than the limit."""
    schemas: dict[UUID, Any]
    """Schema fields by ``schema_hash``, where asked for."""
    lineages: dict[UUID, Any]
    """Column lineage by ``lineage_hash``, where asked for."""
