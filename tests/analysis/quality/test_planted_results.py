"""Flaky tests and streaks of failures that were planted are found, and nothing else, among 80 tests over 70 days."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from ..support import ask, day, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore

DAYS = 70
SEEDS = (1, 2)


def results(chance: random.Random, number: int) -> list[bool]:
    """Of each day whether the test passed: twelve have a streak of failures, twelve are flaky, others fail rarely."""
    failing = chance.choice((0.0, 0.0, 0.02, 0.04))
    passed = [chance.random() >= failing for _ in range(DAYS)]
    if number < 12:
        length, first = chance.randint(3, 6), chance.randint(50, 67)
        passed[first : first + length] = [False] * len(passed[first : first + length])
        passed[first - 1] = True
    elif number < 24:
        rate = chance.uniform(0.25, 0.5)
        passed = [chance.random() >= rate for _ in range(DAYS)]
    return passed


def test_what_was_planted_is_found_and_nothing_else(store: LogStore) -> None:
    """Precision and recall are 0.95 or better, both histories together."""
    outcomes = {
        f"t{seed}_{number}": results(random.Random(f"{seed} {number}"), number)
        for seed in SEEDS
        for number in range(80)
    }
    runs = []
    for each in range(DAYS):
        status = [{"name": name, "status": "pass" if ok[each] else "fail"} for name, ok in outcomes.items()]
        run_id = run_id_of("suite", day(each))
        runs.append(run("suite", day(each), [], [], run={"runId": run_id, "facets": {"test": {"tests": status}}}))
    load(store, *runs)
    planted = {
        "test_failure_streak": {f"t{seed}_{number}" for seed in SEEDS for number in range(12)},
        "flaky_test": {f"t{seed}_{number}" for seed in SEEDS for number in range(12, 24)},
    }
    for name, tests in planted.items():
        found = [each.subject.test for each in ask(store, name, window(49, DAYS), history="50 days")]
        assert len(tests & set(found)) / len(tests) >= 0.95, (name, sorted(tests - set(found)))
        assert sum(each in tests for each in found) / len(found) >= 0.95, (name, sorted(set(found) - tests))
