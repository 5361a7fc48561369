"""Which values of a series are not usual: the common method of the robust analyses.

A week at a time is judged by the baseline of the five weeks (or fifty values) before it. A value counts where it is far
out, or the second of three in a row that are out; where the series is not just so now and then; and where it was not so
at the same place of earlier months. Values that move away slowly are a drift.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from enum import StrEnum
from math import ceil
from typing import Final, NamedTuple

from msgspec import Struct

from .baseline import Baseline, learn
from .robust import median
from .season import DAY, Season, date_of, group_of, places_in_month
from .tails import student_quantile

_MOST: Final = 1500
"""Values that a baseline is learned from; of more, every other one and so on."""
_TRAINING: Final = 35 * DAY
_FEWEST: Final = 50
"""Values to learn from where the five weeks have fewer."""
_WEAK: Final = 0.001
"""Chance of a value that counts where two of three values have it: 3.3 standard deviations."""
_STRONG: Final = (4.5e-5, 2.7e-3)
"""Chance of a value that counts by itself: between 4.1 and 3 standard deviations, the less the more are judged."""
_NEAR: Final = 900.0
"""Seconds by which the bounds of hours and days are blurred."""
_USUAL_DAYS: Final = 2
"""On more days than that a series was as far out, and it is nothing new."""
_AS_FAR: Final = 0.65
"""Share of a deviation that makes an earlier one its precedent."""
_FORGETTING: Final = 0.2
"""Weight of a new value in the moving average that shows a drift."""


class Direction(StrEnum):
    """Which deviations count."""

    BOTH = "both"
    UP = "up"
    DOWN = "down"


class Policy(Struct, frozen=True, kw_only=True):
    """How strictly a series is judged. Values are on the scale of the series, such as logarithms."""

    direction: Direction = Direction.BOTH
    least: float = 0.0
    """A deviation that is not greater never counts."""
    threshold: float | None = None
    """A score that counts by itself; None: by how many values are judged."""
    minimum: int = 8
    """Values before which nothing is judged."""
    chance: float = 0.002
    """Of one false alarm in a series, all its values together."""


class Deviation(NamedTuple):
    """A value that is not usual; bounds and values on the scale of the series."""

    place: int
    """Its index in the series."""
    value: float
    centre: float
    lower: float
    upper: float
    score: float
    sigma: float
    """The standard deviation of a new value: what the score counts in."""
    n: int
    """How many values the band rests on."""
    season: Season
    is_far: bool
    """Far enough out to count by itself."""

    @property
    def distance(self) -> float:
        """How far from what was expected."""
        return self.value - self.centre


class Judged(NamedTuple):
    """What was found in a series."""

    deviations: list[Deviation]
    """In order of time."""
    drift: Deviation | None
    """Where values have moved away slowly, not one of them being far out: the last of them, and the average's score."""
    values: int
    """How many were judged: 0 where there was too little history."""


class _Limits(NamedTuple):
    """Scores from which a value counts with another, by itself, and the moving average; the smallest scale."""

    weak: float
    strong: float
    slow: float
    sigma: float


def judge(times: Sequence[float], values: Sequence[float], first: int, policy: Policy) -> Judged:
    """Judge the values from index ``first`` on, each by those before; times are seconds since 1970, in order."""
    hits: list[Deviation] = []
    drift: Deviation | None = None
    level, judged = 0.0, 0
    for start, end, baseline, limits in _taught(times, values, first, policy):
        for index in range(start, end):
            each = _compared(index, times[index], values[index], baseline, limits)
            level += _FORGETTING * (max(-3.0, min(3.0, each.score)) - level)
            if abs(level) > limits.slow and abs(level) * limits.sigma > policy.least and _counts(policy, level):
                drift = each._replace(score=level)
            if abs(each.score) > limits.weak and _is_unusual(each, times[index], baseline, policy, limits):
                hits.append(each)
        judged += end - start
    found = [each for each in hits if _is_confirmed(each, hits) and not has_precedent(times, values, each)]
    if drift and any(drift.place - each.place < 20 for each in found):
        drift = None
    return Judged(found, drift, judged)


def bands(times: Sequence[float], values: Sequence[float], first: int, policy: Policy) -> list[Deviation]:
    """What was expected of each value from index ``first`` on, usual or not; without those with too little history."""
    return [
        _compared(index, times[index], values[index], baseline, limits)
        for start, end, baseline, limits in _taught(times, values, first, policy)
        for index in range(start, end)
    ]


def _taught(
    times: Sequence[float], values: Sequence[float], first: int, policy: Policy
) -> Iterator[tuple[int, int, Baseline, _Limits]]:
    """The weeks to judge that have enough history, as ranges of indices, with what it taught."""
    for start, end in _weeks(times, first):
        begin = max(0, min(bisect_left(times, times[start] - _TRAINING), start - _FEWEST))
        if start - begin < policy.minimum:
            continue
        step = ceil((start - begin) / _MOST)
        baseline = learn(times[begin:start:step], values[begin:start:step])
        yield start, end, baseline, _limits(policy, baseline, len(times) - first)


