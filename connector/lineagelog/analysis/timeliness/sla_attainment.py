"""SLA attainment: how often a job kept what was promised of it, or its own schedule, and what is left of its budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from msgspec import Struct

from lineagelog.analysis import (
    Analysis,
    Finding,
    Given,
    Insufficient,
    Result,
    Severity,
    SubjectResult,
    SubjectRule,
    Told,
)
from lineagelog.analysis.history import TRAINING, moment
from lineagelog.analysis.maths.proportion import wilson
from lineagelog.analysis.maths.schedule import Slot, due
from lineagelog.analysis.maths.season import DAY

from .calendar import Calendar
from .starts import JobStarts

_TARGET: Final = 0.95
_METHOD: Final = "share of kept promises, with Wilson's 95 % interval, against the target"
_LEARNED: Final = "on time by its own schedule"


class Promises(JobStarts, frozen=True, kw_only=True):
    """A row: when the runs of a job started and completed."""

    ends: list[float | None]


class _Kept(Struct, frozen=True):
    """A promise that was kept or broken."""

    at: float
    is_kept: bool
    run_id: str | None = None


def explain(rows: Iterable[Promises], given: Given) -> Iterator[Told]:
    """A result a job, and a finding where its budget is used up; without a declared target, from two misses on."""
    start, end, now = (each.timestamp() for each in (given.start, given.end, given.as_of))
    calendar = Calendar()
    judged: list[tuple[Promises, list[Slot] | None]] = []
    for row in rows:
        slots = due(row.times, start, end, now, given.rules.of(row.subject).least_change)
        calendar.see(slots or ())
        judged.append((row, slots))
    for row, slots in judged:
        rule = given.rules.of(row.subject)
        expected = [slot for slot in slots or () if not calendar.is_free(slot, slots or ())]
        kept = _promises(row, rule, expected, given)
        if kept:
            yield from _told(row, rule, kept)
        elif slots is None:
            yield Insufficient()


def _promises(row: Promises, rule: SubjectRule, slots: Sequence[Slot], given: Given) -> list[_Kept]:
    kept: list[_Kept] = []
    if rule.due is not None:
        kept += _by_time_of_day(row, rule.due, rule.zone, slots, given)
    if rule.max_minutes is not None:
        kept += _by_length(row, rule.max_minutes * 60, given)
    if rule.due is None and rule.max_minutes is None:
        kept += [
            _Kept(slot.due, not slot.is_late, None if slot.came is None else row.run_id(slot.came)) for slot in slots
        ]
    return sorted(kept, key=lambda each: each.at)


def _by_time_of_day(
    row: Promises, time_of_day: time, zone: ZoneInfo, slots: Sequence[Slot], given: Given
) -> Iterator[_Kept]:
    """A promise for each day that a run is due on; of a job without a schedule, on which one started."""
    now, begin = given.as_of.timestamp(), bisect_left(row.times, given.start.timestamp())
    until = bisect_left(row.times, min(now, given.end.timestamp()))
    starts = [slot.due for slot in slots] or row.times[begin:until]
    early = slots[0].period / 4 if slots else 0.0
    first_of: dict[float, float] = {}
    for at in starts:
        first_of.setdefault(_deadline(at, time_of_day, zone), at - early)
    for latest, earliest in first_of.items():
        if latest > now:
            continue
        done = [
            place
            for place in range(bisect_left(row.times, earliest), bisect_left(row.times, latest))
            if (ended := row.ends[place]) is not None and ended <= latest
        ]
        yield _Kept(latest, bool(done), row.run_id(done[0]) if done else None)


def _deadline(at: float, time_of_day: time, zone: ZoneInfo) -> float:
    """That of a run of this time: on the same day, or where this is long over, on the next."""
    day = moment(at).astimezone(zone).date()
    latest = datetime.combine(day, time_of_day, zone).timestamp()
    if at - latest <= DAY / 2:
        return latest
    return datetime.combine(day + timedelta(days=1), time_of_day, zone).timestamp()


def _by_length(row: Promises, limit: float, given: Given) -> Iterator[_Kept]:
    """A promise for each run that completed, or is running longer already."""
    now, end = given.as_of.timestamp(), given.end.timestamp()
    for place in range(bisect_left(row.times, given.start.timestamp()), bisect_left(row.times, min(now, end))):
        ended, at = row.ends[place], row.times[place]
        if ended is not None or now - at > limit:
            yield _Kept(at, ended is not None and ended - at <= limit, row.run_id(place))


def _told(row: Promises, rule: SubjectRule, kept: Sequence[_Kept]) -> Iterator[Told]:
    broken = [each for each in kept if not each.is_kept]
    share, target = 1 - len(broken) / len(kept), rule.target or _TARGET
    budget = (1 - target) * len(kept)
    is_declared = any(each is not None for each in (rule.due, rule.max_minutes, rule.target))
    yield SubjectResult(
        subject=row.subject,
        properties={
            "promise": _words(rule),
            "promised": str(len(kept)),
            "kept": str(len(kept) - len(broken)),
            "attainment": f"{share:.4f}",
            "target": f"{target:g}",
            "budget": f"{budget:.2f}",
            "budget_left": f"{budget - len(broken):.2f}",
        },
    )
    if share < target and len(broken) >= (1 if is_declared else 2):
        yield _finding(row, rule, kept, broken, target)


def _words(rule: SubjectRule) -> str:
    due_by = f"completed by {rule.due:%H:%M} {rule.time_zone or 'UTC'}" if rule.due is not None else ""
    length = f"no longer than {rule.max_minutes:g} min" if rule.max_minutes is not None else ""
    return " and ".join(filter(None, (due_by, length))) or _LEARNED


def _finding(
    row: Promises, rule: SubjectRule, kept: Sequence[_Kept], broken: Sequence[_Kept], target: float
) -> Finding:
    share, within = 1 - len(broken) / len(kept), wilson(len(kept) - len(broken), len(kept))
    return Finding(
        subject=row.subject,
        change="below target",
        severity=Severity.by_excess(len(broken) / max((1 - target) * len(kept), 1.0)),
        observed=f"{share:.1%} of {len(kept)}",
        expected=f"{target:.1%}",
        lower=round(within.lower, 4),
        upper=round(within.upper, 4),
        score=round(len(broken) / max((1 - target) * len(kept), 1.0), 2),
        n=len(kept),
        first_seen=moment(broken[0].at),
        last_seen=moment(broken[-1].at),
        run_ids=[each.run_id for each in broken if each.run_id][:10],
        explanation=f"{row.subject} kept {len(kept) - len(broken)} of {len(kept)} promises ({_words(rule)}): "
        f"{share:.1%}, where {target:.1%} is the target.",
        values={"promise": _words(rule), "broken": len(broken), "target": target},
    )


ANALYSIS: Final = Analysis(
    name="sla_attainment",
    question="How often did jobs keep what was promised of them?",
    about="Promised is what the settings say by pattern (due, max_minutes, target); else a job's own schedule, as of "
    "late_run, with a target of 95 %. The budget is how many broken promises the target allows.",
    parameters=(TRAINING,),
    row=Promises,
    explain=explain,
    method=_METHOD,
    result=Result.TABLE,
    columns=("promise", "promised", "kept", "attainment", "target", "budget_left"),
    example="--since -30d",
)
