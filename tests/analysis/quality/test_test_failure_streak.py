"""Streaks of tests and assertions: since which run, and what broke together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..support import ask, day, load, run_id_of, window
from .support import asserted, suite

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def test_streaks_of_assertions_and_of_tests(store: LogStore) -> None:
    """The subject is the test; skipped results are passed over; what began with one run is counted together."""
    load(store, *asserted("pppppppppp" + "fsff"), *suite("pppppppppp" + "fff", "totals", "counts"))
    found = {each.subject.test: each for each in ask(store, "test_failure_streak", window(10, 20))}
    assert set(found) == {"not_null", "totals", "counts"}
    column, totals = found["not_null"], found["totals"]
    assert column.subject.document == {
        "kind": "test", "namespace": "postgres://db:5432", "name": "t", "column": "c", "test": "not_null",
    }  # fmt: skip
    assert (column.severity, column.observed, column.values["first_bad_run"]) == (
        "high", "3 in a row", run_id_of("check", day(10)),
    )  # fmt: skip
    assert (column.values["broke_together"], totals.values["broke_together"]) == (1, 2)
    assert str(totals.subject) == "totals of tests/suite"
    assert column.explanation.startswith("not_null of postgres://db:5432/t#c failed 3 times in a row since run ")


def test_how_much_it_matters(store: LogStore) -> None:
    """Warnings are low; ten tests that broke together are critical; what is over is medium."""
    load(store, *asserted("pppppppppp" + "fff", severity="warn"))
    load(store, *suite("pppppppppp" + "fff", *(f"t{each}" for each in range(10))))
    load(store, *suite("pppppppppp" + "fffp", "over", job="other"))
    found = {each.subject.test: each.severity for each in ask(store, "test_failure_streak", window(10, 20))}
    assert (found["not_null"], found["t3"], found["over"]) == ("low", "critical", "medium")


def test_tests_of_one_name_are_told_apart(store: LogStore) -> None:
    """Of several types, and on several columns: findings of their own."""
    load(store, *asserted("pppppppppp" + "fff", name="check"))
    load(store, *asserted("pppppppppp" + "fff", name="check", assertion="unique"))
    load(store, *asserted("pppppppppp" + "fff", name="check", column="d"))
    found = ask(store, "test_failure_streak", window(10, 20))
    assert len({each.finding_id for each in found}) == len(found) == 3
