"""Write the example events: one day of Kestrel Goods, an invented mail-order shop, as three NDJSON files.

    python examples/make_examples.py

The same code writes the same bytes, so a change to an example is a change here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from lineagelog.spec import CURRENT, DEFINITIONS, FacetBuilder

type Json = dict[str, Any]

DAY = datetime(2026, 11, 20, tzinfo=UTC)
SHOP, LAKE, WAREHOUSE = (
    "postgres://shop-db.kestrel.example:5432",
    "s3://kestrel-lake",
    "postgres://dwh.kestrel.example:5432",
)

COLUMNS = {
    "orders": "order_id BIGINT, customer_id BIGINT, ordered_at TIMESTAMP, status VARCHAR, total NUMERIC",
    "customers": "customer_id BIGINT, name VARCHAR, email VARCHAR, country VARCHAR, since DATE",
    "payments": "payment_id BIGINT, order_id BIGINT, method VARCHAR, amount NUMERIC, paid_at TIMESTAMP",
    "stock": "sku VARCHAR, warehouse VARCHAR, on_hand INTEGER, counted_at TIMESTAMP",
    "stock_levels": "sku VARCHAR, on_hand INTEGER, counted_at TIMESTAMP",
    "order_lines": "order_id BIGINT, customer_id BIGINT, country VARCHAR, total NUMERIC, paid NUMERIC",
    "returns_score": "order_id BIGINT, score DOUBLE",
    "stg_orders": "order_id BIGINT, customer_id BIGINT, country VARCHAR, total NUMERIC, paid NUMERIC",
    "stg_customers": "customer_id BIGINT, name VARCHAR, country VARCHAR",
    "fct_orders": "order_id BIGINT, customer_id BIGINT, total NUMERIC, open_amount NUMERIC",
    "dim_customers": "customer_id BIGINT, name VARCHAR, country VARCHAR, orders INTEGER",
    "mart_daily_revenue": "day DATE, country VARCHAR, revenue NUMERIC, orders INTEGER",
    "subscribers": "email VARCHAR, confirmed BOOLEAN",
}


@dataclass(frozen=True)
class Tool:
    """A producer of events: what it is called and how it writes a time."""

    name: str
    version: str
    time_format: str

    @property
    def producer(self) -> str:
        """The producer URI its events carry."""
        return f"https://example.invalid/openlineage/{self.name}/1.40.1"

    def facet(self, definition: str, /, **content: Any) -> Json:
        """Return one facet under its own key."""
        defined = DEFINITIONS[definition]
        return {defined.key: FacetBuilder(self.producer).at(defined.address, content)}

    def time(self, at: datetime) -> str:
        """Write a time the way this tool does."""
        text = at.strftime("%Y-%m-%dT%H:%M:%S.%f")
        return self.time_format.format(micros=text, millis=text[:-3])

    def event(self, kind: str, at: datetime, **content: Any) -> Json:
        """Return an event of this tool; `kind` is RunEvent, JobEvent or DatasetEvent."""
        head = {"eventTime": self.time(at), "producer": self.producer}
        return head | {"schemaURL": CURRENT.event(kind)} | content


@dataclass(frozen=True)
class Job:
    """A job as its tool names it."""

    tool: Tool
    name: str
    kind: str
    query: str = ""
    owner: str = "team:data"

    @property
    def namespace(self) -> str:
        """One namespace per tool."""
        return f"{self.tool.name}-kestrel"

    def described(self) -> Json:
        """Return the job with its facets."""
        facets = self.tool.facet(
            "JobTypeJobFacet", processingType="BATCH", integration=self.tool.name.upper(), jobType=self.kind
        ) | self.tool.facet("OwnershipJobFacet", owners=[{"name": self.owner, "type": "MAINTAINER"}])
        if self.query:
            facets |= self.tool.facet("SQLJobFacet", query=self.query, dialect="postgres")
        return {"namespace": self.namespace, "name": self.name, "facets": facets}


@dataclass(frozen=True)
class Run:
    """One run of a job; `stops` are its event types with the minutes after its start."""

    job: Job
    start: datetime
    stops: tuple[tuple[str, float], ...]
    inputs: tuple[Json, ...] = ()
    outputs: tuple[Json, ...] = ()
    parent: Run | None = None
    facets: Json = field(default_factory=dict)
    """Run facets of every event."""
    last: Json = field(default_factory=dict)
    """Run facets of the last event only: an error message, test results."""

    @property
    def run_id(self) -> str:
        """The same run has the same id every time the examples are made."""
        return str(uuid5(NAMESPACE_URL, f"https://kestrel.example/{self.job.name}/{self.start.isoformat()}"))

    def events(self) -> list[Json]:
        """Return the events of the run; statistics and lineage come with the last one."""
        return [self._event(number) for number in range(len(self.stops))]

    def _event(self, number: int) -> Json:
        event_type, minutes = self.stops[number]
        ended = event_type in {"COMPLETE", "FAIL", "ABORT"}
        tool = self.job.tool
        facets = tool.facet("ProcessingEngineRunFacet", version=tool.version, name=tool.name) | self.facets
        if self.parent:
            above = {"namespace": self.parent.job.namespace, "name": self.parent.job.name}
            facets |= tool.facet("ParentRunFacet", run={"runId": self.parent.run_id}, job=above)
        if ended:
            facets |= self.last
        return tool.event(
            "RunEvent",
            self.start + timedelta(minutes=minutes, seconds=number * 0.137),
            eventType=event_type,
            run={"runId": self.run_id, "facets": facets},
            job=self.job.described(),
            inputs=[_seen(dataset, ended) for dataset in self.inputs],
            outputs=[_seen(dataset, ended) for dataset in self.outputs],
        )


def _seen(dataset: Json, ended: bool) -> Json:
    """Leave out what a producer only knows at the end."""
    if ended:
        return dataset
    facets = {key: value for key, value in dataset["facets"].items() if key in {"schema", "dataSource"}}
    return {"namespace": dataset["namespace"], "name": dataset["name"], "facets": facets}


AIRFLOW = Tool("airflow", "3.1.2", "{micros}+00:00")
SPARK = Tool("spark", "4.0.1", "{millis}Z")
DBT = Tool("dbt", "1.10.4", "{micros}Z")


def at(clock: str) -> datetime:
    """Return a time of the day, from `hh:mm` UTC."""
    hour, minute = clock.split(":")
    return DAY + timedelta(hours=int(hour), minutes=int(minute))


def columns(table: str) -> list[Json]:
    """Return the fields of a table's schema facet."""
    pairs = (column.split(" ") for column in COLUMNS[table].split(", "))
    return [{"name": name, "type": kind} for name, kind in pairs]


