"""How long to wait after failures in a row: the one back-off of all who try again, however they wait."""

from __future__ import annotations

import random


def pause_after(failures: int, *, first: float, longest: float) -> float:
    """Seconds before the next attempt: ``first`` after one failure, doubled with each further one up to ``longest``.

    Between half of that and all of it, at random, so that those who failed together do not come back together.
    """
    most: float = min(longest, first * 2.0 ** min(max(failures - 1, 0), 60))
    return random.uniform(most / 2, most)  # noqa: S311  # not for secrets
