"""The health of the intake: whether events arrive in time, once, whole, and are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from msgspec import Struct

from lineagelog.analysis import Analysis, Finding, Given, Result, Severity, Subject, SubjectResult
from lineagelog.shown import counted

_LATE: Final = 3600.0


class Arrivals(Struct, frozen=True, kw_only=True):
    """A row: what arrived from a producer, or what was refused of a source for one reason."""

    kind: str
    """producer, or refused."""
    name: str
    """The producer, or the source: http, kafka, file …"""
    reason: str | None
    events: int
    median_lag_seconds: float | None
    p95_lag_seconds: float | None
    from_the_future: int
    """Of a time more than five minutes after their reception."""
    repeated: int
    repaired: int
    first_seen: datetime
    last_seen: datetime
    run_ids: list[str] | None

    @property
    def subject(self) -> Subject:
        """The producer, or the source."""
        return Subject("producer" if self.kind == "producer" else "source", None, self.name)

    def finding(self, change: str, severity: Severity, observed: str, expected: str, tail: str) -> Finding:
        """One finding a subject and kind of trouble."""
        return Finding(
            subject=self.subject,
            change=change,
            detail=self.reason or "",
            severity=severity,
            observed=observed,
            expected=expected,
            n=self.events,
            first_seen=self.first_seen,
            last_seen=self.last_seen,
            run_ids=tuple(self.run_ids or ()),
            explanation=f"{self.subject}: {tail}.",
            values={"reason": self.reason} if self.reason else {},
        )


def explain(rows: Iterable[Arrivals], _: Given) -> Iterator[SubjectResult | Finding]:
    """One result per producer, and findings of clocks that are wrong, of late events, and of what was refused."""
    for row in rows:
        if row.kind == "producer":
            yield from _of_producer(row)
            continue
        yield row.finding(
            "refused",
            Severity.HIGH,
            f"{row.events} refused: {row.reason}",
            "none",
            f"{counted(row.events, 'events')} refused ({row.reason}), kept as dead letters",
        )


def _of_producer(row: Arrivals) -> Iterator[SubjectResult | Finding]:
    lags = {"medianLagSeconds": row.median_lag_seconds, "p95LagSeconds": row.p95_lag_seconds}
    counts = {
        "events": row.events,
        "fromTheFuture": row.from_the_future,
        "repeated": row.repeated,
        "repaired": row.repaired,
    }
    yield SubjectResult(
        subject=row.subject,
        properties={
            **{name: str(count) for name, count in counts.items()},
            **{name: f"{lag:.1f}" for name, lag in lags.items() if lag is not None},
        },
    )
    if row.from_the_future:
        yield row.finding(
            "clock skew",
            Severity.MEDIUM,
            f"{row.from_the_future} of {counted(row.events, 'events')} from the future",
            "none",
            f"{row.from_the_future} of {counted(row.events, 'events')} with times of after their reception: "
            "a clock is wrong",
        )
    median, p95 = row.median_lag_seconds or 0.0, row.p95_lag_seconds or 0.0
    if p95 > _LATE >= median:  # where all are late, an older log was loaded
        yield row.finding(
            "late",
            Severity.LOW,
            f"one in twenty after {p95 / 3600:.1f} hours or more",
            f"within an hour, as half of them ({median:.0f} s)",
            f"one in twenty events arrives {p95 / 3600:.1f} hours or more after its time",
        )


ANALYSIS: Final = Analysis(
    name="ingest_health",
    question="Do the events arrive in time, once and whole, and what was refused?",
    about="Per producer the time from event to reception (median, 95th percentile), events from the future, repeated "
    "ones (run, time and type of another, other content) and repaired ones; and the dead letters that wait. High: "
    "something was refused. Medium: a clock is wrong. Low: one in twenty events is an hour late, and half are not.",
    method="time from event to reception; dead letters",
    row=Arrivals,
    explain=explain,
    result=Result.TABLE,
    columns=("events", "medianLagSeconds", "p95LagSeconds", "fromTheFuture", "repeated", "repaired"),
    reads_events=True,
    example="--since -1d",
)