def dataset(tool: Tool, namespace: str, name: str) -> Json:
    """Return a dataset with its schema and data source; its table is the last part of the name."""
    table = name.replace("/", ".").split(".")[-1]
    facets = tool.facet("SchemaDatasetFacet", fields=columns(table))
    facets |= tool.facet("DatasourceDatasetFacet", name=namespace, uri=namespace)
    return {"namespace": namespace, "name": name, "facets": facets}


def read(tool: Tool, namespace: str, name: str, rows: int, *more: Json) -> Json:
    """Return a dataset that was read; `more` are further input facets."""
    facets = tool.facet("InputStatisticsInputDatasetFacet", rowCount=rows, size=rows * 83, fileCount=1)
    for extra in more:
        facets |= extra
    return dataset(tool, namespace, name) | {"inputFacets": facets}


def written(tool: Tool, namespace: str, name: str, rows: int, *more: Json) -> Json:
    """Return a dataset that was written; `more` are further dataset facets."""
    entry = dataset(tool, namespace, name)
    for extra in more:
        entry["facets"] |= extra
    facets = tool.facet("OutputStatisticsOutputDatasetFacet", rowCount=rows, size=rows * 83, fileCount=1)
    return entry | {"outputFacets": facets}


def lineage(tool: Tool, **sources: list[tuple[str, str, str, str]]) -> Json:
    """Return column lineage: column = [(namespace, dataset, field, subtype of a direct transformation)]."""
    fields = {
        column: {
            "inputFields": [
                {
                    "namespace": namespace,
                    "name": name,
                    "field": source,
                    "transformations": [{"type": "DIRECT", "subtype": subtype, "masking": subtype == "MASKING"}],
                }
                for namespace, name, source, subtype in inputs
            ]
        }
        for column, inputs in sources.items()
    }
    return tool.facet("ColumnLineageDatasetFacet", fields=fields)


