"""Root cause: what went wrong first, upstream of a bad dataset, job or run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from lineagelog.analysis import (
    Analysis,
    Finding,
    Given,
    JobEvidence,
    Parameter,
    Severity,
    Subject,
    WholeNumber,
    place,
)
from lineagelog.event.run_ids import stored_run_id

from .drift import HISTORY

_KINDS: Final = {
    "failed": ("failed {times}", Severity.HIGH),
    "missing": ("did not run when it was due", Severity.HIGH),
    "no rows": ("wrote no rows to {dataset}, {times}", Severity.HIGH),
    "test failed": ("had {test} fail {times}", Severity.HIGH),
    "aborted": ("was aborted {times}", Severity.MEDIUM),
    "late": ("began late {times}", Severity.MEDIUM),
    "few rows": ("wrote less than half of its usual rows to {dataset}, {times}", Severity.MEDIUM),
    "schema": ("used {dataset} with another schema than before, {times}", Severity.MEDIUM),
    "test warned": ("had {test} warn {times}", Severity.LOW),
    "column lineage": ("fed the columns of {dataset} otherwise than before, {times}", Severity.LOW),
    "inputs": ("read other datasets than before, {times}", Severity.LOW),
}
_WEIGHT: Final = {Severity.LOW: 1.0, Severity.MEDIUM: 3.0, Severity.HIGH: 9.0}
_PER_STEP: Final = 0.9
"""A step more between cause and effect makes the cause a little less likely."""


class Symptom(JobEvidence, frozen=True, kw_only=True):
    """A row: something that went wrong with a job upstream."""

    job_key: str
    feeds: list[str] | None
    """Keys of the jobs that read what it writes, on the way; none: it writes the dataset that was asked about."""
    depth: int
    kind: str
    dataset_namespace: str | None
    dataset_name: str | None
    test: str | None
    is_well: bool
    """Its last execution before the data was used has completed."""
    times: int

    @property
    def is_healed(self) -> bool:
        """A failure that a success has followed before the data was used."""
        return self.is_well and self.kind in ("failed", "aborted")

    @property
    def severity(self) -> Severity:
        """By what happened; low where it was over in time."""
        return Severity.LOW if self.is_healed else _KINDS[self.kind][1]

    @property
    def deed(self) -> str:
        """What happened, in words."""
        dataset = place(self.dataset_namespace, self.dataset_name) if self.dataset_name else "the job"
        test = f"{self.test or 'a test'} of {dataset}" if self.dataset_name else (self.test or "a test")
        return _KINDS[self.kind][0].format(
            times="once" if self.times == 1 else f"{self.times} times", dataset=dataset, test=test
        )


def explain(rows: Iterable[Symptom], _: Given) -> list[Finding]:
    """One finding a symptom, the likeliest cause first.

    Its score is severity (1, 3 or 9) × precedence (1, divided by one more than the jobs upstream of it that went wrong
    no later) × 0.9 for each step beyond the first.
    """
    symptoms = list(rows)
    upstream = _upstream(symptoms)
    began: dict[str, Symptom] = {}
    for each in symptoms:
        if not each.is_healed and each.severity is not Severity.LOW:
            began[each.job_key] = min(began.get(each.job_key, each), each, key=lambda one: one.first_seen)
    found = []
    for each in symptoms:
        earlier = sorted(
            (began[key] for key in upstream[each.job_key] & began.keys() if began[key].first_seen <= each.first_seen),
            key=lambda one: (one.first_seen, one.job_key),
        )
        score = _WEIGHT[each.severity] / (1 + len(earlier)) * _PER_STEP ** (each.depth - 1)
        found.append((score, each, earlier))
    found.sort(key=lambda one: (-one[0], one[1].first_seen))
    return [_finding(rank, *one) for rank, one in enumerate(found, 1)]


def _upstream(symptoms: Iterable[Symptom]) -> Mapping[str, frozenset[str]]:
    """Of each job the others with symptoms whose data reaches it, through jobs that had none, too."""
    feeds = {each.job_key: frozenset(each.feeds or ()) for each in symptoms}
    reached: dict[str, set[str]] = {key: set() for key in feeds}
    for key in feeds:
        ahead, seen = [*feeds[key]], {key}
        while ahead:
            if (job := ahead.pop()) in seen:
                continue
            seen.add(job)
            ahead += feeds.get(job, ())
            if job in reached:
                reached[job].add(key)
    return {key: frozenset(others) for key, others in reached.items()}


def _finding(rank: int, score: float, row: Symptom, earlier: list[Symptom]) -> Finding:
    about = row.subject
    steps = "1 step" if row.depth == 1 else f"{row.depth} steps"
    if row.is_healed:
        why = "but completed in time"
    elif earlier:
        first = earlier[0]
        why = f"after {first.subject}, upstream of it, {first.deed}"
    else:
        why = "and nothing upstream of it went wrong before"
    evidence = row.evidence
    if row.dataset_name is not None or row.test is not None:
        evidence["subject"] = _subject(row)
    hidden = ("job_key", "feeds", "is_well", "dataset_namespace", "dataset_name")
    own = {name: value for name, value in evidence["values"].items() if name not in hidden}
    evidence["values"] = {
        "rank": rank,
        **own,
        "job_namespace": row.job_namespace or None,
        "job_name": row.job_name,
        "is_healed": row.is_healed,
        "after": [str(each.subject) for each in earlier],
    }
    return Finding(
        change=row.kind,
        detail=" ".join((str(about), row.test or "")).strip(),
        severity=row.severity,
        observed=row.deed,
        expected="as before",
        score=round(score, 3),
        explanation=f"{about} {row.deed}, {steps} upstream, first at {row.first_seen:%Y-%m-%d %H:%M} UTC, {why}.",
        **evidence,
    )


def _subject(row: Symptom) -> Subject:
    """The dataset, or the test of a dataset or job."""
    job = row.subject
    namespace, name = (row.dataset_namespace, row.dataset_name) if row.dataset_name else (job.namespace, job.name)
    return Subject("dataset" if row.test is None else "test", namespace or None, name, test=row.test)


ANALYSIS: Final = Analysis(
    name="root_cause",
    question="What went wrong first, upstream of a bad dataset, job or run?",
    about="Follows lineage against the flow of data, backwards in time, and ranks what went wrong there in the window: "
    "failed, aborted, late and missing runs, outputs with no or few rows, failed tests, changed schemas and lineage. "
    "The likeliest cause first: severe, with nothing upstream of it that went wrong before, and near.",
    parameters=(
        Parameter(name="dataset", meaning="The dataset that is bad at the window's end.", metavar="NAME"),
        Parameter(name="dataset_namespace", meaning="Its namespace.", metavar="NAME"),
        Parameter(
            name="job", meaning="In place of a dataset: the job whose last failure is looked into.", metavar="NAME"
        ),
        Parameter(name="job_namespace", meaning="Its namespace.", metavar="NAME"),
        Parameter(
            name="run_id",
            meaning="In place of a dataset: the run that is bad.",
            metavar="RUN_ID",
            as_stored=stored_run_id,
        ),
        HISTORY,
        WholeNumber(name="depth", meaning="How many steps to follow.", default="10", lowest=1, highest=99),
    ),
    one_of=("dataset", "job", "run_id"),
    row=Symptom,
    explain=explain,
    method="upstream walk; severity, precedence and distance",
    where_nothing_is_found=": nothing upstream went wrong, or the name is spelled otherwise in the log",
    example="--dataset shop.public.orders --dataset-namespace postgres://db:5432 --since -2d",
)
