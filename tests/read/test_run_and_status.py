"""One run in full, streaming in constant memory, and the store's figures."""

from __future__ import annotations

import gc
import json
import tracemalloc
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from lineagelog.errors import StoreNotCreated
from lineagelog.event.parse import parse
from lineagelog.postgres.engine import open_engine
from lineagelog.read import Reader, Window
from lineagelog.read import reader as reader_module
from lineagelog.store import Database
from lineagelog.store.append.log import LogStore
from lineagelog.store.upkeep.purge import purge

if TYPE_CHECKING:
    pass

RUN = "ABCDEF00-0000-4000-8000-000000000001"
MONTHS = Window(datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC))


def event(minutes: int, kind: str, *, run: str = RUN, job: dict[str, str] | None = None, **facets: Any) -> Any:
    tree = {
        "eventTime": (datetime(2026, 6, 1, tzinfo=UTC) + timedelta(minutes=minutes)).isoformat(),
        "eventType": kind,
        "run": {"runId": run, "facets": facets},
        "job": job or {"namespace": "prod", "name": "load"},
        "outputs": [
            {
                "namespace": "db",
                "name": "out",
                "facets": {
                    "schema": {"fields": [{"name": "id", "type": "int"}]},
                    "columnLineage": {"fields": {"id": {"inputFields": []}}},
                },
                "outputFacets": {"outputStatistics": {"rowCount": minutes}},
            }
        ],
    }
    return parse(json.dumps(tree).encode())


def test_one_run_in_full(store: LogStore) -> None:
    """All that is known of a run id, of all its jobs, found by any spelling of the UUID."""
    tests = {"tests": [{"name": "t", "status": "fail"}]}
    store.append(
        [
            event(0, "START"),
            event(5, "RUNNING", errorMessage={"message": "disk full"}),
            event(90, "FAIL", test=tests, egeria_governanceAction={"step": 1}),
            event(40, "COMPLETE", job={"name": "part"}),
        ]
    )
    details = Reader(store.database).run(RUN.upper(), content=True)
    assert details is not None and details.run_id == RUN.lower()
    load, part = details.runs
    assert (load.job_namespace, load.status, load.error_message) == ("prod", "FAIL", "disk full")
    assert load.governance_action == {"step": 1}
    assert load.end_time == datetime(2026, 6, 1, 1, 30, tzinfo=UTC) and load.end_time.tzinfo is UTC
    assert (part.job_namespace, part.job_name, part.status, part.start_time) == (None, "part", "COMPLETE", None)
    rows = {row.job_name: row for row in details.datasets}
    assert {name: row.row_count for name, row in rows.items()} == {"load": 90, "part": 40}
    dataset = rows["load"]
    assert (dataset.dataset_name, dataset.direction, dataset.row_count) == ("out", "O", 90)
    assert details.schemas == {dataset.schema_hash: [{"name": "id", "type": "int"}]}
    assert details.lineages == {dataset.lineage_hash: {"fields": {"id": {"inputFields": []}}}}
    assert [test.status for test in details.tests] == ["fail"]
    assert [row.event_type for row in details.events] == ["START", "RUNNING", "COMPLETE", "FAIL"]
    assert not details.truncated and not details.assertions
    for unknown in ("", "nothing", "nul\0", RUN[:-1]):
        assert Reader(store.database).run(unknown) is None
        assert list(Reader(store.database).run_events(unknown)) == []


def test_an_error_is_not_shown_of_a_run_that_ended_well(store: LogStore) -> None:
    """A retry inside a run leaves its error behind; a run that is complete has none to show."""
    store.append([event(0, "RUNNING", errorMessage={"message": "try again"}), event(1, "COMPLETE")])
    details = Reader(store.database).run(RUN)
    assert details is not None and details.runs[0].error_message is None


def test_a_long_run_is_cut_and_streamed(store: LogStore) -> None:
    """At most as many events as asked for, and all of them as a stream, over the end of a month."""
    store.append([event(n * 60, "RUNNING") for n in range(1500)])
    reader = Reader(store.database)
    details = reader.run(RUN, limit=10)
    assert details is not None and details.truncated and len(details.events) == 10
    rows = list(reader.run_events(RUN))
    assert len(rows) == 1500 and rows[:10] == list(details.events)
    assert [row.event_time for row in rows] == sorted(row.event_time for row in rows)