def replaced(tool: Tool, change: str = "OVERWRITE") -> Json:
    """Return the facet of a dataset that was written anew."""
    return tool.facet("LifecycleStateChangeDatasetFacet", lifecycleStateChange=change)


# ------------------------------------------------------------------------------------------------ Airflow


def _landed(table: str, rows: int, folder: str) -> Json:
    entry = written(AIRFLOW, LAKE, f"landing/{table}", rows)
    entry["facets"] |= AIRFLOW.facet("DatasetVersionDatasetFacet", datasetVersion=folder)
    condition = {"type": "partition", "partitions": [{"dimensions": {"folder": folder}}]}
    entry["outputFacets"] |= AIRFLOW.facet("OutputSubsetOutputDatasetFacet", outputCondition=condition)
    return entry


def _extract(table: str, start: str, rows: int, parent: Run, *, broken: bool = False) -> Run:
    query = f"SELECT * FROM public.{table} WHERE updated_at >= '2026-11-19'"
    error = AIRFLOW.facet(
        "ErrorMessageRunFacet",
        message="connection to server at shop-db.kestrel.example, port 5432 failed: timeout expired",
        programmingLanguage="PYTHON",
        stackTrace="OperationalError: timeout expired\n  extract.py:41 in fetch\n  extract.py:17 in main",
    )
    return Run(
        Job(AIRFLOW, f"shop_ingest.extract_{table}", "TASK", query),
        at(start),
        (("START", 0), ("FAIL", 5) if broken else ("COMPLETE", 7)),
        (dataset(AIRFLOW, SHOP, f"shop.public.{table}"),)
        if broken
        else (read(AIRFLOW, SHOP, f"shop.public.{table}", rows),),
        (dataset(AIRFLOW, LAKE, f"landing/{table}"),) if broken else (_landed(table, rows, "2026-11-20"),),
        parent,
        last=error if broken else {},
    )


def _stock_sync(start: str, rows: int) -> Run:
    """Return one run of the job that Egeria starts as a governance action."""
    governance = {
        "_producer": "https://egeria-project.org/",
        "_schemaURL": "https://egeria-project.org/openlineage/facets/1-0-0/EgeriaGovernanceActionRunFacet.json"
        "#/$defs/EgeriaGovernanceActionRunFacet",
        "iscQualifiedName": "InformationSupplyChain::Kestrel stock",
        "engineActionGUID": str(uuid5(NAMESPACE_URL, f"https://kestrel.example/action/{start}")),
        "governanceEngineName": "KestrelPipelines",
        "requestType": "sync-stock",
        "processName": "GovernanceActionProcess::Kestrel stock",
        "processStepName": "GovernanceActionProcessStep::Kestrel stock::sync",
    }
    return Run(
        Job(AIRFLOW, "stock_sync.copy_stock", "TASK", "SELECT * FROM public.stock", "team:logistics"),
        at(start),
        (("START", 0), ("COMPLETE", 2)),
        (read(AIRFLOW, SHOP, "shop.public.stock", rows),),
        (_landed("stock", rows, f"2026-11-20T{start}"),),
        facets={"egeria_governanceAction": governance},
    )


