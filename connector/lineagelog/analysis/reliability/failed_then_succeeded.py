"""Retries: the jobs that fail, and succeed when they are tried again."""

from __future__ import annotations

from typing import Final

from lineagelog.analysis import Analysis, Finding, JobEvidence, Severity, each
from lineagelog.analysis.lineage.drift import HISTORY
from lineagelog.shown import counted

from .words import lasting


class TriedAgain(JobEvidence, frozen=True, kw_only=True):
    """A row: a job whose failures a retry made good."""

    retried: int
    failures: int
    lost_seconds: float


def judge(row: TriedAgain) -> Finding:
    """One finding a job, as long as it happens. Often is: three times and one run in ten."""
    is_often = row.retried >= 3 and 10 * row.retried >= row.n
    runs = counted(row.n, "runs")
    times = "once" if row.retried == 1 else f"{row.retried} times"
    return Finding(
        change="succeeded on retry",
        severity=Severity.MEDIUM if is_often else Severity.LOW,
        observed=f"{counted(row.failures, 'failures')}, and success on retry {times}",
        expected="success at once",
        score=row.retried / max(row.n, 1),
        explanation=f"{row.subject} failed and succeeded on retry {times} in {runs}; the failures took "
        f"{lasting(row.lost_seconds)}.",
        **row.evidence,
    )


ANALYSIS: Final = Analysis(
    name="failed_then_succeeded",
    question="Which jobs fail, and succeed when they are tried again?",
    about="A success is a retry of the failure before it if both were due at the same time, were started by the same "
    "run, or follow each other in less than half of the job's usual distance; or one run failed, began again and "
    "completed. Medium: at least three times, and one run in ten.",
    method="pairs of failure and success",
    parameters=(HISTORY,),
    row=TriedAgain,
    explain=each(judge),
    engines=("postgresql", "duckdb"),
    example="--since -1d",
)
