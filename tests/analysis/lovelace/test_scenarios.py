"""Scenarios for the rules of Egeria's services, with values worked out by hand; numbers in brackets name the rules."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.analysis import analysis_named
from lineagelog.errors import InputError
from lineagelog.read import Window
from lineagelog.read.analyses import ask

from .support import WINDOW, Json, at, event, read, results, run_id, store_all, written

if TYPE_CHECKING:
    from lineagelog.store import LogStore

BOTH = ("digest", "events")
JOB, DATA = ("job", "job"), ("dataset", "t")
PERIOD = "Pass rate between 2026-10-20T12:00:00Z and 2026-10-30T12:00:00Z."
STAMPS = {
    "analysisTime": "2026-10-30T12:00:00Z",
    "analysisWindowStart": "2026-10-20T12:00:00Z",
    "analysisWindowEnd": "2026-10-30T12:00:00Z",
}


def three_runs() -> list[Json]:
    """One hour apart, five minutes long; each checks its input, and writes 10 rows."""
    checks = [{"assertion": "not_null", "column": "id", "success": True}, {"assertion": "row_count", "success": True}]
    found = []
    for each in range(3):
        found += [
            event(60 * each, "START", each),
            event(
                60 * each + 5,
                "COMPLETE",
                each,
                inputs=[read("s", 20, checks=checks)],
                outputs=[written("t", 10, 1000)],
                tests=[{"name": "orders", "type": "dbt", "status": "pass"}],
            ),
        ]
    return found


def moment(minutes: float) -> str:
    """As attributes of Egeria's types are."""
    return at(minutes).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.mark.parametrize("history", BOTH)
def test_typed_run_metrics_of_runs_that_are_not_over(store: LogStore, history: str) -> None:
    """[35] The last run's length may be negative, the sum leaves it out; what has no end has neither end nor length."""
    store_all(
        store, [complete(10), event(20, "START"), event(30, "START", 2, job="b"), event(31, "RUNNING", 2, job="b")]
    )
    found = results(store, "run_profile", history)
    typed = found["job", "job"]["typed"]
    assert (typed["lastRunStatus"], typed["lastRunDuration"]) == ("COMPLETE", -600_000)
    assert (typed["lastRunEndTime"], typed["totalRunDuration"]) == (moment(10), 0)
    running = found["job", "b"]["typed"]
    assert running["lastRunStatus"] == "RUNNING"
    assert not {"lastRunEndTime", "lastRunDuration"} & running.keys()


