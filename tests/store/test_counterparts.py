"""LogStoreSchema has what Egeria's PostgresOpenLineageLogStoreSchema has, under the same names in our spelling."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy import select

from lineagelog.event.parse import parse
from lineagelog.read import Reader
from lineagelog.store import LogStore, LogStoreSchema
from lineagelog.store.definition import generate
from lineagelog.store.definition.schema import sql
from tests.support import encode, event

CONSTANTS = {
    "EVENT_TABLE": "ol_event",
    "RUN_TABLE": "ol_run",
    "RUN_DATASET_TABLE": "ol_run_dataset",
    "ASSERTION_TABLE": "ol_assertion",
    "TEST_TABLE": "ol_test",
    "INPUT_DIRECTION": "I",
    "OUTPUT_DIRECTION": "O",
}
STATEMENTS = (
    "getInsertEventSQL",
    "getUpsertRunSQL",
    "getUpsertRunDatasetSQL",
    "getInsertAssertionSQL",
    "getInsertTestSQL",
    "getRunsInWindowSQL",
    "getRunDatasetsInWindowSQL",
    "getAssertionsInWindowSQL",
    "getTestsInWindowSQL",
    "getEventSummaryInWindowSQL",
)
PARAMETERS = {
    "getUpsertRunSQL": "run_id job_namespace job_name status start_time end_time first_event_time last_event_time",
    "getUpsertRunDatasetSQL": "run_id direction dataset_namespace dataset_name event_time event_type row_count",
    "getInsertEventSQL": "event_time event_type run_id job_namespace job_name producer event_hash event",
    "getInsertAssertionSQL": "event_time run_id job_name dataset_name assertion column_name success severity",
    "getInsertTestSQL": "event_time run_id job_namespace job_name test_name status test_type severity",
}


def ours(name: str) -> str:
    """The name of a getter of Java's in our spelling."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removeprefix("get").removesuffix("SQL")).lower()


def test_constants() -> None:
    """The names of tables and the two directions are those that Egeria's own readers ask for."""
    assert {name: getattr(LogStoreSchema, name) for name in CONSTANTS} == CONSTANTS


@pytest.mark.parametrize("name", STATEMENTS)
def test_each_statement_has_its_counterpart(name: str) -> None:
    """It takes the parameters that the document names, and is the one in `sql/`, which is compared with the product."""
    statement: Any = getattr(LogStoreSchema("audit"), ours(name))()
    assert '"audit".ol_' in sql(statement) or "audit.ol_" in sql(statement)
    assert set(PARAMETERS.get(name, "").split()) <= set(statement.compile().params)
    assert any(f"-- {ours(name)}: " in content for content in generate.files().values())


def test_names_and_lists() -> None:
    """The schema's name, quoted tables, the statements that make the store and those that purge it."""
    schema = LogStoreSchema("a store")
    assert (schema.schema_name, schema.table("ol_run")) == ("a store", '"a store"."ol_run"')
    assert all("IF NOT EXISTS" in each for each in schema.ddl_statements() if each.startswith("CREATE TABLE"))
    assert {name for each in schema.purge() for name in each.compile().params} == {"cutoff"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("namespace", [None, "prod"])
def test_namespaces_are_stored_and_read_by_the_rules(store: LogStore, namespace: str | None) -> None:
    """A job without a namespace: what is stored and what is read is what the two functions of the class say."""
    body = event("r", job={"name": "j"} if namespace is None else {"namespace": namespace, "name": "j"})
    store.append([parse(encode(body))])
    run = store.schema.t("ol_run").c
    with store.engine.connect() as connection:
        stored = connection.execute(select(run.job_namespace)).scalar_one()
    details = Reader(store.database).run("r")
    assert stored == LogStoreSchema.to_stored_namespace(namespace)
    assert details is not None
    assert details.runs[0].job_namespace == LogStoreSchema.from_stored_namespace(stored) == namespace
