"""What reads cost: index scans in the right partitions, by the number of runs and not of their events."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event, text

from lineagelog.event.parse import parse
from lineagelog.postgres.engine import open_engine
from lineagelog.read import Reader, Window
from lineagelog.store import Database
from lineagelog.store.append.log import LogStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.databases import NewDatabase

BIG = {"ol_event", "ol_run", "ol_run_dataset", "ol_assertion", "ol_test"}
DAY = Window(datetime(2026, 6, 15, tzinfo=UTC), datetime(2026, 6, 16, tzinfo=UTC))
JOB = {"job": "load", "namespace": "prod"}

READS: dict[str, Callable[[Reader, Window], Any]] = {
    "runs": lambda reader, window: reader.runs(window).page(100),
    "runs of a job": lambda reader, window: reader.runs(window, **JOB).page(100),
    "runs of a dataset": lambda reader, window: reader.runs(window, dataset_name="a", dataset_namespace="b").page(100),
    "failed runs": lambda reader, window: reader.runs(window, status="FAIL").page(100),
    "all runs": lambda reader, window: list(reader.runs(window)),
    "run datasets": lambda reader, window: reader.run_datasets(window).page(100),
    "run datasets of a job": lambda reader, window: reader.run_datasets(window, **JOB).page(100),
    "all run datasets": lambda reader, window: list(reader.run_datasets(window)),
    "assertions": lambda reader, window: reader.assertions(window).page(100),
    "tests": lambda reader, window: reader.tests(window).page(100),
    "events": lambda reader, window: reader.events(window, content=True).page(100),
    "event summary": lambda reader, window: reader.event_summary(window),
}


class Plans:
    """Runs reads and has PostgreSQL explain each statement that they sent."""

    def __init__(self, store: LogStore, options: str = "") -> None:
        self._engine, self._options = store.engine, f"(FORMAT JSON{options})"
        self.reader = Reader(store.database)

    def of(self, read: Callable[[Reader], Any]) -> list[dict[str, Any]]:
        sent: list[tuple[str, Any]] = []

        def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
            sent.append((statement, parameters))

        event.listen(self._engine, "before_cursor_execute", note)
        try:
            read(self.reader)
        finally:
            event.remove(self._engine, "before_cursor_execute", note)
        assert sent
        with self._engine.connect() as connection:
            driver = connection.connection.driver_connection
            plans = []
            for statement, parameters in sent:
                row = driver.execute(f"EXPLAIN {self._options} {statement}", parameters).fetchone()
                plans.append(row[0][0]["Plan"])
            return plans


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


@pytest.mark.parametrize("name", READS)
def test_reads_of_a_window_are_index_scans_of_its_month(large: LogStore, name: str) -> None:
    """No read scans a digest table or a partition of ol_event as a whole, and only June's partition is touched."""
    touched = set()
    for plan in Plans(large).of(lambda reader: READS[name](reader, DAY)):
        for node in nodes(plan):
            table = node.get("Relation Name", "")
            if table.startswith("ol_event_") and table != "ol_event_y2026m06":
                pytest.fail(f"partition {table} is read: {json.dumps(node)}")
            if table in BIG or table.startswith("ol_event_"):
                touched.add(table)
                assert node["Node Type"] != "Seq Scan", json.dumps(node)
    assert touched