@pytest.mark.parametrize("history", BOTH)
def test_the_oracle(store: LogStore, history: str) -> None:
    """Egeria's own test: HOURLY, REGULAR, APPENDED, three writes and three annotations; with all that comes with it."""
    store_all(store, three_runs())
    (profile,) = results(store, "run_profile", history).values()
    assert profile["subject"] == {"kind": "job", "namespace": "shop", "name": "job"}
    assert profile["typed"] == {
        "runCount": 3,
        "failedRunCount": 0,
        "firstRunStartTime": moment(0),
        "lastRunId": run_id(2),
        "lastRunStartTime": moment(120),
        "lastRunEndTime": moment(125),
        "lastRunStatus": "COMPLETE",
        "lastRunDuration": 300_000,
        "totalRunDuration": 900_000,
        "lastRunRowsRead": 20,
        "lastRunRowsWritten": 10,
        "lastRunBytesRead": 0,
        "lastRunBytesWritten": 1000,
        "totalRowsRead": 60,
        "totalRowsWritten": 30,
        "totalBytesRead": 0,
        "totalBytesWritten": 3000,
    }
    assert profile["properties"] == {
        **STAMPS,
        "analysisService": "Profile OpenLineage Runs",
        "runsInWindow": "3",
        "completedRunsInWindow": "3",
        "failedRunsInWindow": "0",
        "abortedRunsInWindow": "0",
        "unfinishedRunsInWindow": "0",
        "failureRate": "0.00",
        "runsPerDay": "0.30",
        "distinctInputs": "1",
        "distinctOutputs": "1",
        "meanRunInterval": "3600000.00",
        "medianRunInterval": "3600000",
        "minRunInterval": "3600000",
        "maxRunInterval": "3600000",
        "typicalRunInterval": "1 hours 0 minutes",
        "runIntervalRegularity": "REGULAR",
        "inferredSchedule": "HOURLY",
        "meanRunDuration": "300000.00",
        "medianRunDuration": "300000",
        "maxRunDuration": "300000",
        "p95RunDuration": "300000",
        "typicalRunDuration": "5 minutes 0 seconds",
        "meanRowsReadPerRun": "20.00",
        "meanRowsWrittenPerRun": "10.00",
        "meanBytesReadPerRun": "0.00",
        "meanBytesWrittenPerRun": "1000.00",
        "rowsWrittenInWindow": "30",
        "rowsReadInWindow": "60",
        "bytesWrittenInWindow": "3000",
        "bytesReadInWindow": "0",
    }
    scopes = results(store, "data_scope", history)
    assert scopes["dataset", "t"]["properties"] == {
        **STAMPS,
        "analysisService": "Refine OpenLineage Data Scope",
        "dataCollectionStartTime": "2026-10-20T12:05:00Z",
        "dataCollectionEndTime": "2026-10-20T14:05:00Z",
        "writePattern": "APPENDED",
        "writesInWindow": "3",
        "writersInWindow": "1",
        "writesPerDay": "0.30",
        "firstWriteInWindow": "2026-10-20T12:05:00Z",
        "lastWriteInWindow": "2026-10-20T14:05:00Z",
        "meanRowsPerWrite": "10.00",
        "maxRowsPerWrite": "10",
        "rowsWrittenInWindow": "30",
    }
    assert scopes["dataset", "s"]["properties"] == {
        **STAMPS,
        "analysisService": "Refine OpenLineage Data Scope",
        "readsInWindow": "3",
        "readersInWindow": "1",
        "readsPerDay": "0.30",
        "lastReadInWindow": "2026-10-20T14:05:00Z",
    }
    summaries = results(store, "quality_summary", history)
    assert len(summaries["dataset", "s"]["annotations"]) == 3
    assert [each["qualityDimension"] for each in summaries["dataset", "s"]["annotations"]] == [
        "not_null.id", "row_count", "overall",
    ]  # fmt: skip
    assert summaries["dataset", "s"]["properties"] == {
        **STAMPS,
        "analysisService": "Summarise OpenLineage Data Quality",
        "overallPassRate": "100",
        "dimensions": "2",
    }
    assert summaries["job", "job"]["annotations"] == [
        {
            "qualityDimension": "dbt.orders",
            "qualityScore": 100,
            "sampleSize": 3,
            "summary": "dbt.orders: 3 passed, 0 failed (100%)",
            "qualityDescription": f"{PERIOD}  Latest result: pass.",
        },
        {
            "qualityDimension": "overall",
            "qualityScore": 100,
            "sampleSize": 3,
            "summary": "overall: 3 passed, 0 failed (100%)",
            "qualityDescription": PERIOD,
        },
    ]
    assert summaries["job", "job"]["report"]["description"] == (
        "Pass rates of the data quality tests reported in OpenLineage events for job shop/job between "
        "2026-10-20T12:00:00Z and 2026-10-30T12:00:00Z.  Overall pass rate 100%."
    )


def complete(minutes: float, run: object = 1, **more: Any) -> Json:
    return event(minutes, "COMPLETE", run, **more)


