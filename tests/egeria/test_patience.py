"""A word that is said once in a while, with the number of those in between."""

from __future__ import annotations

import pytest

from lineagelog.egeria.patience import Seldom


@pytest.mark.long
def test_the_first_goes_through_and_then_one_in_a_while() -> None:
    """What is held back is counted with the next that goes through."""
    now = [100.0]
    seldom = Seldom(60, clock=lambda: now[0])
    assert [seldom.admit(2), seldom.admit(3), seldom.admit(4)] == [2, None, None]
    now[0] = 160.0
    assert [seldom.admit(1), seldom.admit(1)] == [8, None]
