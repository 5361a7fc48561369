"""Run profile: Egeria's service "Profile OpenLineage Runs" (`LovelaceOpenLineageRunProfilerService`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct, field

from lineagelog.analysis import Analysis, Given, RawEvent, Result, Subject, SubjectResult
from lineagelog.analysis.maths.proportion import wilson
from lineagelog.analysis.maths.robust import median, quantile

from .formulas import Ordered, decimal, moment, words
from .shared import HISTORY, days_in, stamps
from .sighting import Name, Sighting, sightings

_ENDS: Final = ("COMPLETE", "FAIL", "ABORT")
_STATUSES: Final = (*_ENDS, "START", "RUNNING")


class JobRuns(Struct, frozen=True, kw_only=True):
    """A row: the runs of a job in the window."""

    job_namespace: str | None
    job_name: str
    earliest: int
    """First event of the window, of whatever job."""
    starts: list[int]
    durations: list[int]
    """Of the runs that ended, if not negative."""
    completed: int
    failed: int
    aborted: int
    failed_outcomes: int
    """Runs that came to nothing, also those whose FAIL is followed by no other start."""
    runs_with_volumes: int
    rows_read: int
    rows_written: int
    bytes_read: int
    bytes_written: int
    inputs: int
    outputs: int
    last_run_id: str
    """Of the run that began last; of several, the last by run id."""
    last_ended: int | None
    last_status: str | None
    last_rows_read: int
    last_rows_written: int
    last_bytes_read: int
    last_bytes_written: int


def explain(rows: Iterable[JobRuns], given: Given) -> Iterator[SubjectResult]:
    """The properties of each job."""
    for row in rows:
        yield SubjectResult(
            subject=Subject("job", row.job_namespace or None, row.job_name),
            properties={
                **stamps(given, "Profile OpenLineage Runs"),
                **_counts(row, days_in(given, row.earliest)),
                **_intervals(sorted(row.starts)),
                **_durations(row.durations),
                **_volumes(row),
            },
            typed=_typed(row),
            ours=_ours(row),
        )


def _typed(row: JobRuns) -> dict[str, Any]:
    """The attributes of RunMetrics: Egeria's service writes them where nobody else has classified the process.

    The length of the last run may be negative; their sum leaves such out.
    """
    first, last = min(row.starts), max(row.starts)
    told = {
        "runCount": len(row.starts),
        "failedRunCount": row.failed,
        "firstRunStartTime": moment(first),
        "lastRunId": row.last_run_id,
        "lastRunStartTime": moment(last),
        "lastRunEndTime": None if row.last_ended is None else moment(row.last_ended),
        "lastRunStatus": row.last_status if row.last_status in _STATUSES else None,
        "lastRunDuration": None if row.last_ended is None else row.last_ended - last,
        "totalRunDuration": sum(row.durations),
        "lastRunRowsRead": row.last_rows_read,
        "lastRunRowsWritten": row.last_rows_written,
        "lastRunBytesRead": row.last_bytes_read,
        "lastRunBytesWritten": row.last_bytes_written,
        "totalRowsRead": row.rows_read,
        "totalRowsWritten": row.rows_written,
        "totalBytesRead": row.bytes_read,
        "totalBytesWritten": row.bytes_written,
    }
    return {name: value for name, value in told.items() if value is not None}


def _counts(row: JobRuns, days: float) -> dict[str, str]:
    runs = len(row.starts)
    return {
        "runsInWindow": str(runs),
        "completedRunsInWindow": str(row.completed),
        "failedRunsInWindow": str(row.failed),
        "abortedRunsInWindow": str(row.aborted),
        "unfinishedRunsInWindow": str(runs - row.completed - row.failed - row.aborted),
        "failureRate": decimal(row.failed / runs),
        "runsPerDay": decimal(runs / days),
        "distinctInputs": str(row.inputs),
        "distinctOutputs": str(row.outputs),
    }


def _intervals(starts: list[int]) -> dict[str, str]:
    """Between the starts of all runs; of one run only the labels are known."""
    if len(starts) < 2:
        return {"runIntervalRegularity": "SINGLE_RUN", "inferredSchedule": "UNKNOWN"}
    sample = Ordered(after - before for before, after in itertools.pairwise(starts))
    return {
        "meanRunInterval": decimal(sample.mean),
        "medianRunInterval": str(sample.median),
        "minRunInterval": str(sample.ordered[0]),
        "maxRunInterval": str(sample.ordered[-1]),
        "typicalRunInterval": words(sample.median),
        "runIntervalRegularity": sample.regularity,
        "inferredSchedule": sample.schedule,
    }


def _durations(durations: list[int]) -> dict[str, str]:
    if not durations:
        return {}
    sample = Ordered(durations)
    return {
        "meanRunDuration": decimal(sample.mean),
        "medianRunDuration": str(sample.median),
        "maxRunDuration": str(sample.ordered[-1]),
        "p95RunDuration": str(sample.percentile(95)),
        "typicalRunDuration": words(sample.median),
    }


def _volumes(row: JobRuns) -> dict[str, str]:
    """The runs that moved anything divide all four; where none did, nothing is said."""
    if not row.runs_with_volumes:
        return {}
    return {
        "meanRowsReadPerRun": decimal(float(row.rows_read) / row.runs_with_volumes),
        "meanRowsWrittenPerRun": decimal(float(row.rows_written) / row.runs_with_volumes),
        "meanBytesReadPerRun": decimal(float(row.bytes_read) / row.runs_with_volumes),
        "meanBytesWrittenPerRun": decimal(float(row.bytes_written) / row.runs_with_volumes),
        "rowsWrittenInWindow": str(row.rows_written),
        "rowsReadInWindow": str(row.rows_read),
        "bytesWrittenInWindow": str(row.bytes_written),
        "bytesReadInWindow": str(row.bytes_read),
    }


def _ours(row: JobRuns) -> dict[str, Any]:
    """Failures by outcome with Wilson's interval, true medians and quantiles; milliseconds."""
    runs = len(row.starts)
    told: dict[str, Any] = {
        "failed_by_outcome": row.failed_outcomes,
        "failure_rate": row.failed_outcomes / runs,
        "failure_rate_95": list(wilson(row.failed_outcomes, runs)),
    }
    starts = sorted(row.starts)
    if len(starts) > 1:
        told["median_interval"] = median([after - before for before, after in itertools.pairwise(starts)])
    if durations := sorted(row.durations):
        told["median_duration"] = median(durations)
        told |= {f"p{percent}_duration": quantile(durations, percent / 100) for percent in (50, 95, 99)}
    return told


