"""Blast radius: what is downstream of a bad dataset or of a bad run, and who read it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import Struct

from lineagelog.analysis import Analysis, Finding, Joins, Parameter, Severity, Subject, WholeNumber, each, place
from lineagelog.event.run_ids import stored_run_id
from lineagelog.shown import counted


class Reach(Struct, frozen=True, kw_only=True):
    """A row: a job that read bad data, and a dataset that it wrote with it."""

    depth: int
    """Steps from the start."""
    job_namespace: str
    job_name: str
    from_namespace: str
    from_name: str
    to_namespace: str | None
    to_name: str | None
    """None: the job wrote nothing, or only what was bad already."""
    first_seen: datetime
    last_seen: datetime
    runs: int
    run_ids: list[str]
    other_version: bool
    """All these runs named another version of a dataset than the bad one, or read what came of such a run."""


def judge(row: Reach) -> Finding:
    """The subject is the dataset that was reached, or the job where it ends."""
    job, source = place(row.job_namespace, row.job_name), place(row.from_namespace, row.from_name)
    if row.to_name is not None:
        subject = Subject("dataset", row.to_namespace or None, row.to_name)
        deed = f"and wrote {subject}"
    else:
        subject = Subject("job", row.job_namespace or None, row.job_name)
        deed = "and wrote nothing that was not bad already"
    runs = counted(row.runs, "runs")
    if row.other_version:
        deed += ", naming another version than the bad one"
    return Finding(
        subject=subject,
        change="reached",
        detail=f"{source} by {job}",
        observed=f"depth {row.depth}",
        expected="untouched",
        score=float(row.depth),
        n=row.runs,
        severity=Severity.LOW if row.other_version else Severity.HIGH if row.depth == 1 else Severity.MEDIUM,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        run_ids=tuple(row.run_ids),
        explanation=f"{job} read {source} {deed} ({runs}, {row.depth} from the start).",
        values={
            "depth": row.depth,
            "job_namespace": row.job_namespace or None,
            "job_name": row.job_name,
            "from_namespace": row.from_namespace or None,
            "from_name": row.from_name,
            "other_version": row.other_version,
        },
    )


ANALYSIS: Final = Analysis(
    name="blast_radius",
    question="What is downstream of a bad dataset or run, and who read it?",
    about="Follows the data in the order of time: who read it after the bad write, what they wrote, who read that, and "
    "so on.",
    parameters=(
        Parameter(name="dataset", meaning="The dataset that is bad from the window's start on.", metavar="NAME"),
        Parameter(name="dataset_namespace", meaning="Its namespace.", metavar="NAME"),
        Parameter(
            name="run_id",
            meaning="In place of a dataset: the run whose outputs are bad.",
            metavar="RUN_ID",
            as_stored=stored_run_id,
        ),
        WholeNumber(name="depth", meaning="How many steps to follow.", default="10", lowest=1, highest=99),
    ),
    one_of=("dataset", "run_id"),
    row=Reach,
    explain=each(judge),
    method="reads after the bad write, run by run",
    joins=Joins.INDEX,
    where_nothing_is_found=": nobody read it, or its name is spelled otherwise in the log (lineagelog list datasets)",
    example="--dataset shop.public.orders --dataset-namespace postgres://db:5432 --since -2d",
)
