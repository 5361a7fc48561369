"""`lineage_from_sql` on the sets of `sql_queries` and `sql_statements`, on names, and on what is no SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.sdk import lineage_from_sql, lineage_run
from tests.specification import validate

from .sql_queries import QUERIES, Query
from .sql_statements import STATEMENTS, Statement

if TYPE_CHECKING:
    from .conftest import Memory

SPACED = ("Sales.Order Lines", "dbo.Top Orders")


def tables(text: str) -> set[str]:
    return {text} if text in SPACED else set(text.split())


def columns(datasets: list[dict[str, Any]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for dataset in datasets:
        for name, field in dataset.get("facets", {}).get("columnLineage", {}).get("fields", {}).items():
            found.setdefault(name, set()).update(f"{each['name']}.{each['field']}" for each in field["inputFields"])
    return found


def folded(query: Query, names: set[str]) -> set[str]:
    """Snowflake stores unquoted names in upper case."""
    return {name.upper() for name in names} if query.dialect == "snowflake" else names


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_a_query_of_the_set(query: Query) -> None:
    """Inputs, outputs and each column's sources are exactly the expected ones."""
    got = lineage_from_sql(query.sql, query.dialect, columns=query.known)
    assert got.errors == ()
    inputs = tables(query.inputs) if "@" in query.inputs else folded(query, tables(query.inputs))
    assert {dataset["name"] for dataset in got.inputs} == inputs
    assert {dataset["name"] for dataset in got.outputs} == folded(query, tables(query.outputs))
    told = columns(got.outputs)
    for column, sources in query.columns.items():
        expected = {source.replace("\0", " ") for source in sources.replace("Unit Price", "Unit\0Price").split()}
        name = column.upper() if query.dialect == "snowflake" else column
        assert told.get(name, set()) == folded(query, expected), column


def test_there_are_fifty_different_queries() -> None:
    """The set that the choice of the library rests on."""
    assert len({query.sql for query in QUERIES}) == len(QUERIES) == 50


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.name)
def test_a_statement_of_the_set(statement: Statement) -> None:
    """Tables and columns are the expected ones, and what is left out is said."""
    got = lineage_from_sql(statement.sql, statement.dialect, columns=statement.known)
    assert sorted(dataset["name"] for dataset in got.inputs) == sorted(statement.inputs)
    assert sorted(dataset["name"] for dataset in got.outputs) == sorted(statement.outputs)
    told = {dataset["name"]: columns([dataset]) for dataset in got.outputs}
    for output, expected in statement.columns.items():
        assert told[output] == {name: set(sources.split()) for name, sources in expected.items()}
    if statement.told is None:
        assert got.errors == ()
    for word in statement.told or ():
        assert any(word in error for error in got.errors), got.errors


def test_statements_are_many_and_their_names_differ() -> None:
    """A name is said once, so that a failure names its statement."""
    assert len({statement.name for statement in STATEMENTS}) == len(STATEMENTS) > 60


def test_a_file_is_in_no_database() -> None:
    """`database` and `default_schema` are put before tables, not before files and stages."""
    got = lineage_from_sql(
        "COPY INTO t FROM @stage/x; COPY INTO 's3://b/out' FROM t", "snowflake", database="dwh", default_schema="PUBLIC"
    )
    assert [each["name"] for each in got.inputs] == ["@stage/x"]
    assert [each["name"] for each in got.outputs] == ["dwh/PUBLIC.T", "s3://b/out"]


def test_credentials_of_a_statement_are_not_told(caplog: pytest.LogCaptureFixture) -> None:
    """Neither in the errors nor by sqlglot in the log of the job."""
    got = lineage_from_sql("UNLOAD broken TO 's3://b' CREDENTIALS 'aws_secret_access_key=Hush'", "redshift")
    assert got.errors
    assert "Hush" not in caplog.text + "".join(got.errors)


def test_how_a_column_is_used() -> None:
    """Each source says whether it is passed on, computed with or aggregated, through the subqueries."""
    got = lineage_from_sql(
        """CREATE TABLE t AS SELECT s.id, s.total, s.up FROM
           (SELECT id, sum(amount) AS total, upper(name) AS up FROM orders GROUP BY id) s""",
        "postgres",
    )
    fields = got.outputs[0]["facets"]["columnLineage"]["fields"]
    assert {name: field["inputFields"][0]["transformations"] for name, field in fields.items()} == {
        "id": [{"type": "DIRECT", "subtype": "IDENTITY"}],
        "total": [{"type": "DIRECT", "subtype": "AGGREGATION"}],
        "up": [{"type": "DIRECT", "subtype": "TRANSFORMATION"}],
    }


