"""Stale dataset: data that is older now than usual, or than was promised."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from lineagelog.analysis import Analysis, Finding, Given, Insufficient, Severity, Subject, Told
from lineagelog.analysis.history import TRAINING, moment
from lineagelog.analysis.maths.robust import quantile
from lineagelog.analysis.maths.schedule import Slot, due
from lineagelog.analysis.maths.season import DAY, HOUR
from lineagelog.analysis.words import span

from .calendar import Calendar

_LEARNED: Final = "schedule of the writes, learned from the five weeks before the last one"
_GAPS: Final = "longest gap between writes (99th percentile), half as much again"
_DECLARED: Final = "declared: max_age_hours of the settings"
_FEWEST: Final = 20
"""Gaps from which the longest says something where there is no schedule."""


class Writes(Struct, frozen=True, kw_only=True):
    """A row: when a dataset was written."""

    dataset_namespace: str
    dataset_name: str
    times: list[float]
    run_id: str | None
    """Of the last write that is known by the clock."""
    alive_to: float | None

    @property
    def subject(self) -> Subject:
        """The dataset."""
        return Subject("dataset", self.dataset_namespace or None, self.dataset_name)


class _Age(Struct, frozen=True):
    """How old the data is, and may be, in seconds."""

    last: float
    """When it was written last."""
    age: float
    allowed: float
    method: str
    n: int
    due: float
    """When it should have been written."""
    missed: Sequence[Slot] = ()
    """The writes that were due since."""


def explain(rows: Iterable[Writes], given: Given) -> Iterator[Told]:
    """One finding a dataset that is stale by the clock; not on what is a holiday for the writers of working days."""
    now = given.as_of.timestamp()
    calendar, found = Calendar(), []
    for row in rows:
        known = row.times[: bisect_right(row.times, now)]
        if not known:
            continue
        if row.alive_to is not None and now - row.alive_to < DAY:
            continue  # a stream writes as it goes
        age = _declared(known[-1], given.rules.of(row.subject).max_age_hours, now)
        if age is None:
            slots = due(known, min(known[-1], given.start.timestamp()) - 7 * DAY, now, now)
            calendar.see(slots or ())
            age = _learned(known, slots, now)
        if age is None:
            yield Insufficient()
        elif age.age > age.allowed:
            found.append((row, age))
    yield from (_finding(row, age) for row, age in found if not _is_excused(age, calendar))


def _is_excused(age: _Age, calendar: Calendar) -> bool:
    return bool(age.missed) and all(calendar.is_free(slot, age.missed) for slot in age.missed)


def _declared(last: float, hours: float | None, now: float) -> _Age | None:
    return None if hours is None else _Age(last, now - last, hours * HOUR, _DECLARED, 1, last + hours * HOUR)


def _learned(known: Sequence[float], slots: list[Slot] | None, now: float) -> _Age | None:
    """By the schedule, or by the gaps; None where there are too few."""
    if slots is None:
        return None
    last, age = known[-1], now - known[-1]
    missed = [slot for slot in slots if slot.came is None and slot.due > last and slot.is_late]
    if missed:
        first = missed[0]
        return _Age(last, age, first.due + first.grace - last, _LEARNED, first.n, first.due, missed)
    if slots:
        return _Age(last, age, age, _LEARNED, slots[-1].n, now)
    gaps = [later - earlier for earlier, later in pairwise(known)]
    if len(gaps) < _FEWEST:
        return None
    allowed = 1.5 * quantile(gaps, 0.99)
    return _Age(last, age, allowed, _GAPS, len(gaps), last + allowed)


def _finding(row: Writes, age: _Age) -> Finding:
    return Finding(
        subject=row.subject,
        change="stale",
        detail=row.run_id or "",
        severity=Severity.by_excess(age.age / age.allowed) if age.method == _GAPS else Severity.HIGH,
        observed=f"{span(age.age)} old",
        expected=f"no older than {span(age.allowed)}",
        lower=0.0,
        upper=round(age.allowed / HOUR, 3),
        score=round(age.age / age.allowed, 2),
        method=age.method,
        n=age.n,
        first_seen=moment(age.due),
        last_seen=moment(age.due),
        run_ids=[row.run_id] if row.run_id else [],
        explanation=f"{row.subject} was last written {span(age.age)} ago, at {moment(age.last):%Y-%m-%d %H:%M} UTC: no "
        f"longer ago than {span(age.allowed)} is {'promised' if age.method == _DECLARED else 'usual'}.",
        values={
            "age_hours": round(age.age / HOUR, 2),
            "sla_source": "declared" if age.method == _DECLARED else "learned",
            "writes_missed": len(age.missed) or None,
        },
    )


ANALYSIS: Final = Analysis(
    name="stale_dataset",
    question="Which data is older than usual, or than promised?",
    about="By the clock of --as-of: a dataset's completed writes have a schedule, learned from the five weeks before "
    "the last one, or at least a longest gap; max_age_hours in the settings comes before both.",
    parameters=(TRAINING,),
    row=Writes,
    explain=explain,
    example="--since -7d",
)