@pytest.mark.parametrize("member", ["parent", "root"])
def test_runs_of_a_family_are_looked_up(large: LogStore, member: str) -> None:
    """Over all of time: what a run started is found by its id, and not among all runs."""
    ever = Window(datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
    for plan in Plans(large).of(lambda reader: reader.runs(ever, **{member: "a-run"}).page(100)):
        used = {node["Index Name"] for node in nodes(plan) if "Index Name" in node}
        assert f"ol_run_{member}" in used, json.dumps(plan)


def test_later_pages_cost_no_more_than_the_first(large: LogStore) -> None:
    """The statement of a page reads about as many buffers in the middle of a long window as at its start."""
    month = Window(datetime(2026, 5, 20, tzinfo=UTC), datetime(2026, 6, 28, tzinfo=UTC))
    plans = Plans(large, ", ANALYZE, BUFFERS")
    for read in (plans.reader.runs(month), plans.reader.run_datasets(month), plans.reader.events(month)):
        cursor = None
        costs = []
        for _ in range(12):
            listing, after = read, cursor
            costs.append(sum(map(buffers, plans.of(lambda _, listing=listing, after=after: listing.page(200, after)))))
            cursor = read.page(200, cursor).next
        assert max(costs[1:]) <= 1.5 * costs[0] + 100, costs


def buffers(plan: dict[str, Any]) -> int:
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


RUNS = {2: "00000000-0000-4000-8000-000000000002", 1002: "00000000-0000-4000-8000-000000001002"}
BEGIN = {2: datetime(2026, 3, 3, 6, tzinfo=UTC), 1002: datetime(2026, 3, 23, 6, tzinfo=UTC)}


def events_of(number: int) -> Iterator[Any]:
    """A run of three hours with so many events, that reads and writes."""
    for place in range(number):
        time = BEGIN[number] + timedelta(hours=3) * place / (number - 1)
        kind = "START" if place == 0 else "COMPLETE" if place == number - 1 else "RUNNING"
        dataset = {"namespace": "db", "outputFacets": {"outputStatistics": {"rowCount": place}}}
        yield parse(
            json.dumps(
                {
                    "eventTime": time.isoformat(),
                    "eventType": kind,
                    "run": {"runId": RUNS[number]},
                    "job": {"namespace": "prod", "name": f"job{number}"},
                    "inputs": [{"namespace": "db", "name": f"in{number}"}],
                    "outputs": [{**dataset, "name": f"out{number}"}],
                }
            ).encode()
        )


@pytest.fixture(scope="module")
def two_runs(new_database: NewDatabase, store_template: str) -> Iterator[LogStore]:
    """One run with 2 events and one with 1,002, twenty days apart, among 2,000 others that end before."""
    with new_database(store_template) as url:
        engine = open_engine(url)
        store = LogStore(Database(engine))
        others = []
        for number in range(2000):
            time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=20 * number)
            body = {"eventTime": time.isoformat(), "eventType": "OTHER", "job": {"namespace": "prod", "name": "other"}}
            others.append(parse(json.dumps({**body, "run": {"runId": f"other-{number}"}}).encode()))
        store.append(others)
        for number in RUNS:
            for one in events_of(number):
                store.append([one])
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))
        yield store
        engine.dispose()


@pytest.mark.parametrize("part", ["whole", "start", "middle", "end"])
def test_a_thousand_heartbeats_cost_a_window_read_nothing(two_runs: LogStore, part: str) -> None:
    """Runs and run datasets of a window take no more buffers for a run with 1,002 events than for one with two.

    The table is vacuumed, as autovacuum would: what is measured is the reading, not the leavings of the updates. Only
    a run that spans the window needs a look at its events, which finds the first at once: one index probe more.
    """
    begin, end = {"whole": (-1, 4), "start": (-1, 1), "middle": (1, 2), "end": (2, 4)}[part]
    plans = Plans(two_runs, ", ANALYZE, BUFFERS")
    costs = {}
    for number, start in BEGIN.items():
        window = Window(start + timedelta(hours=begin), start + timedelta(hours=end))
        for name in ("runs", "run_datasets"):
            found = plans.of(lambda reader, name=name, window=window: list(getattr(reader, name)(window)))
            costs[number, name] = sum(map(buffers, found))
        expected = number == 1002 or part != "middle"  # the short one has no event in the middle
        assert [run.run_id for run in plans.reader.runs(window)] == [RUNS[number]] * expected
    allowance = 4 if part == "middle" else 1
    assert costs[1002, "runs"] <= costs[2, "runs"] + allowance, costs
    if part != "middle":
        assert costs[1002, "run_datasets"] <= costs[2, "run_datasets"] + allowance, costs


@pytest.mark.parametrize("function", ["ol_execution", "ol_execution_dataset", "ol_dataset_edge", "ol_column_edge"])
def test_window_of_a_views_function_reads_no_run_outside_it(large: LogStore, function: str) -> None:
    """SnapLogic's runs, of which there are none, are looked up in their own index: not in the runs of all time."""
    query = f"SELECT * FROM {function}('{DAY.start.isoformat()}', '{DAY.end.isoformat()}')"
    with large.engine.connect() as connection:
        connection.execute(text(f'SET LOCAL search_path TO pg_catalog, "{large.schema.schema_name}", pg_temp'))
        (plan,) = connection.execute(text(f"EXPLAIN (FORMAT JSON) {query}")).scalar_one()
    runs = [node for node in nodes(plan["Plan"]) if node.get("Relation Name") == "ol_run"]
    assert [node for node in runs if node["Node Type"] == "Seq Scan"] == []
    assert "ol_run_pipeline_first" in {node.get("Index Name") for node in runs}
