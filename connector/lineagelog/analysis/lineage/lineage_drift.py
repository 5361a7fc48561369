"""Lineage drift: the inputs and outputs of a job that are new, or have vanished."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lineagelog.analysis import Analysis, Finding, Given, Severity, Subject, place
from lineagelog.shown import counted

from .drift import HISTORY, METHOD, RUNS, Drift


class Change(Drift, frozen=True, kw_only=True):
    """A row: an input, an output or a flow that is new or has vanished."""

    kind: str
    """input, output or flow: from which input rows go to which output, where single steps of a run are known."""
    dataset_namespace: str
    dataset_name: str
    target_namespace: str | None
    """Of a flow."""
    target_name: str | None

    @property
    def thing(self) -> str:
        """The dataset, or the two of a flow."""
        dataset = place(self.dataset_namespace, self.dataset_name)
        return dataset if self.target_name is None else f"{dataset} → {place(self.target_namespace, self.target_name)}"


def explain(rows: Iterable[Change], _: Given) -> list[Finding]:
    """A flow is only told of where both its ends stayed: otherwise the ends tell it."""
    found = list(rows)
    ends = {(row.job, row.change, row.thing) for row in found if row.kind != "flow"}
    return [_finding(row) for row in found if row.kind != "flow" or not (_ends_of(row) & ends)]


def _ends_of(row: Change) -> set[tuple[str, str, str]]:
    ends = place(row.dataset_namespace, row.dataset_name), place(row.target_namespace, row.target_name or "")
    return {(row.job, row.change, end) for end in ends}


def _finding(row: Change) -> Finding:
    runs = counted(row.without, "runs")
    if row.is_new:
        sentence = f"{row.job} has a new {row.kind} {row.thing}, after {runs} without it."
    else:
        sentence = f"{row.job} no longer has the {row.kind} {row.thing}: {runs} since run {row.last_run_id}."
    return Finding(
        subject=Subject("job", row.job_namespace or None, row.job_name),
        change=f"{row.change} {row.kind}",
        detail=row.thing,
        severity=Severity.LOW if row.is_new else Severity.MEDIUM,
        explanation=sentence,
        values={
            "kind": row.kind,
            "dataset_namespace": row.dataset_namespace or None,
            "dataset_name": row.dataset_name,
            "target_namespace": row.target_namespace or None,
            "target_name": row.target_name,
            "runs_without": row.without,
        },
        **row.judgement(),
    )


ANALYSIS: Final = Analysis(
    name="lineage_drift",
    question="Which inputs and outputs of a job are new, and which have vanished?",
    about="A job is compared with its own completed executions. Through SnapLogic's Snaps lineage is followed from "
    "table to table.",
    method=METHOD,
    parameters=(HISTORY, RUNS),
    row=Change,
    explain=explain,
    example="--since -1d --history '2 weeks'",
)