def airflow_day() -> list[Json]:
    """Return the ingestion: nightly extracts with a failure and its retry, stock every three hours."""
    nightly = AIRFLOW.facet(
        "NominalTimeRunFacet",
        nominalStartTime="2026-11-20T02:00:00Z",
        nominalEndTime="2026-11-21T02:00:00Z",
    )
    dag = Run(Job(AIRFLOW, "shop_ingest", "DAG"), at("02:00"), (("START", 0), ("COMPLETE", 31)), facets=nightly)
    newsletter = Run(
        Job(AIRFLOW, "newsletter.push_subscribers", "TASK", owner="team:marketing"),
        at("10:00"),
        (("START", 0), ("ABORT", 4)),
        (dataset(AIRFLOW, SHOP, "shop.public.subscribers"),),
    )
    runs = [
        dag,
        _extract("orders", "02:01", 48_210, dag),
        _extract("customers", "02:01", 1_904, dag),
        _extract("payments", "02:02", 0, dag, broken=True),
        _extract("payments", "02:17", 46_877, dag),
        newsletter,
        *(_stock_sync(f"{hour:02d}:00", 12_400 + hour * 3) for hour in range(0, 24, 3)),
    ]
    return [event for run in runs for event in run.events()] + [_orders_described()]


def _orders_described() -> Json:
    """Return a Dataset event: someone documents a table, no run takes part."""
    orders = dataset(AIRFLOW, SHOP, "shop.public.orders")
    text = "Every order of the shop, one row per order. Größter Bestand: the week before Christmas."
    orders["facets"] |= AIRFLOW.facet("DocumentationDatasetFacet", description=text)
    owners = [{"name": "team:shop", "type": "OWNER"}]
    orders["facets"] |= AIRFLOW.facet("OwnershipDatasetFacet", owners=owners)
    return AIRFLOW.event("DatasetEvent", at("09:12"), dataset=orders)


# -------------------------------------------------------------------------------------------------- Spark


def _cleaned(table: str, start: str, rows: int, parent: Run) -> Run:
    source = f"landing/{table}"
    names = [column["name"] for column in columns(table)]
    plain = {name: [(LAKE, source, name, "IDENTITY")] for name in names}
    if "email" in plain:
        plain["email"] = [(LAKE, source, "email", "MASKING")]
    return Run(
        Job(SPARK, f"nightly_silver.clean_{table}", "SQL_JOB"),
        at(start),
        (("START", 0), ("RUNNING", 3), ("COMPLETE", 6)),
        (read(SPARK, LAKE, source, rows),),
        (written(SPARK, WAREHOUSE, f"dwh.silver.{table}", rows, lineage(SPARK, **plain), replaced(SPARK)),),
        parent,
    )


def _order_lines(parent: Run) -> Run:
    orders, customers, payments = (f"dwh.silver.{name}" for name in ("orders", "customers", "payments"))
    columns_of = lineage(
        SPARK,
        order_id=[(WAREHOUSE, orders, "order_id", "IDENTITY")],
        customer_id=[(WAREHOUSE, orders, "customer_id", "IDENTITY")],
        country=[(WAREHOUSE, customers, "country", "TRANSFORMATION")],
        total=[(WAREHOUSE, orders, "total", "IDENTITY")],
        paid=[(WAREHOUSE, payments, "amount", "AGGREGATION")],
    )
    return Run(
        Job(SPARK, "nightly_silver.join_order_lines", "SQL_JOB"),
        at("03:14"),
        (("START", 0), ("RUNNING", 4), ("RUNNING", 8), ("COMPLETE", 11)),
        (
            read(SPARK, WAREHOUSE, orders, 48_210),
            read(SPARK, WAREHOUSE, customers, 1_904),
            read(SPARK, WAREHOUSE, payments, 46_877),
        ),
        (written(SPARK, WAREHOUSE, "dwh.silver.order_lines", 48_210, columns_of, replaced(SPARK)),),
        parent,
    )


