"""What is usual of a series, learned from its past: a season, a trend, a centre for each group and one scale.

The season is chosen that explains the values; a trend or a change of level is followed; outliers are left out by median
and MAD, and what remains gives mean and standard deviation (the reweighted estimate of Rousseeuw and Leroy), so that a
band for new values is that of Student's t: the fewer values, the wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final, NamedTuple

from .change import change_point, slope
from .robust import MAD_TO_SIGMA, median, spread
from .season import DAY, Season, choose, group_of

_CUT: Final = 4.0
"""Robust scales beyond which a past value is an outlier, and teaches nothing."""
_FEWEST: Final = 8
"""Values of a new level from which it is one."""


class Trend(NamedTuple):
    """A steady rise or fall, and how sure one is of it; per second."""

    rise: float = 0.0
    error: float = 0.0
    """Standard error."""
    origin: float = 0.0
    """The time in whose terms values are told."""
    middle: float = 0.0
    """Of the past: the farther from it, the less is known."""


_LEVEL: Final = Trend()


class Baseline(NamedTuple):
    """What is usual: a centre for each group of the season, one scale for all, and a trend."""

    season: Season
    centres: dict[int, tuple[float, int]]
    """By group: the centre and of how many values."""
    overall: tuple[float, int, float]
    """Of a group that was never seen: centre, number and scale of all values."""
    sigma: float
    freedom: int
    trend: Trend
    days: list[int]
    """Of each past value: days since 1970."""
    residuals: list[float]
    """Of each past value: how far from its centre."""
    n: int
    """How many values it rests on."""

    def expected(self, at: float) -> tuple[float, float]:
        """The centre, and the standard deviation of a new value about it."""
        centre, of = self.centres.get(group_of(self.season)(at), (0.0, 0))
        sigma = self.sigma
        if not of:
            centre, of, sigma = self.overall
        trend = self.trend
        unsure = trend.error * (at - trend.middle)
        return centre + trend.rise * (at - trend.origin), sqrt(sigma * sigma * (1 + 1 / of) + unsure * unsure)


def learn(times: Sequence[float], values: Sequence[float]) -> Baseline:
    """The baseline of a series in order of time: a trend is followed; after a change of level only what came since."""
    season = choose(times, values)
    residuals, scale = _about_groups(times, values, season)
    bend = change_point(residuals)
    if bend is None or bend.p_value > 0.5 or not scale:
        return _fitted(times, values, season, _LEVEL)
    before, after = residuals[: bend.begin], residuals[bend.begin :]
    jump, within = median(after) - median(before), spread([*_centred(before), *_centred(after)]).scale
    trend = _trend(times, residuals)
    _, about_trend = _about_groups(times, _flat(times, values, trend), season)
    if abs(jump) > 3 * within and within <= about_trend and len(after) >= _FEWEST:
        times, values = times[bend.begin :], values[bend.begin :]
        return _fitted(times, values, choose(times, values), _LEVEL)
    return _fitted(times, values, season, trend)


def _centred(values: Sequence[float]) -> list[float]:
    centre = median(values)
    return [value - centre for value in values]


def _flat(times: Sequence[float], values: Sequence[float], trend: Trend) -> list[float]:
    """The values without their trend, as they would be at its origin."""
    if not trend.rise:
        return list(values)
    return [value - trend.rise * (at - trend.origin) for at, value in zip(times, values, strict=True)]


def _about_groups(times: Sequence[float], values: Sequence[float], season: Season) -> tuple[list[float], float]:
    """Distances from the medians of the groups, and their robust scale: each median has used up one of them."""
    group = group_of(season)
    members: dict[int, list[float]] = {}
    keys = [group(at) for at in times]
    for key, value in zip(keys, values, strict=True):
        members.setdefault(key, []).append(value)
    centres = {key: median(own) for key, own in members.items()}
    residuals = [value - centres[key] for key, value in zip(keys, values, strict=True)]
    away = sorted(map(abs, residuals))[len(centres) :]
    scale = MAD_TO_SIGMA * median(away) if away else 0.0
    return residuals, scale or spread(residuals).scale


def _trend(times: Sequence[float], residuals: Sequence[float]) -> Trend:
    """The straight line through what is no outlier, or none where it may be chance."""
    span = times[-1] - times[0]
    lag = 14 * DAY if span >= 28 * DAY else 7 * DAY if span >= 14 * DAY else span / 2
    if not lag:
        return _LEVEL
    middle, guess = (times[0] + times[-1]) / 2, slope(times, residuals, lag)
    about = spread([value - guess * (at - middle) for at, value in zip(times, residuals, strict=True)])
    kept = [
        (at - middle, value)
        for at, value in zip(times, residuals, strict=True)
        if abs(value - guess * (at - middle) - about.centre) <= _CUT * about.scale
    ]
    rise, error, at = _line(kept, about.scale)
    early, _, _ = _line(kept[: len(kept) // 2], about.scale)
    # a rise of the last days alone is no trend: the first half shows it, too
    is_steady = abs(rise) > max(2 * error, 1e-300) and early / rise > 0.3
    return Trend(rise, error, times[-1], middle + at) if is_steady else _LEVEL


def _line(points: Sequence[tuple[float, float]], scale: float) -> tuple[float, float, float]:
    """Of the line of least squares: its rise, the standard error, and the mean of the times."""
    at, level = (sum(each) / len(points) for each in zip(*points, strict=True))
    squares = sum((x - at) ** 2 for x, _ in points)
    if not squares:
        return 0.0, 0.0, at
    return sum((x - at) * (y - level) for x, y in points) / squares, scale / sqrt(squares), at


def _fitted(times: Sequence[float], values: Sequence[float], season: Season, trend: Trend) -> Baseline:
    flat = _flat(times, values, trend)
    away, scale = _about_groups(times, flat, season)
    group = group_of(season)
    keys = [group(at) for at in times]
    sums: dict[int, float] = {}
    counts: dict[int, int] = {}
    reach = _CUT * scale
    for key, value, far in zip(keys, flat, away, strict=True):
        if abs(far) <= reach:
            sums[key] = sums.get(key, 0.0) + value
            counts[key] = counts.get(key, 0) + 1
    centres = {key: (total / counts[key], counts[key]) for key, total in sums.items()}
    whole = spread(flat)
    known = [
        value - centres[key][0] if key in centres else value - whole.centre
        for key, value in zip(keys, flat, strict=True)
    ]
    kept = [value for value, far in zip(known, away, strict=True) if abs(far) <= reach]
    freedom = max(1, len(kept) - len(centres))
    sigma = sqrt(sum(value * value for value in kept) / freedom)
    overall = (whole.centre, len(flat), whole.scale)
    days = [int(at // DAY) for at in times]
    return Baseline(season, centres, overall, sigma, freedom, trend, days, known, len(kept))
