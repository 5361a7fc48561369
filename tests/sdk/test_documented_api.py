"""Every example of the page that documents the API, run as it stands but for the import, on SQLite and PostgreSQL.

The page is not part of the repository; the data platform's own module `forepaas.dwh` is played by a few lines on a real
database.
"""

from __future__ import annotations

import re
import sys
import textwrap
import types
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import sqlalchemy

from lineagelog import sdk
from tests.specification import validate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .conftest import Memory

TABLES = {
    "titanic": {
        "passengerid": [1, 2, 3],
        "survived": [0, 1, 1],
        "name": ["Braund", "Cumings", "Heikkinen"],
        "sex": ["m", "f", "f"],
        "age": [22.0, 38.0, 26.0],
        "pclass": [3, 1, 3],
        "fare": [7.25, 71.28, 7.92],
        "embarked": ["S", "C", "S"],
    },
    "chicago_calendar_full": {"passengerid": [1, 2], "humidity": [0.4, 0.5], "temperature": [21.0, 23.5]},
    "raw_orders": {"order_id": [1, 2], "customer_id": [7, 8], "amount": [9.5, 3.0]},
    "customers": {"customer_id": [7, 8], "city": ["Lyon", "Gdynia"]},
}


class Connector:
    """The platform's connector: queries as data frames, and the schema of a table."""

    def __init__(self, engine: sqlalchemy.Engine) -> None:
        self.engine = engine
        self.asked: list[str] = []

    def query(self, statement: str) -> pd.DataFrame | None:
        with self.engine.begin() as connection:
            result = connection.execute(sqlalchemy.text(statement))
            return pd.DataFrame(result.mappings().all()) if result.returns_rows else None

    def get_table_schema(self, table: str) -> list[tuple[str, str]]:
        self.asked.append(table)
        columns = sqlalchemy.inspect(self.engine).get_columns(table)
        return [(column["name"], str(column["type"])) for column in columns]


