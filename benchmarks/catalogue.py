"""The invented company whose jobs the benchmark events come from: datasets, jobs, and their event templates.

What is the same in every event of a job (schemas, column lineage, SQL, owners) is serialised once per job and
event type, here. The generator only fills in ids, times and counts, so that making the events is not what a
benchmark measures.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from lineagelog.spec import CURRENT, DEFINITIONS, FacetBuilder

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

type Json = dict[str, Any]

EVENT_SCHEMA = CURRENT.event("RunEvent")
GOVERNANCE_SCHEMA = (
    "https://egeria-project.org/openlineage/facets/1-0-0/EgeriaGovernanceActionRunFacet.json"
    "#/$defs/EgeriaGovernanceActionRunFacet"
)
GROUP = 4  # jobs of one group run together: the tasks of a DAG, the models of a dbt project

SUBJECTS = (
    "orders", "customers", "invoices", "shipments", "payments", "returns", "products", "stock",
    "suppliers", "campaigns", "sessions", "tickets", "contracts", "meters", "claims", "prices",
)  # fmt: skip
WORDS = (
    "customer", "order", "invoice", "item", "price", "tax", "store", "carrier",
    "supplier", "campaign", "currency", "region", "batch", "parcel", "contract", "channel",
)  # fmt: skip
COLUMN_KINDS = (
    ("id", "BIGINT"), ("code", "VARCHAR"), ("at", "TIMESTAMP"), ("amount", "DECIMAL"),
    ("status", "VARCHAR"), ("name", "VARCHAR"), ("count", "INTEGER"), ("flag", "BOOLEAN"),
)  # fmt: skip

# What the groups of jobs are, how often they run and how much they read: cycles, not chance, so that the mix
# is the same for every seed.
INTEGRATIONS = ("AIRFLOW", "SPARK", "DBT", "AIRFLOW", "SPARK")
WEIGHTS = (24, 4, 1, 4, 24, 1, 2)
INPUTS = (1, 2, 4, 2, 3, 1, 2, 4, 1, 2, 3)
ENGINES = {"AIRFLOW": ("Airflow", "3.1.2"), "SPARK": ("spark", "4.0.1"), "DBT": ("dbt", "1.10.4")}
TIME_SLOTS = {"AIRFLOW": "<<micros>>+00:00", "SPARK": "<<millis>>Z", "DBT": "<<micros>>Z"}


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset; `later` are its columns from `changes_at` on (a share of the time span, None = never)."""

    namespace: str
    name: str
    columns: tuple[tuple[str, str], ...]
    later: tuple[tuple[str, str], ...]
    changes_at: float | None
    rows: float
    """Rows of a usual run; single runs scatter around it."""
    addressed: bool
    """Whether its events name the data source."""
    described: bool

    def columns_at(self, moment: float) -> tuple[tuple[str, str], ...]:
        """Return the columns at a moment (share of the time span)."""
        return self.columns if self.changes_at is None or moment < self.changes_at else self.later


@dataclass(frozen=True, slots=True)
class Job:
    """One job: what it reads and writes, how often and how long it runs, how often it fails."""

    integration: str
    namespace: str
    name: str
    group: int
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]
    weight: int
    """Runs of this job relative to the others."""
    seconds: float
    """Median duration of a run."""
    failing: float
    """Share of the runs that fail."""
    governed: bool
    """Whether an Egeria governance action starts it."""
    wordy: bool
    """Whether it names the schema of its first input in every event, not only in the last one of a run."""

    @property
    def producer(self) -> str:
        """The producer URI its events carry."""
        return f"https://example.invalid/{self.integration.lower()}/1.40.1"

    @property
    def changes(self) -> tuple[float, ...]:
        """The moments at which one of its datasets changes its schema."""
        moments = (dataset.changes_at for dataset in self.inputs + self.outputs)
        return tuple(sorted({moment for moment in moments if moment is not None}))


@dataclass(frozen=True, slots=True)
class Template:
    """An event with holes: `text % pick(values)` is the event."""

    text: bytes
    pick: Callable[[dict[str, bytes]], tuple[bytes, ...]]
    counted: tuple[int, ...]
    """Numbers of the datasets (inputs, then outputs) whose rows, size and files are asked for."""
    checks: tuple[int, ...]
    """Numbers of the quality checks whose result is asked for."""


