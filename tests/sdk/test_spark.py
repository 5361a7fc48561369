"""A local PySpark job: schemas of Spark's frames, runs around its actions, and in its own threads."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.sdk import lineage_run
from tests.specification import validate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .conftest import Memory

pyspark_sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed (400 MB; needs Java 17)")
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A local session with one worker thread, bound to loopback."""
    builder = pyspark_sql.SparkSession.builder.master("local[1]").appName("lineagelog-tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={tmp_path_factory.mktemp('derby')}",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        try:
            session = builder.getOrCreate()
        except Exception as problem:
            pytest.skip(f"no local Spark can be started: {type(problem).__name__}")
        yield session
        session.stop()


def test_a_spark_job(spark: Any, memory: Memory, tmp_path: Path) -> None:
    """Read, join, write Parquet; the outputs' schema from the frame, the inputs' from the files that Spark wrote."""
    orders = spark.createDataFrame([(1, 10, 2.5), (2, 11, 3.0)], "id int, customer int, amount double")
    orders.write.parquet(str(tmp_path / "orders"))
    with lineage_run("enrich", inputs=["lake/orders"]) as outer:
        read = spark.read.parquet(str(tmp_path / "orders"))
        result = read.groupBy("customer").sum("amount").withColumnRenamed("sum(amount)", "total")
        with lineage_run(
            "write",
            inputs=["lake/orders"],
            outputs=["mart/totals"],
            connector={"lake": tmp_path, "mart/totals": result},
        ) as inner:
            result.write.parquet(str(tmp_path / "totals"))
            inner.row_count("mart/totals", result.count())
    for event in memory.events:
        validate(event)
    complete = memory.of(inner.run_id)[1]
    assert complete["outputs"][0]["facets"]["schema"]["fields"] == [
        {"name": "customer", "type": "int"},
        {"name": "total", "type": "double"},
    ]
    assert complete["inputs"][0]["facets"]["schema"]["fields"][2] == {"name": "amount", "type": "double"}
    assert complete["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert complete["run"]["facets"]["parent"]["run"]["runId"] == outer.run_id


def test_a_failing_action_fails_the_run(spark: Any, memory: Memory) -> None:
    """Spark's own exception comes out, and the run says what it was."""
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"), lineage_run("job", inputs=["db/missing"]):
        spark.table("missing").count()
    assert memory.types() == ["START", "FAIL"]
    assert "TABLE_OR_VIEW_NOT_FOUND" in memory.events[1]["run"]["facets"]["errorMessage"]["message"]


def test_for_each_batch_is_a_run_of_its_own(spark: Any, memory: Memory, tmp_path: Path) -> None:
    """Spark calls `foreachBatch` in a thread of its own: each call of a decorated function is a run."""

    @lineage_run("micro batch", outputs=["mart/stream"], parent=False)
    def write(frame: Any, number: int) -> None:
        frame.count()

    spark.createDataFrame([(1,)], "id int").write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema("id int").parquet(str(tmp_path / "in"))
    query = stream.writeStream.foreachBatch(write).trigger(availableNow=True)
    query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert query.awaitTermination(60)
    assert memory.types() == ["START", "COMPLETE"]
