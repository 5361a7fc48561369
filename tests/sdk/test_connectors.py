"""Schemas from real engines, connections, frames and files, without harm to the job's own connection."""

from __future__ import annotations

import sqlite3
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy

from lineagelog import sdk
from lineagelog.sdk import column_lineage_facet, connectors, lineage_run, schema_facet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Memory


def told(memory: Memory, connector: Any, *, inputs: Any = (), outputs: Any = ()) -> dict[str, list[tuple[str, str]]]:
    """The schemas that COMPLETE has, by dataset; START has none of them."""
    memory.clear()
    with lineage_run("job", inputs=list(inputs), outputs=list(outputs), connector=connector):
        pass
    start, complete = memory.events
    assert all("schema" not in dataset["facets"] for dataset in start["inputs"] + start["outputs"])
    return {
        dataset["name"]: [(field["name"], field.get("type")) for field in dataset["facets"]["schema"]["fields"]]
        for dataset in complete["inputs"] + complete["outputs"]
        if "schema" in dataset["facets"]
    }


class Asked:
    """A connector that answers from a dict and remembers what it was asked."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers, self.asked = answers, []

    def get_table_schema(self, table: str) -> Any:
        self.asked.append(table)
        answer = self.answers[table]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize(
    "answer",
    [
        [("id", "INT"), ("name", "TEXT")],
        [("id", "INT", "NOT NULL"), ["name", "TEXT"]],
        [{"name": "id", "type": "INT"}, {"name": "name", "type": "TEXT"}],
        [{"column_name": "id", "data_type": "INT"}, {"column_name": "name", "data_type": "TEXT"}],
        {"id": "INT", "name": "TEXT"},
        {"fields": [{"name": "id", "type": "INT"}, {"name": "name", "type": "TEXT"}]},
        {"columns": [("id", "INT"), ("name", "TEXT")]},
        [SimpleNamespace(name="id", type="INT"), SimpleNamespace(name="name", dtype="TEXT")],
        (pair for pair in [("id", "INT"), ("name", "TEXT")]),
    ],
    ids=["pairs", "triples", "dicts", "information schema", "mapping", "fields", "columns", "objects", "generator"],
)
def test_all_forms_of_a_schema_are_read(memory: Memory, answer: Any) -> None:
    """Whatever `get_table_schema` returns."""
    assert told(memory, Asked({"t": answer}), outputs=["db/t"]) == {"db/t": [("id", "INT"), ("name", "TEXT")]}


def test_the_table_is_asked_for_by_what_follows_the_first_slash(memory: Memory) -> None:
    """And by the whole name where there is none; once, though it is input and output."""
    connector = Asked({"t": [("a", "x")], "schema/t": [("b", "x")], "plain": [("c", "x")]})
    found = told(memory, connector, inputs=["db/t", "db/schema/t", "plain"], outputs=["db/t"])
    assert connector.asked == ["t", "schema/t", "plain"]
    assert found == {"db/t": [("a", "x")], "db/schema/t": [("b", "x")], "plain": [("c", "x")]}


def test_a_failing_look_up_leaves_its_dataset(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    """One table fails, one has no columns, one is unknown (None): each stays as it is, the others get theirs."""
    connector = Asked({"bad": RuntimeError("no such table"), "empty": [], "none": None, "good": [("a", "x")]})
    found = told(memory, connector, outputs=["db/bad", "db/empty", "db/none", "db/good"])
    assert found == {"db/good": [("a", "x")]}
    assert "the schema of 'bad' cannot be looked up: RuntimeError: no such table" in caplog.text


def test_existing_facets_are_kept(memory: Memory) -> None:
    """A declared schema is not replaced, a declared column lineage gains the schema."""
    connector = Asked({"a": [("x", "int")], "b": [("y", "int")]})
    with lineage_run(
        "job",
        outputs=[
            schema_facet("db/a", [("mine", "text")]),
            column_lineage_facet("db/b", {"y": {"source": "db/c", "field": "z"}}),
        ],
        connector=connector,
    ):
        pass
    first, second = memory.events[1]["outputs"]
    assert first["facets"]["schema"]["fields"] == [{"name": "mine", "type": "text"}]
    assert second["facets"]["schema"]["fields"] == [{"name": "y", "type": "int"}]
    assert "columnLineage" in second["facets"]
    assert connector.asked == ["b"]


def test_a_dict_routes_by_prefix_or_name(memory: Memory) -> None:
    """Prefix → connector; the whole name goes first; no match leaves the dataset."""
    one, two = Asked({"t": [("one", "x")]}), Asked({"t": [("two", "x")], "special": [("s", "x")]})
    found = told(
        memory, {"a": one, "b": two, "a/special": two}, inputs=["a/t", "b/t", "c/t", "t"], outputs=["a/special"]
    )
    assert found == {"a/t": [("one", "x")], "b/t": [("two", "x")], "a/special": [("s", "x")]}


@pytest.mark.parametrize("body", [ValueError, KeyboardInterrupt])
def test_only_complete_looks_up(memory: Memory, body: type[BaseException]) -> None:
    """A failed run does not touch the connection."""
    connector = Asked({})
    with pytest.raises(body), lineage_run("job", outputs=["a/b"], connector=connector):
        raise body
    assert connector.asked == []


def test_slow_look_ups_are_bounded(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    """After the time-out no further look-up is begun."""

    class Slow(Asked):
        def get_table_schema(self, table: str) -> Any:
            time.sleep(0.06)
            return super().get_table_schema(table)

    sdk.configure(sdk.delivery.emitter.emitter().client, lookup_timeout=0.1)
    connector = Slow({f"t{number}": [("a", "x")] for number in range(20)})
    told(memory, connector, outputs=[f"db/t{number}" for number in range(20)])
    assert len(connector.asked) <= 3
    assert "takes too long" in caplog.text


@pytest.mark.parametrize("connector", [object(), 5, {"a": object()}, {"a": None}, [], b"x"])
def test_what_is_no_connector_is_logged(memory: Memory, connector: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Anything else as `connector=` costs a warning."""
    assert told(memory, connector, outputs=["a/b"]) == {}


