"""What comes again: the hour, the day of the week, the hour of the week, the place in the month. All in UTC."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Final

from .robust import MAD_TO_SIGMA, median

HOUR: Final = 3600.0
DAY: Final = 86400.0
_LEAST_OF_A_GROUP: Final = 3
_LEAST_OF_AN_HOUR_OF_WEEK: Final = 4
_WORTH: Final = 0.75
"""A finer season must leave at most so much of the variance of a coarser one."""


class Season(StrEnum):
    """By what values of a series differ regularly; from the simplest on."""

    NONE = "none"
    WORKDAY = "workday"
    """Monday to Friday, or the weekend: two groups, where a week a day has too few."""
    HOUR = "hour"
    WEEKDAY = "weekday"
    HOUR_OF_WEEK = "hour of week"
    DAY_OF_MONTH = "day of month"
    """By precedent (`deviation.has_precedent`), as no history has months enough for groups."""

    @property
    def words(self) -> str:
        """For an explanation: with what a value was compared."""
        return _WORDS[self]


_WORDS: Final = {
    Season.NONE: "",
    Season.WORKDAY: "for a working day or a weekend",
    Season.HOUR: "for the hour of the day",
    Season.WEEKDAY: "for the day of the week",
    Season.HOUR_OF_WEEK: "for the hour of the week",
    Season.DAY_OF_MONTH: "for the day of the month",
}


def _weekday(at: float) -> int:
    return int(at // DAY + 3) % 7  # 1970-01-01 was a Thursday


_GROUP: Final[Mapping[Season, Callable[[float], int]]] = {
    Season.NONE: lambda at: 0,  # noqa: ARG005  # one group of all
    Season.WORKDAY: lambda at: int(at // DAY + 3) % 7 // 5,
    Season.HOUR: lambda at: int(at // HOUR) % 24,
    Season.WEEKDAY: _weekday,
    Season.HOUR_OF_WEEK: lambda at: int(at // HOUR + 72) % 168,
}


def group_of(season: Season) -> Callable[[float], int]:
    """Gives the group of a time (seconds since 1970, UTC)."""
    return _GROUP[season]


def choose(times: Sequence[float], values: Sequence[float]) -> Season:
    """The simplest season that explains a series: by the variance that it leaves, outliers drawn in.

    A season is considered where its groups have three values each on average, hours of the week four.
    """
    if len(values) < 2 * _LEAST_OF_A_GROUP:
        return Season.NONE
    centre = median(values)
    reach = 3 * MAD_TO_SIGMA * median([abs(value - centre) for value in values])
    if not reach:  # more than half are the same: what differs is the question itself
        reach = 3 * sum(abs(value - centre) for value in values) / len(values)
    if not reach:
        return Season.NONE
    drawn = [max(-reach, min(reach, value - centre)) for value in values]
    best, left = Season.NONE, _left(times, drawn, _GROUP[Season.NONE], needed=1)
    for season in (Season.WORKDAY, Season.HOUR, Season.WEEKDAY, Season.HOUR_OF_WEEK):
        needed = _LEAST_OF_AN_HOUR_OF_WEEK if season is Season.HOUR_OF_WEEK else _LEAST_OF_A_GROUP
        own = _left(times, drawn, _GROUP[season], needed)
        if own is not None and left is not None and own < left * _WORTH:
            best, left = season, own
    return best


def _left(times: Sequence[float], values: Sequence[float], group: Callable[[float], int], needed: int) -> float | None:
    """The variance about the means of the groups, or None where they are too few or too small."""
    sums: dict[int, float] = {}
    counts: dict[int, int] = {}
    squares = 0.0
    for at, value in zip(times, values, strict=True):
        own = group(at)
        sums[own] = sums.get(own, 0.0) + value
        counts[own] = counts.get(own, 0) + 1
        squares += value * value
    if needed > 1 and (len(counts) < 2 or len(values) < needed * len(counts)):
        return None
    between = sum(total * total / counts[own] for own, total in sums.items())
    return max(0.0, squares - between) / (len(values) - len(counts))


def places_in_month(day: date) -> frozenset[tuple[str, int]]:
    """Where a day stands in its month: from the start and the end, in days and, near them, in working days."""
    last = monthrange(day.year, day.month)[1]
    places = {("day", day.day), ("to the end", last - day.day)}
    if day.weekday() < 5:
        begun = sum(date(day.year, day.month, each).weekday() < 5 for each in range(1, day.day + 1))
        ahead = sum(date(day.year, day.month, each).weekday() < 5 for each in range(day.day + 1, last + 1))
        places |= {("working day", begun)} if begun <= 3 else set()
        places |= {("working days to the end", ahead)} if ahead <= 3 else set()
    return frozenset(places)


def date_of(at: float) -> date:
    """The day in UTC."""
    return datetime.fromtimestamp(at, UTC).date()