FIVE_DURATIONS = ("meanRunDuration", "medianRunDuration", "maxRunDuration", "p95RunDuration", "typicalRunDuration")
EIGHT_VOLUMES = (
    *("meanRowsReadPerRun", "meanRowsWrittenPerRun", "meanBytesReadPerRun", "meanBytesWrittenPerRun"),
    *("rowsWrittenInWindow", "rowsReadInWindow", "bytesWrittenInWindow", "bytesReadInWindow"),
)
NAMELESS = dict.fromkeys(EIGHT_VOLUMES)
PROFILES: dict[str, tuple[list[Json], tuple[str, ...], dict[str, str | None]]] = {
    "[1] a START before the window does not exist: the end alone is the start": (
        [event(-10, "START"), complete(10)],
        ("events",),
        {"runsInWindow": "1", "completedRunsInWindow": "1", "meanRunDuration": "0.00"},
    ),
    "[1] an end after the window does not exist": (
        [event(0, "START"), complete(60 * 24 * 10 + 1)],
        ("events",),
        {"unfinishedRunsInWindow": "1", "completedRunsInWindow": "0", "meanRunDuration": None},
    ),
    "[1] both bounds are included": (
        [event(0, "START"), complete(60 * 24 * 10)],
        ("events",),
        {"completedRunsInWindow": "1", "medianRunDuration": str(10 * 86_400_000)},
    ),
    "the digest knows a run as a whole, in the window where it began": (
        [event(-10, "START", "old"), complete(10, "old"), event(0, "START"), complete(60 * 24 * 10 + 1)],
        ("digest",),
        {"runsInWindow": "1", "completedRunsInWindow": "1", "medianRunDuration": str(10 * 86_400_000 + 60_000)},
    ),
    "[2] days run from the first event of any job, with a fraction": (
        [event(60 * 24 * 6, "START", "other", "another"), event(60 * 24 * 7.5, "START")],
        BOTH,
        {"runsPerDay": "0.25"},
    ),
    "[3] the last event with statistics holds": (
        [event(0, "RUNNING", outputs=[written("t", 5, 50)]), complete(1, outputs=[written("t")])],
        BOTH,
        {"rowsWrittenInWindow": "5", "bytesWrittenInWindow": "50"},
    ),
    "[4] rows and bytes are replaced as a pair": (
        [event(0, "RUNNING", outputs=[written("t", 5, 50)]), complete(1, outputs=[written("t", 9)])],
        ("events",),
        {"rowsWrittenInWindow": "9", "bytesWrittenInWindow": "0"},
    ),
    "the digest keeps each statistic": (
        [event(0, "RUNNING", outputs=[written("t", 5, 50)]), complete(1, outputs=[written("t", 9)])],
        ("digest",),
        {"rowsWrittenInWindow": "9", "bytesWrittenInWindow": "50"},
    ),
    "[4] of the same dataset twice the last entry with statistics holds": (
        [complete(0, outputs=[written("t", 5), written("t", 7), written("t")])],
        ("events",),
        {"rowsWrittenInWindow": "7", "distinctOutputs": "1"},
    ),
    "[6] inputStatistics hide dataQualityMetrics, even when empty": (
        [
            complete(
                0,
                inputs=[
                    {
                        "namespace": "db",
                        "name": "a",
                        "inputFacets": {"inputStatistics": {}, "dataQualityMetrics": {"rowCount": 5, "bytes": 6}},
                    },
                    {
                        "namespace": "db",
                        "name": "b",
                        "inputFacets": {"dataQualityMetrics": {"rowCount": 3, "bytes": 4}},
                    },
                    {"namespace": "db", "name": "c", "facets": {"dataQualityMetrics": {"rowCount": 100}}},
                ],
            )
        ],
        ("events",),
        {"rowsReadInWindow": "3", "bytesReadInWindow": "4", "distinctInputs": "3"},
    ),
    "[6] a number of files is no statistic": (
        [
            complete(
                0, outputs=[{"namespace": "db", "name": "t", "outputFacets": {"outputStatistics": {"fileCount": 3}}}]
            )
        ],
        BOTH,
        {**NAMELESS, "distinctOutputs": "1"},
    ),
    "[8] runs that moved nothing divide nothing": (
        [
            complete(0, 1, outputs=[written("t", 0, 0)]),
            complete(1, 2, inputs=[read("s", 0)], outputs=[written("t", 0, 7)]),
        ],
        BOTH,
        {"meanBytesWrittenPerRun": "7.00", "meanRowsReadPerRun": "0.00", "rowsWrittenInWindow": "0"},
    ),
    "[8] statistics that are all zero count as none": ([complete(0, outputs=[written("t", 0, 0)])], BOTH, NAMELESS),
    "[9] what is unfinished or aborted is in the denominator only": (
        [
            event(0, "FAIL", 1),
            event(1, "ABORT", 2),
            event(2, "RUNNING", 3),
            event(3, "OTHER", 4),
            event(4, "WHAT", 5),
            event(5, None, 6),
        ],
        BOTH,
        {"failureRate": "0.17", "failedRunsInWindow": "1", "abortedRunsInWindow": "1", "unfinishedRunsInWindow": "4"},
    ),
    "[9] types compare case-sensitively": (
        [event(0, "complete")],
        ("events",),
        {"unfinishedRunsInWindow": "1", "meanRunDuration": None},
    ),
    "[13] two places for means and rates, none for the others": (
        [event(0, "START", 1), complete(1, 1), event(10, "START", 2), complete(13, 2), event(21, "START", 3)],
        BOTH,
        {
            "meanRunInterval": "630000.00",
            "medianRunInterval": "660000",
            "meanRunDuration": "120000.00",
            "medianRunDuration": "180000",
            "p95RunDuration": "180000",
            "maxRunDuration": "180000",
            "runsPerDay": "0.30",
        },
    ),
    "[15] one run has no intervals": (
        [event(0, "START")],
        BOTH,
        {
            "runIntervalRegularity": "SINGLE_RUN",
            "inferredSchedule": "UNKNOWN",
            "meanRunInterval": None,
            "medianRunInterval": None,
            "minRunInterval": None,
            "maxRunInterval": None,
            "typicalRunInterval": None,
        },
    ),
    "[15] one interval is a single run's": (
        [event(0, "START", 1), event(60, "START", 2)],
        BOTH,
        {"runIntervalRegularity": "SINGLE_RUN", "inferredSchedule": "IRREGULAR", "minRunInterval": "3600000"},
    ),
    "[17] the latest end wins, whatever came between": (
        [event(0, "START"), event(1, "FAIL"), complete(2), event(3, "RUNNING"), event(4, "START")],
        BOTH,
        {"completedRunsInWindow": "1", "failedRunsInWindow": "0", "medianRunDuration": "120000"},
    ),
    "[17] a COMPLETE that a FAIL follows has failed": (
        [event(0, "START"), complete(1), event(2, "FAIL")],
        BOTH,
        {"failedRunsInWindow": "1", "failureRate": "1.00"},
    ),
    "[18] an end before the start has no length, and is a run": (
        [complete(0), event(5, "START")],
        BOTH,
        {"runsInWindow": "1", "completedRunsInWindow": "1", **dict.fromkeys(FIVE_DURATIONS)},
    ),
    "[18] without a START the first event is one": (
        [event(0, "RUNNING"), complete(3)],
        BOTH,
        {"medianRunDuration": "180000"},
    ),
    "[18] failed and aborted runs have lengths": (
        [event(0, "START", 1), event(2, "FAIL", 1), event(10, "START", 2), event(14, "ABORT", 2)],
        BOTH,
        {"meanRunDuration": "180000.00"},
    ),
    "[19] intervals are between runs of any outcome": (
        [event(0, "START", 1), event(30, "FAIL", 2), event(60, "OTHER", 3)],
        BOTH,
        {"inferredSchedule": "EVERY_30_MINUTES"},
    ),
    "[20] a dataset counts on both sides, with or without statistics": (
        [event(0, "START", inputs=[read("a")], outputs=[written("a")]), complete(1, inputs=[read("b")])],
        BOTH,
        {"distinctInputs": "2", "distinctOutputs": "1"},
    ),
    "[29] of events that share a file the last received is read": (
        [complete(0, outputs=[written("t", 5)]), complete(0, outputs=[written("t", 6)])],
        ("events",),
        {"runsInWindow": "1", "rowsWrittenInWindow": "6"},
    ),
    "[30] what spells a number is one, and a fraction is cut": (
        [complete(0, outputs=[written("a", "12"), written("b", 1.9)])],
        ("events",),
        {"rowsWrittenInWindow": "13"},
    ),
    "[30] an event with another number is passed over as a whole": (
        [
            event(0, "START"),
            complete(1, outputs=[written("a", "abc")]),
            event(2, "FAIL", outputs=[written("a", 2**63)]),
        ],
        ("events",),
        {"unfinishedRunsInWindow": "1", "distinctOutputs": "0"},
    ),
    "[30] an id in either case is one run": (
        [event(0, "START") | {"run": {"runId": run_id(1).upper()}}, complete(1)],
        BOTH,
        {"runsInWindow": "1"},
    ),
    "[31] times that Egeria cannot read": (
        [
            event(0, "START"),
            complete(1) | {"eventTime": "2026-10-20T12:01:00"},
            complete(2) | {"eventTime": "2026-10-20T13:02:00+01:00[Europe/Paris]"},
            complete(3) | {"eventTime": "2026-10-20T12:03:00.0000000001Z"},
        ],
        ("events",),
        {"unfinishedRunsInWindow": "1"},
    ),
    "[12] nanoseconds are cut off before anything is subtracted": (
        [
            event(0, "START") | {"eventTime": "2026-10-20T12:00:00.000999999Z"},
            complete(1) | {"eventTime": "2026-10-20T12:00:01.001Z"},
        ],
        BOTH,
        {"medianRunDuration": "1001"},
    ),
}


