"""What becomes of a finding: rules that hold for every history of recorded runs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID, uuid5

from hypothesis import given
from hypothesis import strategies as st

from lineagelog.store.ledgers.episodes import Episode, FindingStatus, Look, News, found, missed
from tests.analysis.support import day
from tests.findings.support import finding

QUESTIONS = [uuid5(UUID(int=0), str(number)) for number in range(2)]


class Ran(NamedTuple):
    """A recorded run: its window, and whether and when it saw the finding last."""

    start: int
    end: int
    question: int
    seen: int | None
    is_active: bool
    is_whole: bool


@st.composite
def recorded_runs(draw: st.DrawFn) -> Ran:
    """Any run; a finding is seen within its window."""
    start = draw(st.integers(0, 20))
    end = draw(st.integers(start + 1, 22))
    seen = draw(st.none() | st.integers(start, end - 1))
    return Ran(start, end, draw(st.integers(0, 1)), seen, draw(st.booleans()), draw(st.booleans()))


def look_of(ran: Ran, at: datetime) -> Look:
    return Look(question=QUESTIONS[ran.question], start=day(ran.start), end=day(ran.end), at=at, is_whole=ran.is_whole)


def after(known: Episode | None, ran: Ran, at: datetime) -> Episode | None:
    look = look_of(ran, at)
    if ran.seen is not None:
        return found(known, finding("a", ran.seen), look)
    return None if known is None else missed(known, look, is_active=ran.is_active)


HISTORIES = st.lists(recorded_runs(), max_size=12)


@given(HISTORIES)
def test_a_finding_is_one_episode(history: list[Ran]) -> None:
    """Whatever runs are recorded, in whatever order of windows.

    One id; first_seen never grows, last_seen never shrinks; what is news is exactly what changed; it is opened once,
    and each further opening is counted.
    """
    known: Episode | None = None
    for number, ran in enumerate(history):
        before, known = known, after(known, ran, day(30 + number))
        if known is None:
            assert ran.seen is None
            continue
        assert known.finding_id == finding("a", 0).finding_id
        if before is None:
            assert (known.status, known.news, known.reopened) == (FindingStatus.OPEN, News.OPENED, 0)
            continue
        assert known.first_seen <= before.first_seen
        assert known.last_seen >= before.last_seen
        assert known.judged_to >= before.judged_to
        assert known.opened_at == before.opened_at
        change = {
            ("OPEN", "CLOSED"): News.CLOSED,
            ("CLOSED", "OPEN"): News.REOPENED,
        }.get((before.status.value, known.status.value))
        assert known.news is change
        assert known.reopened == before.reopened + (change is News.REOPENED)
        assert (known.status is FindingStatus.CLOSED) == (known.closed_at is not None)


@given(HISTORIES, recorded_runs())
def test_only_a_run_that_covers_it_closes_it(history: list[Ran], last: Ran) -> None:
    """The same question, a window no older, and the finding in it, or left behind by a subject that was active."""
    known: Episode | None = None
    for number, ran in enumerate([*history, last]):
        before, known = known, after(known, ran, day(30 + number))
        if before is None or known is None or known.news is not News.CLOSED:
            continue
        assert ran.seen is None
        assert before.question == QUESTIONS[ran.question]
        assert day(ran.end) >= before.judged_to
        is_inside = day(ran.start) <= before.last_seen < day(ran.end)
        is_behind = before.last_seen < day(ran.start) and ran.is_active
        assert (is_inside and ran.is_whole) or is_behind


@given(HISTORIES, recorded_runs())
def test_the_same_again_changes_nothing(history: list[Ran], ran: Ran) -> None:
    """A run that is recorded twice leaves what it left the first time, and is no news."""
    known: Episode | None = None
    for number, each in enumerate([*history, ran]):
        known = after(known, each, day(30 + number))
    again = after(known, ran, day(99))
    if known is None or again is None:
        assert again is known
        return
    same = ("status", "first_seen", "last_seen", "judged_to", "opened_at", "reopened", "reopened_at", "question")
    assert [getattr(again, name) for name in same] == [getattr(known, name) for name in same]
    assert again.news is None


@given(st.lists(recorded_runs(), max_size=8))
def test_an_older_window_changes_nothing_but_the_times(history: list[Ran]) -> None:
    """Whoever looks at the past again neither closes nor reopens."""
    known: Episode | None = None
    for number, each in enumerate(history):
        known = after(known, each, day(30 + number))
    if known is None:
        return
    for seen in (None, 0):
        old = Ran(0, 1, 0, seen, is_active=True, is_whole=True)
        if known.judged_to <= day(1):
            continue
        later = after(known, old, day(99))
        assert later is not None
        assert (later.status, later.reopened, later.news) == (known.status, known.reopened, None)


def test_what_the_closing_window_had_left_behind_is_no_news() -> None:
    """A longer window finds again what a shorter one closed: it stays closed, until it is seen anew."""
    known = found(None, finding("a", 2), look_of(Ran(0, 7, 0, 2, is_active=True, is_whole=True), day(7)))
    closed = missed(known, look_of(Ran(4, 11, 0, None, is_active=True, is_whole=True), day(11)), is_active=True)
    assert closed.news is News.CLOSED
    longer = look_of(Ran(0, 12, 0, 2, is_active=True, is_whole=True), day(12))
    assert found(closed, finding("a", 2), longer).status is FindingStatus.CLOSED
    anew = found(closed, finding("a", 11), longer)
    assert (anew.status, anew.reopened, anew.news) == (FindingStatus.OPEN, 1, News.REOPENED)
    assert anew.first_seen == day(2)
    assert anew.last_seen - anew.first_seen == timedelta(days=9)
