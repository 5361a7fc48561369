"""Shifts of failure rates: the jobs that fail more often than they used to."""

from __future__ import annotations

from datetime import datetime
from itertools import accumulate
from math import exp, lgamma, log, log10
from typing import Final, NamedTuple

from lineagelog.analysis import Analysis, Finding, Insufficient, JobEvidence, Severity, each
from lineagelog.analysis.lineage.drift import HISTORY
from lineagelog.analysis.maths.proportion import Beta, posterior, wilson
from lineagelog.shown import counted

_BEFORE, _AFTER = 8, 5
"""Runs that there must be on either side of a shift."""
_DAYS: Final = 3
"""That it must have lasted."""
RARELY: Final = Beta(0.5, 9.5)
"""What is believed of a job's failure rate before it has run: about five in a hundred."""
_PLACES: Final = 5
"""How many independent days there are, as it were, of all that a shift is looked for at: neighbours tell the same."""
_SURE: Final = 0.002
_SURE_OF_EPISODES: Final = 0.01
_EPISODES: Final = 3
_TIMES, _POINTS = 2.0, 0.05
"""A rate that is not twice as high and five points higher is no shift worth telling, however sure."""


class Days(JobEvidence, frozen=True, kw_only=True):
    """A row: what a job did, day by day; n is all its runs."""

    starts: list[datetime]
    """First run of each day."""
    runs: list[int]
    bad: list[int]
    chances: list[int]
    """Runs that did not follow a failure."""
    episodes: list[int]
    """Failures among these: a streak counts once."""


class Shift(NamedTuple):
    """Where a failure rate rose, and how."""

    day: int
    """Index of the first day after it."""
    bad: int
    runs: int
    bad_before: int
    runs_before: int
    p_value: float
    """That chance makes it, wherever in the time looked at."""

    @property
    def rate(self) -> float:
        """Since then."""
        return self.bad / self.runs

    @property
    def rate_before(self) -> float:
        """Until then."""
        return self.bad_before / self.runs_before


def shift_of(row: Days) -> Shift | None:
    """The most likely rise of the rate up to the end, if it is sure and more than one streak."""
    runs, bad = [*accumulate(row.runs)], [*accumulate(row.bad)]
    places = [day for day in range(1, len(runs)) if runs[day - 1] >= _BEFORE and runs[-1] - runs[day - 1] >= _AFTER]
    best = max(places, key=lambda day: _gain(bad[day - 1], runs[day - 1], bad[-1], runs[-1]), default=None)
    if best is None:
        return None
    before, before_bad = runs[best - 1], bad[best - 1]
    after, after_bad = runs[-1] - before, bad[-1] - before_bad
    if after_bad / after < max(_TIMES * before_bad / before, before_bad / before + _POINTS):
        return None
    chance = predictive_tail(after_bad, after, posterior(before_bad, before, RARELY)) * min(len(places), _PLACES)
    episodes, chances = sum(row.episodes[best:]), sum(row.chances[best:])
    usual = posterior(sum(row.episodes[:best]), sum(row.chances[:best]), RARELY)
    apart = predictive_tail(episodes, chances, usual)
    if chance > _SURE or episodes < _EPISODES or apart > _SURE_OF_EPISODES:
        return None
    return Shift(best, after_bad, after, before_bad, before, chance)


def _gain(bad_before: int, runs_before: int, bad: int, runs: int) -> float:
    """By how much two rates, a lower one and then a higher one, explain failures better than one (log likelihood)."""
    bad_after, runs_after = bad - bad_before, runs - runs_before
    if bad_after * runs_before <= bad_before * runs_after:
        return 0.0
    return _likelihood(bad_before, runs_before) + _likelihood(bad_after, runs_after) - _likelihood(bad, runs)


def _likelihood(bad: int, runs: int) -> float:
    """Of so many failures at their own rate."""
    good = runs - bad
    return (bad * log(bad / runs) if bad else 0.0) + (good * log(good / runs) if good else 0.0)


def predictive_tail(hits: int, trials: int, belief: Beta) -> float:
    """P(X ≥ ``hits``) in so many trials, of a rate of which no more is known than that belief (beta-binomial)."""
    usual = _log_beta(belief.a, belief.b)
    return min(
        1.0,
        sum(
            exp(_choose(trials, each) + _log_beta(each + belief.a, trials - each + belief.b) - usual)
            for each in range(hits, trials + 1)
        ),
    )


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _choose(all_: int, some: int) -> float:
    return lgamma(all_ + 1) - lgamma(some + 1) - lgamma(all_ - some + 1)


def judge(row: Days) -> Finding | Insufficient | None:
    """One finding a job, as long as it fails more often than before."""
    if row.n < _BEFORE + _AFTER:
        return Insufficient()
    shift = shift_of(row)
    if shift is None:
        return None
    usual = wilson(shift.bad_before, shift.runs_before)
    since, evidence = row.starts[shift.day], row.evidence
    evidence["values"] = {"p_value": shift.p_value, "rate": shift.rate, "rate_before": shift.rate_before}
    return Finding(
        **{
            **evidence,
            "change": "fails more often",
            "severity": Severity.HIGH if shift.rate >= 0.5 else Severity.MEDIUM,
            "observed": f"{100 * shift.rate:.1f} % of {counted(shift.runs, 'runs')} failed",
            "expected": f"{100 * shift.rate_before:.1f} %, as of the {counted(shift.runs_before, 'runs')} before",
            "lower": usual.lower,
            "upper": usual.upper,
            "score": -log10(max(shift.p_value, 1e-300)),
            "first_seen": since,
            "explanation": f"Since {since:%Y-%m-%d %H:%M} UTC {row.subject} fails more often: {shift.bad} of "
            f"{counted(shift.runs, 'runs')} failed, {shift.bad_before} of {shift.runs_before} before.",
        }
    )


ANALYSIS: Final = Analysis(
    name="failure_rate_shift",
    question="Which jobs fail more often than they used to?",
    about="Looks for the day since which a job fails more often, up to the window's end: at least twice as often and "
    "five points more, three times or more apart from each other (a streak counts once), and less than twice in a "
    "thousand by chance. High from every second run on.",
    method="change point of two rates (likelihood), beta-binomial prediction from the runs before",
    parameters=(HISTORY,),
    row=Days,
    explain=each(judge),
    engines=("postgresql", "duckdb"),
    example="--since -1w",
)
