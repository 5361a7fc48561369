"""How improbable a value is: normal, Student and binomial tails and quantiles, to about twelve digits."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import erfc, exp, fabs, lgamma, log, log1p, sqrt
from typing import Final

_TINY: Final = 1e-300
_PRECISE: Final = 3e-16


def normal_tail(z: float) -> float:
    """P(Z ≥ z) of a standard normal."""
    return 0.5 * erfc(z / sqrt(2.0))


@lru_cache(maxsize=1024)
def normal_quantile(tail: float) -> float:
    """The z with P(Z ≥ z) = ``tail``, within (0, 1)."""
    return _solved(normal_tail, tail, -40.0, 40.0)


def student_tail(t: float, freedom: float) -> float:
    """P(T ≥ t) of Student's t with so many degrees of freedom."""
    square = t * t
    if square < freedom:  # from the other side: next to 1 a small t would be lost in the rounding
        half = 0.5 - 0.5 * beta_share(0.5, freedom / 2, square / (freedom + square))
    else:
        half = 0.5 * beta_share(freedom / 2, 0.5, freedom / (freedom + square))
    return half if t >= 0 else 1.0 - half


@lru_cache(maxsize=65536)
def student_quantile(tail: float, freedom: int) -> float:
    """The t with P(T ≥ t) = ``tail``, which is below 0.5; of more than 1000 degrees of freedom the normal one."""
    if freedom > 1000:
        return normal_quantile(tail)
    return _solved(lambda t: student_tail(t, freedom), tail, 0.0, 1e9)


def binomial_tail(successes: int, trials: int, probability: float) -> float:
    """P(X ≥ ``successes``) in so many trials of that probability."""
    if successes <= 0:
        return 1.0
    if successes > trials or probability <= 0:
        return 0.0
    return 1.0 if probability >= 1 else beta_share(successes, trials - successes + 1, probability)


def beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b): the share of Beta(a, b) below x."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method."""
    c, d = 1.0, 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1.0 / _not_zero(1.0 + even * d), _not_zero(1.0 + even / c)
        result *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1.0 / _not_zero(1.0 + odd * d), _not_zero(1.0 + odd / c)
        result *= d * c
        if fabs(d * c - 1.0) < _PRECISE:
            break
    return result


def _not_zero(value: float) -> float:
    return value if fabs(value) > _TINY else _TINY


def beta_quantile(a: float, b: float, share: float) -> float:
    """The x below which that share of Beta(a, b) lies."""
    return _solved(lambda x: 1.0 - beta_share(a, b, x), 1.0 - share, 0.0, 1.0)


def _solved(falling: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Where a function that only falls has that value: halving, until no double lies between."""
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if falling(middle) > wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2
