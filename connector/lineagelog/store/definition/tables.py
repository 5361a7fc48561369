"""The tables of the log store as SQLAlchemy Core tables: the one definition that writer and readers share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Computed,
    Double,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Sequence,
    SmallInteger,
    Table,
    Text,
    Uuid,
    func,
    literal_column,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.types import UserDefinedType

from lineagelog.event import facts
from lineagelog.event.facts import Kind
from lineagelog.event.run_ids import MAX_RUN_ID

VERSION: Final = 4
"""Version of the tables, kept in ol_store; a later version of lineagelog migrates an older store (`migrations.py`)."""

EVENT_TABLE: Final = "ol_event"
RUN_TABLE: Final = "ol_run"
RUN_DATASET_TABLE: Final = "ol_run_dataset"
ASSERTION_TABLE: Final = "ol_assertion"
TEST_TABLE: Final = "ol_test"
SCHEMA_VERSION_TABLE: Final = "ol_schema_version"
LINEAGE_VERSION_TABLE: Final = "ol_lineage_version"
JOB_TABLE: Final = "ol_job"
DATASET_TABLE: Final = "ol_dataset"
DATASET_NAME_TABLE: Final = "ol_dataset_name"
DEAD_LETTER_TABLE: Final = "ol_dead_letter"
STORE_TABLE: Final = "ol_store"
TOKEN_TABLE: Final = "ol_token"  # noqa: S105  # the name of a table
FORWARD_CURSOR_TABLE: Final = "ol_forward_cursor"
FORWARD_LETTER_TABLE: Final = "ol_forward_letter"
KAFKA_OFFSET_TABLE: Final = "ol_kafka_offset"
ANALYSIS_CURSOR_TABLE: Final = "ol_analysis_cursor"
PUBLICATION_TABLE: Final = "ol_publication"
FINDING_TABLE: Final = "ol_finding"
RECORDING_TABLE: Final = "ol_recording"

DATA_TABLES: Final = (
    EVENT_TABLE,
    RUN_TABLE,
    RUN_DATASET_TABLE,
    ASSERTION_TABLE,
    TEST_TABLE,
    SCHEMA_VERSION_TABLE,
    LINEAGE_VERSION_TABLE,
    JOB_TABLE,
    DATASET_TABLE,
    DATASET_NAME_TABLE,
    DEAD_LETTER_TABLE,
)
"""The tables that what is received goes to."""

INPUT_DIRECTION: Final = "I"
OUTPUT_DIRECTION: Final = "O"

ARRIVAL_SEQUENCE: Final = "ol_event_arrival_seq"

Time = TIMESTAMP(timezone=True)
Name = Text(collation="C")
"""Names compare by code point, in every database and in Python alike."""


class TransactionId(UserDefinedType[int]):
    """PostgreSQL's xid8: a transaction id that does not wrap around."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """The type's name in DDL."""
        return "xid8"


OUTCOME: Final = (
    "CASE WHEN last_fail_time > last_start_time OR last_fail_time IS NOT NULL AND last_start_time IS NULL\n"
    "\t\tTHEN 'FAIL'\n"
    "\t\tWHEN last_start_time > end_time OR last_start_time IS NOT NULL AND end_time IS NULL THEN 'RUNNING'\n"
    "\t\tELSE status END"
)
"""What came of a run: FAIL where a FAIL is later than the last START; else RUNNING where a START is later than every
COMPLETE, FAIL and ABORT; else the status. All are maxima of event times, so it is a function of the set of events."""

TYPES: Final[dict[Kind, Any]] = {
    Kind.TEXT: Name,
    Kind.COUNT: BigInteger(),
    Kind.TIME: Time,
    Kind.JSON: JSONB(),
    Kind.HASH: Uuid(),
}
"""The SQL type of each kind of fact."""


def build(schema_name: str) -> MetaData:
    """All tables of a store, in the given schema."""
    metadata = MetaData(schema=schema_name)
    _event(metadata)
    _run(metadata)
    _run_dataset(metadata)
    _assertion(metadata)
    _test(metadata)
    _content(metadata)
    _job(metadata)
    _dataset(metadata)
    _dataset_name(metadata)
    _dead_letter(metadata)
    _store(metadata)
    _token(metadata)
    _forward(metadata)
    _kafka(metadata)
    _analysis(metadata)
    _publication(metadata)
    _finding(metadata)
    _recording(metadata)
    return metadata


def _event(metadata: MetaData) -> None:
    arrival = Sequence(ARRIVAL_SEQUENCE, metadata=metadata, data_type=BigInteger)
    table = Table(
        EVENT_TABLE,
        metadata,
        Column("run_id", Name, primary_key=True, comment="'' for job and dataset events"),
        Column("event_time", Time, primary_key=True),
        Column("event_type", Name, primary_key=True, comment="'' for job and dataset events"),
        Column("event_hash", LargeBinary, primary_key=True, comment="SHA-256 of the canonical JSON"),
        Column("event_kind", Name, nullable=False, comment="run, job or dataset"),
        Column("job_namespace", Name, nullable=False, comment="'' = the event has none"),
        Column("job_name", Name, nullable=False),
        Column("producer", Name, nullable=False),
        Column("event", JSONB, nullable=False, comment="the event as received"),
        Column("raw", LargeBinary, comment="the exact bytes, where jsonb cannot hold them"),
        Column("notices", Text, comment="what was passed over or repaired: code at JSON path; …"),
        Column("received_at", Time, nullable=False, server_default=func.now()),
        Column("arrival", BigInteger, nullable=False, server_default=arrival.next_value()),
        Column("arrival_xid", TransactionId(), nullable=False, server_default=func.pg_current_xact_id()),
        comment="each event as it was received, once",
        postgresql_partition_by="RANGE (event_time)",
    )
    Index("ol_event_time", table.c.event_time, table.c.arrival)
    Index("ol_event_arrival", table.c.arrival_xid, table.c.arrival)


def due(run: Any) -> ColumnElement[datetime]:
    """When a run of ol_run was scheduled, for comparison: never where that is not known."""
    never: ColumnElement[datetime] = literal_column("'-infinity'::timestamptz", Time)
    return func.coalesce(run.nominal_start_time, never)


def is_run_id(text: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a run can have it as its id; parent facets may have longer texts, which no index takes."""
    return func.octet_length(text) <= literal_column(str(MAX_RUN_ID))