def make_jobs(count: int, rng: Random) -> list[Job]:
    """Return `count` jobs over a shared graph of datasets: sources first, then what earlier jobs wrote."""
    pool = [_dataset(number, "source", rng) for number in range(max(4, count // 4))]
    jobs = []
    for number in range(count):
        group = number // GROUP
        integration = INTEGRATIONS[group % len(INTEGRATIONS)]
        tests_only = integration == "DBT" and number % GROUP == GROUP - 1
        wanted = 1 if tests_only else INPUTS[number % len(INPUTS)]
        inputs = tuple(rng.sample(pool[-60:], min(wanted, len(pool))))
        written = 0 if tests_only else 2 if number % 9 == 0 else 1
        outputs = tuple(_dataset(number * 2 + extra, integration, rng) for extra in range(written))
        pool.extend(outputs)
        jobs.append(_job(number, group, integration, inputs, outputs, rng))
    return jobs


def _job(
    number: int,
    group: int,
    integration: str,
    inputs: tuple[Dataset, ...],
    outputs: tuple[Dataset, ...],
    rng: Random,
) -> Job:
    subject = SUBJECTS[number % len(SUBJECTS)]
    verb = {"AIRFLOW": "load", "SPARK": "build", "DBT": "model" if outputs else "test"}[integration]
    return Job(
        integration=integration,
        namespace=f"{integration.lower()}-prod",
        name=f"{_group_name(integration, group)}.{verb}_{subject}_{number:03d}",
        group=group,
        inputs=inputs,
        outputs=outputs,
        weight=WEIGHTS[group % len(WEIGHTS)],
        seconds=rng.lognormvariate(5.0, 1.0),
        failing=0.25 if number % 40 == 7 else 0.03,
        governed=number % 20 == 3,
        wordy=number % 4 == 1,
    )


def _group_name(integration: str, group: int) -> str:
    kind = {"AIRFLOW": "dag", "SPARK": "app", "DBT": "project"}[integration]
    return f"{SUBJECTS[group % len(SUBJECTS)]}_{kind}_{group:02d}"


def _dataset(number: int, origin: str, rng: Random) -> Dataset:
    subject = SUBJECTS[number % len(SUBJECTS)]
    namespace, name = {
        "source": ("postgres://erp-db.kestrel.example:5432", f"erp.public.{subject}_{number:03d}"),
        "AIRFLOW": ("s3://kestrel-lake", f"landing/{subject}_{number:03d}"),
        "SPARK": ("s3://kestrel-lake", f"warehouse/silver.db/{subject}_{number:03d}"),
        "DBT": ("snowflake://kestrel-eu.west", f"ANALYTICS.MART.{subject.upper()}_{number:03d}"),
    }[origin]
    kinds = rng.sample([(f"{word}_{end}", kind) for word in WORDS for end, kind in COLUMN_KINDS], 41)
    width = round(rng.triangular(20, 40, 21))
    return Dataset(
        namespace=namespace,
        name=name,
        columns=tuple(kinds[:width]),
        later=tuple(kinds[: width + 1]),
        changes_at=rng.uniform(0.1, 0.9) if number % 20 == 5 else None,
        rows=rng.lognormvariate(10.0, 1.8),
        addressed=number % 7 < 3,
        described=number % 7 in {2, 5},
    )


def make_template(job: Job, event_type: str, moment: float, *, spaced: bool) -> Template:
    """Serialise the events of one type that `job` sends at a moment (share of the time span).

    Compact UTF-8 in the order of the specification's fields, as the Java client writes it; `spaced` gives
    what the Python client's `Serde.to_json` writes: `json.dumps` with its defaults and sorted keys.
    """
    event = _event(job, event_type, moment)
    if spaced:
        text = json.dumps(event, sort_keys=True).encode()
    else:
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
    slots: list[str] = []

    def hole(found: re.Match[bytes]) -> bytes:
        slots.append((found[1] or found[2]).decode())
        return b"%b"

    text = re.sub(rb'"<<#([a-z0-9.]+)>>"|<<([a-z0-9.]+)>>', hole, text.replace(b"%", b"%%"))
    return Template(text, itemgetter(*slots), _numbers(slots, "rows."), _numbers(slots, "check."))


def _numbers(slots: list[str], kind: str) -> tuple[int, ...]:
    return tuple(sorted({int(slot.removeprefix(kind)) for slot in slots if slot.startswith(kind)}))


def _event(job: Job, event_type: str, moment: float) -> Json:
    sides = len(job.inputs)
    ended = event_type not in {"START", "RUNNING"}
    return {
        "eventTime": TIME_SLOTS[job.integration],
        "producer": job.producer,
        "schemaURL": EVENT_SCHEMA,
        "eventType": event_type,
        "run": {"runId": "<<run>>", "facets": _run_facets(job, event_type)},
        "job": {"namespace": job.namespace, "name": job.name, "facets": _job_facets(job)},
        "inputs": [_input(job, n, dataset, moment, ended) for n, dataset in enumerate(job.inputs)],
        "outputs": [_output(job, n, dataset, moment, event_type) for n, dataset in enumerate(job.outputs, start=sides)],
    }


def _run_facets(job: Job, event_type: str) -> Json:
    name, version = ENGINES[job.integration]
    group = _group_name(job.integration, job.group)
    facets = facet(
        job,
        "ParentRunFacet",
        run={"runId": "<<parent>>"},
        job={"namespace": job.namespace, "name": group},
    ) | facet(job, "ProcessingEngineRunFacet", name=name, version=version, openlineageAdapterVersion="1.40.1")
    if job.integration != "SPARK":
        facets |= facet(job, "NominalTimeRunFacet", nominalStartTime="<<nominal>>Z", nominalEndTime="<<nominalend>>Z")
    if job.governed:
        facets |= _governance(job)
    if event_type == "FAIL":
        facets |= _error(job)
    if event_type in {"COMPLETE", "FAIL"} and not job.outputs:
        facets |= facet(job, "TestRunFacet", tests=[_test(n, column) for n, column in enumerate(_checked(job))])
    return facets


def _governance(job: Job) -> Json:
    return {
        "egeria_governanceAction": {
            "_producer": "https://egeria-project.org/",
            "_schemaURL": GOVERNANCE_SCHEMA,
            "iscQualifiedName": "InformationSupplyChain::Kestrel order to cash",
            "engineActionGUID": "<<parent>>",
            "governanceEngineName": "KestrelPipelines",
            "requestType": f"run-{job.integration.lower()}",
            "processName": f"GovernanceActionProcess::{_group_name(job.integration, job.group)}",
            "processStepName": f"GovernanceActionProcessStep::{job.name}",
        }
    }


def _error(job: Job) -> Json:
    frames = "\n".join(
        f"\tat example.kestrel.{job.integration.lower()}.Step{n}.run(Step.java:{n * 31})" for n in range(7)
    )
    return facet(
        job,
        "ErrorMessageRunFacet",
        message="Batch <<code>> rejected: value out of range",
        programmingLanguage="JAVA" if job.integration == "SPARK" else "PYTHON",
        stackTrace=f"RuntimeError: batch <<code>> rejected\n{frames}",
    )


def _job_facets(job: Job) -> Json:
    facets = facet(
        job,
        "JobTypeJobFacet",
        processingType="BATCH",
        integration=job.integration,
        jobType={"AIRFLOW": "TASK", "SPARK": "SQL_JOB", "DBT": "MODEL" if job.outputs else "TEST"}[job.integration],
    ) | facet(job, "OwnershipJobFacet", owners=[{"name": f"team:data-{job.group % 6}", "type": "MAINTAINER"}])
    if job.integration != "SPARK":
        facets |= facet(job, "SQLJobFacet", query=_query(job), dialect="snowflake")
        facets |= facet(
            job,
            "SourceCodeLocationJobFacet",
            type="git",
            url=f"https://git.kestrel.example/data/{job.name.replace('.', '/')}.py",
            version="2f9c1e7a0b4d5e6f8091a2b3c4d5e6f708192a3b",
        )
    if job.governed or job.wordy:
        text = f"Lädt {job.name}: nightly and hourly loads — 'at least once', 5 % tolerance."
        facets |= facet(job, "DocumentationJobFacet", description=text, contentType="text/plain")
    return facets


def _query(job: Job) -> str:
    columns = ",\n  ".join(f"a.{name}" for name, _ in job.inputs[0].columns[:8])
    joins = "\n".join(f"JOIN {d.name} t{n} USING (batch_id)" for n, d in enumerate(job.inputs[1:]))
    return f"SELECT\n  {columns}\nFROM {job.inputs[0].name} a\n{joins}\nWHERE a.updated >= '{{{{ ds }}}}'"


def _input(job: Job, number: int, dataset: Dataset, moment: float, ended: bool) -> Json:
    measured: Json = {}
    if ended:
        measured = facet(job, "InputStatisticsInputDatasetFacet", **_counts(number))
        if job.integration == "DBT":
            results = [
                {"assertion": kind, "success": f"<<#check.{n}>>", "column": column, "severity": severity}
                for n, (column, kind, severity) in enumerate(_checked(job))
            ]
            measured |= facet(job, "DataQualityAssertionsDatasetFacet", assertions=results)
    facets = {"inputFacets": measured} if measured else {}
    return _common(job, dataset, moment, schema=number == 0 and (ended or job.wordy)) | facets


def _output(job: Job, number: int, dataset: Dataset, moment: float, event_type: str) -> Json:
    ended = event_type not in {"START", "RUNNING"}
    entry = _common(job, dataset, moment, schema=ended)
    facets: Json = entry["facets"]
    if ended:
        facets |= facet(job, "ColumnLineageDatasetFacet", fields=_lineage(job, dataset, moment))
    if event_type == "START":
        return entry
    if event_type == "COMPLETE":
        if job.integration == "SPARK":
            facets |= facet(job, "DatasetVersionDatasetFacet", datasetVersion="<<version>>")
        if job.integration != "AIRFLOW":
            change = "CREATE" if job.integration == "DBT" else "OVERWRITE"
            facets |= facet(job, "LifecycleStateChangeDatasetFacet", lifecycleStateChange=change)
    measured = facet(job, "OutputStatisticsOutputDatasetFacet", **_counts(number))
    if job.integration == "AIRFLOW":
        measured |= _partition(job)
    return entry | {"outputFacets": measured}


def _partition(job: Job) -> Json:
    condition = {"type": "partition", "partitions": [{"dimensions": {"day": "<<day>>"}}]}
    return facet(job, "OutputSubsetOutputDatasetFacet", outputCondition=condition)


def _common(job: Job, dataset: Dataset, moment: float, *, schema: bool) -> Json:
    facets: Json = {}
    if dataset.addressed:
        facets |= facet(job, "DatasourceDatasetFacet", name=dataset.namespace, uri=dataset.namespace)
    if schema:
        fields = [{"name": name, "type": kind} for name, kind in dataset.columns_at(moment)]
        facets |= facet(job, "SchemaDatasetFacet", fields=fields)
    if dataset.described:
        text = f"{dataset.name}: größter Bestand je Tag, one row per business key → see handbook."
        facets |= facet(job, "DocumentationDatasetFacet", description=text)
        facets |= facet(job, "OwnershipDatasetFacet", owners=[{"name": "team:data-office", "type": "OWNER"}])
    return {"namespace": dataset.namespace, "name": dataset.name, "facets": facets}


def _lineage(job: Job, dataset: Dataset, moment: float) -> Json:
    """Feed every eighth column of an output from one or two input columns."""
    fields: Json = {}
    for n, (name, _) in enumerate(dataset.columns_at(moment)[::8]):
        sources = [job.inputs[n % len(job.inputs)], job.inputs[0]][: 1 + n % 2]
        kind = {"type": "DIRECT", "subtype": "TRANSFORMATION" if n % 2 else "IDENTITY"}
        fields[name] = {
            "inputFields": [
                {
                    "namespace": source.namespace,
                    "name": source.name,
                    "field": source.columns[n % len(source.columns)][0],
                    "transformations": [kind],
                }
                for source in sources
            ]
        }
    return fields


def _counts(number: int) -> Json:
    return {
        "rowCount": f"<<#rows.{number}>>",
        "size": f"<<#size.{number}>>",
        "fileCount": f"<<#files.{number}>>",
    }


def _checked(job: Job) -> list[tuple[str, str, str]]:
    """Return (column, kind of check, severity) of what the job checks on its first input."""
    kinds = ("not_null", "unique", "accepted_values", "relationships")
    wanted = 6 if not job.outputs else 2
    columns = job.inputs[0].columns[:wanted]
    return [(name, kinds[n % 4], "warn" if n % 3 == 2 else "error") for n, (name, _) in enumerate(columns)]


def _test(number: int, check: tuple[str, str, str]) -> Json:
    column, kind, severity = check
    return {"name": f"{kind}_{column}", "status": f"<<status.{number}>>", "type": kind, "severity": severity}


def facet(job: Job, definition: str, /, **content: Any) -> Json:
    """Return one facet under its own key, with the address of its definition in the specification."""
    defined = DEFINITIONS[definition]
    return {defined.key: FacetBuilder(job.producer).at(defined.address, content)}
