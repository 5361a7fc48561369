"""Egeria's spellings and labels, with values worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lineagelog.analysis.lovelace.formulas import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Ordered,
    days_of,
    decimal,
    instant,
    millis,
    percentage,
    words,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.125, "0.13"),
        (1.005, "1.01"),
        (2.675, "2.68"),
        (0.005, "0.01"),
        (1 / 3, "0.33"),
        (2 / 3, "0.67"),
        (0.0, "0.00"),
        (3600000.0, "3600000.00"),
        (1e21, "1000000000000000000000.00"),
        (1.7976931348623157e308, "17976931348623157" + "0" * 292 + ".00"),
    ],
)
def test_decimals_are_half_up_on_the_shortest_form(value: float, text: str) -> None:
    """Rule 10: Python's own formatting would give 0.12, 1.00 and 2.67."""
    assert decimal(value) == text


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "0 seconds"),
        (999, "0 seconds"),
        (59 * SECOND + 999, "59 seconds"),
        (MINUTE, "1 minutes 0 seconds"),
        (5 * MINUTE, "5 minutes 0 seconds"),
        (HOUR, "1 hours 0 minutes"),
        (HOUR + 59 * MINUTE + 59 * SECOND, "1 hours 59 minutes"),
        (30 * HOUR, "1 days 6 hours"),
        (400 * DAY, "400 days 0 hours"),
    ],
)
def test_lengths_of_time_have_two_units(length: int, text: str) -> None:
    """Rule 14: always plural, truncated."""
    assert words(length) == text


def test_times_are_whole_seconds() -> None:
    """Rule 12: the fraction is cut off, milliseconds are rounded down, and no time has a word."""
    assert instant(millis(datetime(2026, 10, 20, 12, 0, 0, 999_999, UTC))) == "2026-10-20T12:00:00Z"
    assert millis(datetime(1969, 12, 31, 23, 59, 59, 999_500, UTC)) == -1
    assert instant(-1) == "1969-12-31T23:59:59Z"
    assert instant(millis(datetime(33, 1, 2, tzinfo=UTC))) == "0033-01-02T00:00:00Z"
    assert instant(None) == "<none>"


@pytest.mark.parametrize(
    ("start", "earliest", "days"),
    [
        (0, None, 10.0),
        (0, 4 * DAY, 6.0),
        (0, 9 * DAY + 12 * HOUR, 1.0),
        (None, 4 * DAY + 12 * HOUR, 5.5),
        (None, None, 1.0),
        (0, -DAY, 10.0),
    ],
)
def test_days_are_fractional_and_at_least_one(start: int | None, earliest: int | None, days: float) -> None:
    """Rule 2: from the later of window and first event on, to the window's end (day 10)."""
    assert days_of(start, 10 * DAY, earliest) == days


@pytest.mark.parametrize(
    ("passed", "failed", "score"), [(1, 7, 13), (199, 1, 100), (0, 0, 0), (1, 2, 33), (2, 1, 67), (1, 199, 1)]
)
def test_scores_are_rounded_half_up(passed: int, failed: int, score: int) -> None:
    """Rule 16: 12.5 is 13, 99.5 is 100, and nothing evaluated is 0; 0.5 is 1."""
    assert percentage(passed, failed) == score


def test_medians_and_percentiles_are_elements() -> None:
    """Rule 15: the upper median; p95 of 20 is the 19th, of 21 the 20th."""
    assert Ordered([4, 1, 3, 2]).median == 3
    assert Ordered(range(1, 21)).percentile(95) == 19
    assert Ordered(range(1, 22)).percentile(95) == 20
    assert Ordered([7]).percentile(95) == 7


def test_sums_are_plain() -> None:
    """Rule 11: left to right over ascending values; a compensated or exact sum ends in …87 here."""
    values = [
        *(4079890132335727439, 407768586148153743, 1702067038744884888, 3413425141133810283, 3586926847758858919),
    ]
    assert Ordered(values).mean == 2.6380155492242867e18
    assert sum(values) / 5 == 2.638015549224287e18


@pytest.mark.parametrize(
    ("intervals", "regularity", "schedule"),
    [
        ([HOUR], "SINGLE_RUN", "IRREGULAR"),
        ([HOUR, HOUR], "REGULAR", "HOURLY"),
        ([0, 0], "REGULAR", "REGULAR (0 seconds)"),
        ([51 * MINUTE] * 2, "REGULAR", "HOURLY"),  # 9 minutes away: exactly 15 %
        ([51 * MINUTE - 1] * 2, "REGULAR", "REGULAR (50 minutes 59 seconds)"),
        ([69 * MINUTE] * 2, "REGULAR", "HOURLY"),
        ([47 * MINUTE] * 2, "REGULAR", "REGULAR (47 minutes 0 seconds)"),
        ([3, 5], "REGULAR", "REGULAR (0 seconds)"),  # mean 4, deviation 1: exactly 0.25
        ([1, 7], "VARIABLE", "IRREGULAR"),  # mean 4, deviation 3: exactly 0.75
        ([1, 8], "IRREGULAR", "IRREGULAR"),
        ([5 * MINUTE] * 2, "REGULAR", "EVERY_5_MINUTES"),
        ([10 * MINUTE] * 2, "REGULAR", "EVERY_10_MINUTES"),
        ([15 * MINUTE] * 2, "REGULAR", "EVERY_15_MINUTES"),
        ([30 * MINUTE] * 2, "REGULAR", "EVERY_30_MINUTES"),
        ([2 * HOUR] * 2, "REGULAR", "EVERY_2_HOURS"),
        ([4 * HOUR] * 2, "REGULAR", "EVERY_4_HOURS"),
        ([6 * HOUR] * 2, "REGULAR", "EVERY_6_HOURS"),
        ([12 * HOUR] * 2, "REGULAR", "EVERY_12_HOURS"),
        ([DAY] * 2, "REGULAR", "DAILY"),
        ([7 * DAY] * 2, "REGULAR", "WEEKLY"),
        ([31 * DAY] * 2, "REGULAR", "MONTHLY"),
    ],
)
def test_regularity_and_schedule(intervals: list[int], regularity: str, schedule: str) -> None:
    """Rule 15: limits are inclusive, and only what is regular has a label."""
    found = Ordered(intervals)
    assert (found.regularity, found.schedule) == (regularity, schedule)
