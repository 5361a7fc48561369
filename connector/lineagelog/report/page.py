"""The report as one HTML document that asks for nothing: style and script are in it, and allowed by their hash."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from hashlib import sha256
from typing import Final

from lineagelog.analysis import Severity
from lineagelog.resources import package_text
from lineagelog.shown import counted

from .markup import Content, Markup, icon, icons, moment, number, tag
from .model import JobStanding, ReportContent
from .sections import all_jobs, blast_radius, executions, findings, tests, time_lines, volumes

_PARTS: Final = (
    ("findings", "Findings"),
    ("lines", "Time lines"),
    ("volumes", "Volumes"),
    ("tests", "Tests"),
    ("blast", "Blast radius"),
    ("jobs", "Jobs"),
)


def page(report: ReportContent) -> str:
    """The document. It does not depend on when or where it is made."""
    style, script = package_text("report/report.css"), package_text("report/report.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="referrer", content="no-referrer"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", f"{report.title} · lineagelog"),
        tag("link", rel="icon", href="data:,"),
        tag("style", Markup(style)),
    )
    body = tag("body", icons(), _top(), tag("main", _parts(report)), tag("script", Markup(script)))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _top() -> Markup:
    links = [tag("a", word, href=f"#{key}") for key, word in _PARTS]
    return tag("nav", tag("div", tag("b", "lineagelog", tag("span", "report")), links), class_="top")


def _parts(report: ReportContent) -> list[Content]:
    return [
        _head(report),
        _stopped(report),
        _figures(report),
        findings(report),
        executions(report),
        time_lines(report),
        volumes(report),
        tests(report),
        blast_radius(report),
        all_jobs(report),
        _foot(report),
    ]


def _head(report: ReportContent) -> Markup:
    runs = sum(job.executions for job in report.jobs)
    since: Content = "the beginning" if report.start is None else moment(report.start, with_year=True)
    told = [since, " to ", moment(report.end, with_year=True), f" UTC · {counted(len(report.jobs), 'jobs')}, "]
    return tag(
        "div",
        tag("h1", report.title, dir="auto"),
        tag("p", told, counted(runs, "executions"), class_="sub"),
        class_="head",
    )


def _stopped(report: ReportContent) -> Markup | None:
    if not report.stopped:
        return None
    title = tag("b", f"{counted(len(report.stopped), 'parts')} of this report could not be read in time")
    told = tag("ul", [tag("li", each) for each in report.stopped])
    return tag("div", icon("warn"), " ", title, told, class_="alert", role="note")


def _figures(report: ReportContent) -> Markup:
    jobs = report.jobs
    completed, ended = sum(job.completed for job in jobs), sum(job.ended for job in jobs)
    failing, late, stuck = (
        report.count(JobStanding.FAILING),
        report.count(JobStanding.LATE),
        report.count(JobStanding.STUCK),
    )
    outside = sum(line.finding is not None for line in report.volumes)
    fail_now = sum(not each.latest[0] for each in report.tests)
    severe = Counter(each.severity for each in report.findings)
    worst = ", ".join(f"{severe[each]} {each.value}" for each in reversed(Severity) if severe[each])
    share = f"{_share(completed, ended)}" if ended else "–"
    return tag(
        "div",
        _figure("jobs", "fail" if failing else "ok", "Failing", number(failing), "jobs", f"of {number(len(jobs))}"),
        _figure(
            "jobs",
            "late" if late + stuck else "ok",
            "Late or stuck",
            number(late + stuck),
            "jobs",
            f"{late} late, {stuck} stuck",
        ),
        _figure(
            "lines",
            "ok" if completed else "none",
            "Completed",
            share,
            "%" if ended else "",
            f"{number(completed)} of {number(ended)} ended runs",
        ),
        _figure(
            "volumes",
            "warn" if outside else "ok",
            "Volumes",
            number(outside),
            "unusual",
            f"of {number(report.volumes_known)} that jobs write",
        ),
        _figure(
            "tests",
            "fail" if fail_now else "ok",
            "Tests",
            number(fail_now),
            "fail now",
            f"of {number(report.tests_known)}",
        ),
        _figure(
            "findings",
            "warn" if report.findings else "ok",
            "Findings",
            number(len(report.findings)),
            "in all",
            tag("span", worst, class_="bad") if severe[Severity.CRITICAL] else worst or "none",
        ),
        class_="figures",
    )


def _share(part: int, whole: int) -> str:
    """In percent; never a round 100 where something is missing."""
    return "100" if part == whole else f"{min(99.9, 100 * part / whole):.1f}"


def _figure(target: str, shape: str, word: str, value: str, unit: str, detail: Content) -> Markup:
    head = tag("div", icon(shape), word, class_="k")
    return tag(
        "a",
        head,
        tag("div", value, tag("small", unit) if unit else None, class_="v"),
        tag("div", detail, class_="d"),
        href=f"#{target}",
    )


def _foot(report: ReportContent) -> Markup:
    asked = ", ".join(report.asked) or "none"
    few = (
        f" {counted(report.insufficient, 'subjects')} with too little history to be judged."
        if report.insufficient
        else ""
    )
    told = [f"Asked: {asked}.{few} Times are UTC; lateness as of ", moment(report.as_of, with_year=True), "."]
    return tag("footer", told)
