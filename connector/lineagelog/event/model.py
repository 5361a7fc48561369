"""The values that parsing gives: an event with its facts, or the reason why there is none."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class EventKind(StrEnum):
    """The three kinds of OpenLineage events."""

    RUN = "run"
    JOB = "job"
    DATASET = "dataset"


class Reason(StrEnum):
    """Why an event was refused: the codes of ol_dead_letter.reason and of the HTTP answers."""

    NOT_JSON = "not_json"
    NOT_UTF8 = "not_utf8"
    NOT_AN_EVENT = "not_an_event"
    NUMBER_OUT_OF_RANGE = "number_out_of_range"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    MISSING_FIELD = "missing_field"
    WRONG_TYPE = "wrong_type"
    BAD_TIME = "bad_time"
    TOO_LONG = "too_long"
    SCHEMA = "schema"
    BAD_ENCODING = "bad_encoding"
    REFUSED_BY_DATABASE = "refused_by_database"
    INTERNAL_ERROR = "internal_error"


class Notice(Struct, frozen=True, gc=False):
    """Something in an accepted event that was passed over or repaired."""

    code: str
    path: str
    """JSON path of the place, like ``$.inputs[0].namespace``."""

    def __str__(self) -> str:
        return f"{self.code} at {self.path}"


class RunSighting(Struct, frozen=True, gc=False):
    """What one run event says of its run: one contribution to a row of ol_run.

    A member that is None was not carried.
    """

    status: str
    """START, RUNNING, COMPLETE, FAIL, ABORT, OTHER (any other type) or UNKNOWN (none)."""
    governance_action: bytes | None = None
    """Canonical JSON of the facet egeria_governanceAction."""
    error_message: str | None = None
    processing: tuple[str | None, str | None, str | None] | None = None
    """Processing type, integration, job type."""
    parent: tuple[str | None, ...] | None = None
    """Namespace, name, run id of the parent, then of the root."""
    nominal: tuple[datetime | None, datetime | None] | None = None


class DatasetSighting(Struct, frozen=True, gc=False):
    """What one run event says of one of its datasets: one contribution to a row of ol_run_dataset."""

    direction: str
    """``I`` or ``O``."""
    namespace: str
    name: str
    row_count: int | None = None
    size_bytes: int | None = None
    file_count: int | None = None
    lifecycle_state_change: str | None = None
    subset_type: str | None = None
    """Type of the subset condition; empty text for a condition without a type."""
    dataset_version: str | None = None
    schema: bytes | None = None
    """Canonical JSON of the schema facet's fields."""
    lineage: bytes | None = None
    """Canonical JSON of the columnLineage facet's fields and dataset edges."""
    deleted: frozenset[str] = frozenset()
    """Names of the members that the event deletes (``_deleted``)."""


class AssertionResult(Struct, frozen=True, gc=False):
    """One data quality assertion of one event."""

    dataset_namespace: str
    dataset_name: str
    assertion: str | None
    column_name: str | None
    success: bool | None
    severity: str | None
    assertion_name: str | None
    occurrence: int
    """Number of equal assertions before this one in the same event."""


class TestResult(Struct, frozen=True, gc=False):
    """One test of the test run facet of one event."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    test_name: str | None
    status: str | None
    test_type: str | None
    severity: str | None
    occurrence: int


class Event(Struct, frozen=True, gc=False):
    """An accepted event: its identity, its content, and what it says."""

    kind: EventKind
    run_id: str
    """'' for job and dataset events; lower case if it is a UUID."""
    event_time: datetime
    """UTC, microseconds."""
    event_type: str
    """Upper case as sent; UNKNOWN for a run event without one; '' for job and dataset events."""
    event_hash: bytes
    """SHA-256 of the canonical JSON."""
    job_namespace: str
    """'' if the event has none."""
    job_name: str
    producer: str
    body: bytes
    """The JSON text for the event column: as received, or rewritten where PostgreSQL would refuse or change it."""
    raw: bytes | None = None
    """The bytes as received, only where ``body`` cannot give them back."""
    notices: tuple[Notice, ...] = ()
    run: RunSighting | None = None
    datasets: tuple[DatasetSighting, ...] = ()
    assertions: tuple[AssertionResult, ...] = ()
    tests: tuple[TestResult, ...] = ()

    @property
    def key(self) -> tuple[str, datetime, str, bytes]:
        """What makes two deliveries one event."""
        return self.run_id, self.event_time, self.event_type, self.event_hash


class Rejected(Struct, frozen=True, gc=False):
    """A refused event: the reason, the place, and whatever identity could be read."""

    reason: Reason
    path: str
    """JSON path of the offending place; ``$`` for the whole."""
    detail: str
    """One sentence for a person."""
    payload: bytes
    """The bytes as received."""
    run_id: str | None = None
    job_namespace: str | None = None
    job_name: str | None = None
    event_type: str | None = None
    event_time: str | None = None
    size: int | None = None
    """Bytes received, where ``payload`` is only their start."""

    def __str__(self) -> str:
        return f"{self.reason} at {self.path}: {self.detail}"