@pytest.mark.parametrize("scenario", PROFILES)
def test_run_profiles(store: LogStore, scenario: str) -> None:
    """What a property is, or that it is not there."""
    events, histories, expected = PROFILES[scenario]
    store_all(store, events)
    for history in histories:
        found = results(store, "run_profile", history)[JOB]["properties"]
        assert {name: found.get(name) for name in expected} == expected, history


def _failing(minutes: float, **more: Any) -> Json:
    return event(minutes, "FAIL", **more)


SCOPES: dict[str, tuple[list[Json], tuple[str, ...], dict[str, str | None]]] = {
    "[3] the last record with authority holds as a whole": (
        [
            event(0, "RUNNING", outputs=[written("t", 5, change="OVERWRITE", version="1")]),
            complete(1, outputs=[written("t")]),
        ],
        ("events",),
        {
            "meanRowsPerWrite": None,
            "rowsWrittenInWindow": None,
            "maxRowsPerWrite": None,
            "writePattern": "APPENDED",
            "datasetVersionsInWindow": None,
            "lastWriteInWindow": "2026-10-20T12:01:00Z",
        },
    ),
    "the digest keeps what was carried": (
        [
            event(0, "RUNNING", outputs=[written("t", 5, change="OVERWRITE", version="1")]),
            complete(1, outputs=[written("t")]),
        ],
        ("digest",),
        {
            "rowsWrittenInWindow": "5",
            "writePattern": "REPLACED",
            "datasetVersionsInWindow": "1",
            "lastWriteInWindow": "2026-10-20T12:01:00Z",
        },
    ),
    "[3] OVERWRITE on a START alone is not kept": (
        [event(0, "START", outputs=[written("t", change="OVERWRITE")]), complete(1, outputs=[written("t")])],
        ("events",),
        {"writePattern": "APPENDED"},
    ),
    "[3] a START's record stays where no later event names the dataset": (
        [event(0, "START", outputs=[written("t", change="OVERWRITE")]), complete(5)],
        BOTH,
        {"writesInWindow": "1", "writePattern": "REPLACED", "lastWriteInWindow": "2026-10-20T12:00:00Z"},
    ),
    "[3] other types have authority, too": (
        [event(0, "START", outputs=[written("t")]), event(7, "OTHER", outputs=[written("t")])],
        BOTH,
        {"writesInWindow": "1", "lastWriteInWindow": "2026-10-20T12:07:00Z"},
    ),
    "[5] two jobs that share a run id make one record": (
        [complete(0, outputs=[written("t", 3)]), complete(1, job="two", outputs=[written("t", 4)])],
        BOTH,
        {"writesInWindow": "1", "writersInWindow": "1", "rowsWrittenInWindow": "4"},
    ),
    "[8] no rows are rows": (
        [complete(0, 1, outputs=[written("t", 0)]), complete(1, 2, outputs=[written("t")])],
        BOTH,
        {"meanRowsPerWrite": "0.00", "maxRowsPerWrite": "0", "rowsWrittenInWindow": "0", "writesInWindow": "2"},
    ),
    "[21] replacements compare in either case; the latest is the start": (
        [
            complete(0, 1, outputs=[written("t", change="truncate")]),
            complete(60, 2, outputs=[written("t", change="CREATE")]),
            complete(120, 3, outputs=[written("t", subset={"outputCondition": {"type": "partition"}})]),
        ],
        BOTH,
        {
            "writePattern": "REPLACED",
            "dataCollectionStartTime": "2026-10-20T13:00:00Z",
            "dataCollectionEndTime": "2026-10-20T14:00:00Z",
        },
    ),
    "[21] ALTER, DROP and RENAME replace nothing": (
        [
            complete(each, each, outputs=[written("t", change=change)])
            for each, change in enumerate(("ALTER", "DROP", "RENAME"))
        ],
        BOTH,
        {"writePattern": "APPENDED", "dataCollectionStartTime": "2026-10-20T12:00:00Z"},
    ),
    "[6] a condition without a type is a partition's": (
        [complete(0, outputs=[written("t", subset={"outputCondition": {}})])],
        ("events",),
        {"writePattern": "PARTITIONED"},
    ),
    "[6] a subset without a condition is none": (
        [complete(0, outputs=[written("t", subset={})])],
        BOTH,
        {"writePattern": "APPENDED"},
    ),
    "[22] writers and readers are jobs, versions are distinct": (
        [
            complete(0, 1, outputs=[written("t", version="1")], inputs=[read("t")]),
            complete(1, 2, outputs=[written("t", version="1")]),
            complete(2, 3, job="two", outputs=[written("t", version="2")]),
            complete(3, 4, inputs=[read("t")]),
        ],
        BOTH,
        {
            "writersInWindow": "2",
            "writesInWindow": "3",
            "datasetVersionsInWindow": "2",
            "readersInWindow": "1",
            "readsInWindow": "2",
            "lastReadInWindow": "2026-10-20T12:03:00Z",
        },
    ),
    "[22] what is only written has no properties of reads": (
        [complete(0, outputs=[written("t")])],
        BOTH,
        dict.fromkeys(("readsInWindow", "readersInWindow", "readsPerDay", "lastReadInWindow")),
    ),
    "[22] what is only read has no properties of writes": (
        [complete(0, inputs=[read("t", 5)])],
        BOTH,
        {
            "writePattern": None,
            "writesInWindow": None,
            "firstWriteInWindow": None,
            "dataCollectionStartTime": None,
            "readsInWindow": "1",
        },
    ),
    "[23] runs that fail write as well": (
        [_failing(0, outputs=[written("t", 2)]), event(1, "ABORT", 2, outputs=[written("t", 3)])],
        BOTH,
        {"writesInWindow": "2", "meanRowsPerWrite": "2.50"},
    ),
    "[6] a life cycle elsewhere says nothing": (
        [
            complete(
                0,
                outputs=[
                    {
                        "namespace": "db",
                        "name": "t",
                        "outputFacets": {"lifecycleStateChange": {"lifecycleStateChange": "OVERWRITE"}},
                    }
                ],
            )
        ],
        ("events",),
        {"writePattern": "APPENDED"},
    ),
}


