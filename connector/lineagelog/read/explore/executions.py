"""Executions as people see them: attempts at one task are one, and what a retry made good has not failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from msgspec import Struct, field

from lineagelog.event.canonical import name_key
from lineagelog.event.run_ids import stored_run_id
from lineagelog.read.cursor import Key
from lineagelog.read.listing import Listing
from lineagelog.read.rows import Window
from lineagelog.read.script import text_array

from .scripts import Asking

STATES: Final[dict[str, tuple[str, ...]]] = {
    "completed": ("COMPLETE",),
    "failed": ("FAIL",),
    "aborted": ("ABORT",),
    "running": ("RUNNING", "START", "OTHER", "UNKNOWN"),
}
"""States that can be asked for, and the outcomes that they are. A completed execution may be `fixed`."""
_STATE_OF: Final = {outcome: state for state, outcomes in STATES.items() for outcome in outcomes}
CHILDREN: Final = 200
_SPANS: Final = tuple(timedelta(days=days) for days in (1, 8, 64))
_LEAST: Final = timedelta(microseconds=1)


class Execution(Struct, frozen=True, kw_only=True):
    """An execution of a job; all Snaps of a pipeline are one, and so are attempts at one task."""

    execution_key: UUID
    run_id: str
    """Of the last attempt."""
    job_namespace: str
    """'' where it has none."""
    job_name: str
    job_key: UUID
    outcome: str
    """What came of the last attempt, as OpenLineage calls it."""
    first_event_time: datetime
    started: datetime
    """Of the last attempt."""
    ended: datetime | None
    last_event_time: datetime
    duration: float | None
    """Seconds of the last attempt, where it has ended."""
    error: str | None
    parent_run_id: str | None
    parent_namespace: str | None
    parent_name: str | None
    nominal: datetime | None
    """When it was due, where that was told."""
    runs: int
    """1; of a pipeline the number of its Snaps."""
    is_pipeline: bool
    attempt: int | None
    map_index: int | None
    earlier: Sequence[str]
    """Outcomes of the attempts before it, oldest first."""
    earlier_run_ids: Sequence[str]
    rows_written: int | None
    bytes_written: int | None
    state: str = field(default="")
    """completed, fixed (completed after failed attempts), failed, aborted or running (and what is not known to end)."""

    @property
    def attempts(self) -> int:
        """How many there were."""
        return len(self.earlier) + 1


class ExecutionDetails(Struct, frozen=True):
    """One execution with what belongs to it."""

    execution: Execution
    attempts: tuple[Execution, ...]
    """All attempts at its task, in order."""
    children: tuple[Execution, ...]
    """What it has started, in order."""
    truncated: bool
    """Whether there are more children."""


class WantedExecutions(Struct, frozen=True, kw_only=True):
    """Which executions are asked for."""

    window: Window
    """In which they began."""
    job: tuple[str, str] | None = None
    """Namespace ('' = none) and name."""
    namespace: str | None = None
    state: str | None = None
    reverse: bool = True
    """Newest first."""

    @property
    def variables(self) -> dict[str, str]:
        """Of the scripts that narrow down executions."""
        return {
            **bounds(self.window),
            "job": "" if self.job is None else str(key_of(*self.job)),
            "namespace_given": "" if self.namespace is None else "y",
            "namespace": self.namespace or "",
            "outcomes": text_array(STATES[self.state]) if self.state else "{}",
        }


def key_of(namespace: str, name: str) -> UUID:
    """The key of a job or dataset."""
    return UUID(bytes=name_key(namespace, name))


def bounds(window: Window) -> dict[str, str]:
    """The variables of a window."""
    return {"from": instant(window.start), "to": instant(window.end)}


def instant(at: datetime) -> str:
    """As PostgreSQL reads it; the ends of Python's time are those of time itself."""
    if at.year in (1, 9999):
        return "-infinity" if at.year == 1 else "infinity"
    return at.isoformat()


def state_of(outcome: str | None, *, was_failed: bool = False) -> str:
    """The state that an outcome is."""
    if outcome is None:
        return "none"
    state = _STATE_OF.get(outcome, "running")
    return "fixed" if state == "completed" and was_failed else state


def executions(asking: Asking, wanted: WantedExecutions) -> Listing[Execution]:
    """The executions that began in a window."""

    def fetch(last: Key | None, limit: int) -> Sequence[tuple[Key, Execution]]:
        at, key = ("-infinity", "") if last is None else (last[0].isoformat(), str(last[1]))
        given = wanted.variables | {"after_at": at, "after_key": key, "limit": str(limit)}
        found: list[Execution] = []
        for window in _widening(asking, wanted, None if last is None else last[0]):
            found = _made(asking.rows("executions", Execution, given | bounds(window), reverse=wanted.reverse))
            if len(found) == limit:
                break
        return [((each.first_event_time, each.execution_key), each) for each in found]

    name = "executions, newest first" if wanted.reverse else "executions"
    return Listing(name, (datetime, UUID), fetch)


def _widening(asking: Asking, wanted: WantedExecutions, last: datetime | None) -> Iterator[Window]:
    """Windows in which a page is looked for, each with the one before in it: few pages need to look at all of time."""
    window = wanted.window
    if wanted.job is None and window.end - window.start > _SPANS[0]:
        ends = asking.dicts("ends", {})[0]
        if last is None:
            last = ends["last"] if wanted.reverse else ends["first"]
        if last is not None and wanted.reverse:
            end = min(window.end, last + _LEAST)
            window = Window(min(window.start, end), end)
            starts = (end - span for span in _SPANS)
            yield from (Window(start, end) for start in starts if start > window.start)
        elif last is not None:
            start = max(window.start, last)
            window = Window(start, max(start, window.end))
            yield from (Window(start, start + span) for span in _SPANS if start + span < window.end)
    yield window


def execution(
    asking: Asking, run_id: str, job: tuple[str, str] | None = None, *, children: int = CHILDREN
) -> ExecutionDetails | None:
    """The execution with an id, of a job where several share it; None if there is none to be seen."""
    wanted = {"run_id": stored_run_id(run_id), "job": "" if job is None else str(key_of(*job))}
    found = _made(asking.rows("execution_of", Execution, wanted))
    if not found:
        return None
    own = found[0]
    at = own.first_event_time.isoformat()
    tries = _made(asking.rows("attempts", Execution, {"key": str(own.execution_key), "at": at}))
    span = {"from": at, "to": max(own.last_event_time, own.ended or own.started).isoformat()}
    begun = _made(
        asking.rows("children", Execution, {**span, "run_id": own.run_id, "limit": str(children + 1)}),
    )
    return ExecutionDetails(own, tuple(tries) or (own,), tuple(begun[:children]), len(begun) > children)


def _made(rows: Sequence[Execution]) -> list[Execution]:
    return [_with_state(each) for each in rows]


def _with_state(row: Execution) -> Execution:
    values: dict[str, Any] = {name: getattr(row, name) for name in row.__struct_fields__}
    failed = row.outcome in ("FAIL", "ABORT")
    values["error"] = row.error if failed else None
    values["state"] = state_of(row.outcome, was_failed="FAIL" in row.earlier)
    return Execution(**values)


ALL: Final = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
