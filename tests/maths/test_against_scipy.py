"""The statistics against those of scipy and statsmodels, which are only there for tests."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.robust.scale import mad as statsmodels_mad
from statsmodels.stats.proportion import proportion_confint, proportions_ztest

from lineagelog.analysis.maths import change, proportion, robust, tails

VALUES = st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=1, max_size=60)
COUNTS = st.integers(1, 400).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


def close(value: float) -> object:
    """To nine digits."""
    return pytest.approx(value, rel=1e-9, abs=1e-12)


@given(VALUES)
def test_median_mad_and_quantiles(values: list[float]) -> None:
    """As numpy, scipy and statsmodels have them."""
    assert robust.median(values) == close(float(stats.quantile(values, 0.5)))
    assert robust.mad(values) == close(float(stats.median_abs_deviation(values)))
    assert robust.mad(values) * robust.MAD_TO_SIGMA == close(float(statsmodels_mad(values)))
    for share in (0.0, 0.05, 0.5, 0.99, 1.0):
        assert robust.quantile(values, share) == close(float(stats.quantile(values, share)))


def test_the_scale_where_most_values_are_the_same() -> None:
    """The mean deviation stands in for a MAD of 0; of nothing but the same value the scale is 0."""
    values = [5.0] * 9 + [8.0, 2.0, 8.0]
    found = robust.spread(values)
    assert found.method is robust.ScaleMethod.MEAN_AD
    assert found.scale == close(math.sqrt(math.pi / 2) * 9 / 12)
    assert robust.spread([3.0] * 9) == (3.0, 0.0, robust.ScaleMethod.CONSTANT)
    assert robust.spread([3.0] * 9).score(3.0) == 0.0
    assert robust.spread([3.0] * 9).score(2.0) == -math.inf
    assert robust.spread([1.0, 2.0, 3.0, 4.0, 100.0]).score(100.0) == close(97 * 0.6744897501960817)


@given(st.floats(-8, 8), st.integers(1, 300))
def test_tails_of_normal_and_student(value: float, freedom: int) -> None:
    """And the values that have such a tail."""
    assert tails.normal_tail(value) == close(float(stats.norm.sf(value)))
    assert tails.student_tail(value, freedom) == close(float(stats.t.sf(value, freedom)))
    assert tails.student_quantile(0.001, freedom) == close(float(stats.t.isf(0.001, freedom)))
    assert tails.normal_quantile(0.001) == close(float(stats.norm.isf(0.001)))


@given(COUNTS, st.floats(0.0, 1.0))
def test_the_tail_of_the_binomial(count: tuple[int, int], share: float) -> None:
    """Of so many successes or more."""
    successes, trials = count
    assert tails.binomial_tail(successes, trials, share) == close(float(stats.binom.sf(successes - 1, trials, share)))


@given(COUNTS, COUNTS)
def test_wilson_two_proportions_and_the_belief_in_a_share(one: tuple[int, int], other: tuple[int, int]) -> None:
    """As statsmodels has them; the posterior with Jeffreys' prior."""
    lower, upper = proportion_confint(*one, alpha=0.05, method="wilson")
    assert proportion.wilson(*one) == (close(float(lower)), close(float(upper)))
    found = proportion.two_proportions(*one, *other)
    if 0 < one[0] + other[0] < one[1] + other[1]:
        z, p_value = proportions_ztest([one[0], other[0]], [one[1], other[1]])
        assert (found.z, found.p_value) == (close(float(z)), close(float(p_value)))
    else:
        assert found == (0.0, 1.0)
    belief, expected = proportion.posterior(*one), stats.beta(one[0] + 0.5, one[1] - one[0] + 0.5)
    assert belief.mean == close(float(expected.mean()))
    assert belief.interval() == (close(float(expected.ppf(0.025))), close(float(expected.ppf(0.975))))


def test_shares_of_nothing() -> None:
    """Everything is possible, and nothing differs."""
    assert proportion.wilson(0, 0) == (0.0, 1.0)
    assert proportion.two_proportions(0, 0, 1, 2) == (0.0, 1.0)


def test_cusum_says_when_and_since_when() -> None:
    """The sums by hand: 2 standard deviations above the target add 1.5 each, and the fourth is above 5."""
    values = [0.0, 0.2, -0.1, 0.3, *[2.0] * 6]
    assert change.cusum(values, 0.0, 1.0) == (7, 4, True, 6.0)
    assert change.cusum([-value for value in values], 0.0, 1.0) == (7, 4, False, 6.0)
    assert change.cusum(values[:7], 0.0, 1.0) is None
    assert change.cusum([1.0] * 9, 1.0, 0.0) is None


def test_a_change_of_level_is_placed_and_a_steady_series_has_none() -> None:
    """The probability of a bend is that of Kolmogorov's statistic, whose first term it is."""
    chance = random.Random(1)
    steady = [chance.gauss(0, 1) for _ in range(80)]
    moved = [*steady[:50], *(value + 6 for value in steady[50:])]
    found = change.change_point(moved)
    assert found is not None
    assert found.begin == 50
    assert found.p_value < 1e-3
    nothing = change.change_point(steady)
    assert nothing is not None
    assert nothing.p_value > 0.05
    assert stats.kstwobign.sf(1.5) == pytest.approx(2 * math.exp(-2 * 1.5**2), rel=1e-3)
    assert change.change_point([1.0] * 20) is None
    assert change.change_point([1.0, 2.0, 1.0]) is None


def test_the_slope_of_a_season_with_outliers() -> None:
    """The weekend's turns and a wild value do not bend it."""
    days = [float(day) for day in range(70)]
    values = [0.1 * day - 5 * (day % 7 >= 5) + 100 * (day == 40) for day in days]
    assert change.slope(days, values, 14.0) == pytest.approx(0.1)
    assert change.slope(days[:5], values[:5], 14.0) == 0.0
    assert change.ewma([1.0, 1.0], 0.5) == [0.5, 0.75]
