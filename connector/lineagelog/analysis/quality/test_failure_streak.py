"""Streaks of tests: which test fails since when, and what else broke with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from lineagelog.analysis import Analysis, Finding, Given, Insufficient, Severity, Subject
from lineagelog.analysis.lineage.drift import HISTORY
from lineagelog.analysis.reliability.streaks import METHOD, STREAK, Streak

_WARNINGS: Final = ("warn", "warning", "info")


class FailingTest(Streak, frozen=True, kw_only=True):
    """A row: results of a test that failed one after the other."""

    kind: str
    """Whose test: job or dataset."""
    namespace: str
    name: str
    column_name: str
    test_name: str
    test_type: str
    occurrence: int
    reported_severity: str | None
    """What its producer calls a failure of it: error, warn."""

    @property
    def subject(self) -> Subject:
        """The test, of a dataset or of a job."""
        test = self.test_name or self.test_type or "unnamed"
        return Subject("test", self.namespace or None, self.name, self.column_name or None, test)


def explain(rows: Iterable[FailingTest], _: Given) -> Iterator[Finding | Insufficient]:
    """One finding a streak; ``broke_together`` tests began to fail with the same run."""
    found = list(rows)
    together = Counter(row.run_ids[0] for row in found)
    for row in found:
        wide = together[row.run_ids[0]]
        told = row.told(
            "failed",
            detail=f"{row.run_ids[0]} {row.kind} {row.test_type} {row.occurrence}",
            severity=_severity(row, wide),
        )
        match told:
            case Finding():
                values = {**told.values, "broke_together": wide, "tests": row.kind}
                yield replace(told, values=values)
            case Insufficient():
                yield told


def _severity(row: FailingTest, wide: int) -> Severity:
    """A warning is low; what broke ten tests at once is critical while it goes on."""
    if row.reported_severity in _WARNINGS:
        return Severity.LOW
    return Severity.CRITICAL if wide >= 10 and row.ended_at is None else row.severity


ANALYSIS: Final = Analysis(
    name="test_failure_streak",
    question="Which tests fail again and again: since which run, and what else broke with it?",
    about="As failure_streak, result by result of each assertion and test. A streak of warnings is low; critical is "
    "also a run since which ten tests or more fail.",
    method=METHOD,
    parameters=(HISTORY, STREAK),
    row=FailingTest,
    explain=explain,
    engines=("postgresql", "duckdb"),
    example="--since -1d",
)