@pytest.mark.parametrize("scenario", SCOPES)
def test_data_scopes(store: LogStore, scenario: str) -> None:
    """What a property is, or that it is not there."""
    events, histories, expected = SCOPES[scenario]
    store_all(store, events)
    for history in histories:
        found = results(store, "data_scope", history)[DATA]["properties"]
        assert {name: found.get(name) for name in expected} == expected, history


def checked(minutes: float, *checks: Json, kind: str = "COMPLETE", run: object = 1) -> Json:
    return event(minutes, kind, run, inputs=[read("t", checks=list(checks))])


def from_tests(minutes: float, *tests: Json, run: object = 1) -> Json:
    return complete(minutes, run, tests=list(tests))


QUALITIES: dict[str, tuple[list[Json], tuple[str, ...], tuple[str, str], list[Any]]] = {
    "[7] each report of each event counts": (
        [
            checked(each, {"assertion": "a", "success": each > 0}, kind=kind)
            for each, kind in enumerate(("START", "RUNNING", "COMPLETE"))
        ],
        BOTH,
        DATA,
        [
            "a: 2 passed, 1 failed (67%)",
            f"{PERIOD}  Last failure at 2026-10-20T12:00:00Z.  Latest result: pass.",
            "overall: 2 passed, 1 failed (67%)",
            PERIOD,
        ],
    ),
    "[24] dimensions of assertions": (
        [
            checked(0, {"assertion": "a", "success": True}),
            checked(1, {"name": "n", "column": "c", "success": True}),
            checked(2, {"success": True}),
            checked(3, {"assertion": "a", "column": ""}),
            checked(4, {"assertion": "b", "success": None}),
        ],
        ("events",),
        DATA,
        [
            "a: 1 passed, 0 failed (100%)",
            f"{PERIOD}  Latest result: pass.",
            "n.c: 1 passed, 0 failed (100%)",
            f"{PERIOD}  Latest result: pass.",
            "unknown: 1 passed, 0 failed (100%)",
            f"{PERIOD}  Latest result: pass.",
            "a.: 0 passed, 1 failed (0%)",
            f"{PERIOD}  Last failure at 2026-10-20T12:03:00Z.  Latest result: fail.",
            "b: 0 passed, 1 failed (0%)",
            f"{PERIOD}  Last failure at 2026-10-20T12:04:00Z.  Latest result: fail.",
            "overall: 3 passed, 2 failed (60%)",
            PERIOD,
        ],
    ),
    "[24] dimensions of tests": (
        [
            from_tests(0, {"name": "n", "type": "t", "status": "pass"}),
            from_tests(1, {"name": "n", "status": "pass"}),
            from_tests(2, {"type": "t", "status": "pass"}),
        ],
        BOTH,
        JOB,
        [
            "t.n: 1 passed, 0 failed (100%)",
            f"{PERIOD}  Latest result: pass.",
            "n: 1 passed, 0 failed (100%)",
            f"{PERIOD}  Latest result: pass.",
            "t.null: 1 passed, 0 failed (100%)",
            f"{PERIOD}  Latest result: pass.",
            "overall: 3 passed, 0 failed (100%)",
            PERIOD,
        ],
    ),
    "[25] [26] only pass and fail score; what is skipped is quoted and not in the overall sample": (
        [
            from_tests(0, {"name": "n", "status": "PASS", "severity": "error"}, run=1),
            from_tests(1, {"name": "n", "status": "Fail"}, run=2),
            from_tests(2, {"name": "n", "status": "Warn", "severity": "warn"}, run=3),
            from_tests(3, {"name": "n"}, run=4),
        ],
        BOTH,
        JOB,
        [
            "n: 1 passed, 1 failed, 2 skipped (50%)",
            f"{PERIOD}  Last failure at 2026-10-20T12:01:00Z.  Latest result: skip.  Severity: warn.",
            "overall: 1 passed, 1 failed (50%)",
            PERIOD,
        ],
    ),
    "[16] nothing evaluated is 0": (
        [from_tests(0, {"name": "n", "status": "error"})],
        BOTH,
        JOB,
        [
            "n: 0 passed, 0 failed, 1 skipped (0%)",
            f"{PERIOD}  Latest result: error.",
            "overall: 0 passed, 0 failed (0%)",
            PERIOD,
        ],
    ),
    "[30] success may be spelled": (
        [checked(0, {"assertion": "a", "success": 1}), checked(1, {"assertion": "a", "success": "true"})],
        ("events",),
        DATA,
        [
            "a: 2 passed, 0 failed (100%)",
            f"{PERIOD}  Latest result: pass.",
            "overall: 2 passed, 0 failed (100%)",
            PERIOD,
        ],
    ),
    "[6] assertions in facets or of outputs are not read": (
        [
            checked(0, {"assertion": "a", "success": True}),
            complete(
                1,
                inputs=[
                    {
                        "namespace": "db",
                        "name": "t",
                        "facets": {"dataQualityAssertions": {"assertions": [{"assertion": "x", "success": False}]}},
                    }
                ],
                outputs=[
                    {
                        "namespace": "db",
                        "name": "t",
                        "outputFacets": {
                            "dataQualityAssertions": {"assertions": [{"assertion": "y", "success": False}]}
                        },
                    }
                ],
            ),
        ],
        ("events",),
        DATA,
        [
            "a: 1 passed, 0 failed (100%)",
            f"{PERIOD}  Latest result: pass.",
            "overall: 1 passed, 0 failed (100%)",
            PERIOD,
        ],
    ),
}


