"""Column lineage drift: the columns that are no longer fed from where they were, or are fed from somewhere new."""

from __future__ import annotations

from typing import Final

from lineagelog.analysis import Analysis, Finding, Severity, Subject, each, place
from lineagelog.shown import counted

from .drift import HISTORY, METHOD, RUNS, Drift


class Feed(Drift, frozen=True, kw_only=True):
    """A row: a source of a column that is new or lost."""

    dataset_namespace: str
    dataset_name: str
    column_name: str | None
    """None: the source feeds the whole dataset."""
    from_namespace: str | None
    from_name: str | None
    """None: the column has lineage, and no source (a constant)."""
    from_column: str | None
    still_fed: bool
    """Whether the job's last run feeds the column from anywhere."""

    @property
    def subject(self) -> Subject:
        """The column that is fed, or the dataset."""
        if self.column_name is None:
            return Subject("dataset", self.dataset_namespace or None, self.dataset_name)
        return Subject("column", self.dataset_namespace or None, self.dataset_name, self.column_name)

    @property
    def source(self) -> str | None:
        """The column that feeds it; None for a constant."""
        return None if self.from_name is None else f"{place(self.from_namespace, self.from_name)}#{self.from_column}"


def judge(row: Feed) -> Finding:
    """A column that nothing feeds any more matters most."""
    return Finding(
        subject=row.subject,
        change=f"{row.change} source",
        detail=f"{row.source or 'no source'} by {row.job}",
        severity=_severity(row),
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
        **row.judgement(),
    )


def _severity(row: Feed) -> Severity:
    if row.is_new:
        return Severity.LOW
    return Severity.MEDIUM if row.still_fed or row.source is None else Severity.HIGH


def _sentence(row: Feed) -> str:
    way = "by a constant" if row.source is None else f"from {row.source}"
    if row.is_new:
        return f"{row.job} feeds {row.subject} {way}, after {counted(row.without, 'runs')} in which it did not."
    rest = "" if row.still_fed else "; nothing feeds it any more"
    runs = counted(row.without, "runs")
    return f"{row.job} no longer feeds {row.subject} {way}: {runs} since run {row.last_run_id}{rest}."


ANALYSIS: Final = Analysis(
    name="column_lineage_drift",
    question="Which column stopped being fed from where, and which is fed from somewhere new?",
    about="The column lineage of a job is compared with that of its own completed executions. High: nothing feeds the "
    "column any more.",
    method=METHOD,
    parameters=(HISTORY, RUNS),
    row=Feed,
    explain=each(judge),
    example="--since -1d --json",
)
