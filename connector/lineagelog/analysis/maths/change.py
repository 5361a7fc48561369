"""Whether and where a series has moved: CUSUM, a change point by signs, a moving average that forgets, a slope."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp
from typing import NamedTuple

from .robust import median


class Alarm(NamedTuple):
    """A CUSUM that went over its limit."""

    at: int
    """Index of the value that did it."""
    since: int
    """Index of the first value of the rise: where the change began."""
    rose: bool
    size: float
    """Of the sum, in standard deviations."""


def cusum(
    values: Sequence[float], target: float, sigma: float, *, slack: float = 0.5, limit: float = 5.0
) -> Alarm | None:
    """The first alarm of a two-sided tabular CUSUM (Montgomery); slack and limit in standard deviations."""
    if sigma <= 0:
        return None
    high = low = 0.0
    high_since = low_since = 0
    for index, value in enumerate(values):
        z = (value - target) / sigma
        if high == 0:
            high_since = index
        if low == 0:
            low_since = index
        high, low = max(0.0, high + z - slack), max(0.0, low - z - slack)
        if max(high, low) > limit:
            rose = high >= low
            return Alarm(index, high_since if rose else low_since, rose, high if rose else low)
    return None


class ChangePoint(NamedTuple):
    """Where a level changed: the first index of the new one, and how probable such a bend is by chance."""

    begin: int
    p_value: float


def change_point(values: Sequence[float]) -> ChangePoint | None:
    """The most probable change of level, by the CUSUM of signs about the median: no outlier moves it.

    The probability is that of a Brownian bridge's largest excursion. None of fewer than four values.
    """
    if len(values) < 4:
        return None
    centre = median(values)
    signs = [(value > centre) - (value < centre) for value in values]
    mean = sum(signs) / len(signs)
    total = farthest = 0.0
    place = 0
    for index, sign in enumerate(signs):
        total += sign - mean
        if abs(total) > farthest:
            farthest, place = abs(total), index + 1
    if not place or place >= len(values):
        return None
    return ChangePoint(place, min(1.0, 2 * exp(-2 * farthest * farthest / len(values))))


def ewma(values: Iterable[float], weight: float = 0.2, start: float = 0.0) -> list[float]:
    """The exponentially weighted moving average after each value."""
    level, levels = start, []
    for value in values:
        level += weight * (value - level)
        levels.append(level)
    return levels


def slope(times: Sequence[float], values: Sequence[float], lag: float) -> float:
    """The median rise per unit of time between values that are about ``lag`` apart: no season shows in it.

    0.0 where there are fewer than eight such pairs. The times rise.
    """
    rises, other = [], 0
    for index, at in enumerate(times):
        while times[other] < at - lag * 1.02:
            other += 1
        apart = at - times[other]
        if apart >= lag * 0.9:
            rises.append((values[index] - values[other]) / apart)
    return median(rises) if len(rises) >= 8 else 0.0