def _stock_levels(start: str, rows: int) -> Run:
    columns_of = lineage(
        SPARK,
        sku=[(LAKE, "landing/stock", "sku", "IDENTITY")],
        on_hand=[(LAKE, "landing/stock", "on_hand", "AGGREGATION")],
        counted_at=[(LAKE, "landing/stock", "counted_at", "AGGREGATION")],
    )
    return Run(
        Job(SPARK, "stock_levels.aggregate", "SQL_JOB", owner="team:logistics"),
        at(start),
        (("START", 0), ("RUNNING", 2), ("COMPLETE", 5)),
        (read(SPARK, LAKE, "landing/stock", rows * 3),),
        (written(SPARK, WAREHOUSE, "dwh.silver.stock_levels", rows, columns_of, replaced(SPARK)),),
    )


def spark_day() -> list[Json]:
    """Return the transformation: the nightly application, stock levels, a run that never ends."""
    stops = (("START", 0), ("RUNNING", 10), ("RUNNING", 20), ("COMPLETE", 27))
    app = Run(Job(SPARK, "nightly_silver", "APPLICATION"), at("03:00"), stops)
    lost = Run(
        Job(SPARK, "returns_scoring.score", "SQL_JOB", owner="team:analytics"),
        at("13:30"),
        (("START", 0), ("RUNNING", 10), ("RUNNING", 20)),
        (dataset(SPARK, WAREHOUSE, "dwh.silver.order_lines"),),
        (dataset(SPARK, WAREHOUSE, "dwh.silver.returns_score"),),
    )
    runs = [
        app,
        _cleaned("orders", "03:01", 48_210, app),
        _cleaned("customers", "03:02", 1_904, app),
        _cleaned("payments", "03:05", 46_877, app),
        _order_lines(app),
        *(_stock_levels(f"{hour:02d}:10", 4_130 + hour) for hour in (0, 6, 12, 18)),
        lost,
    ]
    return [event for run in runs for event in run.events()] + [_scoring_deployed()]


def _scoring_deployed() -> Json:
    """Return a Job event: a job is deployed, what it will read and write is known before it ever runs."""
    job = Job(SPARK, "returns_scoring.score", "SQL_JOB", owner="team:analytics").described()
    text = "Scores how likely an order is sent back."
    job["facets"] |= SPARK.facet("DocumentationJobFacet", description=text)
    job["facets"] |= SPARK.facet(
        "SourceCodeLocationJobFacet",
        type="git",
        url="https://git.kestrel.example/data/returns/blob/v3/score.py",
        version="v3",
    )
    order_lines = dataset(SPARK, WAREHOUSE, "dwh.silver.order_lines")
    score = dataset(SPARK, WAREHOUSE, "dwh.silver.returns_score")
    return SPARK.event("JobEvent", at("13:05"), job=job, inputs=[order_lines], outputs=[score])


# ---------------------------------------------------------------------------------------------------- dbt


def _model(name: str, start: str, rows: int, sources: dict[str, int], parent: Run) -> Run:
    tables = ", ".join(f"dwh.{source}" for source in sources)
    change = "CREATE" if name.startswith("stg_") else "OVERWRITE"
    return Run(
        Job(DBT, f"kestrel_shop.{name}", "MODEL", f"-- models/{name}.sql\nSELECT * FROM {tables}"),
        at(start),
        (("START", 0), ("COMPLETE", 1)),
        tuple(read(DBT, WAREHOUSE, f"dwh.{source}", count) for source, count in sources.items()),
        (written(DBT, WAREHOUSE, f"dwh.mart.{name}", rows, replaced(DBT, change)),),
        parent,
    )