def _run(metadata: MetaData) -> None:
    table = Table(
        RUN_TABLE,
        metadata,
        Column(
            "run_key",
            Uuid,
            primary_key=True,
            autoincrement=False,
            comment="hash of run_id, job_namespace, job_name",
        ),
        Column("run_id", Name, nullable=False),
        Column("job_namespace", Name, nullable=False, comment="'' = none"),
        Column("job_name", Name, nullable=False),
        Column("job_key", Uuid, nullable=False, comment="hash of job_namespace, job_name"),
        Column("status", Name, nullable=False),
        Column("start_time", Time, comment="earliest START"),
        Column("end_time", Time, comment="latest COMPLETE, FAIL or ABORT"),
        Column("first_event_time", Time, nullable=False),
        Column("last_event_time", Time, nullable=False),
        Column("last_start_time", Time, comment="latest START"),
        Column("last_fail_time", Time, comment="latest FAIL"),
        Column("outcome", Name, Computed(OUTCOME, persisted=True), comment="what came of it: go by this"),
        *carried(facts.RUN),
        Column(
            "last_hour",
            TIMESTAMP(timezone=False),
            Computed("date_trunc('hour', last_event_time AT TIME ZONE 'UTC')", persisted=True),
            comment="indexed in place of last_event_time, so that heartbeats stay heap-only",
        ),
        Column(
            "is_long",
            Boolean,
            Computed("last_event_time - first_event_time > interval '1 hour'", persisted=True),
        ),
        comment="one row per run and job",
        postgresql_with={"fillfactor": 80},
    )
    Index("ol_run_first", table.c.first_event_time, table.c.run_key)
    Index("ol_run_last_hour", table.c.last_hour)
    Index("ol_run_long", table.c.last_hour, table.c.first_event_time, postgresql_where=table.c.is_long)
    Index("ol_run_run_id", table.c.run_id)
    Index("ol_run_job", table.c.job_key, table.c.first_event_time)
    for name, column in (("ol_run_parent", table.c.parent_run_id), ("ol_run_root", table.c.root_run_id)):
        Index(name, column, postgresql_where=is_run_id(column))
    # other attempts of its task are looked up by this; empty where no producer counts attempts
    counted = table.c.attempt.is_not(None)
    Index("ol_run_attempt", table.c.job_key, due(table.c), postgresql_where=counted, info=_LATER)
    # what sql/views.sql asks of SnapLogic's runs; both are empty where there are none
    of_snaplogic = text("lower(job_namespace) = 'snaplogic'")
    execution = text("(CASE WHEN parent_name IS NULL THEN run_id ELSE coalesce(parent_run_id, run_id) END)")
    Index("ol_run_pipeline", execution, postgresql_where=of_snaplogic)
    Index("ol_run_pipeline_first", table.c.first_event_time, postgresql_where=of_snaplogic)


