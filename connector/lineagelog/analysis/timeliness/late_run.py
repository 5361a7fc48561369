"""Late run: runs that started later than their job's schedule has them, that are missing, or that are overdue now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from lineagelog.analysis import Analysis, Finding, Given, Insufficient, Severity, Told
from lineagelog.analysis.history import TRAINING, moment
from lineagelog.analysis.maths.schedule import Slot, due
from lineagelog.analysis.words import span

from .calendar import Calendar
from .starts import JobStarts

_METHOD: Final = (
    "schedule learned from five weeks: period, phase and the slots of the week that were taken; grace by MAD"
)


class Starts(JobStarts, frozen=True, kw_only=True):
    """A row: when the runs of a job started."""

    last_before: str | None
    alive_from: float | None
    alive_to: float | None

    def run_id(self, place: int) -> str | None:
        """That of a start; of those before the window only the last has one."""
        return self.last_before if place == self.before - 1 else super().run_id(place)

    def was_alive(self, at: float) -> bool:
        """Whether a run was alive for days then: a stream needs no new one."""
        return self.alive_from is not None and self.alive_to is not None and self.alive_from <= at <= self.alive_to


def explain(rows: Iterable[Starts], given: Given) -> Iterator[Told]:
    """Runs that are missing one after the other are one finding. On holidays nothing is due of working days' jobs."""
    start, end, now = (each.timestamp() for each in (given.start, given.end, given.as_of))
    judged: list[tuple[Starts, list[Slot]]] = []
    calendar = Calendar()
    for row in rows:
        slots = due(row.times, start, end, now, given.rules.of(row.subject).least_change)
        if slots is None:
            yield Insufficient()
            continue
        slots = [slot for slot in slots if not row.was_alive(slot.due)]
        calendar.see(slots)
        if any(slot.is_late for slot in slots):
            judged.append((row, slots))
    for row, slots in judged:
        yield from _of_job(row, [slot for slot in slots if not calendar.is_free(slot, slots)], now)


def _of_job(row: Starts, slots: Sequence[Slot], now: float) -> Iterator[Finding]:
    gone: list[Slot] = []
    for slot in slots:
        if slot.came is None:
            gone.append(slot)
            continue
        if gone:
            yield _missing(row, gone, now)
            gone = []
        if slot.is_late:
            yield _late(row, slot, slot.came)
    if gone:
        yield _missing(row, gone, now)


def _late(row: Starts, slot: Slot, came: int) -> Finding:
    run_id, at = row.run_id(came), moment(slot.due)
    return Finding(
        subject=row.subject,
        change="late",
        detail=run_id or "",
        severity=Severity.MEDIUM if slot.delay > 0.15 * slot.period else Severity.LOW,
        observed=f"started {moment(row.times[came]):%Y-%m-%d %H:%M:%S} UTC",
        expected=f"at {at:%Y-%m-%d %H:%M:%S} UTC, within {span(slot.grace)}",
        lower=0.0,
        upper=round(slot.grace / 60, 2),
        score=round(slot.delay / slot.grace, 2),
        n=slot.n,
        first_seen=at,
        last_seen=moment(row.times[came]),
        run_ids=[run_id] if run_id else [],
        explanation=f"A run of {row.subject} started {span(slot.delay)} late: it was due at {at:%Y-%m-%d %H:%M} UTC, "
        f"and {span(slot.grace)} are usual.",
        values={"minutes_late": round(slot.delay / 60, 1), "next_expected": moment(slot.due + slot.period)},
    )


def _missing(row: Starts, gone: Sequence[Slot], now: float) -> Finding:
    first, last = gone[0], gone[-1]
    is_overdue = last.due + last.period > now
    before = max((place for place, at in enumerate(row.times) if at < first.due), default=None)
    run_id = None if before is None else row.run_id(before)
    runs = "A run" if len(gone) == 1 else f"{len(gone)} runs"
    since = f"{moment(first.due):%Y-%m-%d %H:%M} UTC"
    until = "" if len(gone) == 1 else f" to {moment(last.due):%Y-%m-%d %H:%M} UTC"
    state = "overdue" if is_overdue else "missing"
    return Finding(
        subject=row.subject,
        change="missing",
        detail=f"after {run_id}",
        severity=Severity.CRITICAL if is_overdue and len(gone) > 1 else Severity.HIGH,
        observed=f"no run since {moment(row.times[before]):%Y-%m-%d %H:%M} UTC" if before is not None else "no run",
        expected=f"{'one' if len(gone) == 1 else len(gone)} at {since}{until}, within {span(first.grace)}",
        lower=0.0,
        upper=round(first.grace / 60, 2),
        score=round(min(first.delay, first.period) / first.grace, 2),
        n=first.n,
        first_seen=moment(first.due),
        last_seen=moment(last.due),
        run_ids=[run_id] if run_id else [],
        explanation=f"{runs} of {row.subject} {'is' if len(gone) == 1 else 'are'} {state}, due at {since}{until}.",
        values={
            "state": state,
            "runs": len(gone),
            "minutes_late": round(first.delay / 60, 1) if is_overdue else None,
            "next_expected": moment(last.due + last.period),
        },
    )


ANALYSIS: Final = Analysis(
    name="late_run",
    question="Which runs started late, are missing, or are overdue?",
    about="The schedule of a job is learned from the five weeks before: its period, the time of the hour or day, the "
    "days of the week. Judged by the clock of --as-of; jobs without a rhythm and streaming jobs are never late.",
    parameters=(TRAINING,),
    row=Starts,
    explain=explain,
    method=_METHOD,
    example="--since -1d",
)