def _weeks(times: Sequence[float], first: int) -> Iterator[tuple[int, int]]:
    while first < len(times):
        end = bisect_left(times, times[first] + 7 * DAY, first)
        yield first, end
        first = end


def _limits(policy: Policy, baseline: Baseline, judged: int) -> _Limits:
    if policy.threshold is not None:
        weak = strong = policy.threshold
    else:
        chance = max(_STRONG[0], min(_STRONG[1], policy.chance / judged))
        weak, strong = (student_quantile(each / 2, baseline.freedom) for each in (_WEAK, chance))
    sigma = max(baseline.sigma, policy.least / strong) or 1e-9
    level = farthest = 0.0
    for residual in baseline.residuals:
        level += _FORGETTING * (max(-3.0, min(3.0, residual / sigma)) - level)
        farthest = max(farthest, abs(level))
    # chance moves the average a third as far as a value; and no farther than a quarter beyond where it went before
    return _Limits(weak, strong, max(1.25 * strong / 3, 1.25 * farthest), sigma)


def _compared(index: int, at: float, value: float, baseline: Baseline, limits: _Limits) -> Deviation:
    centre, sigma = baseline.expected(at)
    sigma = max(sigma, limits.sigma)
    score, far = (value - centre) / sigma, limits.strong * sigma
    is_far = abs(score) > limits.strong
    band = (centre - far, centre + far)
    return Deviation(index, value, centre, *band, score, sigma, baseline.n, baseline.season, is_far)


def _counts(policy: Policy, score: float) -> bool:
    return policy.direction is Direction.BOTH or (score > 0) is (policy.direction is Direction.UP)


def _is_unusual(each: Deviation, at: float, baseline: Baseline, policy: Policy, limits: _Limits) -> bool:
    """Whether it is of the kind that counts, and more than what this series does now and then."""
    if abs(each.distance) <= policy.least or not _counts(policy, each.score):
        return False
    for beside in (at - _NEAR, at + _NEAR):  # a run of 23:59 that began at 00:00 is no Saturday's
        centre, sigma = baseline.expected(beside)
        if abs(each.value - centre) <= limits.weak * max(sigma, limits.sigma):
            return False
    side = 1 if each.distance > 0 else -1
    far = 0.8 * abs(each.distance)
    as_far = {day for day, value in zip(baseline.days, baseline.residuals, strict=True) if side * value >= far}
    return len(as_far) <= _USUAL_DAYS


def _is_confirmed(hit: Deviation, hits: Sequence[Deviation]) -> bool:
    if hit.is_far:
        return True
    place = bisect_left(hits, hit.place, key=lambda each: each.place)
    beside = (*hits[max(0, place - 2) : place], *hits[place + 1 : place + 3])
    return any(abs(each.place - hit.place) <= 2 and each.score * hit.score > 0 for each in beside)


def has_precedent(times: Sequence[float], values: Sequence[float], hit: Deviation) -> bool:
    """Whether it was so at the same place of earlier months: on half of those days, and nearly as far."""
    day = int(times[hit.place] // DAY)
    today = date_of(times[hit.place])
    by_kind: dict[str, list[bool]] = {}
    for earlier in range(day - 100, day - 19):
        date = date_of(earlier * DAY)
        places = places_in_month(date) & places_in_month(today)
        if not places or (date.year, date.month) == (today.year, today.month):
            continue
        was_so = _was_as_far(times, values, hit, earlier)
        for kind, _ in places if was_so is not None else ():
            by_kind.setdefault(kind, []).append(bool(was_so))
    return any(2 * sum(days) >= len(days) for days in by_kind.values())


def _was_as_far(times: Sequence[float], values: Sequence[float], hit: Deviation, day: int) -> bool | None:
    """Whether values about that time of an earlier day differed from those of the weeks around; None without any."""
    begin, end = bisect_left(times, day * DAY), bisect_left(times, (day + 1) * DAY)
    if begin == end:
        return None
    clock, group = times[hit.place] % DAY, group_of(hit.season)
    (nearest, *more) = sorted(range(begin, end), key=lambda index: abs(times[index] % DAY - clock))[:3]
    own = group(times[nearest])
    first, last = bisect_left(times, (day - 21) * DAY), bisect_left(times, (day + 22) * DAY)
    around = [values[i] for i in (*range(first, begin), *range(end, last)) if group(times[i]) == own]
    if len(around) < 3:
        return None
    alike = [nearest, *(index for index in more if group(times[index]) == own)]
    side = 1 if hit.distance > 0 else -1
    return side * (median([values[index] for index in alike]) - median(around)) > _AS_FAR * abs(hit.distance)


def episodes(found: Sequence[Deviation], cooldown: int = 3) -> Iterator[list[Deviation]]:
    """What belongs together: deviations to one side, with no more than so many usual values between them."""
    episode: list[Deviation] = []
    for each in found:
        if episode and (each.place - episode[-1].place > cooldown + 1 or each.score * episode[-1].score < 0):
            yield episode
            episode = []
        episode.append(each)
    if episode:
        yield episode
