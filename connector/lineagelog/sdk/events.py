"""Events as objects of the OpenLineage client, from and to plain values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

from openlineage.client import event_v2
from openlineage.client.facet_v2 import parent_run, tags_job, tags_run

from .facets import PRODUCER, Dataset, Facet
from .guard import describe, warn_once

EventType = event_v2.RunState
"""START, RUNNING, COMPLETE, ABORT, FAIL, OTHER."""

type Event = event_v2.RunEvent | event_v2.JobEvent | event_v2.DatasetEvent
type RunFacets = dict[str, Any]


def run_uuid(given: object) -> str:
    """A run's id: a new UUID v4 for None, the given UUID, else the UUID v5 of the given text (always the same one)."""
    if given is None:
        return str(uuid4())
    try:
        return str(UUID(str(given)))
    except ValueError:
        made = str(uuid5(NAMESPACE_URL, str(given)))
        warn_once(f"lineage: the run id {str(given)[:100]!r} is not a UUID; {made} stands for it")
        return made


def event_type(given: object) -> EventType | None:
    """The event type of a name or an `EventType`; None if there is no such type."""
    if isinstance(given, EventType):
        return given
    return EventType.__members__.get(str(given).upper())


def event_time(given: str | datetime | None = None) -> str:
    """A time in ISO 8601 with zone; now for None. A time without zone is UTC. Raises ValueError if it is no time."""
    moment = datetime.fromisoformat(given) if isinstance(given, str) else given or datetime.now(UTC)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def run_event(
    kind: EventType,
    time: str,
    run: event_v2.Run,
    job: event_v2.Job,
    inputs: list[Dataset],
    outputs: list[Dataset],
) -> event_v2.RunEvent:
    """A run event of the client, made by us. The parts are used as they are: pass copies."""
    return event_v2.RunEvent(
        eventType=kind,
        eventTime=time,
        producer=PRODUCER,
        run=run,
        job=job,
        inputs=[_input(dataset) for dataset in inputs],
        outputs=[_output(dataset) for dataset in outputs],
    )


def run_part(run_id: str, facets: dict[str, Facet]) -> event_v2.Run:
    """The run of an event."""
    return event_v2.Run(runId=run_id, facets=_typed(facets))


def job_part(namespace: str, name: str, facets: dict[str, Facet]) -> event_v2.Job:
    """The job of an event."""
    return event_v2.Job(namespace=namespace, name=name, facets=_typed_job(facets))


def event_from_plain(tree: dict[str, Any]) -> Event:
    """The client's object of an event that was serialized. Raises KeyError, TypeError or ValueError if it is none."""
    head = {"eventTime": tree["eventTime"], "producer": tree.get("producer") or PRODUCER}
    if "dataset" in tree:
        dataset = tree["dataset"]
        static = event_v2.StaticDataset(dataset["namespace"], dataset["name"], facets=dataset.get("facets") or {})
        return event_v2.DatasetEvent(dataset=static, **head)
    job = tree["job"]
    parts: dict[str, Any] = {
        "job": job_part(job["namespace"], job["name"], job.get("facets") or {}),
        "inputs": [_input(dataset) for dataset in tree.get("inputs") or []],
        "outputs": [_output(dataset) for dataset in tree.get("outputs") or []],
    }
    if "run" not in tree:
        return event_v2.JobEvent(**parts, **head)
    run = run_part(tree["run"]["runId"], tree["run"].get("facets") or {})
    return event_v2.RunEvent(eventType=event_type(tree.get("eventType")), run=run, **parts, **head)


def _input(dataset: Dataset) -> event_v2.InputDataset:
    own = dataset.get("inputFacets") or {}
    return event_v2.InputDataset(
        dataset["namespace"], dataset["name"], facets=dataset.get("facets") or {}, inputFacets=own
    )


def _output(dataset: Dataset) -> event_v2.OutputDataset:
    own = dataset.get("outputFacets") or {}
    return event_v2.OutputDataset(
        dataset["namespace"], dataset["name"], facets=dataset.get("facets") or {}, outputFacets=own
    )


def _typed(facets: dict[str, Any]) -> RunFacets:
    """Run facets, those as objects that the client itself looks into (it merges tags and keys Kafka by the parent)."""
    return _built(facets, {"parent": _parent, "tags": _run_tags})


def _typed_job(facets: dict[str, Any]) -> dict[str, Any]:
    return _built(facets, {"tags": _job_tags})


def _built(facets: dict[str, Any], builders: dict[str, Callable[[dict[str, Any]], Any]]) -> dict[str, Any]:
    made = dict(facets)
    for key, build in builders.items():
        if isinstance(facet := facets.get(key), dict):
            try:
                made[key] = build(facet)
            except (KeyError, TypeError, ValueError, AttributeError) as problem:
                warn_once(f"lineage: the facet {key!r} is left out: {describe(problem)}")
                del made[key]
    return made


def _parent(facet: dict[str, Any]) -> parent_run.ParentRunFacet:
    root = facet.get("root")
    top = None
    if root:
        job = parent_run.RootJob(root["job"]["namespace"], root["job"]["name"])
        top = parent_run.Root(run=parent_run.RootRun(runId=root["run"]["runId"]), job=job)
    return parent_run.ParentRunFacet(
        run=parent_run.Run(runId=facet["run"]["runId"]),
        job=parent_run.Job(facet["job"]["namespace"], facet["job"]["name"]),
        root=top,
        producer=facet.get("_producer", PRODUCER),
    )


def _run_tags(facet: dict[str, Any]) -> tags_run.TagsRunFacet:
    fields = [tags_run.TagsRunFacetFields(**_tag(tag)) for tag in facet.get("tags") or ()]
    return tags_run.TagsRunFacet(tags=fields, producer=facet.get("_producer", PRODUCER))


def _job_tags(facet: dict[str, Any]) -> tags_job.TagsJobFacet:
    fields = [tags_job.TagsJobFacetFields(**_tag(tag)) for tag in facet.get("tags") or ()]
    return tags_job.TagsJobFacet(tags=fields, producer=facet.get("_producer", PRODUCER))


def _tag(tag: dict[str, Any]) -> dict[str, str]:
    return {name: str(tag[name]) for name in ("key", "value", "source") if tag.get(name) is not None}