# --- databases ------------------------------------------------------------------------------------------------------


def sql_tables(execute: Callable[[str], Any]) -> None:
    execute("CREATE TABLE titanic (passengerid INTEGER, name VARCHAR(40), fare NUMERIC(8, 2))")
    execute('CREATE TABLE "Mixed Case" (a INTEGER)')


def test_a_sqlite_connection(memory: Memory) -> None:
    """DB-API: the standard library's."""
    connection = sqlite3.connect(":memory:")
    sql_tables(connection.execute)
    found = told(memory, connection, outputs=["db/titanic", "db/Mixed Case", "db/missing", "db/main.titanic"])
    connection.close()
    titanic = [("passengerid", "INTEGER"), ("name", "VARCHAR(40)"), ("fare", "NUMERIC(8, 2)")]
    assert found == {"db/titanic": titanic, "db/Mixed Case": [("a", "INTEGER")], "db/main.titanic": titanic}


def test_a_psycopg_connection_is_left_as_it_was(memory: Memory, database_url: str) -> None:
    """PostgreSQL: a missing table does not spoil the open transaction, an idle connection stays idle."""
    dsn = database_url.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(dsn) as connection:
        sql_tables(connection.execute)
        found = told(
            memory, connection, outputs=["db/titanic", "db/Mixed Case", "db/TITANIC", "db/no", "db/public.titanic"]
        )
        titanic = [("passengerid", "integer"), ("name", "character varying(40)"), ("fare", "numeric(8,2)")]
        assert found == {
            "db/titanic": titanic,
            "db/TITANIC": titanic,
            "db/public.titanic": titanic,
            "db/Mixed Case": [("a", "integer")],
        }
        assert connection.info.transaction_status.name == "INTRANS"
        connection.commit()  # what the job wrote before is not lost
        assert told(memory, connection, outputs=["db/titanic"]) == {"db/titanic": titanic}
        assert connection.info.transaction_status.name == "IDLE"