class _RunSeen(Struct):
    """A run, event by event."""

    run_id: str
    first: int
    start: int | None = None
    last_start: int | None = None
    end: int | None = None
    status: str | None = None
    fail: int | None = None
    """Time of the last FAIL."""
    inputs: dict[Name, tuple[int, int]] = field(default_factory=dict)
    outputs: dict[Name, tuple[int, int]] = field(default_factory=dict)

    @property
    def began(self) -> int:
        """Of the earliest START, else of the first event."""
        return self.first if self.start is None else self.start

    @property
    def has_failed(self) -> bool:
        """Whether it came to nothing: no start follows the last FAIL."""
        return self.fail is not None and (self.last_start is None or self.fail > self.last_start)

    @property
    def volumes(self) -> tuple[int, ...]:
        """Rows and bytes that it read, and that it wrote."""
        return tuple(
            sum(pair[place] for pair in held.values()) for held in (self.inputs, self.outputs) for place in (0, 1)
        )

    def add(self, seen: Sighting) -> None:
        """Events come in order of time: the first START holds, and the last end; at one time the first end."""
        if seen.type == "START":
            self.start = seen.time if self.start is None else self.start
            self.last_start = seen.time
            self.status = self.status or "START"
        elif seen.type == "RUNNING":
            self.status = "RUNNING" if self.status in (None, "START") else self.status
        elif seen.type in _ENDS:
            if self.end is None or seen.time > self.end:
                self.end, self.status = seen.time, seen.type
            if seen.type == "FAIL":
                self.fail = seen.time
        for held, touched in ((self.inputs, seen.inputs), (self.outputs, seen.outputs)):
            for each in touched:
                if each.has_statistics or each.dataset not in held:
                    held[each.dataset] = each.rows or 0, each.size or 0


def from_events(events: Iterable[RawEvent]) -> Iterator[JobRuns]:
    """The rows as Egeria's file reader has them: a run is what its events in the window tell."""
    jobs: dict[Name, dict[str, _RunSeen]] = {}
    earliest = None
    for seen in sightings(events):
        earliest = seen.time if earliest is None else earliest
        runs = jobs.setdefault(seen.job, {})
        if seen.run_id not in runs:
            runs[seen.run_id] = _RunSeen(seen.run_id, seen.time)
        runs[seen.run_id].add(seen)
    for job in sorted(jobs, key=lambda job: (job[0] or "", job[1])):
        yield _row(job, list(jobs[job].values()), earliest or 0)


def _row(job: Name, runs: list[_RunSeen], earliest: int) -> JobRuns:
    totals = [run.volumes for run in runs]
    rows_read, bytes_read, rows_written, bytes_written = (sum(part) for part in zip(*totals, strict=True))
    last = max(runs, key=lambda run: (run.began, run.run_id))
    last_rows_read, last_bytes_read, last_rows_written, last_bytes_written = last.volumes
    counts = {status: sum(run.status == status for run in runs) for status in _ENDS}
    lengths = [run.end - run.began for run in runs if run.end is not None]
    return JobRuns(
        job_namespace=job[0],
        job_name=job[1],
        earliest=earliest,
        starts=[run.began for run in runs],
        durations=[length for length in lengths if length >= 0],
        completed=counts["COMPLETE"],
        failed=counts["FAIL"],
        aborted=counts["ABORT"],
        failed_outcomes=sum(run.has_failed for run in runs),
        runs_with_volumes=sum(any(part > 0 for part in total) for total in totals),
        rows_read=rows_read,
        rows_written=rows_written,
        bytes_read=bytes_read,
        bytes_written=bytes_written,
        inputs=len({name for run in runs for name in run.inputs}),
        outputs=len({name for run in runs for name in run.outputs}),
        last_run_id=last.run_id,
        last_ended=last.end,
        last_status=last.status,
        last_rows_read=last_rows_read,
        last_rows_written=last_rows_written,
        last_bytes_read=last_bytes_read,
        last_bytes_written=last_bytes_written,
    )


ANALYSIS: Final = Analysis(
    name="run_profile",
    question="How often does each job run, how regularly, how long, how reliably, and with how much data?",
    about="Egeria's run profile, property by property, of the jobs of the window; better numbers beside it.",
    parameters=(HISTORY,),
    row=JobRuns,
    explain=explain,
    from_events=from_events,
    is_as_of_its_end=True,
    result=Result.TABLE,
    columns=("runsInWindow", "failureRate", "inferredSchedule", "typicalRunInterval", "typicalRunDuration"),
    example="--since -30d --json",
)
