"""Shifts of failure rates: since when, how sure, and not for streaks."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.analysis import analysis_named
from lineagelog.analysis.maths.proportion import Beta
from lineagelog.analysis.reliability.failure_rate_shift import Days, judge, predictive_tail

from ..support import answer, day, load, run, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore

SHIFT = analysis_named("failure_rate_shift")


def days(*counts: tuple[int, int], repeated: int = 0) -> Days:
    """Runs and failures of each day; of the last day's failures so many follow another one."""
    episodes = [bad for _, bad in counts]
    episodes[-1] -= repeated
    chances = [runs for runs, _ in counts]
    chances[-1] -= repeated
    return Days(
        job_namespace="", job_name="j", n=sum(runs for runs, _ in counts), run_ids=["r"],
        first_seen=day(0), last_seen=day(len(counts)), starts=[day(each) for each in range(len(counts))],
        runs=[runs for runs, _ in counts], bad=[bad for _, bad in counts], chances=chances, episodes=episodes,
    )  # fmt: skip


def test_the_day_and_the_rates_are_told() -> None:
    """Ten days with 1 of 240, then five with every fourth."""
    found: Any = judge(days(*[(24, 0)] * 9, (24, 1), *[(24, 6)] * 5))
    assert (found.first_seen, found.observed, found.severity) == (day(10), "25.0 % of 120 runs failed", "medium")
    assert found.expected == "0.4 %, as of the 240 runs before"
    assert (round(found.lower, 4), round(found.upper, 3)) == (0.0007, 0.023)
    assert found.explanation.endswith("fails more often: 30 of 120 runs failed, 1 of 240 before.")
    assert found.values["p_value"] < 1e-10


@pytest.mark.parametrize(
    "row",
    [
        days(*[(24, 1)] * 15),
        days(*[(24, 6)] * 5, *[(24, 1)] * 10),  # it fails less often
        days(*[(24, 0)] * 14, (24, 9), repeated=8),  # one streak
        days(*[(1000, 20)] * 10, *[(1000, 40)] * 5),  # sure, and two points
        days(*[(1, 0)] * 20, (1, 1), (1, 0), (1, 0), (1, 0), (1, 1)),  # may be chance
    ],
)
def test_what_is_no_shift(row: Days) -> None:
    """Nothing moved, it got better, a streak, a few points, chance."""
    assert judge(row) is None


def test_predictions_are_exact() -> None:
    """Of a rate of which nothing is known each count is as likely; of a well-known one they are a binomial's."""
    assert predictive_tail(3, 4, Beta(1, 1)) == pytest.approx(2 / 5)
    assert predictive_tail(0, 5, Beta(0.5, 9.5)) == pytest.approx(1.0)
    assert predictive_tail(2, 3, Beta(5e7, 5e7)) == pytest.approx(0.5, abs=1e-6)


def test_a_shift_in_the_log_and_steady_jobs(store: LogStore) -> None:
    """of runs each four hours every third fails from day 8 on; another job fails as before; a third is too young."""
    chance = random.Random(5)

    def runs(job: str, first: int, rates: list[float]) -> list[list]:
        return [
            run(job, day(first + each / 6), [], [], eventType="FAIL" if chance.random() < rate else "COMPLETE")
            for each, rate in enumerate(rates)
        ]

    load(store, *runs("worse", 0, [0.02] * 48 + [0.35] * 24), *runs("steady", 0, [0.1] * 72))
    load(store, *(run("young", day(10 + each / 2), [], [], eventType="FAIL") for each in range(5)))
    load(store, *(run("young", day(10.1 + each / 2), [], []) for each in range(5)))
    told = answer(store, "failure_rate_shift", window(10, 12.4), history="2 weeks")
    (found,) = told.findings
    assert (found.subject.name, told.told.insufficient) == ("worse", 1)
    assert day(7) <= found.first_seen <= day(9)
    assert found.severity == "medium"
    assert answer(store, "failure_rate_shift", window(13, 14)).findings == ()