def carried(registers: Iterable[facts.Register]) -> list[Column[Any]]:
    """The columns of facts, each register with the time of the event that gave it."""
    columns = [fact for register in registers for fact in register.columns]
    return [Column(fact.name, TYPES[fact.kind], comment=fact.about or None) for fact in columns]


RUN_DATASET_ABOUT: Final = "one row per run, job, direction and dataset; X_at is NULL where X was set at event_time"


def _run_dataset(metadata: MetaData) -> None:
    table = Table(
        RUN_DATASET_TABLE,
        metadata,
        Column(
            "run_dataset_key",
            Uuid,
            primary_key=True,
            autoincrement=False,
            comment="hash of run_id, job_namespace, job_name, direction, dataset_namespace, dataset_name",
        ),
        Column("run_key", Uuid, comment="of ol_run"),
        Column("run_id", Name, nullable=False),
        Column("job_namespace", Name, comment="'' = none; NULL with job_name and run_key: version 3 wrote it"),
        Column("job_name", Name),
        Column("direction", Name, nullable=False, comment="I = input, O = output"),
        Column("dataset_namespace", Name, nullable=False, comment="'' = none"),
        Column("dataset_name", Name, nullable=False),
        Column("dataset_key", Uuid, nullable=False, comment="hash of dataset_namespace, dataset_name"),
        Column("event_time", Time, nullable=False),
        Column("event_type", Name, nullable=False),
        *carried(facts.DATASET),
        CheckConstraint("direction IN ('I', 'O')", name="ol_run_dataset_direction"),
        comment=RUN_DATASET_ABOUT,
        postgresql_with={"fillfactor": 80},
    )
    Index("ol_run_dataset_run_id", table.c.run_id)
    Index("ol_run_dataset_dataset", table.c.dataset_key)
    Index("ol_run_dataset_run_key", table.c.run_key, info=_LATER)


ASSERTION_RESULT: Final = (
    *("run_id", "job_namespace", "job_name", "dataset_namespace", "dataset_name", "assertion", "column_name"),
    *("assertion_name", "position"),
)
"""What results of assertions are told apart by."""
TEST_RESULT: Final = ("run_id", "job_namespace", "job_name", "test_name", "test_type", "position")
"""What results of tests are told apart by."""
_LATER: Final = {"later": True}
"""Of an index on columns that a migration brings."""


def is_later(index: Index) -> bool:
    """Whether the index is made when the migrations are done."""
    return index.info == _LATER


def _told(of: tuple[str, ...]) -> tuple[Column[Any], ...]:
    """What a report says beside what its key is made of; ``of`` is what results are told apart by."""
    return (
        Column("expected", Name),
        Column("actual", Name),
        Column("params", Name, comment="canonical JSON"),
        Column("position", Integer, comment=f"number in the event of one {', '.join(of[3:-1])}"),
        Column("skipped", Boolean, comment="it was not executed, whatever else is said of it"),
        Column("result_key", Uuid, comment=f"hash of {', '.join(of)}"),
    )


def _assertion(metadata: MetaData) -> None:
    table = Table(
        ASSERTION_TABLE,
        metadata,
        Column("assertion_key", Uuid, primary_key=True, autoincrement=False, comment="hash of all columns"),
        Column("event_time", Time, nullable=False),
        Column("run_id", Name, nullable=False),
        Column("job_namespace", Name, nullable=False),
        Column("job_name", Name, nullable=False),
        Column("dataset_namespace", Name, nullable=False),
        Column("dataset_name", Name, nullable=False),
        Column("dataset_key", Uuid, nullable=False),
        Column("assertion", Name),
        Column("column_name", Name),
        Column("success", Boolean),
        Column("severity", Name),
        Column("assertion_name", Name),
        Column("occurrence", Integer, nullable=False, comment="number among equal assertions of the event"),
        *_told(ASSERTION_RESULT),
        Column("side", Name, comment="input or output, by the facets of which it is one; dataset: among `facets`"),
        comment="each data quality assertion of each event",
    )
    Index("ol_assertion_result", table.c.result_key, table.c.event_time, info=_LATER)
    Index("ol_assertion_time", table.c.event_time, table.c.assertion_key)
    Index("ol_assertion_run_id", table.c.run_id)
    Index("ol_assertion_dataset", table.c.dataset_key, table.c.event_time)


