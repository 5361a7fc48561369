"""Shares of successes: how sure one is of a share, and whether two differ."""

from __future__ import annotations

from math import sqrt
from typing import Final, NamedTuple

from .tails import beta_quantile, normal_tail

Z95: Final = 1.959963984540054
"""Of a two-sided 95 % interval."""


class Interval(NamedTuple):
    """From lower to upper."""

    lower: float
    upper: float


def wilson(successes: int, trials: int, z: float = Z95) -> Interval:
    """Wilson's score interval of a share; of no trials it is everything, 0 to 1."""
    if trials <= 0:
        return Interval(0.0, 1.0)
    share, weight = successes / trials, z * z / trials
    centre = (share + weight / 2) / (1 + weight)
    reach = z / (1 + weight) * sqrt(share * (1 - share) / trials + weight / (4 * trials))
    return Interval(max(0.0, centre - reach), min(1.0, centre + reach))


class Contrast(NamedTuple):
    """How many standard errors two shares are apart, and the two-sided probability of that by chance."""

    z: float
    p_value: float


def two_proportions(successes: int, trials: int, before: int, trials_before: int) -> Contrast:
    """Pooled z-test of a share against an earlier one; z is positive where it has risen. Without trials: (0, 1)."""
    if trials <= 0 or trials_before <= 0:
        return Contrast(0.0, 1.0)
    pooled = (successes + before) / (trials + trials_before)
    error = sqrt(pooled * (1 - pooled) * (1 / trials + 1 / trials_before))
    if error == 0:
        return Contrast(0.0, 1.0)
    z = (successes / trials - before / trials_before) / error
    return Contrast(z, 2 * normal_tail(abs(z)))


class Beta(NamedTuple):
    """What is believed of a share: Beta(a, b)."""

    a: float
    b: float

    @property
    def mean(self) -> float:
        """The expected share."""
        return self.a / (self.a + self.b)

    def interval(self, mass: float = 0.95) -> Interval:
        """The middle part that holds so much of the belief."""
        rest = (1 - mass) / 2
        return Interval(beta_quantile(self.a, self.b, rest), beta_quantile(self.a, self.b, 1 - rest))


JEFFREYS: Final = Beta(0.5, 0.5)


def posterior(successes: int, trials: int, prior: Beta | None = None) -> Beta:
    """The belief in a share after so many trials; before them Jeffreys' prior."""
    before = prior or JEFFREYS
    return Beta(before.a + successes, before.b + trials - successes)
