"""What is in a report: values that were read, and what follows from them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lineagelog.analysis import Finding

DRAWN: Final = 200
"""Jobs whose time lines are drawn; all are in the table."""


class JobStanding(StrEnum):
    """How a job stands, worst first."""

    FAILING = "failing"
    STUCK = "stuck"
    LATE = "late"
    ABORTED = "aborted"
    OTHER = "unknown"
    RUNNING = "running"
    COMPLETED = "completed"

    @property
    def word(self) -> str:
        """For people."""
        return self.value.capitalize()

    @property
    def shape(self) -> str:
        """The name of its drawing and of its colour."""
        return _SHAPES[self]

    @property
    def rank(self) -> int:
        """Its place among them; 0 is the worst."""
        return list(JobStanding).index(self)


_SHAPES: Final = dict(zip(JobStanding, ("fail", "stuck", "late", "stop", "none", "run", "ok"), strict=True))
_OF_OUTCOME: Final = {
    "FAIL": JobStanding.FAILING,
    "ABORT": JobStanding.ABORTED,
    "RUNNING": JobStanding.RUNNING,
    "COMPLETE": JobStanding.COMPLETED,
}


class JobLine(Struct, frozen=True, kw_only=True):
    """A job in the window, by its executions."""

    job_key: str
    namespace: str
    name: str
    executions: int = 0
    completed: int = 0
    failed: int = 0
    aborted: int = 0
    running: int = 0
    typical: float | None = None
    """The median of those that completed, in seconds."""
    first_at: datetime | None = None
    last_at: datetime | None = None
    last_outcome: str = ""
    last_error: str | None = None
    good_run: str | None = None
    """The last that completed."""
    state: JobStanding = JobStanding.OTHER

    @property
    def ended(self) -> int:
        """How many are over."""
        return self.completed + self.failed + self.aborted

    @property
    def badness(self) -> tuple[int, int, str, str]:
        """A key that puts the worst first."""
        return self.state.rank, -self.failed, self.namespace, self.name


class SpanCount(Struct, frozen=True):
    """How many executions that began in one span of time had one outcome."""

    job_key: str
    place: int
    """Number of the span since the scale's start."""
    outcome: str
    executions: int


class TimeScale(Struct, frozen=True):
    """Spans of equal length, one after the other."""

    start: datetime
    step: timedelta
    spans: int

    @property
    def end(self) -> datetime:
        """Where the last one ends."""
        return self.start + self.spans * self.step

    def share(self, at: datetime) -> float:
        """Where a time lies: 0 is the start, 1 the end."""
        return (at - self.start) / (self.end - self.start)


class ResultLine(Struct, frozen=True, kw_only=True):
    """A test in the window, by its results."""

    kind: str
    namespace: str
    name: str
    column_name: str | None
    test: str
    n: int
    failed: int
    latest: Sequence[bool]
    """The last results, newest first."""
    failed_at: datetime | None
    severity: str | None
    expected: str | None
    actual: str | None


class VolumePoint(Struct, frozen=True):
    """A write, and what was expected of it (None: too little history)."""

    at: datetime
    value: float
    lower: float | None = None
    centre: float | None = None
    upper: float | None = None

    @property
    def side(self) -> int:
        """1 above what was expected, -1 below, else 0."""
        if self.lower is None or self.upper is None:
            return 0
        return (self.value > self.upper) - (self.value < self.lower)


class VolumeLine(Struct, frozen=True, kw_only=True):
    """What a job wrote to a dataset."""

    namespace: str
    name: str
    job: str
    unit: str
    points: Sequence[VolumePoint]
    finding: Finding | None = None


class BlastStep(Struct, frozen=True):
    """A job that read bad data, and the dataset that it wrote with it, if any."""

    depth: int
    job: str
    source: str
    target: str | None
    runs: int
    other_version: bool


class Blast(Struct, frozen=True):
    """Who is downstream of something that is bad, or may be."""

    why: str
    """What is bad, in a sentence."""
    steps: Sequence[BlastStep]


class ReportContent(Struct, frozen=True, kw_only=True):
    """All of a report."""

    title: str
    start: datetime | None
    """None: from the first event on."""
    end: datetime
    as_of: datetime
    jobs: Sequence[JobLine] = ()
    """Worst first."""
    scale: TimeScale | None = None
    """Of the executions of all jobs; None: there are none."""
    spans: Sequence[SpanCount] = ()
    line_scale: TimeScale | None = None
    lines: Mapping[str, Sequence[SpanCount]] = {}
    """By key, of the worst jobs."""
    findings: Sequence[Finding] = ()
    """Worst first."""
    insufficient: int = 0
    volumes: Sequence[VolumeLine] = ()
    """Those with findings first."""
    volumes_known: int = 0
    tests: Sequence[ResultLine] = ()
    """Those that failed, the last one to fail first."""
    tests_known: int = 0
    blast: Blast | None = None
    asked: Sequence[str] = ()
    stopped: Sequence[str] = ()
    """What was not to be had in time: one sentence each."""

    def count(self, *states: JobStanding) -> int:
        """How many jobs stand so."""
        return sum(job.state in states for job in self.jobs)


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """By severity, the newest first."""
    return sorted(findings, key=lambda each: (-each.severity.rank, -each.last_seen.timestamp(), str(each.subject)))


def judged_jobs(jobs: Sequence[JobLine], findings: Sequence[Finding]) -> list[JobLine]:
    """The jobs with their states, worst first; with those that should have run in the window, and did not."""
    late, stuck = _late(findings), {_place(each) for each in findings if each.analysis == "stuck_run"}
    known = {(job.namespace, job.name) for job in jobs}
    absent = [JobLine(job_key="", namespace=space, name=name) for space, name in late if (space, name) not in known]
    return sorted((replace(job, state=_state(job, late, stuck)) for job in (*jobs, *absent)), key=_badness)


def _badness(job: JobLine) -> tuple[int, int, str, str]:
    return job.badness


def _place(finding: Finding) -> tuple[str, str]:
    return finding.subject.namespace or "", finding.subject.name


def _late(findings: Sequence[Finding]) -> dict[tuple[str, str], datetime]:
    """Since when jobs have been missing, the last time."""
    late: dict[tuple[str, str], datetime] = {}
    for each in findings:
        if (each.analysis, each.change) == ("late_run", "missing"):
            late[_place(each)] = max(each.last_seen, late.get(_place(each), each.last_seen))
    return late


def _state(job: JobLine, late: Mapping[tuple[str, str], datetime], stuck: set[tuple[str, str]]) -> JobStanding:
    place = (job.namespace, job.name)
    if job.last_outcome == "FAIL":
        return JobStanding.FAILING
    if place in stuck and job.last_outcome == "RUNNING":
        return JobStanding.STUCK
    if place in late and (job.last_at is None or job.last_at < late[place]):
        return JobStanding.LATE
    return _OF_OUTCOME.get(job.last_outcome, JobStanding.OTHER)