def _test(metadata: MetaData) -> None:
    table = Table(
        TEST_TABLE,
        metadata,
        Column("test_key", Uuid, primary_key=True, autoincrement=False, comment="hash of all columns"),
        Column("event_time", Time, nullable=False),
        Column("run_id", Name, nullable=False),
        Column("job_namespace", Name, nullable=False),
        Column("job_name", Name, nullable=False),
        Column("test_name", Name),
        Column("status", Name),
        Column("test_type", Name),
        Column("severity", Name),
        Column("occurrence", Integer, nullable=False, comment="number among equal tests of the event"),
        *_told(TEST_RESULT),
        comment="each test of the test run facet of each event",
    )
    Index("ol_test_result", table.c.result_key, table.c.event_time, info=_LATER)
    Index("ol_test_time", table.c.event_time, table.c.test_key)
    Index("ol_test_run_id", table.c.run_id)


def _content(metadata: MetaData) -> None:
    Table(
        SCHEMA_VERSION_TABLE,
        metadata,
        Column("schema_hash", Uuid, primary_key=True, autoincrement=False),
        Column("fields", JSONB, nullable=False),
        comment="the fields of a dataset's schema facet, once per content",
    )
    Table(
        LINEAGE_VERSION_TABLE,
        metadata,
        Column("lineage_hash", Uuid, primary_key=True, autoincrement=False),
        Column("edges", JSONB, nullable=False, comment="members fields and dataset of the columnLineage facet"),
        comment="the column lineage of a dataset, once per content",
    )


def _job(metadata: MetaData) -> None:
    table = Table(
        JOB_TABLE,
        metadata,
        Column("job_key", Uuid, primary_key=True, autoincrement=False, comment="hash of job_namespace, job_name"),
        Column("job_namespace", Name, nullable=False, comment="'' = none"),
        Column("job_name", Name, nullable=False),
        *_seen(),
        *carried(facts.JOB_ENTITY),
        comment="each job that an event was of; (NULL, X_at) was deleted then",
        postgresql_with={"fillfactor": 60},
    )
    Index("ol_job_first", table.c.first_seen, table.c.job_key)


def _dataset(metadata: MetaData) -> None:
    table = Table(
        DATASET_TABLE,
        metadata,
        Column(
            "dataset_key",
            Uuid,
            primary_key=True,
            autoincrement=False,
            comment="hash of dataset_namespace, dataset_name",
        ),
        Column("dataset_namespace", Name, nullable=False, comment="'' = none"),
        Column("dataset_name", Name, nullable=False),
        *_seen(),
        *carried(facts.DATASET_ENTITY),
        comment="each dataset by the name that an event gave it; (NULL, X_at) was deleted then",
        postgresql_with={"fillfactor": 60},
    )
    Index("ol_dataset_first", table.c.first_seen, table.c.dataset_key)


def _seen() -> tuple[Column[Any], ...]:
    return (
        Column("first_seen", Time, nullable=False, comment="time of the earliest event with it"),
        Column("last_seen", Time, nullable=False, comment="time of the latest event with it"),
    )


def _dataset_name(metadata: MetaData) -> None:
    table = Table(
        DATASET_NAME_TABLE,
        metadata,
        Column(
            "dataset_name_key",
            Uuid,
            primary_key=True,
            autoincrement=False,
            comment="hash of kind, the dataset's, the other and the job's namespace and name",
        ),
        Column(
            "kind",
            Name,
            nullable=False,
            comment="symlink: it has the other name, too; rename: it had it until then; deleted: no symlink holds",
        ),
        Column("dataset_key", Uuid, nullable=False, comment="hash of dataset_namespace, dataset_name"),
        Column("dataset_namespace", Name, nullable=False),
        Column("dataset_name", Name, nullable=False),
        Column("other_key", Uuid, nullable=False, comment="hash of other_namespace, other_name"),
        Column("other_namespace", Name, nullable=False),
        Column("other_name", Name, nullable=False),
        Column("job_namespace", Name, nullable=False, comment="with job_name: who said so; '' = a dataset event"),
        Column("job_name", Name, nullable=False),
        Column("first_said", Time, nullable=False),
        Column("last_said", Time, nullable=False),
        comment="which names are said to be one dataset's, by whom and when; ol_identity() resolves them",
        postgresql_with={"fillfactor": 60},
    )
    Index("ol_dataset_name_dataset", table.c.dataset_key)
    Index("ol_dataset_name_other", table.c.other_key)


