"""What a report reads: the analyses, the executions, the tests, the volumes and the reach of what is bad."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.analysis import analysis_named
from lineagelog.analysis import place as joined
from lineagelog.read import Window
from lineagelog.read.analyses import Terms
from lineagelog.report import ReportContent, Wanted, collect, page
from lineagelog.report.model import JobStanding
from lineagelog.report.source import usual_analyses
from tests.analysis.support import DATABASE, dataset, day, load, run, run_id_of

if TYPE_CHECKING:
    from lineagelog.store import LogStore

type Json = dict[str, Any]

ODD = 37


def asked(store: LogStore, first: float, last: float, *names: str, **more: Any) -> ReportContent:
    """The report of some days, with these analyses."""
    analyses = [analysis_named(name) for name in names]
    window = Window(day(first), day(last))
    return collect(store.database, Wanted(title="t", window=window, as_of=window.end, analyses=analyses, **more))


def written(at: int) -> list[Json]:
    """A run that writes a thousand rows, on the odd day five."""
    table = dataset("shop.orders")
    table["outputFacets"] = {"outputStatistics": {"rowCount": 5 if at == ODD else 1000 + at % 5}}
    return run("load", day(at), [], [table])


def checked(at: int) -> list[Json]:
    """A run that tests it, and reads it for another."""
    table = dataset("shop.orders")
    assertion = {"assertion": "row_count", "success": at != ODD, "expected": "1000", "actual": "5"}
    table["inputFacets"] = {"dataQualityAssertions": {"assertions": [assertion]}}
    return run("use", day(at + 0.1), [table], [dataset("shop.revenue")])


def failing(at: int) -> list[Json]:
    """A run that fails."""
    facets = {"errorMessage": {"message": "no space left", "programmingLanguage": "C"}}
    return run("boom", day(at), [], [], eventType="FAIL", run={"runId": run_id_of("boom", day(at)), "facets": facets})


@pytest.fixture
def shop(store: LogStore) -> LogStore:
    """Forty days of a shop."""
    load(store, *(written(each) for each in range(38)), *(checked(each) for each in range(38)))
    load(store, *(failing(each) for each in range(33, 40)))
    return store


def test_all_parts_are_read(shop: LogStore) -> None:
    """Jobs worst first, what came of them when, the unusual volume with its band, the failed test, and who read it."""
    told = asked(shop, 33, 40, "volume_anomaly", "failure_streak")
    assert told.stopped == []
    assert [(job.name, job.state, job.executions, job.failed) for job in told.jobs] == [
        ("boom", JobStanding.FAILING, 7, 7),
        ("load", JobStanding.COMPLETED, 5, 0),
        ("use", JobStanding.COMPLETED, 5, 0),
    ]
    assert told.jobs[0].last_error == "no space left"
    assert told.jobs[1].typical == 600
    assert sum(each.executions for each in told.spans if each.outcome == "FAIL") == 7
    assert sum(each.executions for each in told.spans) == 17
    assert {key: len(spans) for key, spans in told.lines.items()} == dict(
        zip((job.job_key for job in told.jobs), (7, 5, 5), strict=True)
    )
    assert {each.analysis for each in told.findings} == {"volume_anomaly", "failure_streak"}
    (volume,) = told.volumes
    odd = next(point for point in volume.points if point.at == day(ODD))
    assert (volume.name, volume.finding is None, odd.value, odd.side) == ("shop.orders", False, 5, -1)
    assert all(point.side == 0 and point.lower for point in volume.points if day(33) <= point.at < day(ODD))
    (test,) = told.tests
    assert (test.test, test.failed, test.n, list(test.latest)) == ("row_count", 1, 5, [False, True, True, True, True])
    assert told.blast is not None
    assert [(step.job, step.target) for step in told.blast.steps] == [("tests/use", joined(DATABASE, "shop.revenue"))]
    document = page(told)
    for said in ("no space left", "found 5", "shop.revenue", "5 rows, expected"):
        assert said in document, said


def test_without_a_start_the_first_run_is_one(shop: LogStore) -> None:
    """The window `all`."""
    told = collect(
        shop.database,
        Wanted(title="t", window=Window(day(0).min.replace(tzinfo=day(0).tzinfo), day(40)), as_of=day(40), analyses=[]),
    )
    assert (told.start, told.scale is not None and told.scale.start <= day(0)) == (None, True)
    assert sum(job.executions for job in told.jobs) == 83
    assert "the beginning" in page(told)


def test_what_a_retry_fixed_is_no_failure(store: LogStore) -> None:
    """It has a colour of its own."""
    for each in range(10):
        load(store, run("load", day(each), [], []))
    load(store, run("load", day(10), [], [], eventType="FAIL"), run("load", day(10.01), [], []))
    told = asked(store, 5, 11, "failed_then_succeeded")
    assert [each.outcome for each in told.spans if each.outcome != "COMPLETE"] == ["RETRIED"]
    assert "fixed by retry" in page(told)


def test_an_empty_store_is_an_empty_report(store: LogStore) -> None:
    """With all usual analyses; those that read events are asked by name only."""
    told = asked(store, 0, 7, *(each.name for each in usual_analyses()))
    assert (told.jobs, told.findings, told.volumes, told.tests, told.blast) == ([], [], [], [], None)
    assert "No job ran in this window" in page(told)
    assert "exposed_credentials" not in told.asked


def test_what_takes_too_long_is_named_and_the_rest_is_there(shop: LogStore) -> None:
    """Every part is for itself."""
    told = asked(shop, 33, 40, "late_run", terms=Terms(time_limit=timedelta(milliseconds=1)))
    assert any(each.startswith("late_run was stopped after 0.001 s") for each in told.stopped)
    assert any(each == "jobs could not be read within 0.001 s" for each in told.stopped)
    assert "could not be read in time" in page(told)
