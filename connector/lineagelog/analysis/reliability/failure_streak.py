"""Failure streaks: the jobs that fail again and again."""

from __future__ import annotations

from typing import Final

from lineagelog.analysis import Analysis, Finding, Insufficient, Subject, each
from lineagelog.analysis.lineage.drift import HISTORY

from .streaks import METHOD, STREAK, Streak


class JobStreak(Streak, frozen=True, kw_only=True):
    """A row: executions of a job that failed one after the other."""

    job_namespace: str
    job_name: str

    @property
    def subject(self) -> Subject:
        """The job."""
        return Subject("job", self.job_namespace or None, self.job_name)


def judge(row: JobStreak) -> Finding | Insufficient | None:
    """One finding a streak: it is the same as long as it goes on, and when it is over."""
    return row.told("failed")


ANALYSIS: Final = Analysis(
    name="failure_streak",
    question="Which jobs fail again and again: how long already, since which run?",
    about="A streak is told of where failures that know nothing of each other would not make it, at the rate at which "
    "the job's other runs fail. High while it goes on, critical from ten failures on; medium when it is over.",
    method=METHOD,
    parameters=(HISTORY, STREAK),
    row=JobStreak,
    explain=each(judge),
    engines=("postgresql", "duckdb"),
    example="--since -1d",
)
