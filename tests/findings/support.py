"""Findings as an analysis tells them, in few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lineagelog.analysis import Finding, Severity, Subject
from lineagelog.store.ledgers.finding_rows import FindingFilter, FindingRow, FindingRows
from lineagelog.store.ledgers.findings import AskedQuestion, Findings, Recorded, RunTold
from tests.analysis.support import day

if TYPE_CHECKING:
    from lineagelog.store import LogStore

ASKED = AskedQuestion("made_up", {})


def finding(name: str, seen: float, *, first: float | None = None, **more: Any) -> Finding:
    """A finding about the job of that name, last seen on a day (of March 2026, from 0)."""
    told: dict[str, Any] = {
        "analysis": "made_up",
        "subject": Subject("job", "tests", name),
        "change": "odd",
        "severity": Severity.MEDIUM,
        "observed": "odd",
        "expected": "even",
        "n": 1,
        "first_seen": day(seen if first is None else first),
        "last_seen": day(seen),
        "run_ids": (),
        "explanation": f"{name} is odd.",
    }
    return Finding(**told | more)


def record(
    store: LogStore,
    start: float,
    end: float,
    *found: Finding,
    asked: AskedQuestion = ASKED,
    tell: bool = False,
    **more: Any,
) -> Recorded:
    """A recorded run over a window of days that found these."""
    told: dict[str, Any] = {"start": day(start), "end": day(end), "findings": found, "insufficient": 0, "seconds": 0.1}
    return Findings(store.database).record(asked, RunTold(**told | more), tell=tell)


def kept(store: LogStore) -> dict[str, FindingRow]:
    """All that is kept, by the names of the jobs."""
    rows = FindingRows(store.database).page(FindingFilter(), None, 1000)
    return {row.subject.name: row for _, row in rows}


def statuses(store: LogStore) -> dict[str, str]:
    """The status of each, by the names of the jobs."""
    return {name: str(row.status) for name, row in kept(store).items()}