def test_a_transaction_that_has_failed_is_left(memory: Memory, database_url: str) -> None:
    """The job swallowed a database error: the look-up fails, the run is complete all the same."""
    dsn = database_url.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(dsn) as connection:
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT * FROM missing")
        assert told(memory, connection, outputs=["db/titanic"]) == {}
        assert memory.types() == ["START", "COMPLETE"]
        assert connection.info.transaction_status.name == "INERROR"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_sqlalchemy(memory: Memory, kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """An engine, and a connection, which is left outside of a transaction if it was, and inside if it was."""
    postgres = kind == "postgresql"
    url = request.getfixturevalue("database_url") if postgres else f"sqlite:///{tmp_path / 'x.db'}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        sql_tables(lambda statement: connection.execute(sqlalchemy.text(statement)))
    schema = "public" if postgres else "main"
    expected = [("passengerid", "INTEGER"), ("name", "VARCHAR(40)"), ("fare", "NUMERIC(8, 2)")]
    names = ["db/titanic", f"db/{schema}.titanic", "db/missing"]
    for bind in (engine, connectors.SqlAlchemySchemas(engine, schema)):
        assert told(memory, bind, outputs=names) == {names[0]: expected, names[1]: expected}
    with engine.connect() as connection:
        assert told(memory, connection, outputs=names) == {names[0]: expected, names[1]: expected}
        assert not connection.in_transaction()
        connection.execute(sqlalchemy.text("INSERT INTO titanic VALUES (1, 'x', 2)"))
        assert told(memory, connection, outputs=names[:1]) == {names[0]: expected}
        assert connection.in_transaction()
        connection.commit()
        assert connection.execute(sqlalchemy.text("SELECT count(*) FROM titanic")).scalar() == 1
    engine.dispose()


# --- frames and files -----------------------------------------------------------------------------------------------

COLUMNS = {"id": [1, 2], "name": ["a", "b"]}


@pytest.mark.parametrize(
    ("frame", "types"),
    [
        (pd.DataFrame({"id": [1, 2], "score": [0.5, 1.5]}), [("id", "int64"), ("score", "float64")]),
        (pl.DataFrame(COLUMNS), [("id", "Int64"), ("name", "String")]),
        (pl.DataFrame(COLUMNS).lazy(), [("id", "Int64"), ("name", "String")]),
        (pa.table(COLUMNS), [("id", "int64"), ("name", "string")]),
    ],
    ids=["pandas", "polars", "polars lazy", "arrow"],
)
@pytest.mark.filterwarnings("ignore::polars.exceptions.PerformanceWarning")
def test_frames(memory: Memory, frame: Any, types: list[tuple[str, str]]) -> None:
    """A frame alone is what was written; in a dict it belongs to a dataset."""
    assert told(memory, frame, inputs=["db/in"], outputs=["db/out"]) == {"db/out": types}
    assert told(memory, frame, inputs=["db/in"]) == {"db/in": types}
    assert told(memory, {"db/in": frame}, inputs=["db/in"], outputs=["db/out"]) == {"db/in": types}


def test_files(memory: Memory, tmp_path: Path) -> None:
    """A Parquet or CSV file, a folder of files by name, a folder that is one Parquet dataset."""
    pq.write_table(pa.table(COLUMNS), tmp_path / "orders.parquet")
    (tmp_path / "people.csv").write_text("\ufeffid,name\n1,x\n", encoding="utf-8")
    (tmp_path / "wide.tsv").write_text("a\tb\n")
    (tmp_path / "parts" / "day=1").mkdir(parents=True)
    pq.write_table(pa.table(COLUMNS), tmp_path / "parts" / "day=1" / "0.parquet")
    types = [("id", "int64"), ("name", "string")]
    assert told(memory, tmp_path / "orders.parquet", outputs=["lake/orders"]) == {"lake/orders": types}
    assert told(memory, str(tmp_path / "people.csv"), outputs=["x"]) == {"x": [("id", None), ("name", None)]}
    assert told(memory, tmp_path, inputs=["lake/orders", "lake/people.csv", "lake/none"], outputs=["lake/wide"]) == {
        "lake/orders": types,
        "lake/people.csv": [("id", None), ("name", None)],
        "lake/wide": [("a", None), ("b", None)],
    }
    assert told(memory, {"lake": tmp_path / "parts"}, outputs=["lake/x"]) == {"lake/x": types}
    assert told(memory, tmp_path / "missing.parquet", outputs=["lake/x"]) == {}


def test_nothing_heavy_is_imported_unless_given(tmp_path: Path) -> None:
    """`import lineagelog.sdk` and a run with a plain connector load none of the libraries behind the connectors."""
    import subprocess
    import sys

    code = """
import sqlite3, sys
from lineagelog.sdk import lineage_run
with lineage_run("job", outputs=["a/b"], connector=sqlite3.connect(":memory:")): pass
print([name for name in ("pandas", "polars", "pyarrow", "pyspark", "sqlalchemy", "sqlglot") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
