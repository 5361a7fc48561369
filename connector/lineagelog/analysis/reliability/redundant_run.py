"""Redundant runs: executions that did again what had been done already."""

from __future__ import annotations

from typing import Final

from lineagelog.analysis import Analysis, Finding, JobEvidence, Severity, each
from lineagelog.shown import counted

from .words import lasting


class Redundant(JobEvidence, frozen=True, kw_only=True):
    """A row: a job with executions that did what the one before had done."""

    redundant: int
    lost_seconds: float


def judge(row: Redundant) -> Finding:
    """One finding a job."""
    times = "a run" if row.redundant == 1 else counted(row.redundant, "runs")
    return Finding(
        change="redundant",
        severity=Severity.LOW,
        observed=f"{row.redundant} of {counted(row.n, 'runs')}",
        expected="new input, or other output",
        score=row.redundant / max(row.n, 1),
        explanation=f"{row.subject} did in {times} of {row.n} what the run before had done: the same inputs, the same "
        f"outputs; that took {lasting(row.lost_seconds)}.",
        **row.evidence,
    )


ANALYSIS: Final = Analysis(
    name="redundant_run",
    question="Which executions did again what had been done already?",
    about="Compared with the completed execution before it: the same datasets with the same rows and bytes, and either "
    "the same versions of all inputs, or a second execution out of turn (due at the same time, overlapping, or sooner "
    "than half of the usual distance) whose outputs have known statistics.",
    method="equal inputs and outputs of two executions in a row",
    row=Redundant,
    explain=each(judge),
    example="--since -1w",
)