@pytest.mark.parametrize("scenario", QUALITIES)
def test_quality_summaries(store: LogStore, scenario: str) -> None:
    """Sentences of all annotations, in order."""
    events, histories, subject, expected = QUALITIES[scenario]
    store_all(store, events)
    for history in histories:
        annotations = results(store, "quality_summary", history)[subject]["annotations"]
        told = [each[name] for each in annotations for name in ("summary", "qualityDescription")]
        assert told == expected, history
        skips = sum(each["sampleSize"] for each in annotations[:-1]) - annotations[-1]["sampleSize"]
        assert skips == sum(int(word.split(" skipped")[0].split(", ")[-1]) for word in told if " skipped" in word)


def test_what_egeria_does_not_read_or_count(store: LogStore) -> None:
    """[2] [30] Events of jobs and datasets, and runs whose id is no UUID, make no subject and begin no window."""
    store_all(
        store,
        [
            {"eventTime": at(0).isoformat(), "producer": "x", "job": {"namespace": "shop", "name": "design"}},
            {"eventTime": at(0).isoformat(), "producer": "x", "dataset": {"namespace": "db", "name": "d"}},
            complete(0, job="odd") | {"run": {"runId": "no uuid"}},
            complete(60 * 24 * 5),
        ],
    )
    found = results(store, "run_profile", "events")
    assert list(found) == [JOB]
    assert found[JOB]["properties"]["runsPerDay"] == "0.20"
    assert ("job", "odd") in results(store, "run_profile", "digest")


