"""Reads what is in a report: asks the analyses, and counts the executions, tests and volumes of the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import Struct, convert

from lineagelog.analysis import Analysis, Finding, Result, Severity, analyses, analysis_named, place
from lineagelog.errors import AnalysisStopped
from lineagelog.postgres.database import Database
from lineagelog.read import Window
from lineagelog.read.analyses import Terms, ask, looked_at
from lineagelog.read.script import run_script, text_array
from lineagelog.resources import sql_text

from .axes import even_scale, round_scale
from .model import (
    DRAWN,
    Blast,
    BlastStep,
    JobLine,
    JobStanding,
    ReportContent,
    ResultLine,
    SpanCount,
    TimeScale,
    VolumeLine,
    judged_jobs,
    worst_first,
)
from .volumes import drawn, told_of

_BARS: Final = 33
_LINE_SPANS: Final = 114
_TESTS: Final = 200
_TRIED: Final = 8
"""Suspects whose reach is looked at; the one that reaches most is drawn."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What is to be in a report."""

    title: str
    window: Window
    as_of: datetime
    analyses: Sequence[Analysis[Any]]
    terms: Terms = Terms()
    """The time limit is of each thing else that is read, too."""


def usual_analyses() -> list[Analysis[Any]]:
    """Those that find something by themselves, in the digest."""
    return [
        each
        for each in analyses().values()
        if each.result is Result.FINDINGS and not each.needs_a_parameter and not each.reads_events
    ]


class _Reading:
    """One report being read: what takes too long is told of, and the rest is read all the same."""

    def __init__(self, database: Database, wanted: Wanted, tell: Callable[[str], object]) -> None:
        self.database, self.wanted, self._tell = database, wanted, tell
        self.stopped: list[str] = []

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """What is read within is left as it was where it is stopped."""
        self._tell(name)
        try:
            yield
        except AnalysisStopped as stopped:
            self.stopped.append(str(stopped))

    def rows[Row: Struct](self, script: str, row: type[Row], what: str, **variables: str) -> list[Row]:
        """The rows of a file of `sql/report`."""
        window, limit = self.wanted.window, self.wanted.terms.time_limit
        values = {"from": window.start.isoformat(), "to": window.end.isoformat(), **variables}
        settings = {"statement_timeout": f"{limit // timedelta(milliseconds=1)}ms", "jit": "off", "work_mem": "64MB"}
        try:
            with run_script(self.database, sql_text(f"report/{script}.sql"), values, settings) as found:
                return [convert({name: _utc(value) for name, value in each.items()}, row) for each in found]
        except AnalysisStopped as stopped:
            raise AnalysisStopped(f"{what} could not be read within {limit.total_seconds():g} s") from stopped


def _utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def collect(database: Database, wanted: Wanted, tell: Callable[[str], object] = str) -> ReportContent:
    """Read a report; ``tell`` is given the name of each part before it is read.

    An analysis that is stopped at the time limit is named in the report. Raises what `read.analyses.ask` raises else.
    """
    reading = _Reading(database, wanted, tell)
    findings, insufficient = _findings(reading)
    jobs: list[JobLine] = []
    with reading.part("jobs"):
        jobs = reading.rows("jobs", JobLine, "jobs")
    jobs = judged_jobs(jobs, findings)
    start = _start(wanted, jobs)
    tests, tests_known = _tests(reading)
    volumes, volumes_known = list[VolumeLine](), 0
    with (
        reading.part("volumes"),
        looked_at(database, analysis_named("volume_anomaly"), wanted.window, wanted.terms) as rows,
    ):
        volumes, volumes_known = drawn(rows, told_of(findings), start, wanted.terms.rules)
    return ReportContent(
        title=wanted.title,
        start=None if wanted.window.is_open else wanted.window.start,
        end=wanted.window.end,
        as_of=wanted.as_of,
        jobs=jobs,
        findings=findings,
        insufficient=insufficient,
        volumes=volumes,
        volumes_known=volumes_known,
        tests=tests,
        tests_known=tests_known,
        blast=_blast(reading, list(_suspects(jobs, findings, tests, start))),
        asked=[each.name for each in wanted.analyses],
        **_executions(reading, jobs, findings),
        stopped=reading.stopped,
    )


def _start(wanted: Wanted, jobs: Sequence[JobLine]) -> datetime:
    begun = [job.first_at for job in jobs if job.first_at is not None]
    return min(begun, default=wanted.window.end) if wanted.window.is_open else wanted.window.start


def _findings(reading: _Reading) -> tuple[list[Finding], int]:
    wanted, found, insufficient = reading.wanted, list[Finding](), 0
    for each in wanted.analyses:
        with reading.part(each.name):
            answer = ask(
                reading.database,
                each,
                wanted.window,
                as_of=None if each.is_as_of_its_end else wanted.as_of,
                terms=wanted.terms,
            )
            found += answer.findings
            insufficient += answer.told.insufficient
    return worst_first(found), insufficient


