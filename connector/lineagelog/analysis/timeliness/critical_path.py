"""Critical path: which jobs a product waits for, and how much each of the others could take longer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final

from msgspec import Struct

from lineagelog.analysis import Analysis, Finding, Given, Parameter, Severity, Span, Subject, place
from lineagelog.analysis.words import span
from lineagelog.event.run_ids import stored_run_id


class PathStep(Struct, frozen=True, kw_only=True):
    """A row: an execution that a product run had to wait for, or the product run itself."""

    product_key: str
    execution_key: str
    run_id: str
    job_namespace: str
    job_name: str
    began: datetime
    ended: datetime
    feeds: list[str]
    """Keys of the executions that read what it wrote."""

    @property
    def seconds(self) -> float:
        """How long it took; none where a clock is wrong."""
        return max((self.ended - self.began).total_seconds(), 0.0)

    @property
    def job(self) -> Subject:
        """Whose execution it is."""
        return Subject("job", self.job_namespace or None, self.job_name)


class PathPart(Struct, frozen=True):
    """What an execution is to its product run."""

    step: PathStep
    slack: float
    """Seconds that it could have taken longer without being on the longest path."""
    is_critical: bool
    path: str
    """The longest path of the product run: jobs in the order of time."""
    seconds: float
    """Of that path."""


def parts(steps: Sequence[PathStep]) -> Iterator[PathPart]:
    """Of one product run: the longest path by the time that executions took, and the slack of each.

    The slack of an execution is the length of the longest path less that of the longest path through it.
    """
    known = {step.execution_key: step for step in steps}
    after = {step.execution_key: [key for key in step.feeds if key in known] for step in steps}
    before: dict[str, list[str]] = defaultdict(list)
    for key, others in after.items():
        for other in others:
            before[other].append(key)
    order = sorted(steps, key=lambda step: (step.began, step.execution_key))
    until = _longest(order, before)
    since = _longest(order[::-1], after)
    whole = max(until.values())
    path: list[PathStep] = []
    ahead: list[str] = [key for key in known if not after[key]]
    while ahead:
        path.insert(0, known[max(ahead, key=lambda key: (until[key], key))])
        ahead = before[path[0].execution_key]
    jobs = " → ".join(place(step.job_namespace, step.job_name) for step in path)
    chosen = {step.execution_key for step in path}
    for step in order:
        key = step.execution_key
        slack = max(whole - (until[key] + since[key] - step.seconds), 0.0)
        yield PathPart(step, slack, key in chosen, jobs, whole)


def _longest(order: Iterable[PathStep], neighbours: Mapping[str, list[str]]) -> dict[str, float]:
    """Seconds of the longest path up to and with each execution, its neighbours before it in the order."""
    found: dict[str, float] = {}
    for step in order:
        reached = [found[key] for key in neighbours.get(step.execution_key, ())]
        found[step.execution_key] = step.seconds + max(reached, default=0.0)
    return found


def explain(rows: Iterable[PathStep], _: Given) -> list[Finding]:
    """One finding a job: those that took the most time on the path first, then the others by their slack."""
    of_job: dict[Subject, list[PathPart]] = defaultdict(list)
    runs = 0
    for _key, steps in groupby(rows, key=lambda row: row.product_key):
        runs += 1
        for part in parts(list(steps)):
            of_job[part.step.job].append(part)
    found = [_finding(job, own, runs) for job, own in of_job.items()]
    return sorted(
        found, key=lambda each: (-each.values["critical_seconds"], each.values["slack_seconds"], each.subject.name)
    )


def _finding(job: Subject, own: list[PathPart], runs: int) -> Finding:
    critical = [part for part in own if part.is_critical]
    spent = sum(part.step.seconds for part in critical)
    share = spent / whole if (whole := sum(part.seconds for part in critical)) else 0.0
    slack = min(part.slack for part in own)
    times = f"{len(critical)} of {runs} product run{'' if runs == 1 else 's'}"
    if critical:
        sentence = f"{job} was on the longest path of {times}, with {span(spent)} in all, {share:.0%} of it."
    else:
        sentence = f"{job} was never on the longest path: it could have taken at least {span(slack)} longer."
    shown = critical or own
    return Finding(
        subject=job,
        change="critical" if critical else "slack",
        severity=Severity.MEDIUM if share >= 0.5 and len(shown[-1].path.split(" → ")) > 1 else Severity.LOW,
        observed=f"on the path of {times}" if critical else f"slack of {span(slack)}",
        expected="no single job takes half of the path",
        score=round(share, 3),
        n=runs,
        first_seen=min(part.step.began for part in shown),
        last_seen=max(part.step.ended for part in shown),
        run_ids=tuple(dict.fromkeys(part.step.run_id for part in reversed(shown)))[:10],
        explanation=sentence,
        values={
            "critical_runs": len(critical),
            "product_runs": runs,
            "critical_seconds": spent,
            "share": round(share, 4),
            "slack_seconds": slack,
            "path": shown[-1].path,
            "path_seconds": shown[-1].seconds,
        },
    )


ANALYSIS: Final = Analysis(
    name="critical_path",
    question="Which job delays the final product?",
    about="Goes back from each completed run that wrote the product to the runs that it had to wait for, and finds the "
    "longest path by the time that they took: what is on it delays the product; what is not has slack, the time that "
    "it could take longer without being on it. Medium: one job takes half of the path.",
    parameters=(
        Parameter(name="dataset", meaning="The product.", metavar="NAME"),
        Parameter(name="dataset_namespace", meaning="Its namespace.", metavar="NAME"),
        Parameter(
            name="run_id",
            meaning="In place of a dataset: the run that made the product.",
            metavar="RUN_ID",
            as_stored=stored_run_id,
        ),
        Span(name="history", meaning="How far before the window runs are followed back.", default="2 days"),
    ),
    one_of=("dataset", "run_id"),
    row=PathStep,
    explain=explain,
    method="longest path by duration",
    where_nothing_is_found=": nothing wrote the product in the window, or its name is spelled otherwise in the log",
    example="--dataset shop.public.mart --dataset-namespace postgres://db:5432 --since -1w",
)
