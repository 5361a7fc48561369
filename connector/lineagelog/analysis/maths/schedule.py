"""When something that comes regularly is due: a schedule learned from past times, and what of it was late or missing.

A schedule is a period of the clock (from a minute to a week) with a phase, and the slots of the week in which something
came in at least three of four weeks before: so are working days, hours of business and nights without runs. Where the
times are on no such clock, regular gaps stand in for it. An hour more or less is summer time, and no delay.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import Final, NamedTuple

from .robust import MAD_TO_SIGMA, median
from .season import DAY, HOUR

_PERIODS: Final = (
    *(60.0 * minutes for minutes in (1, 2, 5, 10, 15, 20, 30)),
    *(HOUR * hours for hours in (1, 2, 3, 4, 6, 8, 12, 24)),
    7 * DAY,
)
_WEEKS: Final = 5
_FEWEST: Final = 8
_SCALES: Final = 5.0
"""Robust scales of the usual delay from which one counts."""
_BEYOND: Final = 1.5
"""How much worse than what was before a delay must be to count."""
_SHARE: Final = 0.75
"""Of the weeks before, in which a slot was taken: then it is expected again."""


class Slot(NamedTuple):
    """Something that was due."""

    due: float
    """When, in seconds since 1970."""
    came: int | None
    """The index of the time that took it, None where none did."""
    delay: float
    """Seconds from when it was due to when it came, or to now."""
    grace: float
    """Seconds that are still no delay."""
    period: float
    """Seconds to the next one, usually."""
    n: int
    """On how many times that rests."""

    @property
    def is_late(self) -> bool:
        """Whether it came too late, or not at all."""
        return self.delay > self.grace


class _Clock(NamedTuple):
    period: float
    phase: float
    grace: float
    taken: frozenset[int]
    """Numbers of the slots that had one."""
    first: int
    """The first of them."""
    n: int


def due(times: Sequence[float], start: float, end: float, now: float, least: float | None = None) -> list[Slot] | None:
    """What was due in [start, end), as far as it is known at ``now``; None where there is too little history.

    ``times`` rise; those after ``now`` are not known. ``least``: the share of the period that is no delay in any case
    (5 %, no more than an hour and no less than a minute). Of times without any rhythm nothing is due: an empty list.
    """
    known = times[: bisect_left(times, now + 1e-6)]
    slots: list[Slot] = []
    is_enough = False
    start = max(start, known[0]) if known else end
    while start < end:
        until = min(end, start + 7 * DAY)
        index = bisect_left(known, start)
        begin = max(0, min(bisect_left(known, start - _WEEKS * 7 * DAY), index - 50))
        past = known[max(begin, index - 5000) : index]
        if len(past) >= _FEWEST and past[-1] > past[0]:
            is_enough = True
            clock = _clock(past, least)
            slots += (
                _on_clock(clock, known, start, until, now) if clock else _by_gaps(past, known, start, until, now, least)
            )
        start = until
    return slots if is_enough else None


def _clock(past: Sequence[float], least: float | None) -> _Clock | None:
    usual = median([later - earlier for earlier, later in pairwise(past) if later > earlier])
    snapped = [each for each in _PERIODS if abs(each - usual) <= 0.1 * each][:1]
    # on some days of the week, or at some hours of the day
    coarse = [each for each in (DAY, HOUR) if usual >= 0.9 * each and each not in snapped]
    return next((clock for period in (*snapped, *coarse) if (clock := _of_period(past, period, least))), None)


def _of_period(past: Sequence[float], period: float, least: float | None) -> _Clock | None:
    """The clock of that period, None where the times do not keep to it."""
    recent = past[-10:]
    phase = (recent[-1] + median([_offset(each, recent[-1], period) for each in recent])) % period
    offsets = [_offset(each, phase, period) for each in past]
    if period > HOUR:  # summer time came or went
        is_shifted = [abs(abs(each) - HOUR) < 900 for each in offsets]
        offsets = [
            each - (HOUR if each > 0 else -HOUR) if shifted else each
            for each, shifted in zip(offsets, is_shifted, strict=True)
        ]
    if MAD_TO_SIGMA * median([abs(each) for each in offsets]) > 0.15 * period:
        return None
    first_of: dict[int, float] = {}
    for at, offset in zip(past, offsets, strict=True):
        number = round((at - phase) / period)
        first_of[number] = min(offset, first_of.get(number, inf))
    grace = _grace(list(first_of.values()), period, least)
    return _Clock(period, phase, grace, frozenset(first_of), min(first_of), len(past))


def _offset(at: float, anchor: float, period: float) -> float:
    """How far from the nearest slot, before or after."""
    return (at - anchor + period / 2) % period - period / 2


def _grace(delays: Sequence[float], period: float, least: float | None) -> float:
    """The longest delay that is usual: by the upper scale, and by what was before but for the worst."""
    ordered = sorted(delays)
    above = [each for each in ordered if each > 0]
    worst = ordered[-1 - (max(1, len(ordered) // 100) if len(ordered) >= 20 else 0)]
    floor = max(60.0, min(HOUR, 0.05 * period)) if least is None else least * period
    return max(floor, _SCALES * MAD_TO_SIGMA * median(above) if above else 0.0, _BEYOND * worst)


def _on_clock(clock: _Clock, known: Sequence[float], start: float, end: float, now: float) -> Iterator[Slot]:
    period, phase = clock.period, clock.phase
    early = period / 4
    number = int(-(-(start - phase) // period))
    # slots whose time is of this week; what came a little early is of the slot that it came for
    while (at := phase + number * period) < end and at + clock.grace < now:
        if _is_expected(clock, known, number):
            shift = (
                HOUR
                if period > HOUR and not _near(known, at, clock.grace) and _near(known, at + HOUR, clock.grace)
                else 0
            )
            index = bisect_left(known, at - early)
            came = index if index < len(known) and known[index] < at + period - early else None
            delay = (now if came is None else known[came]) - at - shift
            yield Slot(at, came, delay, clock.grace, period, clock.n)
        number += 1


def _near(known: Sequence[float], at: float, grace: float) -> bool:
    index = bisect_left(known, at - 900)
    return index < len(known) and known[index] <= at + min(900.0, grace)


def _is_expected(clock: _Clock, known: Sequence[float], number: int) -> bool:
    a_week = round(7 * DAY / clock.period)
    before = [number - weeks * a_week for weeks in range(1, (_FEWEST if a_week == 1 else _WEEKS) + 1)]
    before = [each for each in before if each >= clock.first]
    taken = sum(_is_taken(clock, known, each) for each in before)
    if len(before) >= 2:
        return taken >= _SHARE * len(before)
    a_day = round(DAY / clock.period)
    days = [number - each * a_day for each in range(1, 8) if number - each * a_day >= clock.first] if a_day else []
    return taken == len(before) and len(days) >= 5 and all(_is_taken(clock, known, each) for each in days)


def _is_taken(clock: _Clock, known: Sequence[float], number: int) -> bool:
    """By the past, or by what came since."""
    if number in clock.taken:
        return True
    at = clock.phase + number * clock.period
    index = bisect_left(known, at - clock.period / 4)
    return index < len(known) and known[index] < at + 3 * clock.period / 4


def _by_gaps(
    past: Sequence[float], known: Sequence[float], start: float, end: float, now: float, least: float | None
) -> Iterator[Slot]:
    gaps = [later - earlier for earlier, later in pairwise(past)]
    usual = median(gaps)
    delays = [gap - usual for gap in gaps]
    if MAD_TO_SIGMA * median([abs(each) for each in delays]) > 0.3 * usual:
        return
    grace = max(_grace(delays, usual, least), 0.5 * usual if least is None else 0.0)
    last = bisect_left(known, start) - 1
    while last < len(known):
        at = known[last] + usual
        came = last + 1 if last + 1 < len(known) else None
        if at >= end or (came is None and at + grace >= now):
            return
        if at >= start:
            yield Slot(at, came, (now if came is None else known[came]) - at, grace, usual, len(past))
        last += 1
        if came is None:
            return
