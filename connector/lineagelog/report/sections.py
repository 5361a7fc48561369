"""The parts of the report below the figures: findings, executions, time lines, volumes, tests, reach, jobs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from lineagelog.analysis import Finding, Severity, place
from lineagelog.analysis.words import span
from lineagelog.shown import counted

from .axes import step_words
from .drawings import STACK, WORDS, bars, line, line_axis, strip, volume
from .graph import graph
from .markup import Content, Markup, grey, icon, moment, name, number, short, tag
from .model import BlastStep, JobLine, JobStanding, ReportContent, ResultLine, VolumeLine
from .tables import Column, cell, empty, legend, more, row, section, severity, state, table, time_value

_FIRST: Final = 8
_LOW: Final = 3
_FINDINGS: Final = 2000
_LINES: Final = 25
_CARDS: Final = 12
_STEPS: Final = 300
_TESTS: Final = 25

_MARKS: Final = {outcome: tag("rect", x=1, y=1, width=10, height=10, class_=f"f-{STACK[outcome]}") for outcome in STACK}


def findings(report: ReportContent) -> Markup:
    """What is broken now and what is worst; all findings to open."""
    found = report.findings
    title, counts = "Look at this first", counted(len(found), "findings")
    severe = [each for each in found if each.severity.rank >= Severity.HIGH.rank]
    failing = [job for job in report.jobs if job.state is JobStanding.FAILING]
    mild = [each for each in found[len(severe) :] if each.severity is not Severity.LOW]
    low = found[len(severe) + len(mild) :][:_LOW]
    rows = [*map(_finding, severe), *map(_failing, failing), *map(_finding, (*mild, *low))]
    if not rows:
        sub = f"{counted(len(report.asked), 'questions')} asked"
        return section("findings", title, sub, empty("No job is failing, and nothing was found."))
    columns: tuple[Column, ...] = (("Severity", None, "104"), ("What", None, ""), ("Last seen, UTC", "num", "124"))
    sub = f"{counted(len(failing), 'jobs')} failing, {counts}"
    return section("findings", title, sub, table(columns, rows[:_FIRST]), _all_findings(found) if found else None)


def _finding(each: Finding) -> Markup:
    return _told(severity(each.severity), _titled(each), each.explanation, each.last_seen)


def _failing(job: JobLine) -> Markup:
    error = f": {job.last_error}" if job.last_error else ", and told no reason"
    told = f"{place(job.namespace, job.name)} failed{error}"
    return _told(state(job.state), "A job fails", told, job.last_at)


def _told(mark: Markup, title: str, told: str, at: datetime | None) -> Markup:
    what = [tag("b", f"{title}. "), tag("span", short(told, 420), class_="sub", dir="auto")]
    return row(cell(mark), cell(what, class_="wrap"), cell(moment(at), class_="num"), class_="tall")


def _titled(each: Finding) -> str:
    return f"{each.analysis.replace('_', ' ').capitalize()}: {short(each.change, 60).replace('_', ' ')}"


def _all_findings(found: Sequence[Finding]) -> Markup:
    columns: tuple[Column, ...] = (
        ("Severity", None, "98"),
        ("Finding", None, "210"),
        ("Subject", None, ""),
        ("Namespace", "p3", "150"),
        ("Observed", None, "180"),
        ("Expected", None, "180"),
        ("Last seen, UTC", "num", "112"),
    )
    rows = [
        row(
            cell(severity(each.severity), value=each.severity.rank),
            cell(_titled(each)),
            cell(name(_subject(each), 36)),
            cell(grey(each.subject.namespace, 24), class_="p3"),
            cell(tag("span", short(each.observed, 80), title=each.observed if len(each.observed) > 24 else None)),
            cell(tag("span", short(each.expected, 80), title=each.expected if len(each.expected) > 24 else None)),
            cell(moment(each.last_seen), class_="num", value=time_value(each.last_seen)),
        )
        for each in found[:_FINDINGS]
    ]
    said = (
        f"All {counted(len(found), 'findings')}"
        if len(found) <= _FINDINGS
        else f"The worst {_FINDINGS} of {len(found)}"
    )
    return more(said, tag("div", table(columns, rows, key="all-findings"), class_="scroll"))


def _subject(each: Finding) -> str:
    about = each.subject
    text = f"{about.name}#{about.column}" if about.column else about.name
    return f"{about.test} of {text}" if about.test else text


def executions(report: ReportContent) -> Markup | None:
    """How many began when, and what came of them."""
    if report.scale is None:
        return None
    seen = {each.outcome if each.outcome in STACK else "OTHER" for each in report.spans}
    marks = legend((_MARKS[each], WORDS[each]) for each in reversed(STACK) if each in seen)
    title = f"Executions per {step_words(report.scale.step)}"
    drawn = tag("div", bars(report.scale, report.spans), class_="body")
    return section("executions", title, "by when they began, UTC", drawn, end=marks)


def time_lines(report: ReportContent) -> Markup:
    """The worst jobs along time."""
    scale = report.line_scale
    jobs = [job for job in report.jobs if job.job_key in report.lines] if scale else []
    if scale is None or not jobs:
        why = "No job ran in this window." if not report.jobs else "There are no executions to draw."
        return section("lines", "Run time lines", None, empty(why, "Take a longer one with --since.", "none"))
    columns: tuple[Column, ...] = (
        ("", None, "112"),
        ("Job", None, ""),
        ("Namespace", "p3", "132"),
        ("", None, "472"),
        ("Ended well", "num", "92"),
        ("Typical", "num", "86"),
    )
    heads = (None, None, None, line_axis(scale), None, None)
    rows = [
        row(
            cell(state(job.state)),
            cell(name(job.name, 40)),
            cell(grey(job.namespace, 20), class_="p3"),
            cell(line(scale, report.lines[job.job_key])),
            cell(f"{number(job.completed)} of {number(job.ended)}" if job.ended else "–", class_="num"),
            cell(_span(job.typical), class_="num"),
        )
        for job in jobs
    ]
    rest = (
        more(f"{len(rows) - _LINES} more", table(columns, rows[_LINES:], heads=heads)) if len(rows) > _LINES else None
    )
    sub = f"worst {len(jobs)} of {counted(len(report.jobs), 'jobs')}; all are in the table below"
    marks = legend((_MARKS[each], WORDS[each]) for each in ("COMPLETE", "RETRIED", "RUNNING", "ABORT", "FAIL"))
    return section("lines", "Run time lines", sub, table(columns, rows[:_LINES], heads=heads), rest, end=marks)


def _span(seconds: float | None) -> Content:
    return tag("span", "–", class_="dim") if seconds is None else span(seconds)


def volumes(report: ReportContent) -> Markup:
    """What was written, each in its band."""
    lines = report.volumes
    if not lines:
        why = "No job told how much it wrote more than once."
        hint = "Row counts come in the facet outputStatistics; two writes make a line."
        return section("volumes", "Volumes and their expected band", None, empty(why, hint, "none"))
    cards = [tag("div", map(_card, part), class_="cards") for part in (lines[:_CARDS], lines[_CARDS:]) if part]
    rest = more(f"{len(lines) - _CARDS} more", cards[1]) if len(cards) > 1 else None
    sub = f"{len(lines)} of {number(report.volumes_known)} that jobs write, those outside first"
    marks = legend(
        (
            (tag("circle", cx=6, cy=6, r=3, class_="f-ok"), "written"),
            (tag("path", d="M1 10h10l-5 -9z", class_="f-fail"), "outside the band"),
            (tag("rect", x=0, y=1, width=12, height=10, class_="band"), "expected, median as line"),
        )
    )
    return section("volumes", "Volumes and their expected band", sub, cards[0], rest, end=marks)


def _card(each: VolumeLine) -> Markup:
    shape = "ok" if each.finding is None else "warn"
    if each.finding is not None:
        said = f"{each.finding.observed}, expected {each.finding.expected}"
    elif each.points[-1].lower is None:
        said = f"{counted(len(each.points), 'writes')}, too few for a band"
        shape = "none"
    elif each.points[-1].side:
        said = "the last is outside the band, as it has been before"
    else:
        said = "inside the band"
    title = tag("div", icon(shape), name(each.name, 40))
    return tag("div", title, tag("p", said, title=f"written by {each.job}"), volume(each), class_="card")


def tests(report: ReportContent) -> Markup:
    """Those that failed."""
    title = "Failing tests"
    if not report.tests:
        if not report.tests_known:
            hint = "Results come in the facets dataQualityAssertions and test."
            return section("tests", title, None, empty("No test reported in this window.", hint, "none"))
        return section("tests", title, None, empty(f"All {counted(report.tests_known, 'tests')} passed."))
    columns: tuple[Column, ...] = (
        ("", None, "112"),
        ("Test", None, "240"),
        ("On", None, ""),
        ("Last 30 results", None, "200"),
        ("Failed", "num", "100"),
        ("When it last failed", "p3", "250"),
    )
    rows = [*map(_test, report.tests)]
    rest = more(f"{len(rows) - _TESTS} more", table(columns, rows[_TESTS:])) if len(rows) > _TESTS else None
    still = sum(not each.latest[0] for each in report.tests)
    sub = f"{still} fail now; {len(report.tests)} failed of {counted(report.tests_known, 'tests')}; newest result right"
    return section("tests", title, sub, table(columns, rows[:_TESTS]), rest)


def _test(each: ResultLine) -> Markup:
    is_good = each.latest[0]
    now = tag("span", icon("ok" if is_good else "fail"), "Passes now" if is_good else "Fails", class_="state")
    subject = f"{each.name}#{each.column_name}" if each.column_name else each.name
    told = [f"{word} {text}" for word, text in (("found", each.actual), ("expected", each.expected)) if text]
    return row(
        cell(now),
        cell(name(each.test, 30)),
        cell(name(subject, 34)),
        cell(strip(each.latest)),
        cell(f"{number(each.failed)} of {number(each.n)}", class_="num"),
        cell(moment(each.failed_at), ": " if told else None, short(", ".join(told), 90), class_="p3"),
    )


def blast_radius(report: ReportContent) -> Markup:
    """What the finding reaches that reaches most."""
    blast = report.blast
    if blast is None:
        hint = "`lineagelog analyse blast_radius --dataset NAME` follows one dataset."
        return section(
            "blast", "Blast radius", None, empty("Nothing that fails or was found has readers downstream.", hint)
        )
    sub = short(blast.why, 150)
    drawn = tag("div", graph(blast), class_="pan")
    marks = legend(
        (
            (tag("rect", x=0, y=2, width=12, height=8, class_="box dataset"), "dataset"),
            (tag("rect", x=0, y=2, width=12, height=8, rx=4, class_="box job"), "job"),
            (tag("path", d="M2 1v10", class_="hit"), "bad"),
            (tag("path", d="M2 1v10", class_="risk"), "at risk"),
        )
    )
    columns: tuple[Column, ...] = (
        ("Steps", "num", "70"),
        ("Read", None, ""),
        ("Job", None, ""),
        ("Wrote", None, ""),
        ("Runs", "num", "80"),
    )
    rows = [*map(_step, blast.steps[:_STEPS])]
    told = more(_as_table(len(blast.steps)), table(columns, rows, key="reached"))
    jobs, sets = len({each.job for each in blast.steps}), len({each.target for each in blast.steps if each.target})
    return section(
        "blast", f"Blast radius: {counted(jobs, 'jobs')}, {counted(sets, 'datasets')}", sub, drawn, told, end=marks
    )


def _as_table(steps: int) -> str:
    return (
        f"As a table, {counted(steps, 'ways')}"
        if steps <= _STEPS
        else f"As a table, the nearest {_STEPS} of {steps} ways"
    )


def _step(each: BlastStep) -> Markup:
    version = " (another version)" if each.other_version else None
    return row(
        cell(each.depth, class_="num"),
        cell(name(each.source), version),
        cell(name(each.job)),
        cell(name(each.target) if each.target else tag("span", "nothing that was not bad already", class_="dim")),
        cell(each.runs, class_="num"),
    )


def all_jobs(report: ReportContent) -> Markup:
    """The table of all jobs."""
    if not report.jobs:
        hint = "Take a longer one with --since, or look with `lineagelog status` whether events arrive."
        return section("jobs", "All jobs", None, empty("No job ran in this window.", hint, "none"))
    columns: tuple[Column, ...] = (
        ("State", None, "118"),
        ("Job", None, "290"),
        ("Namespace", "p3", "140"),
        ("Runs", "num", "72"),
        ("Failed", "num", "72"),
        ("Ended well", "num", "100"),
        ("Typical", "num", "92"),
        ("Last run, UTC", "num", "112"),
        ("Last error", "p3", ""),
    )
    drawn = tag("div", table(columns, map(_job, report.jobs), key="all-jobs"), class_="scroll")
    field = tag(
        "input",
        type="search",
        placeholder="Filter by name, state, error",
        aria_label="Filter",
        data_filter="all-jobs",
        hidden=True,
    )
    find = tag("label", field, tag("output", counted(len(report.jobs), "jobs")), class_="find")
    return section("jobs", "All jobs", "worst first; a column's head sorts", drawn, end=find)


def _job(job: JobLine) -> Markup:
    well = f"{100 * job.completed / job.ended:.1f}\u202f%" if job.ended else "–"
    error = short(job.last_error, 90) if job.last_error else ""
    return row(
        cell(state(job.state), value=job.state.rank),
        cell(name(job.name)),
        cell(grey(job.namespace, 20), class_="p3"),
        cell(job.executions, class_="num", value=job.executions),
        cell(
            job.failed, class_="num bad" if job.failed and job.state is JobStanding.FAILING else "num", value=job.failed
        ),
        cell(well, class_="num", value=job.completed / job.ended if job.ended else ""),
        cell(_span(job.typical), class_="num", value="" if job.typical is None else job.typical),
        cell(moment(job.last_at), class_="num", value=time_value(job.last_at)),
        cell(
            tag(
                "span",
                error,
                title=job.last_error if job.last_error and len(job.last_error) > 24 else None,
                class_="sub",
            ),
            class_="p3",
        ),
    )
