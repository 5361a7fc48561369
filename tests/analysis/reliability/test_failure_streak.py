"""Failure streaks: since when, until when, and what chance makes by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..support import answer, ask, day, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def outcomes(job: str, letters: str) -> list[list]:
    """A run a day: c completes, f fails, a is aborted."""
    types = {"c": "COMPLETE", "f": "FAIL", "a": "ABORT"}
    return [run(job, day(number), [], [], eventType=types[each]) for number, each in enumerate(letters)]


def test_a_streak_that_goes_on_and_one_that_is_over(store: LogStore) -> None:
    """First and last run, the last good one, the one that ended it; an abort neither breaks nor lengthens it."""
    load(store, *outcomes("on", "cccccccccc" + "ffaf"), *outcomes("over", "cccccccccc" + "fffc"))
    over, on = sorted(ask(store, "failure_streak", window(10, 20)), key=lambda each: each.severity)[::-1]
    assert (over.subject.name, over.severity, over.observed, over.n) == ("over", "medium", "3 in a row", 14)
    assert (over.values["ended_run"], over.values["goes_on"]) == (run_id_of("over", day(13)), False)
    assert (on.subject.name, on.severity, on.first_seen, on.last_seen) == ("on", "high", day(10), day(13))
    assert list(on.run_ids) == [run_id_of("on", day(each)) for each in (10, 11, 13)]
    assert on.values["last_good_run"] == run_id_of("on", day(9))
    assert on.explanation == (
        f"tests/on failed 3 times in a row since run {on.run_ids[0]} and goes on; "
        f"the last good run is {on.values['last_good_run']}."
    )


def test_it_is_one_finding_until_another_streak(store: LogStore) -> None:
    """Its id stays while it grows and when it is over; ten failures in a row are critical."""
    load(store, *outcomes("job", "c" * 10 + "fff"))
    (first,) = ask(store, "failure_streak", window(10, 30))
    load(store, *outcomes("job", "c" * 10 + "f" * 10))
    (grown,) = ask(store, "failure_streak", window(19, 30))
    load(store, *outcomes("job", "c" * 10 + "f" * 10 + "c" * 8 + "fff"))
    found = ask(store, "failure_streak", window(10, 40))
    assert first.finding_id == grown.finding_id == found[0].finding_id != found[1].finding_id
    assert (grown.severity, found[0].severity) == ("critical", "medium")
    assert ask(store, "failure_streak", window(20, 28)) == []


@pytest.mark.parametrize(
    ("letters", "found", "insufficient"),
    [
        ("fff", 1, 0),  # it has never succeeded
        ("ff", 0, 0),
        ("cfff", 0, 1),
        ("cfcfcfcfcfcffcffcfff", 0, 0),  # it fails every other time
        ("c" * 9 + "ff", 0, 0),
    ],
)
def test_what_chance_makes_is_no_streak(store: LogStore, letters: str, found: int, insufficient: int) -> None:
    """At the rate of the other runs; with few of them there is nothing to say."""
    load(store, *outcomes("job", letters))
    told = answer(store, "failure_streak", window(0, 30))
    assert (len(told.findings), told.told.insufficient) == (found, insufficient)
