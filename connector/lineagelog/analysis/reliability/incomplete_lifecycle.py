"""Incomplete lifecycles: runs that contradict themselves, or lack their beginning."""

from __future__ import annotations

from typing import Final

from lineagelog.analysis import Analysis, Finding, JobEvidence, Severity, each, place
from lineagelog.shown import counted


class Broken(JobEvidence, frozen=True, kw_only=True):
    """A row: the runs of a job that break one rule."""

    rule: str
    broken: int
    namespaces: list[str] | None
    """Of a shared run id: the jobs that it belongs to."""
    names: list[str] | None

    @property
    def jobs(self) -> list[str]:
        """Those that share run ids."""
        pairs = zip(self.namespaces or (), self.names or (), strict=True)
        return [place(namespace, name) for namespace, name in pairs]


_RULES: Final = {
    "error_in_complete": (Severity.HIGH, "completed with an error", "an error with FAIL only"),
    "fail_and_complete": (Severity.HIGH, "both failed and completed", "one end"),
    "failed_child": (Severity.MEDIUM, "completed, though a job within failed", "success of all parts"),
    "no_start": (Severity.LOW, "ended without a START", "a START first"),
    "ends_before_start": (Severity.MEDIUM, "ended before they began (a clock is wrong)", "START before the end"),
    "shared_run_id": (Severity.MEDIUM, "have one run id", "a run id of its own for each run"),
}


def judge(row: Broken) -> Finding:
    """One finding a job and rule."""
    severity, deed, expected = _RULES[row.rule]
    runs = counted(row.broken, "runs")
    if row.rule == "shared_run_id":
        sentence = f"{' and '.join(row.jobs)} have one run id, in {runs}."
    else:
        sentence = f"{row.subject}: {runs} of {row.n} {deed}."
    evidence = row.evidence
    del evidence["values"]["namespaces"], evidence["values"]["names"]
    evidence["values"] |= {"jobs": row.jobs} if row.jobs else {}
    return Finding(
        change=row.rule,
        detail="\n".join(row.jobs),
        severity=severity,
        observed=f"{runs} of {row.n}",
        expected=expected,
        explanation=sentence,
        **evidence,
    )


ANALYSIS: Final = Analysis(
    name="incomplete_lifecycle",
    question="Which runs contradict themselves, or lack their beginning?",
    about="Of the runs that began in the window: COMPLETE with an error, FAIL and COMPLETE of one run (high), COMPLETE "
    "over a failed part, an end before the START, one run id of several jobs (medium), an end without a START (low). "
    "Runs that never end are stuck_run's.",
    method="rules on the events of a run",
    row=Broken,
    explain=each(judge),
    example="--since -1d",
)
