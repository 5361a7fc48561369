"""Jobs by how they do: worst state first, and one job with its history, its schedule and its tests."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Sequence
from datetime import UTC, datetime
from math import expm1, log1p
from typing import Any, Final
from uuid import UUID

from msgspec import Struct

from lineagelog.analysis.maths.baseline import learn
from lineagelog.analysis.maths.schedule import due
from lineagelog.analysis.maths.season import DAY
from lineagelog.read import cursor
from lineagelog.read.rows import Page

from .executions import instant
from .scripts import Asking

RANKS: Final = ("failed", "stuck", "late", "running", "fixed", "aborted", "completed", "none")
"""States of jobs, worst first; their places are the ranks of `sql/explore/job_state.sql`."""
HISTORY: Final = 200
_FEWEST: Final = 8
"""Executions before which no band is drawn."""
_WIDTH: Final = 3.0
"""Standard deviations that a band is wide, to each side."""
_LISTING: Final = "jobs, worst first"
_KINDS: Final = (int, datetime, UUID)
_NEVER: Final = datetime(1, 1, 1, tzinfo=UTC)


class JobRow(Struct, frozen=True, kw_only=True):
    """A job with how it does."""

    job_key: UUID
    job_namespace: str
    job_name: str
    owners: Any
    tags: Any
    job_type: str | None
    integration: str | None
    processing_type: str | None
    description: str | None
    source_code_location: str | None
    first_seen: datetime
    last_seen: datetime
    last_run_id: str | None
    last_outcome: str | None
    last_at: datetime | None
    rank: int
    findings: int
    strip: Sequence[str] | None
    """Outcomes of the last executions, newest first; FIXED where a retry made it good."""
    error: str | None
    duration: float | None
    ended: datetime | None
    typical: Sequence[float] | None
    """Seconds of completed executions: 5 %, 50 % and 95 % take no longer."""
    good: int | None
    """How many of the last thirty completed."""
    good_run_id: str | None
    good_at: datetime | None
    times: Sequence[float]
    """When the last executions began, seconds since 1970, oldest first."""

    @property
    def state(self) -> str:
        """One of RANKS."""
        return RANKS[self.rank]


class JobsWanted(Struct, frozen=True, kw_only=True):
    """Which jobs are asked for."""

    search: str = ""
    namespace: str | None = None
    state: str | None = None
    job: UUID | None = None

    @property
    def variables(self) -> dict[str, str]:
        """Of the scripts."""
        return {
            "like": f"%{escaped(self.search)}%" if self.search else "",
            "namespace_given": "" if self.namespace is None else "y",
            "namespace": self.namespace or "",
            "job": "" if self.job is None else str(self.job),
            "ranks": "{}" if self.state is None else f"{{{RANKS.index(self.state)}}}",
        }


class _Count(Struct, frozen=True):
    rank: int
    jobs: int


class HistoryPoint(Struct, frozen=True, kw_only=True):
    """A value of a series with what was expected of it before it came."""

    at: datetime
    value: float | None
    lower: float | None = None
    middle: float | None = None
    upper: float | None = None
    state: str = "completed"
    run_id: str = ""
    attempts: int = 1


class Schedule(Struct, frozen=True):
    """A schedule that was learned from past starts."""

    period: float
    """Seconds."""
    grace: float
    n: int
    """Starts that it was learned from."""
    next_at: datetime | None


class TestHistory(Struct, frozen=True, kw_only=True):
    """A test or an assertion with its last results."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    kind: str
    test: str
    column_name: str | None
    dataset_namespace: str | None
    dataset_name: str | None
    latest: Sequence[bool | None]
    """Newest first; None = neither passed nor failed."""
    at: datetime
    severity: str | None
    expected: str | None
    actual: str | None
    run_id: str


def escaped(text: str) -> str:
    """A text as LIKE takes it for itself."""
    return text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")


