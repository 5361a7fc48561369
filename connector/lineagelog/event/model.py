"""The values that parsing gives: an event with its facts, or the reason why there is none."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct, defstruct

from . import facts
from .facts import Register
from .reason import Reason as Reason


class EventKind(StrEnum):
    """The three kinds of OpenLineage events."""

    RUN = "run"
    JOB = "job"
    DATASET = "dataset"


class Notice(Struct, frozen=True, gc=False):
    """Something in an accepted event that was passed over or repaired."""

    code: str
    path: str
    """JSON path of the place, like ``$.inputs[0].namespace``."""

    def __str__(self) -> str:
        return f"{self.code} at {self.path}"


if TYPE_CHECKING:

    class RunSighting(Struct, frozen=True, gc=False):
        """See below."""

        status: str
        deleted: frozenset[str] = frozenset()

        def __init__(self, status: str, **carried: Any) -> None: ...
        def __getattr__(self, member: str) -> Any: ...

    class DatasetSighting(Struct, frozen=True, gc=False):
        """See below."""

        direction: str
        namespace: str
        name: str
        deleted: frozenset[str] = frozenset()
        entity: EntitySighting | None = None

        def __init__(self, direction: str, namespace: str, name: str, **carried: Any) -> None: ...
        def __getattr__(self, member: str) -> Any: ...

else:

    def _carried(registers: tuple[Register, ...]) -> list[tuple[str, Any, None]]:
        return [(register.member, Any, None) for register in registers if register.places]

    RunSighting = defstruct(
        "RunSighting",
        [("status", str), *_carried(facts.RUN), ("deleted", frozenset[str], frozenset())],
        frozen=True,
        gc=False,
        module=__name__,
    )
    RunSighting.__doc__ = """What one run event says of its run: one contribution to a row of ol_run.

    ``status`` is START, RUNNING, COMPLETE, FAIL, ABORT, OTHER (any other type) or UNKNOWN (none). The other members are
    the registers of `facts.RUN` that facets give; one that is None was not carried. ``deleted`` are the names of those
    that the event deletes (``_deleted`` on a facet of the job).
    """

    DatasetSighting = defstruct(
        "DatasetSighting",
        [
            *(("direction", str), ("namespace", str), ("name", str)),
            *_carried(facts.DATASET),
            ("deleted", frozenset[str], frozenset()),
            ("entity", Any, None),
        ],
        frozen=True,
        gc=False,
        module=__name__,
    )
    DatasetSighting.__doc__ = """What one event says of one of its datasets: of a run event, one contribution to a row.

    ``direction`` is ``I`` or ``O`` ('' in a dataset event), ``deleted`` the names of the members that the event deletes
    (``_deleted``), ``entity`` what it says of the dataset itself. The other members are the registers of
    `facts.DATASET`: those of contents have the canonical JSON.
    """


class EntitySighting(Struct, frozen=True, gc=False):
    """What one event says of a job or a dataset itself: one contribution to a row of ol_job or ol_dataset."""

    values: tuple[Any, ...]
    """The registers of `facts.JOB_ENTITY` or `facts.DATASET_ENTITY` in their order; None = not carried."""
    deleted: frozenset[str] = frozenset()
    """Names of the registers that the event deletes (`_deleted`)."""
    symlinks: tuple[tuple[str, str], ...] = ()
    """Names (namespace, name) that are said to be the dataset's, too."""
    symlinks_deleted: bool = False
    renamed_from: tuple[str, str] | None = None


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
    expected: str | None = None
    actual: str | None = None
    params: str | None = None
    """Canonical JSON."""
    side: str = "dataset"
    """input or output, by the facets of which it is one; dataset, where it stands among those of the dataset itself."""
    position: int = 0
    """Number of assertions before it in the same event of the same dataset, assertion, column and name."""
    skipped: bool = False
    """Told as failed in an ABORT and without what was found: it was not executed (dbt)."""


class TestResult(Struct, frozen=True, gc=False):
    """One test of the test run facet of one event."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    test_name: str | None
    status: str | None
    test_type: str | None
    severity: str | None
    occurrence: int
    expected: str | None = None
    actual: str | None = None
    params: str | None = None
    """Canonical JSON."""
    position: int = 0
    """Number of tests before it in the same event of the same name and type."""
    skipped: bool = False
    """Told as skipped, or as an assertion that was skipped is."""


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
    job: EntitySighting | None = None
    """What it says of its job itself."""

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
