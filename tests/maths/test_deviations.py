"""The common method: what of a series is not usual, and what it is compared with."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime

import pytest

from lineagelog.analysis.maths.baseline import learn
from lineagelog.analysis.maths.deviation import Direction, Policy, episodes, judge
from lineagelog.analysis.maths.season import DAY, HOUR, Season, choose, places_in_month

BEGIN = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
"""A Thursday."""
LEAST = Policy(least=math.log1p(0.05))


def series(days: int, per_day: int = 1, *, seed: int = 1, noise: float = 0.1) -> tuple[list[float], list[float]]:
    """Times with some jitter, and values about 8."""
    chance = random.Random(seed)
    times = [BEGIN + each * DAY / per_day + chance.uniform(0, 60) for each in range(days * per_day)]
    return times, [8 + chance.gauss(0, noise) for _ in times]


def weekday(at: float) -> int:
    """Monday is 0."""
    return datetime.fromtimestamp(at, UTC).weekday()


@pytest.mark.parametrize(
    ("per_day", "effect", "season"),
    [
        (1, lambda at: 0.0, Season.NONE),
        (1, lambda at: -1.5 * (weekday(at) >= 5), Season.WORKDAY),
        (1, lambda at: 0.7 * weekday(at) ** 2 % 2.2, Season.WEEKDAY),
        (24, lambda at: math.sin(at / DAY * 2 * math.pi), Season.HOUR),
        (24, lambda at: 1.5 * (weekday(at) < 5 and 8 <= at / HOUR % 24 < 18), Season.HOUR_OF_WEEK),
    ],
)
def test_the_season_is_chosen_from_the_values(per_day: int, effect, season: Season) -> None:
    """The simplest that explains them."""
    times, values = series(42, per_day)
    assert choose(times, [value + effect(at) for at, value in zip(times, values, strict=True)]) is season


@pytest.mark.parametrize("per_day", [1, 24])
def test_a_value_far_out_is_found_and_the_others_are_not(per_day: int) -> None:
    """With what was expected, and on how many values that rests."""
    times, values = series(70, per_day)
    first, odd = 56 * per_day, 60 * per_day
    assert judge(times, values, first, LEAST).deviations == []
    values[odd] = 8 + 8 * 0.1
    (found,) = judge(times, values, first, LEAST).deviations
    assert (found.place, found.is_far, found.season) == (odd, True, Season.NONE)
    assert found.centre == pytest.approx(8, abs=0.1)
    assert found.lower < found.centre < found.upper < values[odd]
    assert 5 < found.score < 12


def test_direction_floor_and_threshold_are_kept() -> None:
    """A policy says what counts."""
    times, values = series(70, noise=0.001)
    values[60] = 8 - 0.04
    assert judge(times, values, 56, LEAST).deviations == []
    assert len(judge(times, values, 56, Policy(least=0.03)).deviations) == 1
    assert judge(times, values, 56, Policy(least=0.03, direction=Direction.UP)).deviations == []
    assert judge(times, values, 56, Policy(least=0.03, threshold=1000.0)).deviations == []


def test_seven_values_are_too_few_and_eight_are_enough() -> None:
    """Nothing is said of a short history."""
    times, values = series(9)
    assert judge(times, values, 7, LEAST).values == 0
    assert judge(times, values, 8, LEAST).values == 1


@pytest.mark.parametrize("value", [0.0, 5.0, 1e300, -1e300])
def test_values_that_are_all_the_same_are_no_division_by_zero(value: float) -> None:
    """The least difference that counts stands in for their scatter."""
    times, _ = series(70)
    assert judge(times, [value] * 70, 56, LEAST) == ([], None, 14)
    (found,) = judge(times, [*[5.0] * 60, 6.0, *[5.0] * 9], 56, LEAST).deviations
    assert found.place == 60
    assert math.isfinite(found.score)


def test_two_of_three_confirm_each_other() -> None:
    """A value beyond three standard deviations counts with another one beside it."""
    times, values = series(70, 24, noise=0.1)
    first = 56 * 24
    for place in (first + 50, first + 52):
        values[place] = 8.36
    found = judge(times, values, first, LEAST).deviations
    assert [(each.place - first, each.is_far) for each in found] == [(50, False), (52, False)]
    values[first + 52] = 8.0
    assert judge(times, values, first, LEAST).deviations == []


def test_what_was_so_at_the_last_two_month_ends_is_expected() -> None:
    """By its place in the month; at another day it is not."""
    times, values = series(90)
    ends = [30, 58]  # 31 January, 28 February
    for day in (*ends, 89):  # 31 March
        values[day] += 1.2
    assert judge(times, values, 80, LEAST).deviations == []
    values[85] += 1.2
    assert [each.place for each in judge(times, values, 80, LEAST).deviations] == [85]


def test_after_a_change_of_level_the_new_one_is_learned() -> None:
    """A trend is followed likewise."""
    times, values = series(70)
    stepped = [value + 2 * (day >= 45) for day, value in enumerate(values)]
    assert judge(times, stepped, 56, LEAST).deviations == []
    assert learn(times[:56], stepped[:56]).n < 12
    rising = [value + 0.02 * day for day, value in enumerate(values)]
    assert judge(times, rising, 56, LEAST) == ([], None, 14)
    assert learn(times[:56], rising[:56]).trend.rise * DAY == pytest.approx(0.02, rel=0.2)


def test_a_slow_drift_is_told_where_no_value_is_far_out() -> None:
    """With the average's score."""
    times, values = series(84, 4)
    drifting = [value + 0.02 * max(0.0, place / 4 - 70) for place, value in enumerate(values)]
    drift = judge(times, drifting, 70 * 4, LEAST).drift
    assert drift is not None
    assert drift.score > 1.6
    assert judge(times, values, 70 * 4, LEAST).drift is None


def test_deviations_of_one_time_are_one_episode() -> None:
    """Up and down are two; so are two that lie apart."""
    times, values = series(70)
    for day, by in ((57, 2), (58, 2), (60, 2), (61, -2), (66, -2)):
        values[day] += by
    found = judge(times, values, 56, LEAST).deviations
    assert [[each.place for each in one] for one in episodes(found)] == [[57, 58, 60], [61], [66]]


def test_places_in_a_month() -> None:
    """By days and by working days, from both ends."""
    friday = places_in_month(datetime(2026, 1, 30, tzinfo=UTC).date())
    assert friday == {("day", 30), ("to the end", 1), ("working days to the end", 0)}
    assert ("working day", 1) in places_in_month(datetime(2026, 2, 2, tzinfo=UTC).date())
