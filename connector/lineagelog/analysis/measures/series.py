"""What measurements share: how strictly they are judged, the figures of a finding."""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1, log1p
from typing import Any, Final

from lineagelog.analysis import SubjectRule
from lineagelog.analysis.maths.deviation import Deviation, Direction, Policy
from lineagelog.analysis.maths.season import Season

LEAST_CHANGE: Final = 0.05
"""Share of the expected value; a smaller change never counts."""
UNUSUAL: Final = (
    "outside the band of Student's t about the mean of the last five weeks without outliers (median and MAD), on "
    "logarithms, by season"
)
DRIFT: Final = "moving average of scores (λ 0.2) beyond what chance and the past have"


def policy_of(rule: SubjectRule) -> Policy:
    """How strictly logarithms are judged."""
    least = LEAST_CHANGE if rule.least_change is None else rule.least_change
    return Policy(least=log1p(least), threshold=rule.threshold, direction=Direction(rule.direction or "both"))


def change(each: Deviation) -> float:
    """The change in percent of the expected value; of huge ones, as much as a float holds."""
    centre, value = unlogged(each.centre), unlogged(each.value)
    return 100 * (value - centre) / max(centre, 1.0)


def unlogged(value: float) -> float:
    """The measurement whose logarithm (of 1 more) it is; not below 0, and as much as a float holds."""
    return max(0.0, expm1(min(value, 700.0)))


def band(each: Deviation) -> dict[str, Any]:
    """The members of a finding that say what was expected, in the unit of the measurement."""
    return {
        "lower": round(unlogged(each.lower), 3),
        "upper": round(unlogged(each.upper), 3),
        "score": round(each.score, 2),
        "n": each.n,
    }


def usual(each: Deviation) -> str:
    """With what a value was compared."""
    return "usual" if each.season is Season.NONE else f"usual {each.season.words}"


def worst(episode: Sequence[Deviation]) -> Deviation:
    """The one that is farthest out."""
    return max(episode, key=lambda each: abs(each.score))