def jobs(asking: Asking, wanted: JobsWanted, limit: int, after: str | None = None) -> Page[JobRow]:
    """Jobs, worst state first, then by their last run. Raises InputError for a cursor that is none."""
    key: tuple[Any, ...] = (0, _NEVER, "") if after is None else cursor.decode(_LISTING, _KINDS, after)
    given = wanted.variables | {
        "after_rank": str(key[0]),
        "after_at": instant(key[1]),
        "after_key": str(key[2]),
        "limit": str(limit + 1),
    }
    found = asking.rows("jobs", JobRow, given)
    rows = tuple(found[:limit])
    if len(found) <= limit:
        return Page(rows, None)
    last = rows[-1]
    return Page(rows, cursor.encode(_LISTING, (last.rank, last.last_at or _NEVER, last.job_key)))


def job_counts(asking: Asking, wanted: JobsWanted) -> dict[str, int]:
    """How many jobs are in each state."""
    return {RANKS[each.rank]: each.jobs for each in asking.rows("job_counts", _Count, wanted.variables)}


def history(asking: Asking, job: UUID, until: datetime, limit: int = HISTORY) -> list[HistoryPoint]:
    """The durations of the last executions of a job, oldest first, each with the band that was expected before it."""
    given = {"job": str(job), "to": instant(until), "limit": str(limit)}
    points = []
    for row in asking.dicts("history", given):
        outcome = row["outcome"]
        state = {"COMPLETE": "fixed" if row["is_fixed"] else "completed", "FAIL": "failed", "ABORT": "aborted"}
        points.append(
            HistoryPoint(at=row["at"], value=row["duration"], state=state.get(outcome, "running"), run_id=row["run_id"])
        )
    return with_bands(points)


def with_bands(points: Sequence[HistoryPoint]) -> list[HistoryPoint]:
    """The points with what those before them let expect: learned anew for every day, of what completed."""
    good = [each for each in points if each.value is not None and each.state in ("completed", "fixed")]
    times, values = [each.at.timestamp() for each in good], [log1p(each.value or 0.0) for each in good]
    drawn, baseline, taught = [], None, (-1, 0)
    for each in points:
        at = each.at.timestamp()
        before = bisect_left(times, at)
        if before >= _FEWEST and (int(at // DAY), before // _FEWEST) != taught:
            taught = (int(at // DAY), before // _FEWEST)
            baseline = learn(times[max(0, before - 60) : before], values[max(0, before - 60) : before])
        if baseline is None or before < _FEWEST:
            drawn.append(each)
            continue
        centre, sigma = baseline.expected(at)
        reach = max(_WIDTH * sigma, log1p(0.05))
        low, middle, high = (max(0.0, expm1(value)) for value in (centre - reach, centre, centre + reach))
        drawn.append(
            HistoryPoint(
                at=each.at,
                value=each.value,
                lower=low,
                middle=middle,
                upper=high,
                state=each.state,
                run_id=each.run_id,
                attempts=each.attempts,
            )
        )
    return drawn


def schedule(times: Sequence[float], now: float | None = None) -> Schedule | None:
    """The schedule that past starts (seconds since 1970, in order) keep to; None where they keep to none."""
    if len(times) < _FEWEST:
        return None
    end = times[-1] if now is None else min(now, times[-1])
    slots = due(times, max(times[0], end - 7 * DAY), end + 1, end + 1)
    if not slots:
        return None
    last = slots[-1]
    # the slot after the last that is known; a late one does not move the next
    upcoming, clock = last.due + last.period, time.time() if now is None else now
    while upcoming - last.period / 4 <= times[-1]:
        upcoming += last.period
    if clock - upcoming > 400 * last.period:
        return Schedule(last.period, last.grace, last.n, None)
    return Schedule(last.period, last.grace, last.n, datetime.fromtimestamp(upcoming, UTC))


def job_tests(asking: Asking, job: UUID) -> list[TestHistory]:
    """The tests that the last executions of a job reported, those that fail first."""
    return asking.rows("job_tests", TestHistory, {"job": str(job)})
