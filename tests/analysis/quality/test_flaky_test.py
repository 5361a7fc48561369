"""Flaky tests: flips, not failures; other data is an excuse by half."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..support import answer, ask, load, window
from .support import asserted, suite

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def test_a_test_that_passes_and_fails_by_turns(store: LogStore) -> None:
    """With how often, and the runs of the flips."""
    load(store, *asserted("ppfppfpfpp"), *suite("pfpfpfpfpf", "turns"))
    found = {each.subject.test: each for each in ask(store, "flaky_test", window(0, 20))}
    assert set(found) == {"not_null", "turns"}
    first = found["not_null"]
    assert (first.observed, first.severity, first.values["flip_rate"]) == ("6 flips in 10 results", "medium", 6 / 9)
    assert len(first.run_ids) == 6
    assert first.score == pytest.approx(6.5 / 10)


@pytest.mark.parametrize(
    "letters", ["p" * 10 + "f" * 10, "p" * 20 + "f" + "p" * 20, "p" * 9 + "f" + "p" * 9 + "ff" + "p" * 9]
)
def test_failures_alone_are_not_flaky(store: LogStore, letters: str) -> None:
    """Broken since a day, failed once, failed twice."""
    load(store, *asserted(letters))
    assert ask(store, "flaky_test", window(0, 50)) == []


def test_other_data_is_an_excuse_by_half(store: LogStore) -> None:
    """Four flips of eleven pairs are enough if the data stayed, and are not if each came with another version."""
    letters = "pfppppfppppp"
    load(store, *asserted(letters, versions="a" * 12))
    load(store, *asserted(letters, job="other", column="d", versions="abcdefghijkl"))
    found = ask(store, "flaky_test", window(0, 50))
    assert [each.subject.column for each in found] == ["c"]


def test_too_few_results(store: LogStore) -> None:
    """Four flips in five results are too few to say so; in a window without a flip nothing is told."""
    load(store, *asserted("pfpfp"))
    told = answer(store, "flaky_test", window(0, 50))
    assert (told.findings, told.told.insufficient) == ((), 1)
    load(store, *asserted("pfpfpfppppp"))
    assert len(ask(store, "flaky_test", window(0, 50))) == 1
    assert ask(store, "flaky_test", window(9, 50)) == []
