"""Reports of made-up content."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from lineagelog.analysis import Finding, Severity, Subject
from lineagelog.report.axes import even_scale, round_scale
from lineagelog.report.model import JobLine, ReportContent, SpanCount, judged_jobs

END = datetime(2026, 3, 8, tzinfo=UTC)
START = END - timedelta(days=7)


def job(number: int, **more: Any) -> JobLine:
    """A job that ran well ten times."""
    told: dict[str, Any] = {
        "job_key": f"k{number}",
        "namespace": "warehouse",
        "name": f"nightly.load_table_{number:05}",
        "executions": 10,
        "completed": 10,
        "typical": 61.0,
        "first_at": START,
        "last_at": END - timedelta(hours=1),
        "last_outcome": "COMPLETE",
    }
    return JobLine(**told | more)


def finding(name: str, **more: Any) -> Finding:
    """A finding about a job."""
    told: dict[str, Any] = {
        "subject": Subject("job", "warehouse", name),
        "change": "failed",
        "severity": Severity.HIGH,
        "observed": "3 failures",
        "expected": "success",
        "n": 10,
        "first_seen": START,
        "last_seen": END,
        "run_ids": ("r1",),
        "explanation": f"{name} failed three times.",
        "analysis": "failure_streak",
    }
    return Finding(**told | more)


def report(*jobs: JobLine, **more: Any) -> ReportContent:
    """Of a week, with time lines of all these jobs."""
    lines = {
        each.job_key: [SpanCount(each.job_key, place, "COMPLETE", 1) for place in range(0, 100, 10)] for each in jobs
    }
    told: dict[str, Any] = {
        "title": "A week",
        "start": START,
        "end": END,
        "as_of": END,
        "jobs": judged_jobs(jobs, more.get("findings", ())),
        "scale": round_scale(START, END, 33),
        "spans": [SpanCount("", 3, "COMPLETE", 40), SpanCount("", 3, "FAIL", 2)],
        "line_scale": even_scale(START, END, 100),
        "lines": lines,
        "asked": ("failure_streak",),
    }
    return ReportContent(**told | more)
