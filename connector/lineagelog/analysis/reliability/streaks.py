"""What streaks of failures share, of jobs and of tests: parameters, columns, and whether chance explains them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from lineagelog.analysis import Evidence, Finding, Insufficient, Severity, WholeNumber
from lineagelog.shown import counted

STREAK: Final = WholeNumber(
    name="streak", meaning="How many failures in a row are a streak.", default="3", lowest=2, highest=9999
)
METHOD: Final = "length of the streak against the failure rate of all other runs"
CHANCE: Final = 0.005
"""A streak that this often, or more often, comes by itself in the time looked at, is none."""
_LITTLE: Final = 8
"""With fewer other runs than these it is not known how often the subject fails."""
_LONG: Final = 10


class Streak(Evidence, frozen=True, kw_only=True):
    """A row: failures in a row; the evidence runs are these, first to last."""

    streak: int
    others: int
    """Of the n runs those that are part of no streak."""
    others_bad: int
    """Failures among these."""
    near: int
    """Of the others those about the time of the streak."""
    near_bad: int
    last_good_at: datetime | None
    """None: it has not succeeded before, in the history."""
    last_good_run: str | None
    ended_at: datetime | None
    """None: it goes on."""
    ended_run: str | None

    @property
    def chance(self) -> float:
        """How many streaks of this length, or longer ones, failures that know nothing of each other would make.

        The rate is that of the other runs (Jeffreys' estimate), or of those near it where that is higher and not that
        of a single failure: a job that has become worse has streaks because of that. A streak that goes on began at
        one certain run; for one that is over, each of the other runs could have been the beginning.
        """
        rate = (self.others_bad + 0.5) / (self.others + 1)
        if self.near_bad > 1:
            rate = max(rate, self.near_bad / self.near)
        return float((1 if self.ended_at is None else max(self.others, 1)) * rate**self.streak)

    def told(self, what: str, **more: Any) -> Finding | Insufficient | None:
        """The finding; ``what`` says of the subject what it did, such as ``failed``."""
        if self.others and self.chance > CHANCE:
            return Insufficient() if self.others < _LITTLE else None
        first, goes_on = self.run_ids[0], self.ended_at is None
        before = f"the last good run is {self.last_good_run}" if self.last_good_run else "no run before was good"
        after = "and goes on" if goes_on else f"until run {self.ended_run}"
        evidence = self.evidence
        evidence["values"] |= {"first_bad_run": first, "chance": self.chance, "goes_on": goes_on}
        return Finding(
            **{
                "change": what,
                "detail": first,
                "severity": self.severity,
                "observed": f"{self.streak} in a row",
                "expected": f"{100 * self.others_bad / max(self.others, 1):.1f} % of the other runs",
                "upper": float(self.streak - 1),
                "score": float(self.streak),
                "explanation": f"{self.subject} {what} {counted(self.streak, 'times')} in a row "
                f"since run {first} {after}; {before}.",
                **evidence,
                **more,
            }
        )

    @property
    def severity(self) -> Severity:
        """High while it goes on, critical when it is long; what is over is to be looked at all the same."""
        if self.ended_at is not None:
            return Severity.MEDIUM
        return Severity.CRITICAL if self.streak >= _LONG else Severity.HIGH
