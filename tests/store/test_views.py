"""The views: what a run, its datasets, its results and its edges are for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineagelog.event.canonical import name_key
from lineagelog.event.parse import parse
from lineagelog.store import Database, LogStore, open_engine
from lineagelog.store.definition import views
from tests.analysis.support import between, dataset, day, execution, load, run, run_id_of
from tests.support import EXAMPLES, connect, event

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg


@pytest.fixture
def sql(store_url: str) -> Iterator[psycopg.Connection]:
    """A plain connection to the store, as psql has it."""
    with connect(store_url) as connection:
        connection.execute("SET search_path TO openlineage")
        yield connection


def rows(sql: psycopg.Connection, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """What a query gives."""
    return sql.execute(query.encode(), values).fetchall()


PIPELINE = [
    ("Read", [dataset("source", columns={"a": "int"})], [dataset(between("Read"), feeds={"a": [("source", "a")]})]),
    ("Map", [dataset(between("Read"))], [dataset(between("Map"), feeds={"b": [(between("Read"), "a")]})]),
    ("Write", [dataset(between("Map"))], [dataset("target", feeds={"c": [(between("Map"), "b")]})]),
]


def test_a_run_is_an_execution_and_a_pipeline_is_one(store: LogStore, sql: psycopg.Connection) -> None:
    """Its Snaps together, from table to table and from column to column; what flows in between is left out."""
    load(store, run("job", day(1), [dataset("a")], [dataset("b")]), execution("pipeline", day(2), PIPELINE))
    assert rows(
        sql, "SELECT job_namespace, job_name, outcome, runs, is_pipeline FROM v_ol_execution ORDER BY first_event_time"
    ) == [("tests", "job", "COMPLETE", 1, False), ("SnapLogic", "pipeline", "COMPLETE", 3, True)]
    assert rows(
        sql, "SELECT job_name, direction, dataset_name FROM v_ol_execution_dataset ORDER BY executed_at, direction"
    ) == [("job", "I", "a"), ("job", "O", "b"), ("pipeline", "I", "source"), ("pipeline", "O", "target")]
    assert rows(sql, "SELECT job_name, from_name, to_name FROM v_ol_dataset_edge ORDER BY executed_at") == [
        ("job", "a", "b"),
        ("pipeline", "source", "target"),
    ]
    assert rows(sql, "SELECT from_name, from_column, to_name, to_column FROM v_ol_column_edge") == [
        ("source", "a", "target", "c")
    ]


def test_an_execution_begins_with_its_first_snap(store: LogStore, sql: psycopg.Connection) -> None:
    """A window has it whole or not at all; the worst Snap is its outcome."""
    early, *rest = execution("pipeline", day(1), PIPELINE)
    late = [each | {"eventTime": day(3).isoformat()} for each in rest]
    late[-1] |= {"eventType": "FAIL"}
    load(store, [early], late)
    inside = "SELECT runs, outcome FROM ol_execution(%s, %s)"
    assert rows(sql, inside, day(0), day(2)) == [(3, "FAIL")]
    assert rows(sql, inside, day(2), day(4)) == []
    assert rows(sql, "SELECT to_name FROM ol_dataset_edge(%s, %s)", day(0), day(2)) == [("target",)]
    assert rows(sql, "SELECT to_name FROM ol_dataset_edge(%s, %s)", day(2), day(4)) == []


def test_keys_are_those_of_the_digest(store: LogStore, sql: psycopg.Connection) -> None:
    """ol_key gives what the writer computes, in UTF-8 and for a missing part too."""
    for parts in (("ns", "näme"), ("", "x"), ("r", "ns", "job"), ("a", None)):
        assert rows(sql, "SELECT ol_key(VARIADIC %s::text[])", list(parts)) == [(UUID(bytes=name_key(*parts)),)]
    load(store, run("job", day(1), [], []))
    assert rows(
        sql, "SELECT execution_key = ol_key(%s, 'tests', 'job') FROM v_ol_execution", run_id_of("job", day(1))
    ) == [(True,)]


results = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["not_null", "unique"]), st.sampled_from([True, False, None])),
    max_size=8,
)


@settings(max_examples=EXAMPLES)
@given(reports=results)
def test_a_result_is_the_last_report(store: LogStore, reports: list[tuple[int, str, bool | None]]) -> None:
    """Of each assertion; at one time a pass beats a failure beats no answer: the same in whatever order they arrive."""
    with store.engine.begin() as connection:
        connection.exec_driver_sql("SET LOCAL search_path TO openlineage")
        connection.exec_driver_sql("TRUNCATE ol_event, ol_run, ol_run_dataset, ol_assertion")
    store.forget()
    expected: dict[str, tuple[int, int]] = {}
    for number, (hour, name, success) in enumerate(reports):
        facet = {"assertions": [{"assertion": name, "success": success}]}
        table = {"namespace": "n", "name": "t", "inputFacets": {"dataQualityAssertions": facet}}
        body = event(eventTime=f"2026-03-01T{hour:02}:00:00Z", inputs=[table], number=number)
        store.append([parse(orjson.dumps(body))])
        value = -1 if success is None else int(success)
        expected[name] = max(expected.get(name, (-1, -1)), (hour, value))
    with store.engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT type, success FROM openlineage.v_ol_result").fetchall()
    assert {name: -1 if success is None else int(success) for name, success in found} == {
        name: value for name, (_, value) in expected.items()
    }
    assert len(found) == len(expected)


def test_views_are_renewed_with_the_product_and_else_left_alone(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """init makes them once; another text makes them anew; rights on ol_run are given on."""
    engine = open_engine(database_url)
    store = LogStore(Database(engine))
    store.create()
    with connect(database_url, autocommit=True) as connection:
        first = connection.execute("SELECT xmin FROM pg_class WHERE relname = 'v_ol_execution'").fetchone()
        store.create()
        assert connection.execute("SELECT xmin FROM pg_class WHERE relname = 'v_ol_execution'").fetchone() == first
        connection.execute("CREATE ROLE view_reader")
        try:
            connection.execute("GRANT USAGE ON SCHEMA openlineage TO view_reader")
            connection.execute("GRANT SELECT ON openlineage.ol_run TO view_reader")
            monkeypatch.setattr(views, "version", lambda: "another")
            store.create()
            connection.execute("SET ROLE view_reader")
            assert connection.execute("SELECT count(*) FROM openlineage.v_ol_execution").fetchone() == (0,)
        finally:
            connection.execute("RESET ROLE")
            connection.execute("DROP OWNED BY view_reader")
            connection.execute("DROP ROLE view_reader")
    engine.dispose()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM v_ol_execution WHERE first_event_time >= '2026-03-01' AND first_event_time < '2026-03-02'",
        "SELECT * FROM ol_execution('2026-03-01', '2026-03-02')",
        "SELECT * FROM ol_execution_dataset('2026-03-01', '2026-03-02')",
        "SELECT * FROM ol_dataset_edge('2026-03-01', '2026-03-02')",
        "SELECT * FROM ol_column_edge('2026-03-01', '2026-03-02')",
    ],
)
def test_a_window_reaches_the_index(sql: psycopg.Connection, query: str) -> None:
    """Functions and views are inlined: no function scan, and the times stand in an index condition."""
    sql.execute("SET enable_seqscan = off")
    plan = "\n".join(row[0] for row in rows(sql, f"EXPLAIN {query}"))
    assert "Function Scan on ol_" not in plan.replace("Function Scan on ol_identity", "")  # it says that it is not
    assert any("Index Cond" in line and "2026-03-01" in line for line in plan.splitlines()), plan


@pytest.mark.parametrize(
    "query",
    [
        "SELECT from_name, to_name FROM ol_dataset_edge('2026-03-01', '2026-03-02')",
        "SELECT to_column, from_column FROM ol_column_edge('2026-03-01', '2026-03-02')",
        "SELECT row_count FROM ol_execution_dataset('2026-03-01', '2026-03-02') WHERE NOT is_pipeline",
    ],
)
def test_identity_costs_nothing_where_nobody_asks(sql: psycopg.Connection, query: str) -> None:
    """It is one row a name, so that PostgreSQL knows that the join adds no rows, and leaves it out."""
    assert "ol_identity" not in "\n".join(row[0] for row in rows(sql, f"EXPLAIN {query}"))
