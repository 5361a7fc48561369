"""Centre and scale of values of which some are wrong: median and MAD, and what stands in for a MAD of 0."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

MAD_TO_SIGMA: Final = 1.482602218505602
"""MAD to the standard deviation of normal values: 1 / 0.6745."""
MEAN_AD_TO_SIGMA: Final = 1.2533141373155
"""Mean absolute deviation to the same."""


class ScaleMethod(StrEnum):
    """Where a scale comes from."""

    MAD = "median and MAD"
    MEAN_AD = "median and mean deviation"
    CONSTANT = "all the same"


def median(values: Sequence[float]) -> float:
    """The middle one, or half-way between the two in the middle. Raises ValueError of none."""
    if not values:
        raise ValueError("there is no median of nothing")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def mad(values: Sequence[float], centre: float | None = None) -> float:
    """The median absolute deviation, from the median or from a given centre; not scaled."""
    around = median(values) if centre is None else centre
    return median([abs(value - around) for value in values])


class Dispersion(NamedTuple):
    """Where values lie, and how far they scatter, as a standard deviation."""

    centre: float
    scale: float
    method: ScaleMethod

    def score(self, value: float) -> float:
        """How many scales away; of values that are all the same 0.0 for the same, else infinite."""
        if self.scale:
            return (value - self.centre) / self.scale
        return 0.0 if value == self.centre else float("inf") if value > self.centre else float("-inf")


def spread(values: Sequence[float]) -> Dispersion:
    """Median and scaled MAD; where more than half are the same, the scaled mean deviation (the modified z-score).

    The rule is that of Iglewicz and Hoaglin, with the fallback that IBM SPSS and re_data use.
    """
    centre = median(values)
    away = [abs(value - centre) for value in values]
    if scale := median(away) * MAD_TO_SIGMA:
        return Dispersion(centre, scale, ScaleMethod.MAD)
    if scale := sum(away) / len(away) * MEAN_AD_TO_SIGMA:
        return Dispersion(centre, scale, ScaleMethod.MEAN_AD)
    return Dispersion(centre, 0.0, ScaleMethod.CONSTANT)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which that share lies, between neighbours by proportion (type 7). Raises ValueError of none."""
    if not values:
        raise ValueError("there is no quantile of nothing")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = min(int(place), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