@pytest.mark.parametrize("history", BOTH)
@pytest.mark.parametrize("name", ["run_profile", "data_scope", "quality_summary"])
def test_all_of_the_log(store: LogStore, name: str, history: str) -> None:
    """[12] [27] Without a start the window begins with `<none>`, and days run from the first event."""
    store_all(store, three_runs())
    window = Window(WINDOW.start.min.replace(tzinfo=WINDOW.start.tzinfo), at(60 * 24 * 2))
    for (kind, subject), result in results(store, name, history, window).items():
        assert result["properties"]["analysisWindowStart"] == "<none>"
        assert "startTime" not in result.get("report", {})
        if (name, kind, subject) == ("data_scope", "dataset", "t"):
            assert result["properties"]["writesPerDay"] == "1.50"
        if name == "quality_summary":
            assert "between <none> and 2026-10-22T12:00:00Z." in result["report"]["description"]


@pytest.mark.parametrize("name", ["run_profile", "data_scope", "quality_summary"])
def test_the_clock_is_the_end_of_the_window(store: LogStore, name: str) -> None:
    """[12] Another one is refused, the same one is not."""
    analysis = analysis_named(name)
    with pytest.raises(InputError, match=f"as_of of {name} is the end of the window"):
        ask(store.database, analysis, WINDOW, as_of=WINDOW.end + timedelta(seconds=1))
    assert ask(store.database, analysis, WINDOW, as_of=WINDOW.end).told.results == ()


