"""On time or not: late and missing runs, old data, promises kept; and what real schedules do that is none of these."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.analysis import Severity, analysis_named, read_rules
from lineagelog.analysis.maths.schedule import due
from lineagelog.analysis.maths.season import DAY, HOUR
from lineagelog.read import analyses as asking

from .support import ask, dataset, day, load, run, run_id_of, window

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineagelog.read import Window
    from lineagelog.store import LogStore

MONDAY = datetime(2026, 3, 2, tzinfo=UTC).timestamp()
NOW = MONDAY + 42 * DAY


def weekly(days: Iterable[int], *clock: float) -> list[float]:
    """Six weeks of runs on those days of the week (Monday is 0), at those hours."""
    return [
        MONDAY + (week * 7 + each) * DAY + hour * HOUR + (week * 7 + each) % 4 * 5
        for week in range(6)
        for each in days
        for hour in clock
    ]


def late(
    times: list[float], start: float = NOW - 7 * DAY, end: float = NOW, now: float = NOW
) -> list[tuple[float, bool]]:
    """Days since Monday of the last week and whether something came, of what was late."""
    slots = due(times, start, end, now)
    assert slots is not None
    return [(round((slot.due - start) / DAY, 2), slot.came is not None) for slot in slots if slot.is_late]


HOURS = tuple(float(hour) for hour in range(24))
SCHEDULES = {
    "hourly": weekly(range(7), *HOURS),
    "daily": weekly(range(7), 6),
    "working days": weekly(range(5), 6),
    "business hours": weekly(range(5), *HOURS[8:19]),
    "twice a week": weekly((0, 3), 4),
    "weekends": weekly((5, 6), 12),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_what_comes_as_ever_is_not_late_and_what_lacks_is_missing(name: str) -> None:
    """Each of the last week's runs, taken away or moved, is told, and nothing else."""
    times = SCHEDULES[name]
    assert late(times) == []
    last = [at for at in times if at >= NOW - 7 * DAY]
    for at in last[:: max(1, len(last) // 5)]:
        others = [each for each in times if each != at]
        (missing,) = late(others)
        assert missing == (pytest.approx((at - NOW + 7 * DAY) / DAY, abs=0.01), False)
        assert late(sorted([*others, at + HOUR * (0.5 if len(last) > 20 else 2)])) == [(missing[0], True)]


def test_what_a_scheduler_does_besides() -> None:
    """Retries, catching up and backfills add runs; summer time moves them by an hour; neither makes one late."""
    times = SCHEDULES["daily"]
    assert late(sorted([*times, *(at + 300 for at in times[-4:]), *(NOW - 5 * DAY + each for each in range(40))])) == []
    assert late([at - HOUR * (at > NOW - 5 * DAY) for at in times]) == []
    assert late([at + HOUR * (at > NOW - 5 * DAY) for at in times]) == []


def test_the_clock_says_what_is_known() -> None:
    """Before the grace is over nothing is late; what came later is not known."""
    times = [at for at in SCHEDULES["daily"] if at < NOW - DAY]
    at = NOW - DAY + 6 * HOUR
    assert late(times, end=NOW, now=at + 1800) == []
    assert late(times, end=NOW, now=at + 2 * HOUR) == [(6.25, False)]
    assert late([*times, at + 3 * HOUR], now=at + 2 * HOUR) == [(6.25, False)]


def test_times_without_a_rhythm_and_short_histories() -> None:
    """Nothing is due of the first, and of the others nothing is known."""
    wild = [MONDAY + (each * each * 7919 % 1009) / 1009 * 42 * DAY for each in range(60)]
    assert due(sorted(wild), NOW - 7 * DAY, NOW, NOW) == []
    assert due([MONDAY, MONDAY + 1], NOW - 7 * DAY, NOW, NOW) is None
    assert due([], NOW - 7 * DAY, NOW, NOW) is None
    assert due([MONDAY] * 20, NOW - 7 * DAY, NOW, NOW) is None


def test_gaps_stand_in_for_a_clock() -> None:
    """Every 45 minutes, each after the one before."""
    times = [MONDAY + each * 2700 + each % 3 * 20 for each in range(42 * 32)]
    assert late(times) == []
    times = [at for at in times if not NOW - DAY < at < NOW - DAY + 3 * HOUR]
    assert len(late(times)) == 1


def daily(days: Iterable[int], hours: float = 6, **more: Any) -> list[list[dict[str, Any]]]:
    """Runs at that hour."""
    return [run("load", day(each + hours / 24), [], [dataset("t")], **more) for each in days]


def test_late_missing_and_overdue_runs_are_told(store: LogStore) -> None:
    """With the run, or the last one before."""
    load(store, *daily(range(25)), *daily([25], 9), *daily([26, 28]))
    found = {finding.values.get("state", finding.change): finding for finding in ask(store, "late_run", window(24, 31))}
    assert set(found) == {"late", "missing", "overdue"}
    assert (found["late"].run_ids, found["late"].severity) == ([run_id_of("load", day(25.375))], Severity.LOW)
    assert found["late"].explanation == (
        "A run of tests/load started 3 h late: it was due at 2026-03-26 06:00 UTC, and 1 h are usual."
    )
    assert found["missing"].explanation == "A run of tests/load is missing, due at 2026-03-28 06:00 UTC."
    assert found["missing"].run_ids == [run_id_of("load", day(26.25))]
    assert (found["overdue"].severity, found["overdue"].values["runs"]) == (Severity.CRITICAL, 2)


def answer(store: LogStore, name: str, period: Window, *rules: dict[str, Any], as_of: datetime | None = None) -> Any:
    """All that an analysis tells, with rules."""
    return asking.ask(store.database, analysis_named(name), period, terms=asking.Terms(read_rules(rules)), as_of=as_of)


def test_data_is_stale_by_its_schedule_or_by_what_was_promised(store: LogStore) -> None:
    """By the clock; a failed run confirms nothing."""
    load(store, *daily(range(25)), *daily([25], eventType="FAIL"))
    assert ask(store, "stale_dataset", window(20, 25)) == []
    (found,) = answer(store, "stale_dataset", window(20, 25), as_of=day(25.5)).findings
    assert (str(found.subject), found.change, found.severity) == ("postgres://db:5432/t", "stale", Severity.HIGH)
    assert found.explanation == (
        "postgres://db:5432/t was last written 1 d 6 h ago, at 2026-03-25 06:10 UTC: "
        "no longer ago than 1 d 1 h is usual."
    )
    promised = {"dataset": "postgres://*", "max_age_hours": 6}
    (found,) = answer(store, "stale_dataset", window(20, 25), promised).findings
    assert found.values["sla_source"] == "declared"
    assert answer(store, "stale_dataset", window(20, 25), promised, as_of=day(24.4)).findings == ()


def test_streams_are_neither_late_nor_stale(store: LogStore) -> None:
    """By what they say of themselves, and by being alive for days; data of one that has ended may be old."""
    streaming = {"processingType": "STREAMING", "integration": "FLINK", "jobType": "JOB"}
    load(store, *daily(range(20)))
    start, end = run("load", day(20.25), [], [dataset("t")])
    alive = [{**end, "eventType": "RUNNING", "eventTime": day(20.25 + each).isoformat()} for each in range(10)]
    load(store, [start, *alive])
    for each in range(20):
        events = run("flink", day(each), [], [dataset("s")])
        load(
            store,
            [{**event, "job": {**event["job"], "facets": {"jobType": streaming}}} for event in events],
        )
    assert ask(store, "late_run", window(21, 30)) == []
    assert [finding.subject.name for finding in ask(store, "stale_dataset", window(21, 30))] == ["s"]


def test_promises_are_counted(store: LogStore) -> None:
    """By the time of the day, by the length, and by the job's own schedule."""
    load(store, *daily(range(20)), *daily([20, 22], 9), *daily([21, 23, 24]))
    period = window(20, 25)
    told = answer(store, "sla_attainment", period, {"job": "tests/*", "due": time(7)}).told
    (result,) = told.results
    assert result.properties == {
        "promise": "completed by 07:00 UTC",
        "promised": "5",
        "kept": "3",
        "attainment": "0.6000",
        "target": "0.95",
        "budget": "0.25",
        "budget_left": "-1.75",
    }
    (found,) = told.findings
    assert found.explanation == (
        "tests/load kept 3 of 5 promises (completed by 07:00 UTC): 60.0%, where 95.0% is the target."
    )
    berlin = {"job": "*", "due": time(7), "time_zone": "Europe/Berlin"}
    assert answer(store, "sla_attainment", period, berlin).told.results[0].properties["kept"] == "0"
    short = answer(store, "sla_attainment", period, {"job": "*", "max_minutes": 11}).told
    assert (short.results[0].properties["kept"], short.findings) == ("5", ())
    own = answer(store, "sla_attainment", period).told
    assert own.results[0].properties["kept"] == "3"
    assert len(own.findings) == 1


@pytest.mark.parametrize("name", ["late_run", "stale_dataset", "sla_attainment", "duration_anomaly", "volume_anomaly"])
def test_little_and_odd_histories(store: LogStore, name: str) -> None:
    """Nothing, one run, clocks of the far past and future, and a window of all of time."""
    everything = window(-700_000, 36_500)
    assert ask(store, name, everything) == []
    load(store, run("one", day(3), [], [dataset("t")]))
    assert ask(store, name, everything) == []
    load(store, *(run("odd", datetime(year, 1, 1, tzinfo=UTC), [], [dataset("t")]) for year in (1971, 2026, 2100)))
    load(store, *(run("odd", day(1) + timedelta(seconds=each), [], [dataset("t")]) for each in range(30)))
    for period in (everything, window(0, 5)):
        assert {finding.change for finding in ask(store, name, period)} <= {"stale"}
