"""The facts of runs, jobs and datasets that the digest keeps: one declaration, from which all else comes.

From the lists at the end come the members of a sighting, the columns of ol_run, ol_run_dataset, ol_job and ol_dataset
with their comments, the merge in Python (`store/append/`) and in SQL (`store/definition/merge.py`), the columns that a
migration adds, and docs/digest.md; `read/rows.py` is held to them by a test. CONTRIBUTING.md shows how to add one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cached_property
from typing import Any, Final, NamedTuple
from uuid import UUID

from .reading import (
    catalog,
    code_location,
    condition_type,
    count,
    dataset_type,
    documentation,
    identifiers,
    job_type,
    lineage_edges,
    nominal_time,
    owners,
    parent,
    previous_name,
    schema_fields,
    storage,
    tags,
    task_attempt,
    text,
    whole,
)


class Kind(Enum):
    """What the values of a column are: their type for readers, and a value below every real one, for comparison."""

    TEXT = str, ""
    COUNT = int, -1
    """A number of things, never negative: bigint."""
    TIME = datetime, datetime.min.replace(tzinfo=UTC)
    JSON = object, None
    """Canonical JSON; compared by its hash, which has a column of its own, because jsonb has another order."""
    HASH = UUID, bytes(16)
    """16 bytes of SHA-256 of a content; uuid in the database."""

    def __init__(self, python: type, low: Any) -> None:
        self.python, self.low = python, low


class Fact(NamedTuple):
    """One column."""

    name: str
    kind: Kind
    about: str = ""
    """What it says, for the catalog's comment and the documentation."""


class Place(NamedTuple):
    """Where a facet may stand, and how the value is read from it."""

    facet: str
    path: str | None
    """Member of the facet; None hands the whole facet to `read`."""
    read: Callable[[Any], Any]
    """Raises UnreadableError where the value is not what it should be; a group's gives a tuple, one value per fact."""
    of: str = "run"
    """Whose facets a run's register is read from: those of the run or of the job."""


@dataclass(frozen=True)
class Register:
    """Facts that are taken as a whole from the newest event that carried them, beside the time of that event.

    A register of a dataset has one fact, and its time is NULL where it is the row's own event time.
    """

    name: str
    """Of the time's column without its `_at`."""
    facts: tuple[Fact, ...]
    places: tuple[Place, ...] = ()
    """Of several the first that has a value wins. None: the event itself has a member of the register's name."""
    deletable: bool = False
    """Whether `_deleted` clears it as of that event wherever the facet stands: it is one of datasets or of jobs by the
    specification. On any other it counts where it stands among those of a dataset or job (`facets`)."""
    read_as: str = ""
    """The sighting's member, where it is not the name: what is stored as a hash is read as a content."""
    since: int = 1
    """The version of the tables that brought it (`store/definition/tables.py`)."""

    @property
    def at(self) -> str:
        """The column of its time."""
        return f"{self.name}_at"

    @property
    def member(self) -> str:
        """The member of a sighting."""
        return self.read_as or self.name

    @cached_property
    def columns(self) -> tuple[Fact, ...]:
        """Its columns: those of the facts, the time, and a hash for each JSON."""
        hashes = [Fact(hash_of(name), Kind.HASH) for name, kind, _ in self.facts if kind is Kind.JSON]
        return (*self.facts, Fact(self.at, Kind.TIME), *hashes)

    @property
    def compared(self) -> tuple[Fact, ...]:
        """The columns that decide between two of one time."""
        return tuple(Fact(hash_of(f.name), Kind.HASH) if f.kind is Kind.JSON else f for f in self.facts)


def hash_of(name: str) -> str:
    """The column of the hash of a JSON fact."""
    return f"{name}_hash"


def _single(name: str, kind: Kind, about: str, *places: Place, **more: Any) -> Register:
    return Register(name, (Fact(name, kind, about),), places, **more)


TEXT, COUNT, TIME, JSON, HASH = Kind

RUN: Final = (
    _single(
        "governance_action",
        JSON,
        "facet egeria_governanceAction of the newest event with it",
        Place("egeria_governanceAction", None, whole),
    ),
    _single(
        "error_message",
        TEXT,
        "the newest error; readers show it of runs that end with FAIL or ABORT",
        Place("errorMessage", "message", text),
        Place("spark.exception", "message", text),
    ),
    Register(
        "processing",
        (
            Fact("processing_type", TEXT, "BATCH, STREAMING, …"),
            Fact("integration", TEXT, "SPARK, AIRFLOW, DBT, …"),
            Fact("job_type", TEXT, "QUERY, TASK, DAG, MODEL, …"),
        ),
        (Place("jobType", None, job_type, of="job"),),
        deletable=True,
    ),
    _single("producer", TEXT, "the newest event's producer"),
    Register(
        "parent",
        (
            Fact("parent_namespace", TEXT, "namespace of the job whose run started this one"),
            Fact("parent_name", TEXT, "name of that job"),
            Fact("parent_run_id", TEXT, "id of that run"),
            Fact("root_namespace", TEXT, "namespace of the job whose run everything began with"),
            Fact("root_name", TEXT, "name of that job"),
            Fact("root_run_id", TEXT, "id of that run"),
        ),
        (Place("parent", None, parent), Place("parentRun", None, parent)),
    ),
    Register(
        "nominal",
        (
            Fact("nominal_start_time", TIME, "when it was scheduled"),
            Fact("nominal_end_time", TIME, "when it was to be over"),
        ),
        (Place("nominalTime", None, nominal_time),),
    ),
    Register(
        "attempt",
        (
            Fact("attempt", COUNT, "which try of its task it is, from 1"),
            Fact("map_index", COUNT, "which of the runs of a mapped task it is, from 0"),
        ),
        (Place("airflow", "taskInstance", task_attempt),),
        since=4,
    ),
)
"""What is kept of a run."""

