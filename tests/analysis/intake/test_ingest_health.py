"""The health of the intake: lags, clocks, repetitions, dead letters."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from lineagelog.event.parse import parse

from ..support import answer, day, load, run, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def received(store: LogStore, lag: timedelta, share: str = "true") -> None:
    """All events of which ``share`` is true were received so long after their time."""
    with store.engine.begin() as connection:
        connection.exec_driver_sql(
            f"UPDATE {store.schema.table('ol_event')} SET received_at = event_time + %s WHERE {share}", (lag,)
        )


def test_what_arrives_in_time_is_counted(store: LogStore) -> None:
    """And no finding."""
    load(store, *(run("j", day(each), [], []) for each in range(10)))
    received(store, timedelta(seconds=2))
    told = answer(store, "ingest_health", window(0, 20))
    (result,) = told.told.results
    assert result.properties == {
        "events": "20", "fromTheFuture": "0", "repeated": "0", "repaired": "0", "medianLagSeconds": "2.0",
        "p95LagSeconds": "2.0",
    }  # fmt: skip
    assert (result.subject.kind, told.findings) == ("producer", ())


def test_clocks_and_late_events(store: LogStore) -> None:
    """Events from the future; a tenth that is late, unless half of all are, which is an old log that was loaded."""
    load(store, *(run("j", day(each), [], []) for each in range(10)))
    received(store, timedelta(seconds=2))
    received(store, timedelta(hours=5), "event_time >= '2026-03-10'")
    received(store, timedelta(minutes=-10), "event_time < '2026-03-02'")
    found = answer(store, "ingest_health", window(0, 20)).findings
    assert [(each.change, each.severity) for each in found] == [("clock skew", "medium"), ("late", "low")]
    assert found[0].observed == "2 of 20 events from the future"
    received(store, timedelta(days=90))
    assert answer(store, "ingest_health", window(0, 20)).findings == ()


def test_repeated_repaired_and_refused(store: LogStore) -> None:
    """Other content under one run, time and type; a repaired time; a dead letter, by when it came."""
    events = run("j", day(1), [], [])
    load(store, events, [{**events[1], "producer": "https://example.invalid/tests", "more": 1}])
    load(store, [{**event, "eventTime": "2026-03-03T00:00:00"} for event in run("k", day(2), [], [])])
    store.append([parse(b"{")])
    with store.engine.begin() as connection:
        connection.exec_driver_sql(
            f"UPDATE {store.schema.table('ol_dead_letter')} SET received_at = %s, last_received_at = %s",
            (day(1), day(2)),
        )
    told = answer(store, "ingest_health", window(0, 20))
    (result,) = told.told.results
    assert (result.properties["repeated"], result.properties["repaired"]) == ("1", "2")
    (found,) = [each for each in told.findings if each.change == "refused"]
    assert (found.detail, found.severity, found.subject.kind) == ("not_json", "high", "source")
    assert [each.change for each in answer(store, "ingest_health", window(3, 20)).findings] == []