def _dead_letter(metadata: MetaData) -> None:
    table = Table(
        DEAD_LETTER_TABLE,
        metadata,
        Column("id", BigInteger, Identity(always=True), primary_key=True),
        Column("sha256", LargeBinary, nullable=False, comment="of the payload as received"),
        Column("reason", Name, nullable=False),
        Column("json_path", Name, nullable=False),
        Column("detail", Text, nullable=False),
        Column("source", Text, nullable=False, comment="the transport: http, file, kafka, daemon, …"),
        Column("position", Text, nullable=False, comment="file and line, topic and offset, …"),
        Column("payload", LargeBinary, nullable=False),
        Column(
            "payload_size",
            BigInteger,
            nullable=False,
            comment="bytes received, of which payload may be the start",
        ),
        Column("run_id", Text),
        Column("job_namespace", Text),
        Column("job_name", Text),
        Column("event_type", Text),
        Column("event_time", Text),
        Column("count", BigInteger, nullable=False, server_default=text("1")),
        Column("received_at", Time, nullable=False, server_default=func.now(), comment="first time"),
        Column("last_received_at", Time, nullable=False, server_default=func.now()),
        Column("state", Name, nullable=False, server_default="new", comment="new, retried or discarded"),
        comment="events that were refused, with their bytes",
    )
    Index("ol_dead_letter_content", table.c.sha256, table.c.reason, unique=True)
    Index("ol_dead_letter_state", table.c.state, table.c.id)


def _store(metadata: MetaData) -> None:
    Table(
        STORE_TABLE,
        metadata,
        Column("id", SmallInteger, primary_key=True, autoincrement=False),
        Column("version", Integer, nullable=False),
        Column("retention_floor", Time, comment="events older than this were purged and are not stored again"),
        Column("created_at", Time, nullable=False, server_default=func.now()),
        Column("views", Text, comment="hash of the views that it has (sql/views.sql)"),
        CheckConstraint("id = 1", name="ol_store_one_row"),
        comment="the store itself: one row",
    )


def _token(metadata: MetaData) -> None:
    table = Table(
        TOKEN_TABLE,
        metadata,
        Column("id", BigInteger, Identity(always=True), primary_key=True),
        Column("name", Text, nullable=False),
        Column("sha256", LargeBinary, nullable=False, comment="of the token; the token itself is not stored"),
        Column("scopes", ARRAY(Text), nullable=False),
        Column("namespaces", ARRAY(Text), comment="job namespaces it is bound to; NULL = all"),
        Column("created_at", Time, nullable=False, server_default=func.now()),
        Column("expires_at", Time),
        Column("revoked_at", Time),
        Column("last_used_at", Time, comment="to the hour"),
        comment="bearer tokens",
    )
    Index("ol_token_sha256", table.c.sha256, unique=True)


