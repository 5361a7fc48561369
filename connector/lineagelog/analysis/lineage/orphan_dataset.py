"""Orphans: datasets that nobody reads, and datasets that are read though nobody writes them."""

from __future__ import annotations

from typing import Final

from lineagelog.analysis import Analysis, DatasetEvidence, Finding, Severity, each

from .drift import HISTORY


class Orphan(DatasetEvidence, frozen=True, kw_only=True):
    """A row: a dataset that is only written, or only read."""

    rule: str
    """never_read or never_written."""
    jobs: int
    rows_written: float | None


def judge(row: Orphan) -> Finding:
    """One finding a dataset."""
    times = "once" if row.n == 1 else f"{row.n} times"
    jobs = "one job" if row.jobs == 1 else f"{row.jobs} jobs"
    cost = f", rows in all: {row.rows_written:,.0f}" if row.rows_written else ""
    if row.rule == "never_read":
        seen, missing = f"written {times} by {jobs}{cost}", "nobody else reads it"
    else:
        seen, missing = f"read {times} by {jobs}", "nobody writes it"
    return Finding(
        change=row.rule,
        severity=Severity.LOW,
        observed=seen,
        expected="a reader" if row.rule == "never_read" else "a writer",
        explanation=f"{row.subject} was {seen}, and {missing}.",
        **row.evidence,
    )


ANALYSIS: Final = Analysis(
    name="orphan_dataset",
    question="Which datasets does nobody read, and which are read though nobody writes them?",
    about="Used in the window, and since the history before it only written (a job that reads what it writes itself is "
    "no reader), or only read. What people read with other tools, and what other systems write, is no lineage event: "
    "always low.",
    method="reads without writes and writes without reads",
    parameters=(HISTORY,),
    engines=("postgresql", "duckdb"),
    row=Orphan,
    explain=each(judge),
    example="--since -1w",
)