def bulk_insert(connector: Connector, table: str, frame: pd.DataFrame) -> None:
    frame.to_sql(table, connector.engine, if_exists="replace", index=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def platform(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[dict[str, Connector]]:
    """The module `forepaas.dwh`, its databases made of the tables above; gives the connectors by database."""
    sqlite = request.param == "sqlite"
    engine = sqlalchemy.create_engine(
        f"sqlite:///{tmp_path / 'dwh.db'}" if sqlite else request.getfixturevalue("database_url")
    )
    for name, columns in TABLES.items():
        pd.DataFrame(columns).to_sql(name, engine, index=False)
    connectors = {name: Connector(engine) for name in ("default_dataset", "analytics_dataset")}
    package, dwh = types.ModuleType("forepaas"), types.ModuleType("forepaas.dwh")
    dwh.connect = lambda path: connectors[path.strip("/").split("/")[1]]  # type: ignore[attr-defined]
    dwh.bulk_insert = bulk_insert  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "forepaas", package)
    monkeypatch.setitem(sys.modules, "forepaas.dwh", dwh)
    yield connectors
    engine.dispose()


@pytest.fixture(scope="module")
def examples(shared_dir: Path) -> list[str]:
    """The Python blocks of the page, the import changed."""
    page = shared_dir / "source-documents" / "ovh-lineage-sdk.txt"
    if not page.exists():
        pytest.skip(f"the shared data has no {page.name}")
    blocks = re.findall(r"^ *```python\n(.*?)^ *```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block).replace("forepaas.dwh.lineage", "lineagelog.sdk") for block in blocks]


def jobs(examples: list[str]) -> dict[str, str]:
    """The complete examples, by the name of their job; two are the same job, with and without connector."""
    found = {}
    for block in examples:
        if match := re.search(r'lineage_run\("(\w+)"', block):
            found.setdefault(match[1] + (" with connector" if "connector=" in block else ""), block)
    return found


def run(block: str) -> None:
    namespace: dict[str, Any] = {}
    exec(compile(block, "<page>", "exec"), namespace)
    namespace["my_custom"]({})


def names(datasets: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(dataset["namespace"], dataset["name"]) for dataset in datasets]


def columns(dataset: dict[str, Any]) -> list[str] | None:
    schema = dataset["facets"].get("schema")
    return [field["name"] for field in schema["fields"]] if schema else None


EXPECTED: dict[str, tuple[list[str], list[str]]] = {
    "custom_titanic_transform": (["default_dataset/titanic"], ["default_dataset/titanic_survivors"]),
    "custom_titanic_newcolumns": (["default_dataset/titanic"], ["default_dataset/titanic"]),
    "custom_titanic_newcolumns with connector": (["default_dataset/titanic"], ["default_dataset/titanic"]),
    "enrich_orders with connector": (
        ["default_dataset/raw_orders", "default_dataset/customers"],
        ["analytics_dataset/enriched_orders"],
    ),
    "test_with_join with connector": (
        ["default_dataset/titanic", "default_dataset/chicago_calendar_full"],
        ["default_dataset/titanic_enriched"],
    ),
    "my_job": (["default_dataset/source"], ["default_dataset/target"]),
}


def test_the_page_has_the_examples_that_are_tested(examples: list[str]) -> None:
    """A page with further examples is seen here."""
    assert sorted(jobs(examples)) == sorted(EXPECTED)
    assert sum("def my_custom" in block for block in examples) == 8


@pytest.mark.parametrize("job", EXPECTED)
def test_an_example_tells_its_lineage(
    job: str,
    examples: list[str],
    platform: dict[str, Connector],
    memory: Memory,
) -> None:
    """START and COMPLETE with the declared datasets in the configured namespace."""
    sdk.configure(sdk.delivery.emitter.emitter().client, dataset_namespace="dwh://platform")
    run(jobs(examples)[job])
    inputs, outputs = EXPECTED[job]
    assert memory.types() == ["START", "COMPLETE"]
    for event in memory.events:
        validate(event)
        assert event["job"]["name"] == job.split()[0]
        assert names(event["inputs"]) == [("dwh://platform", name) for name in inputs]
        assert names(event["outputs"]) == [("dwh://platform", name) for name in outputs]


def test_every_block_runs(examples: list[str], platform: dict[str, Connector], memory: Memory) -> None:
    """All of the page's blocks, the fragments too; no run fails."""
    for block in examples:
        namespace = {name: getattr(sdk, name) for name in sdk.__all__}
        exec(compile(block, "<page>", "exec"), namespace)
        if "my_custom" in namespace:
            namespace["my_custom"]({})
    assert memory.types() == ["START", "COMPLETE"] * 8


def test_the_connector_adds_schemas_at_the_end_only(
    examples: list[str], platform: dict[str, Connector], memory: Memory
) -> None:
    """Example 3: COMPLETE has the columns, the new ones too; START has none; the table is asked for by its own name."""
    run(jobs(examples)["custom_titanic_newcolumns with connector"])
    start, complete = memory.events
    assert columns(start["inputs"][0]) is columns(start["outputs"][0]) is None
    assert columns(complete["outputs"][0]) == [*TABLES["titanic"], "newsurvived", "newclass"]
    assert set(platform["default_dataset"].asked) == {"titanic"}


def test_each_table_goes_to_the_connector_of_its_database(
    examples: list[str], platform: dict[str, Connector], memory: Memory
) -> None:
    """Example 4."""
    run(jobs(examples)["enrich_orders with connector"])
    assert platform["default_dataset"].asked == ["raw_orders", "customers"]
    assert platform["analytics_dataset"].asked == ["enriched_orders"]
    complete = memory.events[1]
    assert [columns(dataset) for dataset in complete["inputs"]] == [
        ["order_id", "customer_id", "amount"],
        ["customer_id", "city"],
    ]
    assert columns(complete["outputs"][0]) == ["order_id", "customer_id", "amount", "city"]


def test_declared_schemas_are_in_both_events(
    examples: list[str], platform: dict[str, Connector], memory: Memory
) -> None:
    """Example 5."""
    block = next(block for block in examples if "schema_facet(" in block and "my_custom" in block)
    run(block)
    for event in memory.events:
        assert event["inputs"][0]["facets"]["schema"]["fields"][:2] == [
            {"name": "passengerid", "type": "Integer"},
            {"name": "survived", "type": "Integer"},
        ]
        assert columns(event["outputs"][0])[-1:] == ["embarked"]  # type: ignore[index]


def test_column_lineage_keeps_and_the_schema_is_added(
    examples: list[str], platform: dict[str, Connector], memory: Memory
) -> None:
    """Example 6: the declared facet stays, the connector adds the schema, the sources have a namespace."""
    run(jobs(examples)["test_with_join with connector"])
    output = memory.events[1]["outputs"][0]
    assert columns(output) == ["passengerid", "name", "humidity", "temperature"]
    fields = output["facets"]["columnLineage"]["fields"]
    assert fields["humidity"]["inputFields"] == [
        {
            "namespace": "default",
            "name": "default_dataset/chicago_calendar_full",
            "field": "humidity",
            "transformations": [{"type": "DIRECT", "description": "JOIN"}],
        }
    ]
    assert fields["name"]["inputFields"] == [
        {"namespace": "default", "name": "default_dataset/titanic", "field": "name"}
    ]
    assert "schema" not in memory.events[0]["outputs"][0]["facets"]


def test_the_run_id_is_at_hand(
    examples: list[str], platform: dict[str, Connector], memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    """Example 7."""
    run(jobs(examples)["my_job"])
    assert capsys.readouterr().out == f"Run ID: {memory.events[0]['run']['runId']}\n"