def test_names_and_namespaces() -> None:
    """`database`, `default_schema` and `namespace` make the names that a run's other datasets have."""
    got = lineage_from_sql(
        "INSERT INTO orders SELECT id FROM raw.orders",
        "postgres",
        namespace="postgres://db:5432",
        database="dwh",
        default_schema="public",
    )
    assert got.inputs == [{"namespace": "postgres://db:5432", "name": "dwh/raw.orders"}]
    assert got.outputs[0]["name"] == "dwh/public.orders"
    source = got.outputs[0]["facets"]["columnLineage"]["fields"]["id"]["inputFields"][0]
    assert (source["namespace"], source["name"], source["field"]) == ("postgres://db:5432", "dwh/raw.orders", "id")


@pytest.mark.parametrize(
    ("dialect", "stored"),
    [("postgres", "orders"), ("snowflake", "ORDERS"), ("PostgreSQL", "orders"), ("tsql", "Orders"), (None, "Orders")],
)
def test_names_are_as_the_database_stores_them(dialect: str | None, stored: str) -> None:
    """Unquoted names are folded as the dialect folds them; without a dialect they stay as written."""
    assert lineage_from_sql("SELECT 1 FROM Orders o", dialect).inputs == [{"name": stored}]


@pytest.mark.parametrize(
    "text", ["SELEC id FORM t", "", ";;", "SELECT (((", "GRANT ALL ON t TO x", "-- only a comment"]
)
def test_what_is_no_lineage_harms_nothing(text: str) -> None:
    """Errors are told, never raised."""
    got = lineage_from_sql(text, "postgres")
    assert got.outputs == []


def test_one_table_in_two_spellings_is_one() -> None:
    """Where case does not count, the first spelling names the table and its columns."""
    got = lineage_from_sql("INSERT INTO T SELECT o.Id FROM Orders o JOIN ORDERS p ON O.ID = p.id", "tsql")
    assert got.inputs == [{"name": "Orders"}]
    assert columns(got.outputs) == {"Id": {"Orders.Id"}}


def test_the_spelling_of_a_table_is_not_that_of_an_alias_or_a_column() -> None:
    """Nor the other way round."""
    got = lineage_from_sql("INSERT INTO T (ORDERS) SELECT ORDERS.id FROM orders AS ORDERS", "tsql")
    assert got.inputs == [{"name": "orders"}]
    assert columns(got.outputs) == {"ORDERS": {"orders.id"}}


def test_values_are_read_row_by_row() -> None:
    """A subquery among the values is a source of its column only."""
    got = lineage_from_sql("INSERT INTO t (a, b) VALUES (1, 2), (3, (SELECT max(s.x) FROM s))", "postgres")
    assert got.inputs == [{"name": "s"}]
    assert columns(got.outputs) == {"b": {"s.x"}}
    assert lineage_from_sql("INSERT INTO t (a) VALUES (1)", "postgres").outputs == [{"name": "t"}]


def test_an_alias_in_the_from_clause_names_the_target_of_an_update() -> None:
    """SQL Server's form: the table is written, the alias is none."""
    got = lineage_from_sql("UPDATE o SET o.Total = i.Sum FROM dbo.Orders o JOIN dbo.Items i ON i.Id = o.Id", "tsql")
    assert (got.inputs, [each["name"] for each in got.outputs]) == ([{"name": "dbo.Items"}], ["dbo.Orders"])
    assert columns(got.outputs) == {"Total": {"dbo.Items.Sum"}}


def test_several_columns_set_at_once_and_on_conflict() -> None:
    """`SET (a, b) = (SELECT …)`, and what an insert does instead where the row is there."""
    got = lineage_from_sql("UPDATE t SET (a, b) = (SELECT x, y FROM s WHERE s.id = t.id)", "postgres")
    assert columns(got.outputs) == {"a": {"s.x"}, "b": {"s.y"}}
    got = lineage_from_sql(
        "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET n = t.n + 1, a = EXCLUDED.a", "postgres"
    )
    assert columns(got.outputs) == {"n": {"t.n"}}


def test_an_unknown_dialect_is_told() -> None:
    """One line names it."""
    assert "klingon" in lineage_from_sql("SELECT 1", "klingon").errors[0]


def test_a_run_takes_it_as_it_is(memory: Memory) -> None:
    """Inputs and outputs go into `lineage_run`; the namespace is filled in, for the columns' sources too."""
    sql = lineage_from_sql("INSERT INTO t (x) SELECT a + b FROM s", "postgres", database="dwh")
    with lineage_run("job", inputs=sql.inputs, outputs=sql.outputs, dataset_namespace="ns"):
        pass
    for event in memory.events:
        validate(event)
    fields = memory.events[1]["outputs"][0]["facets"]["columnLineage"]["fields"]["x"]["inputFields"]
    assert [(field["namespace"], field["name"], field["field"]) for field in fields] == [
        ("ns", "dwh/s", "a"),
        ("ns", "dwh/s", "b"),
    ]


def test_columns_that_cannot_be_told_are_left_out() -> None:
    """`SELECT *` of an unknown table: tables, no columns, no error."""
    got = lineage_from_sql("INSERT INTO t SELECT * FROM s", "postgres")
    assert (got.inputs, got.outputs, got.errors) == ([{"name": "s"}], [{"name": "t"}], ())