DATASET: Final = (
    _single(
        "row_count",
        COUNT,
        "rows read or written; NULL = not known",
        Place("inputStatistics", "rowCount", count),
        Place("outputStatistics", "rowCount", count),
        Place("dataQualityMetrics", "rowCount", count),
        Place("dataQuality", "rowCount", count),
        Place("stats", "rowCount", count),
    ),
    _single(
        "size_bytes",
        COUNT,
        "bytes read or written",
        Place("inputStatistics", "size", count),
        Place("outputStatistics", "size", count),
        Place("dataQualityMetrics", "bytes", count),
        Place("dataQuality", "bytes", count),
        Place("stats", "size", count),
    ),
    _single(
        "file_count",
        COUNT,
        "files read or written",
        Place("inputStatistics", "fileCount", count),
        Place("outputStatistics", "fileCount", count),
        Place("dataQualityMetrics", "fileCount", count),
    ),
    _single(
        "lifecycle_state_change",
        TEXT,
        "CREATE, ALTER, TRUNCATE, DROP, …",
        Place("lifecycleStateChange", "lifecycleStateChange", text),
        deletable=True,
    ),
    _single(
        "subset_type",
        TEXT,
        "type of the condition on a part of it; empty = a condition without a type",
        Place("subset", "inputCondition", condition_type),
        Place("subset", "outputCondition", condition_type),
    ),
    _single("dataset_version", TEXT, "its version", Place("version", "datasetVersion", text), deletable=True),
    _single(
        "schema_hash",
        HASH,
        "its schema, in ol_schema_version",
        Place("schema", "fields", schema_fields),
        deletable=True,
        read_as="schema",
    ),
    _single(
        "lineage_hash",
        HASH,
        "its column lineage, in ol_lineage_version",
        Place("columnLineage", None, lineage_edges),
        deletable=True,
        read_as="lineage",
    ),
)
"""What is kept of a dataset that a run reads or writes."""


def _documented(since: int) -> tuple[Register, ...]:
    """What people say of jobs and of datasets alike."""
    return (
        Register(
            "documentation",
            (
                Fact("description", TEXT, "what it is, in words"),
                Fact("description_type", TEXT, "content type of the description, such as text/markdown"),
            ),
            (Place("documentation", None, documentation),),
            deletable=True,
            since=since,
        ),
        _single(
            "owners",
            JSON,
            "its owners: objects of name and type, in order",
            Place("ownership", "owners", owners),
            deletable=True,
            since=since,
        ),
        _single(
            "tags",
            JSON,
            "its tags: objects of key, value, source and field, in order",
            Place("tags", "tags", tags),
            deletable=True,
            since=since,
        ),
    )


JOB_ENTITY: Final = (
    *_documented(since=4),
    Register(
        "kind",
        (
            Fact("processing_type", TEXT, "BATCH, STREAMING, …"),
            Fact("integration", TEXT, "SPARK, AIRFLOW, DBT, …"),
            Fact("job_type", TEXT, "QUERY, TASK, DAG, MODEL, …"),
        ),
        (Place("jobType", None, job_type),),
        deletable=True,
        since=4,
    ),
    _single(
        "source_code_location",
        TEXT,
        "where its source code is: a URL",
        Place("sourceCodeLocation", None, code_location),
        deletable=True,
        since=4,
    ),
)
"""What is kept of a job itself."""

DATASET_ENTITY: Final = (
    *_documented(since=4),
    Register(
        "type",
        (
            Fact("dataset_type", TEXT, "TABLE, VIEW, TOPIC, MODEL, …"),
            Fact("dataset_sub_type", TEXT, "MATERIALIZED, EXTERNAL, …"),
        ),
        (Place("datasetType", None, dataset_type),),
        deletable=True,
        since=4,
    ),
    Register(
        "storage",
        (
            Fact("storage_layer", TEXT, "delta, iceberg, …"),
            Fact("file_format", TEXT, "parquet, orc, csv, …"),
        ),
        (Place("storage", None, storage),),
        deletable=True,
        since=4,
    ),
    Register(
        "catalog",
        (
            Fact("catalog_framework", TEXT, "hive, iceberg, delta, …"),
            Fact("catalog_type", TEXT, "hive, glue, jdbc, …"),
            Fact("catalog_name", TEXT, "its name in the engine"),
            Fact("catalog_uri", TEXT, "where the catalogue's metadata is"),
            Fact("warehouse_uri", TEXT, "where the catalogue's data is"),
        ),
        (Place("catalog", None, catalog),),
        deletable=True,
        since=4,
    ),
)
"""What is kept of a dataset itself, whoever reads or writes it."""

DATASET_NAMES: Final = (
    Register("symlinks", (), (Place("symlinks", "identifiers", identifiers),), deletable=True, since=4),
    Register("renamed_from", (), (Place("lifecycleStateChange", None, previous_name),), deletable=True, since=4),
)
"""Which names are said to be one dataset's: no columns, but rows of ol_dataset_name."""