def _forward(metadata: MetaData) -> None:
    Table(
        FORWARD_CURSOR_TABLE,
        metadata,
        Column("target", Name, primary_key=True, comment="name of the target in the settings"),
        Column("arrival_xid", TransactionId(), nullable=False, comment="with arrival: the last event that is done"),
        Column("arrival", BigInteger, nullable=False, comment="-1 = not begun: ranges or a probe only"),
        Column("delivered", BigInteger, nullable=False, server_default=text("0")),
        Column("parked", BigInteger, nullable=False, server_default=text("0")),
        Column("filtered", BigInteger, nullable=False, server_default=text("0")),
        Column("file_size", BigInteger, comment="bytes of a target file that are complete"),
        Column("rate", Double, comment="events per second, lately"),
        Column("problem", Text, comment="why nothing is delivered now; NULL = nothing is wrong"),
        Column("problem_at", Time),
        Column("created_at", Time, nullable=False, server_default=func.now()),
        Column("updated_at", Time, nullable=False, server_default=func.now()),
        Column("learnt", JSONB, comment="what the endpoint takes: batches, bytes of a request"),
        Column(
            "gap", BigInteger, nullable=False, server_default=text("0"), comment="events purged before they were sent"
        ),
        Column("gap_before", Time, comment="the latest cut-off of such a purge"),
        comment="how far each target has been forwarded, in order of arrival",
    )
    letter = Table(
        FORWARD_LETTER_TABLE,
        metadata,
        Column("id", BigInteger, Identity(always=True), primary_key=True),
        Column("target", Name, nullable=False),
        Column("run_id", Name, nullable=False, comment="with the next three: the event in ol_event"),
        Column("event_time", Time, nullable=False),
        Column("event_type", Name, nullable=False),
        Column("event_hash", LargeBinary, nullable=False),
        Column("job_namespace", Name, nullable=False),
        Column("job_name", Name, nullable=False),
        Column("size", BigInteger, nullable=False, comment="bytes"),
        Column("reason", Name, nullable=False, comment="refused, too_large or failing"),
        Column("status", Integer, comment="HTTP status, if there was one"),
        Column("detail", Text, nullable=False, comment="what the target said"),
        Column("count", BigInteger, nullable=False, server_default=text("1"), comment="times it was parked"),
        Column("parked_at", Time, nullable=False, server_default=func.now(), comment="first time"),
        Column("last_parked_at", Time, nullable=False, server_default=func.now()),
        Column("state", Name, nullable=False, server_default="parked", comment="parked, delivered, skipped or gone"),
        comment="events that a target refused; the events themselves stay in ol_event",
    )
    identity = (letter.c.target, letter.c.run_id, letter.c.event_time, letter.c.event_type, letter.c.event_hash)
    Index("ol_forward_letter_event", *identity, unique=True)
    Index("ol_forward_letter_state", letter.c.target, letter.c.state, letter.c.id)


def _publication(metadata: MetaData) -> None:
    table = Table(
        PUBLICATION_TABLE,
        metadata,
        Column("id", Uuid, primary_key=True, comment="hash of kind, subject and day"),
        Column("kind", Name, nullable=False, comment="what Egeria is to hold: run_metrics, data_scope, …"),
        Column("subject_kind", Name, nullable=False),
        Column("namespace", Name, nullable=False),
        Column("name", Name, nullable=False),
        Column("day", Name, nullable=False, comment="of what is kept per day; a finding of an incident; else empty"),
        Column("priority", SmallInteger, nullable=False, comment="a smaller one is sent first"),
        Column("content", JSONB, nullable=False),
        Column("content_hash", Uuid, nullable=False),
        Column("state", Name, nullable=False, server_default="planned"),
        Column("attempts", Integer, nullable=False, server_default=text("0"), comment="since it was planned"),
        Column("next_try", Time, nullable=False, server_default=func.now()),
        Column("lease_until", Time, comment="until then it is one publisher's"),
        Column("guids", JSONB, nullable=False, server_default=text("'{}'"), comment="what there is of it, by name"),
        Column("problem", Text),
        Column("message_id", Text, comment="Egeria's, where it refuses"),
        Column("user_action", Text, comment="Egeria's advice"),
        Column("planned_at", Time, nullable=False, server_default=func.now()),
        Column("confirmed_at", Time, comment="when Egeria had it last"),
        comment="what Egeria is to hold, and how far that has come",
    )
    Index(
        "ol_publication_due",
        table.c.priority,
        table.c.next_try,
        postgresql_where=text("state IN ('planned', 'sent', 'failed', 'retired')"),
    )


def _kafka(metadata: MetaData) -> None:
    Table(
        KAFKA_OFFSET_TABLE,
        metadata,
        Column("consumer_group", Name, primary_key=True),
        Column("topic", Name, primary_key=True),
        Column("partition", Integer, primary_key=True, autoincrement=False),
        Column("next_offset", BigInteger, nullable=False, comment="all before it is stored; where reading goes on"),
        Column("end_offset", BigInteger, comment="where the partition ended when it was last looked at"),
        Column("topic_id", Text, comment="Kafka's id of the topic: a topic made anew has another one"),
        Column("owner_epoch", BigInteger, nullable=False, comment="raised by each claim; an older one is fenced"),
        Column("owner", Text, nullable=False, comment="host, process and a random part of who claimed it last"),
        Column("claimed_at", Time, nullable=False, server_default=func.now()),
        Column("stored_at", Time, comment="when next_offset moved last"),
        Column("seen_at", Time, nullable=False, server_default=func.now(), comment="when the owner was last heard of"),
        comment="how far `lineagelog consume` is in each partition; moves in the transaction that stores the events",
        postgresql_with={"fillfactor": 50},
    )


