"""The outcome of a run against the rule as it is written, told a second time and naively, over a run's events."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from lineagelog.event.model import Event
from lineagelog.event.parse import parse
from tests.support import encode, event

from .contents import empty, rows

if TYPE_CHECKING:
    from lineagelog.store.append.log import LogStore

type Told = tuple[str | None, int]  # the type of an event, and the second at which it says that it happened

ENDS = ("FAIL", "COMPLETE", "ABORT")  # of two at the same time the first one holds
OTHERS = ("RUNNING", "START", "OTHER")
told = st.tuples(st.sampled_from((*ENDS, *OTHERS, "START", "FAIL", None)), st.integers(0, 3))
histories = st.lists(st.lists(told, min_size=1, max_size=6), min_size=1, max_size=12)


def status_of(history: list[Told]) -> str:
    """The last end; without one, the furthest that was told."""
    for second in (3, 2, 1, 0):
        for end in ENDS:
            if (end, second) in history:
                return end
    return next((kind for kind in OTHERS if any(kind == each for each, _ in history)), "UNKNOWN")


def outcome_of(history: list[Told]) -> str:
    """FAIL where a FAIL is later than every START; RUNNING where a START is later than every end; else the status."""
    starts = [second for kind, second in history if kind == "START"]
    ends = [second for kind, second in history if kind in ENDS]
    if any(kind == "FAIL" and all(start < second for start in starts) for kind, second in history):
        return "FAIL"
    if any(all(end < start for end in ends) for start in starts):
        return "RUNNING"
    return status_of(history)


def body_of(run_id: str, kind: str | None, second: int) -> bytes:
    made = event(run_id, kind or "", eventTime=f"2026-03-01T08:00:0{second}Z")
    if kind is None:
        del made["eventType"]
    return encode(made)


@given(runs=histories, seed=st.integers(0, 2**32))
def test_outcomes_are_by_the_rule(store: LogStore, runs: list[list[Told]], seed: int) -> None:
    """In any order, in any batches, with some events twice; beside it the status, as the source document has it."""
    empty(store)
    chance = random.Random(seed)
    parsed = [parse(body_of(f"r{number}", *each)) for number, history in enumerate(runs) for each in history]
    events = [each for each in parsed if isinstance(each, Event)]
    assert len(events) == len(parsed)
    chance.shuffle(events)
    events += events[: chance.randrange(3)]
    size = chance.choice((1, 3, len(events)))
    for first in range(0, len(events), size):
        store.append(events[first : first + size])

    expected = {(f"r{number}", outcome_of(history), status_of(history)) for number, history in enumerate(runs)}
    assert rows(store, "ol_run", "run_id, outcome, status") == expected
