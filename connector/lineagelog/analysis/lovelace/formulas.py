"""Egeria's formulas and spellings: the one set that both histories use. Times and lengths of time are milliseconds.

Source: `LovelaceOpenLineageAnalysisServiceBase` and `LovelaceOpenLineageRunProfilerService` of odpi/egeria (fedfc36).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import reduce
from operator import add
from typing import Final

SECOND: Final = 1000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CENT: Final = Decimal("0.01")
_WIDE: Final = Context(prec=400, rounding=ROUND_HALF_UP)
"""A double has up to 309 digits before its point."""
_PERIODS: Final = (
    (5 * MINUTE, "EVERY_5_MINUTES"),
    (10 * MINUTE, "EVERY_10_MINUTES"),
    (15 * MINUTE, "EVERY_15_MINUTES"),
    (30 * MINUTE, "EVERY_30_MINUTES"),
    (HOUR, "HOURLY"),
    (2 * HOUR, "EVERY_2_HOURS"),
    (4 * HOUR, "EVERY_4_HOURS"),
    (6 * HOUR, "EVERY_6_HOURS"),
    (12 * HOUR, "EVERY_12_HOURS"),
    (DAY, "DAILY"),
    (7 * DAY, "WEEKLY"),
    (30 * DAY, "MONTHLY"),
)


def millis(time: datetime) -> int:
    """Milliseconds since 1970, rounded down."""
    return (time - _EPOCH) // timedelta(milliseconds=1)


def instant(time: int | None) -> str:
    """``2026-10-20T12:00:00Z``: whole seconds, the fraction cut off; ``<none>`` for no time."""
    if time is None:
        return "<none>"
    return (_EPOCH + timedelta(seconds=time // SECOND)).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def moment(time: int) -> str:
    """``2026-10-20T12:00:00.250Z``: to the millisecond, as attributes of Egeria's types are."""
    return (_EPOCH + timedelta(milliseconds=time)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def decimal(value: float) -> str:
    """Java's ``%.2f``: half up on the shortest decimal form of the double, so 1.005 is 1.01."""
    return f"{Decimal(repr(float(value))).quantize(_CENT, context=_WIDE):f}"


def words(length: int) -> str:
    """``1 hours 0 minutes``, ``59 seconds``: two units, always plural, truncated."""
    seconds = int(length / SECOND) if length < 0 else length // SECOND
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days > 0:
        return f"{days} days {hours % 24} hours"
    if hours > 0:
        return f"{hours} hours {minutes % 60} minutes"
    if minutes > 0:
        return f"{minutes} minutes {seconds % 60} seconds"
    return f"{seconds} seconds"


def days_of(start: int | None, end: int, earliest: int | None) -> float:
    """Length of the window in days from the first event seen in it on, at least 1."""
    begin = earliest if start is None or (earliest is not None and earliest > start) else start
    return 1.0 if begin is None else max((end - begin) / float(DAY), 1.0)


def percentage(passed: int, failed: int) -> int:
    """Of those that were evaluated; 12.5 is 13, and nothing evaluated is 0."""
    return math.floor(100.0 * passed / (passed + failed) + 0.5) if passed + failed else 0


class Ordered:
    """Descriptive statistics of whole numbers, at least one."""

    def __init__(self, values: Iterable[int]) -> None:
        self.ordered = sorted(values)
        # plain additions from the left, as Java adds doubles: sum() would compensate
        self.mean = reduce(add, self.ordered, 0.0) / len(self.ordered)

    @property
    def median(self) -> int:
        """The upper one of two."""
        return self.ordered[len(self.ordered) // 2]

    def percentile(self, percent: int) -> int:
        """The element of the rank that is rounded up."""
        return self.ordered[max(0, math.ceil(percent / 100.0 * len(self.ordered)) - 1)]

    @property
    def regularity(self) -> str:
        """By the coefficient of variation (of the population): up to 0.25 REGULAR, up to 0.75 VARIABLE."""
        if len(self.ordered) < 2:
            return "SINGLE_RUN"
        squares = reduce(add, ((value - self.mean) * (value - self.mean) for value in self.ordered), 0.0)
        variation = math.sqrt(squares / len(self.ordered)) / self.mean if self.mean else 0.0
        return "REGULAR" if variation <= 0.25 else "VARIABLE" if variation <= 0.75 else "IRREGULAR"

    @property
    def schedule(self) -> str:
        """The label of the period that the median is within 15 % of; only for what is regular."""
        if self.regularity != "REGULAR":
            return "IRREGULAR"
        for period, label in _PERIODS:
            if abs(self.median - period) <= period * 0.15:
                return label
        return f"REGULAR ({words(self.median)})"