def _analysis(metadata: MetaData) -> None:
    Table(
        ANALYSIS_CURSOR_TABLE,
        metadata,
        Column("analysis", Name, primary_key=True, comment="one that reads events"),
        Column(
            "arrival_xid", TransactionId(), nullable=False, comment="events of transactions before it were looked at"
        ),
        Column("updated_at", Time, nullable=False, server_default=func.now()),
        comment="how far each analysis that is recorded has read the events, in order of arrival",
    )


def _finding(metadata: MetaData) -> None:
    table = Table(
        FINDING_TABLE,
        metadata,
        Column("finding_id", Uuid, primary_key=True, comment="hash of analysis, subject, change and detail"),
        Column("analysis", Name, nullable=False),
        Column("question", Uuid, nullable=False, comment="of ol_recording: the one that found it last"),
        Column("subject_kind", Name, nullable=False, comment="job, dataset, column, test, …"),
        Column("subject_namespace", Name, nullable=False, comment="'' = none"),
        Column("subject_name", Name, nullable=False),
        Column("severity", Name, nullable=False, comment="low, medium, high or critical"),
        Column("status", Name, nullable=False, comment="OPEN or CLOSED; an open one that is muted is SUPPRESSED"),
        Column("first_seen", Time, nullable=False, comment="of what happened, as last_seen"),
        Column("last_seen", Time, nullable=False),
        Column("judged_to", Time, nullable=False, comment="the end of the latest window that found or closed it"),
        Column("closed_from", Time, comment="the start of the window that closed it"),
        Column("content", JSONB, nullable=False, comment="the finding as its analysis told it last"),
        Column("opened_at", Time, nullable=False, comment="when it was recorded first"),
        Column("recorded_at", Time, nullable=False, comment="when it was found last"),
        Column("closed_at", Time, comment="when a run of its analysis did not find it any more"),
        Column("reopened", Integer, nullable=False, server_default=text("0"), comment="how often it came back"),
        Column("reopened_at", Time),
        *_words("acknowledged"),
        *_words("muted"),
        Column("news", Name, comment="opened, reopened or closed: to be told to the webhook"),
        Column("news_at", Time, comment="since when"),
        Column("news_attempts", Integer, nullable=False, server_default=text("0")),
        Column("news_next", Time, comment="the next attempt, and until then it is one notifier's"),
        comment="what analyses found, each finding with all that became of it; kept by recorded runs",
    )
    Index("ol_finding_seen", table.c.last_seen, table.c.finding_id)
    Index("ol_finding_open", table.c.analysis, postgresql_where=text("status = 'OPEN'"))
    Index("ol_finding_closed", table.c.closed_at, postgresql_where=text("status = 'CLOSED'"))
    Index("ol_finding_news", table.c.news_next, postgresql_where=text("news IS NOT NULL"))


def _words(what: str) -> list[Column[Any]]:
    """What a person said of a finding."""
    return [
        Column(f"{what}_at", Time),
        Column(f"{what}_by", Text),
        Column(f"{what}_until", Time, comment="NULL = until somebody takes it back"),
        Column(f"{what}_why", Text),
    ]


def _recording(metadata: MetaData) -> None:
    Table(
        RECORDING_TABLE,
        metadata,
        Column("question", Uuid, primary_key=True, comment="hash of analysis and parameters"),
        Column("analysis", Name, nullable=False),
        Column("parameters", JSONB, nullable=False),
        Column("window_start", Time, nullable=False),
        Column("window_end", Time, nullable=False),
        Column("recorded_at", Time, nullable=False),
        Column("seconds", Double, nullable=False, comment="that it took"),
        Column("findings", Integer, nullable=False),
        Column("insufficient", Integer, nullable=False, comment="subjects with too little history to be judged"),
        comment="the last recorded run of each question that findings are kept of",
    )
