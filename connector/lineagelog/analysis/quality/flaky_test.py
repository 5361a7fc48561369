"""Flaky tests: those that pass and fail by turns."""

from __future__ import annotations

from typing import Final

from lineagelog.analysis import Analysis, Evidence, Finding, Insufficient, Severity, Subject, each
from lineagelog.analysis.lineage.drift import HISTORY
from lineagelog.analysis.maths.proportion import Beta
from lineagelog.shown import counted

_STABLE: Final = 0.15
"""A test whose results differ from the one before no more often than this may fail for reasons of its data."""
_LITTLE: Final = 8
_SURE: Final = 0.9


class Flips(Evidence, frozen=True, kw_only=True):
    """A row: a test that passed and failed by turns; n is its results, and the evidence runs are those of flips."""

    kind: str
    """Whose test: job or dataset."""
    namespace: str
    name: str
    column_name: str
    test_name: str
    test_type: str
    occurrence: int
    bad: int
    flips: int
    """Results that differ from the one before."""
    flipped: float
    """The same, weighed: half where the data has another version."""
    kept: float
    """Results that are as the one before, weighed."""

    @property
    def subject(self) -> Subject:
        """The test, of a dataset or of a job."""
        test = self.test_name or self.test_type or "unnamed"
        return Subject("test", self.namespace or None, self.name, self.column_name or None, test)


def judge(row: Flips) -> Finding | Insufficient | None:
    """One finding a test."""
    if row.n < _LITTLE:
        return Insufficient()
    belief = Beta(0.5 + row.flipped, 0.5 + row.kept)
    band = belief.interval(_SURE)
    if band.lower <= _STABLE:
        return None
    rate = row.flips / (row.n - 1)
    evidence = row.evidence
    evidence["values"] = {"flips": row.flips, "flip_rate": rate, "failures": row.bad, "tests": row.kind}
    return Finding(
        change="flaky",
        detail=f"{row.kind} {row.test_type} {row.occurrence}",
        severity=Severity.MEDIUM,
        observed=f"{counted(row.flips, 'flips')} in {counted(row.n, 'results')}",
        expected=f"no more than {100 * _STABLE:.0f} %",
        lower=0.0,
        upper=_STABLE,
        score=belief.mean,
        explanation=f"{row.subject} passes and fails by turns: {row.flips} of {row.n} results differ from the one "
        f"before, {row.bad} failed.",
        **evidence,
    )


ANALYSIS: Final = Analysis(
    name="flaky_test",
    question="Which tests pass and fail by turns: is it the test, and not the data, that is unstable?",
    about="Told of where it is 95 % sure that more than 15 % of the results differ from the one before; a test that "
    "fails from some day on, or rarely, does not flip. A flip counts half where the data had another version.",
    method="Beta posterior of the share of flips (Jeffreys' prior)",
    parameters=(HISTORY,),
    row=Flips,
    explain=each(judge),
    engines=("postgresql", "duckdb"),
    example="--since -1w",
)
