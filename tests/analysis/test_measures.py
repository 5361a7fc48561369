"""Durations and volumes: what is told of a run that differs, and of what nothing is told."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.analysis import Severity, analysis_named, read_rules
from lineagelog.read import analyses as asking

from .support import ask, dataset, day, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore

type Json = dict[str, Any]

ODD = 30
"""The day that differs."""


def lasting(at: float, minutes: float, **more: Any) -> list[Json]:
    """A run of so many minutes."""
    start, end = run("load", day(at), [], [], **more)
    return [start, {**end, "eventTime": (day(at) + timedelta(minutes=minutes)).isoformat()}]


def writing(at: float, rows: int | None, change: str = "OVERWRITE", **more: Any) -> list[Json]:
    """A run that says how many rows it wrote."""
    table = dataset("t")
    table["facets"]["lifecycleStateChange"] = {"lifecycleStateChange": change}
    if rows is not None:
        table["outputFacets"] = {"outputStatistics": {"rowCount": rows, "size": rows * 100}}
    return run("load", day(at), [], [table], **more)


def test_a_long_run_is_told_with_all_that_makes_one_believe_it(store: LogStore) -> None:
    """Subject, figures, band, evidence and a sentence."""
    load(store, *(lasting(each, 60 if each == ODD else 20 + each % 3) for each in range(35)))
    (found,) = ask(store, "duration_anomaly", window(28, 35))
    assert (str(found.subject), found.change, found.severity) == ("tests/load", "longer than usual", Severity.CRITICAL)
    assert (found.observed, found.run_ids, found.n) == ("1 h", [run_id_of("load", day(ODD))], 28)
    assert found.lower is not None
    assert found.upper is not None
    assert 600 < found.lower < 1260 < found.upper < 2400
    assert found.explanation.startswith("A run of tests/load took 1 h, 18")
    assert found.explanation.endswith(" % longer than the 20 min 57 s that are usual.")


def test_failed_and_open_runs_teach_nothing_and_are_not_judged(store: LogStore) -> None:
    """How long a run took that failed says nothing."""
    load(store, *(lasting(each, 20 + each % 3) for each in range(30)))
    load(store, lasting(30, 200, eventType="FAIL"), lasting(31, 1)[:1])
    assert ask(store, "duration_anomaly", window(28, 35)) == []


def test_too_little_history_is_counted(store: LogStore) -> None:
    """Eight runs before the window are needed."""
    load(store, *(lasting(each, 20) for each in range(7)), lasting(7, 500))
    duration = analysis_named("duration_anomaly")
    told = asking.ask(store.database, duration, window(7, 9)).told
    assert (told.findings, told.insufficient) == ((), 1)
    assert asking.ask(store.database, duration, window(20, 30)).told.insufficient == 0


def test_rules_change_what_counts(store: LogStore) -> None:
    """Least change, direction, threshold."""
    load(store, *(lasting(each, 60 if each == ODD else 20 + each % 3) for each in range(35)))
    duration, period = analysis_named("duration_anomaly"), window(28, 35)
    for rule, count in (
        ({}, 1),
        ({"least_change": 1.5}, 1),
        ({"least_change": 2.5}, 0),
        ({"direction": "down"}, 0),
        ({"threshold": 1000}, 0),
        ({"analyses": ["late_run"], "ignore": True}, 1),
        ({"ignore": True}, 0),
    ):
        rules = read_rules([{"job": "tests/*", **rule}])
        assert len(asking.ask(store.database, duration, period, terms=asking.Terms(rules)).findings) == count, rule


@pytest.mark.parametrize(("rows", "change"), [(5000, "more rows"), (200, "fewer rows"), (0, "no rows")])
def test_volumes_that_differ(store: LogStore, rows: int, change: str) -> None:
    """Of rows and bytes that tell of the same write, rows do."""
    load(store, *(writing(each, rows if each == ODD else 1000 + each % 4 * 10) for each in range(35)))
    (found,) = ask(store, "volume_anomaly", window(28, 35))
    assert (str(found.subject), found.change) == ("postgres://db:5432/t", change)
    assert found.observed == f"{rows:,} rows"
    assert list(found.run_ids) == [run_id_of("load", day(ODD))]
    assert found.values["write_pattern"] == "REPLACED"
    assert found.explanation.startswith("A write of tests/load to postgres://db:5432/t brought ")


def test_what_is_announced_and_not_confirmed_is_no_volume(store: LogStore) -> None:
    """A failed run's output."""
    load(store, *(writing(each, 1000 + each % 4 * 10) for each in range(30)), writing(30, 0, eventType="FAIL"))
    assert ask(store, "volume_anomaly", window(28, 35)) == []


def test_each_way_of_writing_is_compared_with_itself(store: LogStore) -> None:
    """Small appends beside a large replacement."""
    for each in range(35):
        load(store, writing(each, 1_000_000 + each % 4), writing(each + 0.5, 10, change="RENAME"))
    assert ask(store, "volume_anomaly", window(28, 35)) == []


def test_writes_of_no_rows_that_come_again_are_usual(store: LogStore) -> None:
    """Each Sunday; and those of a job that seldom has any."""
    load(store, *(writing(each, 0 if each % 7 == 0 else 1000 + each % 3) for each in range(40)))
    assert ask(store, "volume_anomaly", window(28, 40)) == []


def test_a_job_that_never_writes_rows_is_as_ever(store: LogStore) -> None:
    """And one that has stopped to write any is told once."""
    load(store, *(writing(each, 0) for each in range(40)))
    assert ask(store, "volume_anomaly", window(28, 40)) == []
    load(store, *(writing(each + 0.2, 1000 if each < 32 else 0, change="RENAME") for each in range(40)))
    (found,) = ask(store, "volume_anomaly", window(28, 40))
    assert (found.change, found.severity, found.values["runs"]) == ("no rows", Severity.CRITICAL, 8)


def test_tables_of_a_day_are_one_dataset(store: LogStore) -> None:
    """Names that differ only in a date are compared with each other."""
    for each in range(35):
        events = writing(each, 100_000 if each == ODD else 1000 + each % 4 * 10)
        events[1]["outputs"][0]["name"] = f"shop.orders_{day(each):%Y%m%d}"
        load(store, events)
    (found,) = ask(store, "volume_anomaly", window(28, 35))
    assert found.subject.name.startswith("shop.orders_")
    assert found.change == "more rows"
    assert ask(store, "stale_dataset", window(28, 35)) == []


def test_odd_figures_break_nothing(store: LogStore) -> None:
    """No statistics at all, one run, clocks that go backwards, and as much as a bigint holds."""
    load(store, *(writing(each, None) for each in range(20)), lasting(3.2, -30))
    assert ask(store, "volume_anomaly", window(15, 20)) == []
    load(store, *(writing(each + 0.1, 9_223_372_036_854_775_807 // 100 if each % 2 else 0) for each in range(20)))
    assert ask(store, "volume_anomaly", window(15, 20)) == []
    assert ask(store, "duration_anomaly", window(0, 4)) == []
