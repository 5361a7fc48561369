"""Stuck runs: executions that hang, outlived the run that started them, or ended without a word."""

from __future__ import annotations

from typing import Final

from lineagelog.analysis import Analysis, Finding, Insufficient, JobEvidence, Severity, Span, each
from lineagelog.analysis.lineage.drift import HISTORY
from lineagelog.shown import counted

from .words import lasting


class Stuck(JobEvidence, frozen=True, kw_only=True):
    """A row: the open executions of a job that have one verdict."""

    verdict: str
    """HUNG, ORPHAN, LOST_END, or '' where nothing can be said."""
    stuck: int
    p99_seconds: float | None
    """99 of 100 finished executions of the job (there are n) took no longer."""
    elapsed_seconds: float
    """Since the start of the one that began last."""


_SEVERITY: Final = {"HUNG": Severity.HIGH, "ORPHAN": Severity.MEDIUM, "LOST_END": Severity.LOW}
_REASON: Final = {
    "HUNG": "nothing followed it",
    "ORPHAN": "the run that started it has ended",
    "LOST_END": "later runs of the job have ended",
}


def judge(row: Stuck) -> Finding | Insufficient:
    """One finding a job and verdict, however many of its executions it concerns."""
    if not row.verdict:
        return Insufficient()
    elapsed = lasting(row.elapsed_seconds)
    if row.p99_seconds is None:
        usual, reason = "an end", "no run of the job has ended" if row.verdict == "LOST_END" else _REASON[row.verdict]
    else:
        usual, reason = f"an end within {lasting(row.p99_seconds)}, as of 99 % of its runs", _REASON[row.verdict]
    runs = f"a run of {row.subject}" if row.stuck == 1 else f"{counted(row.stuck, 'runs')} of {row.subject}"
    verb = "has" if row.stuck == 1 else "have"
    return Finding(
        change=row.verdict,
        severity=_SEVERITY[row.verdict],
        observed=f"open for {elapsed}",
        expected=usual,
        upper=None if row.p99_seconds is None else 1.5 * row.p99_seconds,
        score=None if not row.p99_seconds else row.elapsed_seconds / row.p99_seconds,
        explanation=f"{runs[0].upper()}{runs[1:]} {verb} not ended, the last one for {elapsed}: {reason}.",
        **row.evidence,
    )


ANALYSIS: Final = Analysis(
    name="stuck_run",
    question="Which executions hang, or ended without a word?",
    about="Open longer than 1.5 times what 99 of 100 executions of the job took: HUNG (high), ORPHAN (medium: the run "
    "that started it has ended) or LOST_END (low: later ones have ended, or the producer never sends an end; said once "
    "per job). Streaming jobs (jobType facet) may stay open.",
    method="elapsed time against the 99th percentile of the job's own durations",
    parameters=(
        HISTORY,
        Span(name="floor", meaning="What has been open for less is not stuck.", default="1 hour"),
    ),
    row=Stuck,
    explain=each(judge),
    engines=("postgresql", "duckdb"),
    example="--since -1d",
)