def test_numbers_of_our_own(store: LogStore) -> None:
    """Beside Egeria's: a retry that went well is no failure, medians are true ones, a run has one result."""
    store_all(
        store,
        [
            event(0, "START", 1),
            event(1, "FAIL", 1),
            event(2, "START", 1),
            complete(4, 1),
            event(10, "START", 2),
            event(11, "FAIL", 2, outputs=[written("t")]),
            event(20, "START", 3),
            complete(25, 3, outputs=[written("t")]),
            checked(30, {"assertion": "a", "success": False}, kind="START", run=4),
            checked(33, {"assertion": "a", "success": True}, run=4),
        ],
    )
    for history in BOTH:
        ours = results(store, "run_profile", history)[JOB]["ours"]
        assert (ours["failed_by_outcome"], ours["failure_rate"], ours["median_interval"]) == (1, 0.25, 600_000)
        assert ours["median_duration"] == 210_000  # 1, 3, 4 and 5 minutes; Egeria's would be 4
        assert results(store, "data_scope", history)[DATA]["ours"] == {"failed_writes": 1}
        (dimension,) = results(store, "quality_summary", history)[DATA]["ours"]["dimensions"].values()
        assert (dimension["passed"], dimension["failed"], dimension["pass_rate"]) == (1, 0, 1.0)


def test_missing_namespaces(store: LogStore) -> None:
    """They are null in the subject, and 'null' in Egeria's sentences."""
    bare = checked(0, {"assertion": "a", "success": True})
    bare["job"] = {"name": "job"}
    del bare["inputs"][0]["namespace"]
    store_all(store, [bare])
    for history in BOTH:
        summary = results(store, "quality_summary", history)[DATA]
        assert summary["subject"]["namespace"] is None
        assert summary["report"]["displayName"] == "OpenLineage data quality summary for null/t"
        assert results(store, "run_profile", history)[JOB]["subject"]["namespace"] is None