@pytest.mark.long
def test_streams_keep_memory_flat(large: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Going through all events, runs and datasets takes a page's memory, not the window's."""
    monkeypatch.setattr("lineagelog.read.listing.PAGE", 200)
    reader = Reader(large.database)
    for listing, least in (
        (reader.events(MONTHS), 8_000),
        (reader.runs(MONTHS), 3_000),
        (reader.run_datasets(MONTHS), 8_000),
    ):
        stream = iter(listing)
        for _ in range(1000):
            next(stream)
        tracemalloc.start()
        held = count = 0
        for count, _ in enumerate(stream, 1001):
            if count % 1500 == 0:
                gc.collect()  # what is only garbage is not held
                held = max(held, tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert count >= least
        assert held < 1 << 20, f"{held} bytes held after {count} rows"


def test_no_transaction_stays_open_between_pages(large: LogStore) -> None:
    """A consumer that takes its time holds nothing in the database."""
    stream = iter(Reader(large.database).runs(MONTHS))
    next(stream)
    with large.engine.connect() as connection:
        query = (
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND state LIKE 'idle in transaction%'"
        )
        assert connection.execute(text(query)).scalar_one() == 0


def test_content_is_read_in_bounded_portions(store: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the portion, every event gets its own content; exact bytes where JSONB cannot hold them."""
    odd = b'{"eventTime":"2026-06-01T00:00:30Z","run":{"runId":"odd"},"job":{"name":"n\\u0000"}}'
    store.append([*(event(n, "RUNNING") for n in range(20)), parse(odd)])
    monkeypatch.setattr(reader_module, "CONTENT_BYTES", 1500)
    rows = list(Reader(store.database).events(MONTHS, content=True))
    assert len(rows) == 21
    for row in rows:
        tree = json.loads(row.event or b"")
        assert datetime.fromisoformat(tree["eventTime"]) == row.event_time
        assert (row.raw == odd) if row.run_id == "odd" else (row.raw is None)


def test_status_counts_what_is_there(store: LogStore) -> None:
    """The figures of a small store are exact, and an empty one has none."""
    reader = Reader(store.database)
    empty = reader.status()
    assert (empty.first_event_time, empty.last_received_at, empty.lag, empty.retention_floor) == (None,) * 4
    now = datetime.now(UTC)
    fresh = {"eventTime": (now - timedelta(seconds=30)).isoformat(), "run": {"runId": "r"}, "job": {"name": "j"}}
    store.append([event(0, "START"), event(60, "COMPLETE"), parse(json.dumps(fresh).encode()), parse(b"no json")])
    purge(store, datetime(2026, 5, 1, tzinfo=UTC))
    status = reader.status()
    assert {name: count.rows for name, count in status.counts.items()} == {
        "ol_event": 3,
        "ol_run": 2,
        "ol_run_dataset": 1,
        "ol_assertion": 0,
        "ol_test": 0,
        "ol_schema_version": 1,
        "ol_lineage_version": 1,
        "ol_job": 2,
        "ol_dataset": 1,
        "ol_dataset_name": 0,
        "ol_dead_letter": 1,
    }
    assert all(count.exact for count in status.counts.values())
    assert status.first_event_time == datetime(2026, 6, 1, tzinfo=UTC)
    assert status.retention_floor == datetime(2026, 5, 1, tzinfo=UTC)
    assert status.last_received_at is not None and abs(status.last_received_at - now) < timedelta(minutes=1)
    assert status.dead_letters == {"new": 1}
    assert status.lag is not None and status.lag.events == 3
    assert status.lag.p50_seconds > 30
    assert "ol_event_y2026m06" in {partition.name for partition in status.partitions}
    assert status.size_bytes > sum(partition.size_bytes for partition in status.partitions) > 0


def test_status_of_a_larger_store_estimates(large: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large tables are not counted: PostgreSQL's estimate is near, and said to be one."""
    monkeypatch.setattr("lineagelog.read.status.COUNT_UP_TO", 0)
    counts = Reader(large.database).status().counts
    assert not counts["ol_event"].exact and abs(counts["ol_event"].rows - 8_000) < 80


def test_a_store_that_is_not_there(database_url: str) -> None:
    """Reading without tables says what to run."""
    engine = open_engine(database_url)
    with pytest.raises(StoreNotCreated, match="lineagelog store init"):
        Reader(Database(engine)).status()
    with pytest.raises(StoreNotCreated, match="lineagelog store init"):
        list(Reader(Database(engine)).runs(MONTHS))
    engine.dispose()
