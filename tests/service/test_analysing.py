"""The schedule of `serve`: analyses are asked by themselves, in one process, and recorded."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from lineagelog.analysis import analyses
from lineagelog.errors import SettingsError
from lineagelog.findings.schedule import read_schedule, window_before
from lineagelog.service.analysing import AnalyseTask, ScheduledAnalyses
from lineagelog.settings import AnalyseSettings, Settings
from lineagelog.store.ledgers.findings import Findings
from tests.analysis.support import START, load, run
from tests.findings.support import kept
from tests.support import join, wait_until

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def settings_of(**analyse: Any) -> Settings:
    return Settings(analyse=AnalyseSettings(**analyse))


def failing_since(store: LogStore, count: int) -> None:
    """A job that did well, and fails in the last hours."""
    now = datetime.now(UTC).replace(microsecond=0)
    hours = [now - timedelta(hours=each) for each in range(40, 0, -1)]
    bad = set(hours[-count:])
    load(store, *(run("load", at, [], [], **({"eventType": "FAIL"} if at in bad else {})) for at in hours))


def test_what_is_due_is_asked_and_recorded(store: LogStore) -> None:
    """A streak is found, with metrics; the next is due an interval after anybody recorded it, wherever that was."""
    failing_since(store, 8)
    work = ScheduledAnalyses(store.database, settings_of(schedule={"failure_streak": "1h", "stuck_run": "1d"}))
    (task,) = work.tasks
    stop = threading.Event()
    thread = threading.Thread(target=task.run, args=(stop,))
    thread.start()
    wait_until(lambda: len(Findings(store.database).recordings()) == 2)

    def samples() -> dict[tuple[str, ...], float]:
        return {(each.name, *each.labels.values()): each.value for each in work.samples()}

    wait_until(lambda: len([name for name in samples() if name[0] == "lineagelog_analysis_duration_seconds"]) == 2)
    wait_until(lambda: any(name[0] == "lineagelog_findings_open" for name in samples()))
    found = samples()
    assert found["lineagelog_analysis_failures", "failure_streak"] == 0
    assert found["lineagelog_analysis_last_success_seconds", "failure_streak"] > START.timestamp()
    (row,) = kept(store).values()
    assert found["lineagelog_findings_open", "failure_streak", row.severity.value] == 1
    stop.set()
    join(thread)
    again = AnalyseTask(store.database, settings_of(schedule={"failure_streak": "1h"}))
    (own,) = again.analyses
    assert not own.is_due(again._recorder, datetime.now(UTC))
    own._not_before = 0
    assert own.is_due(again._recorder, datetime.now(UTC) + timedelta(hours=1))


def test_an_analysis_that_fails_stops_no_other(store: LogStore) -> None:
    """It is counted and said, and asked again after a pause."""
    failing_since(store, 8)
    task = AnalyseTask(store.database, settings_of(schedule={"failure_streak": "1h"}, time_limit=0.001))
    with capture_logs() as logs:
        task._ask_due(lambda: False)
        task._ask_due(lambda: False)
    (own,) = task.analyses
    assert own.failures == 1
    assert [line["event"] for line in logs] == ["analysis failed"]
    assert "was stopped after" in logs[0]["error"]


def test_schedules_that_are_one_and_that_are_none() -> None:
    """`all` is for those that are not named and need no parameter; what is wrong is named by its key."""
    every = {
        each.analysis.name: each.every for each in read_schedule({"all": "1h", "late-run": "5m", "stuck_run": "off"})
    }
    assert every["late_run"] == timedelta(minutes=5)
    assert every["failure_streak"] == timedelta(hours=1)
    assert "stuck_run" not in every
    assert every.keys() | {"stuck_run"} == {each.name for each in analyses().values() if not each.needs_a_parameter}
    with pytest.raises(SettingsError, match=r"'analyse.schedule.nothing': no analysis"):
        read_schedule({"nothing": "1h"})
    with pytest.raises(
        SettingsError, match=r"'analyse.schedule.blast_radius': no analysis that can be asked by itself"
    ):
        read_schedule({"blast_radius": "1h"})
    with pytest.raises(SettingsError, match=r"'analyse.schedule.late_run': write 15m"):
        read_schedule({"late_run": "soon"})
    assert window_before(START, "2d").start == START - timedelta(days=2)
