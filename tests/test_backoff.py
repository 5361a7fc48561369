"""Pauses after failures."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lineagelog.backoff import pause_after


@given(st.integers(0, 10_000), st.floats(0.001, 10), st.floats(10, 1000))
def test_a_pause_doubles_up_to_the_longest(failures: int, first: float, longest: float) -> None:
    """Within the half below what is due; no number of failures overflows."""
    due = min(longest, first * 2 ** min(max(failures - 1, 0), 100))
    assert due / 2 <= pause_after(failures, first=first, longest=longest) <= due


def test_those_who_failed_together_come_back_apart() -> None:
    """Two processes do not march in step."""
    assert len({pause_after(3, first=1, longest=60) for _ in range(20)}) > 1
