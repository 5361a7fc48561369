"""Column lineage drift: the columns that are no longer fed from where they were, or are fed from somewhere new."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar

from msgspec import Struct

from .analysis import Analysis
from .finding import Finding, Severity, Subject
from .lineage_drift import HISTORY, RUNS


class Feed(Struct, frozen=True, kw_only=True):
    """A row: a source of a column that a job has for the first time, or no longer."""

    job_namespace: str
    job_name: str
    change: str
    """new or lost."""
    dataset_namespace: str
    dataset_name: str
    column_name: str
    from_namespace: str | None
    from_name: str | None
    """None: the column has lineage, and no source (a constant)."""
    from_column: str | None
    present: int
    without: int
    runs: int
    shown_at: datetime
    run_id: str
    first_seen: datetime
    first_run_id: str
    last_seen: datetime
    last_run_id: str
    still_fed: bool
    """Whether the job's last run feeds the column from anywhere."""


class ColumnLineageDrift(Analysis[Feed]):
    """Compares the column lineage of each job with itself."""

    name: ClassVar = "column_lineage_drift"
    question: ClassVar = "Which column stopped being fed from where, and which is fed from somewhere new?"
    parameters: ClassVar = (HISTORY, RUNS)
    row = Feed

    def explain(self, rows: Iterable[Feed]) -> list[Finding]:
        """A column that nothing feeds any more matters most."""
        return [_finding(row) for row in rows]


def _finding(row: Feed) -> Finding:
    is_new = row.change == "new"
    return Finding(
        analysis=ColumnLineageDrift.name,
        subject=Subject("column", row.dataset_namespace or None, row.dataset_name, row.column_name),
        change=f"{row.change} source",
        detail=_source(row),
        observed=f"{'in' if is_new else 'missing from'} run {row.run_id}",
        expected=f"absent, as in the {row.without} runs before" if is_new else f"present, as in {row.present} runs",
        method="set difference between runs, with patience",
        n=row.runs,
        severity=_severity(row),
        first_seen=row.first_seen if is_new else row.shown_at,
        last_seen=row.last_seen if is_new else row.shown_at,
        run_ids=(row.run_id,) if is_new else (row.last_run_id, row.run_id),
        explanation=_sentence(row),
        values={
            "job_namespace": row.job_namespace or None,
            "job_name": row.job_name,
            "from_namespace": row.from_namespace or None,
            "from_name": row.from_name,
            "from_column": row.from_column,
            "runs_without": row.without,
            "still_fed": row.still_fed,
        },
    )


def _severity(row: Feed) -> Severity:
    if row.change == "new":
        return Severity.LOW
    return Severity.MEDIUM if row.still_fed or row.from_name is None else Severity.HIGH


def _source(row: Feed) -> str:
    if row.from_name is None:
        return "no source"
    place = f"{row.from_namespace}/{row.from_name}" if row.from_namespace else row.from_name
    return f"{place}#{row.from_column}"


def _sentence(row: Feed) -> str:
    subject = Subject("column", row.dataset_namespace or None, row.dataset_name, row.column_name)
    job = f"{row.job_namespace}/{row.job_name}" if row.job_namespace else row.job_name
    if row.change == "new":
        source = "by a constant" if row.from_name is None else f"from {_source(row)}"
        return f"{job} feeds {subject} {source}, after {row.without} runs in which it did not."
    source = "by a constant" if row.from_name is None else f"from {_source(row)}"
    rest = "" if row.still_fed else "; nothing feeds it any more"
    return f"{job} no longer feeds {subject} {source}: {row.without} runs since run {row.last_run_id}{rest}."
