"""Attempts of one task: told by number, and of several the last with what came of all."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineagelog.event.parse import parse
from lineagelog.read import Reader, Window
from tests.store.contents import empty
from tests.support import EXAMPLES

if TYPE_CHECKING:
    from lineagelog.store import LogStore

BEGIN = datetime(2026, 2, 28, 20, tzinfo=UTC)
EVER = Window(BEGIN - timedelta(days=9), BEGIN + timedelta(days=9))

type Task = tuple[str, int | None, str | None, str | None]
"""Job, map index, nominal time and run id of the parent."""


@pytest.fixture
def schema_name() -> str:
    return "a store"


def event(number: int, task: Task, attempt: Any, kind: str) -> Any:
    job, index, due, parent = task
    facets: dict[str, Any] = {"airflow": {"taskInstance": {"try_number": attempt, "map_index": index}}}
    if due:
        facets["nominalTime"] = {"nominalStartTime": due}
    if parent:
        facets["parent"] = {"run": {"runId": parent}, "job": {"namespace": "n", "name": "dag"}}
    tree = {
        "eventType": kind,
        "eventTime": (BEGIN + timedelta(minutes=number)).isoformat(),
        "run": {"runId": f"r{number}", "facets": facets},
        "job": {"namespace": "n", "name": job},
    }
    return parse(json.dumps(tree).encode())


tasks = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([None, "2026-02-28T00:00:00Z", "2026-03-01T00:00:00Z"]),
    st.sampled_from([None, "p", "q"]),
)
attempts = st.tuples(tasks, st.one_of(st.none(), st.integers(1, 3)), st.sampled_from(["FAIL", "COMPLETE", "RUNNING"]))


def are_one(one: Task, other: Task) -> bool:
    """Of one job and place in it; due at one time or, without one, of one parent."""
    if one[:3] != other[:3]:
        return False
    return one[2] is not None or (one[3] is not None and one[3] == other[3])


@settings(max_examples=max(5, EXAMPLES // 2))
@given(drawn=st.lists(attempts, max_size=16), size=st.integers(1, 5))
def test_the_last_attempt_stands_for_its_task(store: LogStore, drawn: list[tuple[Task, Any, str]], size: int) -> None:
    """As by hand, by the numbers that the producer gave; what has none, or no time and no parent, stands for itself."""
    empty(store)
    store.append([event(number, *each) for number, each in enumerate(drawn)])
    expected = []
    for number, (task, attempt, kind) in enumerate(drawn):
        mates = [(tried, at, what) for at, (other, tried, what) in enumerate(drawn) if tried and are_one(task, other)]
        if attempt and any(tried > attempt for tried, _, _ in mates):
            continue
        earlier = sorted(each for each in mates if attempt and each[0] < attempt)
        expected.append((f"r{number}", kind, attempt, task[1], tuple(what for _, _, what in earlier)))
    listing = Reader(store.database).runs(EVER, last_attempts=True)
    told = [(run.run_id, run.outcome, run.attempt, run.map_index, run.earlier_outcomes) for run in listing]
    assert told == expected
    page = listing.page(size)
    assert [run.run_id for run in page.rows] == [run[0] for run in expected[:size]]


@pytest.mark.parametrize("odd", ["2", 0, -1, 2**63, 1.5, True, None, {}])
def test_what_is_no_number_of_a_try_is_none(store: LogStore, odd: Any) -> None:
    """Nothing is told then; Airflow's -1 for what is not mapped is no index either."""
    store.append([event(1, ("a", -1, None, None), odd, "START")])
    (run,) = Reader(store.database).runs(EVER)
    assert (run.attempt, run.map_index) == (None, None)
