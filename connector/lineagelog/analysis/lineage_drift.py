"""Lineage drift: the inputs and outputs of a job that are new, or have vanished."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar, Final

from msgspec import Struct

from .analysis import Analysis, Parameter
from .finding import Finding, Severity, Subject

HISTORY: Final = Parameter(
    "history",
    "How far before the window the runs are looked at that a job is compared with.",
    "30 days",
    r"\d{1,6} (minute|hour|day|week)s?",
    "a number of minutes, hours, days or weeks, such as '30 days'",
)
RUNS: Final = Parameter(
    "runs",
    "How many runs in a row must be without something before it is new or has vanished.",
    "3",
    r"[1-9]\d{0,3}",
    "a number from 1 to 9999",
)


class Change(Struct, frozen=True, kw_only=True):
    """A row: something that a job does for the first time, or no longer."""

    job_namespace: str
    job_name: str
    change: str
    """new or vanished."""
    kind: str
    """input, output or flow: from which input rows go to which output, where single steps of a run are known."""
    dataset_namespace: str
    dataset_name: str
    target_namespace: str | None
    """Of a flow."""
    target_name: str | None
    present: int
    """Runs with it."""
    without: int
    """Runs without it, before it was new or since it vanished."""
    runs: int
    """Runs compared."""
    shown_at: datetime
    """First event of the run that proves the change."""
    run_id: str
    """That run."""
    first_seen: datetime
    first_run_id: str
    last_seen: datetime
    last_run_id: str


class LineageDrift(Analysis[Change]):
    """Compares each job with itself."""

    name: ClassVar = "lineage_drift"
    question: ClassVar = "Which inputs and outputs of a job are new, and which have vanished?"
    parameters: ClassVar = (HISTORY, RUNS)
    row = Change

    def explain(self, rows: Iterable[Change]) -> list[Finding]:
        """A flow is only told of where both its ends stayed: otherwise the ends tell it."""
        found = list(rows)
        ends = {(*_job(row), row.change, *_dataset(row)) for row in found if row.kind != "flow"}
        return [_finding(row) for row in found if row.kind != "flow" or not (_ends_of(row) & ends)]


def _job(row: Change) -> tuple[str, str]:
    return row.job_namespace, row.job_name


def _dataset(row: Change) -> tuple[str, str]:
    return row.dataset_namespace, row.dataset_name


def _ends_of(row: Change) -> set[tuple[str, ...]]:
    ends = (_dataset(row), (row.target_namespace or "", row.target_name or ""))
    return {(*_job(row), row.change, *end) for end in ends}


def _finding(row: Change) -> Finding:
    thing = _named(row.dataset_namespace, row.dataset_name)
    if row.kind == "flow":
        thing = f"{thing} → {_named(row.target_namespace, row.target_name or '')}"
    job = _named(row.job_namespace, row.job_name)
    is_new = row.change == "new"
    if is_new:
        sentence = f"{job} has a new {row.kind} {thing}, after {row.without} runs without it."
    else:
        sentence = f"{job} no longer has the {row.kind} {thing}: {row.without} runs since run {row.last_run_id}."
    return Finding(
        analysis=LineageDrift.name,
        subject=Subject("job", row.job_namespace or None, row.job_name),
        change=f"{row.change} {row.kind}",
        detail=thing,
        observed=f"{'in' if is_new else 'missing from'} run {row.run_id}",
        expected=f"absent, as in the {row.without} runs before" if is_new else f"present, as in {row.present} runs",
        method="set difference between runs, with patience",
        n=row.runs,
        severity=Severity.LOW if is_new else Severity.MEDIUM,
        first_seen=row.first_seen if is_new else row.shown_at,
        last_seen=row.last_seen if is_new else row.shown_at,
        run_ids=(row.run_id,) if is_new else (row.last_run_id, row.run_id),
        explanation=sentence,
        values={
            "kind": row.kind,
            "dataset_namespace": row.dataset_namespace or None,
            "dataset_name": row.dataset_name,
            "target_namespace": row.target_namespace or None,
            "target_name": row.target_name,
            "runs_without": row.without,
        },
    )


def _named(namespace: str | None, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name