def _tests(reading: _Reading) -> tuple[list[ResultLine], int]:
    lines: list[ResultLine] = []
    with reading.part("tests"):
        lines = reading.rows("tests", ResultLine, "tests")
    failed = [(each.failed_at.timestamp(), each) for each in lines if each.failed_at is not None]
    # those that still fail, and of these the last to do so, first
    failed.sort(key=lambda pair: (pair[1].latest[0], -pair[0], pair[1].namespace, pair[1].name, pair[1].test))
    return [each for _, each in failed][:_TESTS], len(lines)


def _executions(reading: _Reading, jobs: Sequence[JobLine], findings: Sequence[Finding]) -> Mapping[str, Any]:
    """The members of a ReportContent that tell of executions along time."""
    seen = [at for job in jobs for at in (job.first_at, job.last_at) if at is not None]
    if not seen:
        return {}
    window = reading.wanted.window
    first = min(seen) if window.is_open else window.start
    last = window.end - timedelta(seconds=1)
    retried = text_array([run for each in findings if each.analysis == "failed_then_succeeded" for run in each.run_ids])
    scale, line_scale = round_scale(first, last, _BARS), even_scale(first, last, _LINE_SPANS)
    spans: list[SpanCount] = []
    lines: dict[str, list[SpanCount]] = {}
    with reading.part("executions"):
        spans = reading.rows("spans", SpanCount, "executions", jobs="{}", retried=retried, **_of(scale))
    worst = text_array([job.job_key for job in jobs if job.job_key][:DRAWN])
    with reading.part("time lines"):
        for each in reading.rows("spans", SpanCount, "time lines", jobs=worst, retried=retried, **_of(line_scale)):
            lines.setdefault(each.job_key, []).append(each)
    return {"scale": scale, "spans": spans, "line_scale": line_scale, "lines": lines}


def _of(scale: TimeScale) -> dict[str, str]:
    return {"origin": scale.start.isoformat(), "step": str(scale.step.total_seconds())}


class _Suspect(Struct, frozen=True):
    """Something that is bad, or may be."""

    why: str
    since: datetime
    values: Mapping[str, str]
    """Parameters of the blast radius."""


def _blast(reading: _Reading, suspects: Sequence[_Suspect]) -> Blast | None:
    """Of the worst suspects, the one that reaches most."""
    found: list[Blast] = []
    window, terms = reading.wanted.window, reading.wanted.terms
    apart: dict[tuple[str, ...], _Suspect] = {}
    for each in suspects:
        apart.setdefault(tuple(each.values.values()), each)
    for each in list(apart.values())[:_TRIED]:
        with reading.part("blast radius"):
            since = Window(min(each.since, window.end), window.end)
            told = ask(reading.database, analysis_named("blast_radius"), since, each.values, terms=terms).findings
            found.append(Blast(each.why, [_step(one) for one in told]))
    return max((each for each in found if each.steps), key=lambda each: len(each.steps), default=None)


def _suspects(
    jobs: Sequence[JobLine], findings: Sequence[Finding], tests: Sequence[ResultLine], start: datetime
) -> Iterator[_Suspect]:
    """What is found to be wrong, then what fails a test, then what failing jobs write."""
    for each in findings:
        if each.severity.rank >= Severity.MEDIUM.rank and (values := _of_finding(each)):
            yield _Suspect(each.explanation, each.first_seen, values)
    for test in tests:
        if test.kind == "dataset" and not test.latest[0] and test.failed_at:
            why = f"{place(test.namespace, test.name)} fails the test {test.test}."
            yield _Suspect(why, test.failed_at, {"dataset": test.name, "dataset_namespace": test.namespace})
    for job in jobs:
        if job.state is JobStanding.FAILING and job.good_run:
            why = f"{place(job.namespace, job.name)} fails; this is who read what its last good run wrote."
            yield _Suspect(why, start, {"run_id": job.good_run})


def _of_finding(finding: Finding) -> dict[str, str]:
    """The dataset that is bad, or else the run; nothing where there is none."""
    subject = finding.subject
    if subject.kind in ("dataset", "column") or finding.values.get("tests") == "dataset":
        return {"dataset": subject.name, "dataset_namespace": subject.namespace or ""}
    return {"run_id": finding.run_ids[0]} if finding.run_ids else {}


def _step(finding: Finding) -> BlastStep:
    values, subject = finding.values, finding.subject
    return BlastStep(
        depth=values["depth"],
        job=place(values["job_namespace"], values["job_name"]),
        source=place(values["from_namespace"], values["from_name"]),
        target=None if subject.kind == "job" else str(subject),
        runs=finding.n,
        other_version=values["other_version"],
    )