def _tests(model: str, start: str, rows: int, parent: Run, *checks: str) -> Run:
    """Return a run of a model's tests; a check is `kind column severity pass|fail`."""
    results = [check.split(" ") for check in checks]
    failed = [column for _, column, severity, result in results if (severity, result) == ("error", "fail")]
    assertions = [
        {"assertion": kind, "success": result == "pass", "column": column, "severity": severity}
        for kind, column, severity, result in results
    ]
    tests = [
        {"name": f"{kind}_{model}_{column}", "status": result, "severity": severity, "type": kind}
        for kind, column, severity, result in results
    ]
    last = DBT.facet("TestRunFacet", tests=tests)
    if failed:
        message = f"1 of {len(results)} tests of {model} failed: {', '.join(failed)}"
        last |= DBT.facet("ErrorMessageRunFacet", message=message, programmingLanguage="SQL")
    checked = DBT.facet("DataQualityAssertionsDatasetFacet", assertions=assertions)
    return Run(
        Job(DBT, f"kestrel_shop.{model}.test", "TEST"),
        at(start),
        (("START", 0), ("FAIL" if failed else "COMPLETE", 0.5)),
        (read(DBT, WAREHOUSE, f"dwh.mart.{model}", rows, checked),),
        parent=parent,
        last=last,
    )


def dbt_day() -> list[Json]:
    """Return the marts: the morning build with one warning, the afternoon build that a test stops."""
    return [event for run in _morning() + _afternoon() for event in run.events()]


def _morning() -> list[Run]:
    build = Run(Job(DBT, "dbt-run-kestrel_shop", "JOB"), at("04:30"), (("START", 0), ("COMPLETE", 14)))
    orders, customers = 48_210, 1_904
    staged = {"mart.stg_customers": customers, "mart.stg_orders": orders}
    unique = "unique order_id error pass"
    countries = "accepted_values country warn fail"
    revenue = "range revenue error pass"
    return [
        build,
        _model("stg_orders", "04:31", orders, {"silver.order_lines": orders}, build),
        _model("stg_customers", "04:32", customers, {"silver.customers": customers}, build),
        _tests("stg_orders", "04:33", orders, build, unique, "not_null total error pass"),
        _tests("stg_customers", "04:34", customers, build, "unique customer_id error pass", countries),
        _model("fct_orders", "04:36", orders, {"mart.stg_orders": orders}, build),
        _model("dim_customers", "04:38", customers, staged, build),
        _tests("fct_orders", "04:40", orders, build, unique, "relationships customer_id warn pass"),
        _model("mart_daily_revenue", "04:41", 31, {"mart.fct_orders": orders}, build),
        _tests("mart_daily_revenue", "04:43", 31, build, "not_null day error pass", revenue),
    ]


def _afternoon() -> list[Run]:
    stopped = DBT.facet("ErrorMessageRunFacet", message="1 test failed", programmingLanguage="SQL")
    stops = (("START", 0), ("FAIL", 6))
    build = Run(Job(DBT, "dbt-run-kestrel_shop", "JOB"), at("16:30"), stops, last=stopped)
    revenue = "range revenue error fail"
    return [
        build,
        _model("fct_orders", "16:31", 9_660, {"mart.stg_orders": 9_660}, build),
        _model("mart_daily_revenue", "16:33", 31, {"mart.fct_orders": 9_660}, build),
        _tests("mart_daily_revenue", "16:35", 31, build, "not_null day error pass", revenue),
    ]


def example_files() -> dict[str, bytes]:
    """Return the content of each example file by its name: one event per line, ordered by time."""
    days = {"airflow": airflow_day(), "spark": spark_day(), "dbt": dbt_day()}
    return {f"{name}-day.ndjson": _lines(events) for name, events in days.items()}


def _lines(events: list[Json]) -> bytes:
    ordered = sorted(events, key=lambda event: datetime.fromisoformat(event["eventTime"]))
    lines = (json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in ordered)
    return "".join(f"{line}\n" for line in lines).encode()


if __name__ == "__main__":
    for file_name, content in example_files().items():
        (Path(__file__).parent / file_name).write_bytes(content)
