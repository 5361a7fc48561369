"""Axes: round steps of time and of numbers, and their labels. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import ceil, floor, log10
from typing import Final

from .model import TimeScale

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_STEPS: Final = (
    *(timedelta(minutes=each) for each in (1, 5, 15, 30)),
    *(each * _HOUR for each in (1, 2, 3, 6, 12)),
    *(each * _DAY for each in (1, 2, 7, 14, 30, 91, 365, 3650)),
)
_EPOCH: Final = datetime(1970, 1, 5, tzinfo=UTC)
"""A Monday, so that weeks begin on one."""
_WORDS: Final = {_HOUR: "hour", _DAY: "day", 7 * _DAY: "week"}


def round_scale(first: datetime, last: datetime, most: int) -> TimeScale:
    """At most so many round spans that hold both times."""
    step = next((each for each in _STEPS if (last - first) / each < most - 1), _STEPS[-1])
    start = _EPOCH + floor((first - _EPOCH) / step) * step
    return TimeScale(start, step, floor((last - start) / step) + 1)


def even_scale(first: datetime, last: datetime, spans: int) -> TimeScale:
    """So many spans from one time to after the other."""
    length = max(last - first, timedelta(minutes=spans)) + timedelta(seconds=1)
    return TimeScale(first, length / spans, spans)


def step_words(step: timedelta) -> str:
    """The length of a span: `hour`, `6 hours`, `day`."""
    if step in _WORDS:
        return _WORDS[step]
    for unit, plural in ((_DAY, "days"), (_HOUR, "hours")):
        if step >= unit:
            return f"{step // unit} {plural}"
    minutes = step // timedelta(minutes=1)
    return "minute" if minutes == 1 else f"{minutes} minutes"


def ticks(scale: TimeScale, most: int) -> Iterator[tuple[float, str]]:
    """Places from 0 to 1 with their labels."""
    length = scale.end - scale.start
    step = next((each for each in _STEPS if length / each <= most), _STEPS[-1])
    at = _EPOCH + ceil((scale.start - _EPOCH) / step) * step
    while at < scale.end:
        yield scale.share(at), time_label(at, step)
        at += step


def time_label(at: datetime, step: timedelta) -> str:
    """The clock within a day, the day where one begins."""
    if step < _DAY and (at.hour or at.minute):
        return f"{at:%H:%M}"
    return f"{at:%b %Y}" if step >= 91 * _DAY else f"{at.day} {at:%b}"


def round_numbers(lowest: float, highest: float, most: int) -> list[float]:
    """Round numbers from at most the lowest to at least the highest."""
    span = max(highest - lowest, abs(highest) * 1e-9, 1e-9)
    size = 10.0 ** floor(log10(span / most))
    step = next(each * size for each in (1, 2, 5, 10) if span / (each * size) <= most)
    first, last = floor(lowest / step), ceil(highest / step)
    return [each * step for each in range(first, max(last, first + 1) + 1)]


def number_label(value: float) -> str:
    """A number on an axis: `250 k`, `1.5 M`."""
    for size, unit in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}\u202f{unit}"
    return f"{value:.4g}"
