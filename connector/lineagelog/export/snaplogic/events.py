"""Events from analysed runs: one per Snap that ran, and one per child run that ties it to its parent."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from lineagelog.spec import error_message, job_type, run_and_job

from .classes import Role
from .facets import InputField, Origin, PipelineFacets
from .graph import Graph, Job, Key, Port, Vertex
from .names import DatasetName, Naming
from .paths import format_path
from .runs import End
from .shapes import Column, Ref, Shape, SnapOutcome, shape_of
from .virtual import NAMESPACE, VirtualNames, virtual_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from lineagelog.spec import Holder

    from .accounts import AccountBook
    from .classes import SnapClass
    from .paths import Path
    from .rule import Rule

DEFAULT_CONTROL_PLANE = "cdn.elastic.snaplogic.com"
"""The host in the producer link of SnapLogic's documented events."""

type Event = dict[str, Any]


class Nested(StrEnum):
    """How nested fields are written: as their top-level column (SnapLogic's own events), or with the whole
    path."""

    TOP = "top"
    PATH = "path"


@dataclass(frozen=True, slots=True)
class PipelineExportOptions:
    """How pipelines are exported.

    `control_plane`: host of the Designer. `modern`: today's specification, not the documented structure.
    `stopped_as_abort`: a stopped Snap or run is ABORT, not COMPLETE. `separate_children`: documents are not followed
    into child pipelines and back. `accounts`, `classes`: what the team told about its accounts and its own
    Snap classes (class id without `com-snaplogic-snaps-`). `columns`: dataset name (with or without its
    database) to the columns that the pipeline leaves open.
    """

    control_plane: str = DEFAULT_CONTROL_PLANE
    virtual_names: VirtualNames = VirtualNames.DOCUMENTED
    naming: Naming = Naming.DOCUMENTED
    nested: Nested = Nested.TOP
    modern: bool = False
    stopped_as_abort: bool = False
    separate_children: bool = False
    accounts: AccountBook | None = None
    classes: Mapping[str, SnapClass] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def snap_run_id(run_id: str, snap_id: str) -> str:
    """The run id of a Snap: the version-3 UUID of `<uuid part of ruuid>:<snap id>` without a namespace
    (Java's name-based UUID; recomputed from published events)."""
    digest = hashlib.md5(f"{run_id}:{snap_id}".encode(), usedforsecurity=False).digest()
    return str(uuid.UUID(bytes=digest, version=3))


def event_time(time: datetime) -> str:
    """A time as SnapLogic writes it: UTC, milliseconds, Z."""
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}Z"


def build_events(
    graph: Graph,
    rules: Mapping[Key, Rule],
    outcomes: Mapping[Key, SnapOutcome],
    jobs: Sequence[Job],
    options: PipelineExportOptions,
) -> list[Event]:
    """All events: per run, first the child pipeline run itself (if it is one), then its Snaps in the order of
    the file."""
    writer = _Writer(graph, rules, outcomes, options)
    events: list[Event] = []
    labels = {job.run.run_id: job.name for job in jobs}
    for job in jobs:
        child = writer.child_event(job, labels)
        events += [child] if child else []
        events += [writer.snap_event(graph.vertices[key]) for key in job.keys]
    return events


@dataclass(frozen=True, slots=True)
class _Writer:
    graph: Graph
    rules: Mapping[Key, Rule]
    outcomes: Mapping[Key, SnapOutcome]
    options: PipelineExportOptions

    def facets(self, job: Job) -> PipelineFacets:
        producer = f"https://{self.options.control_plane}/sl/designer.html?#pipe_snode={job.pipe_snode}"
        return PipelineFacets(producer, self.options.modern)

    def name(self, ref: Ref) -> DatasetName:
        """The identity of what a Snap puts out, or of an endpoint."""
        if isinstance(ref, DatasetName):
            return ref
        vertex = self.graph.vertices[ref.key]
        name = virtual_name(vertex.label, ref.key.snap_id, ref.error_view, self.options.virtual_names)
        return DatasetName(NAMESPACE, name)

    def column(self, path: Path) -> str:
        return path[0] if self.options.nested is Nested.TOP else format_path(path)

    def snap_event(self, vertex: Vertex) -> Event:
        facets = self.facets(vertex.job)
        run_facets = {"parent": self.parent(vertex.job, facets)}
        event_type = self.event_type(vertex.ran.end)
        if event_type == "FAIL":
            told = vertex.ran.error or vertex.job.run.error or f"the Snap ended in state {vertex.ran.state}"
            run_facets["errorMessage"] = _error(facets, told, vertex.ran.stack_trace)
        job: Event = {
            "namespace": NAMESPACE,
            "name": f"{vertex.job.name}:{vertex.label}:{vertex.key.snap_id}",
        }
        if self.options.modern:
            job["facets"] = {"jobType": _job_type(facets, "SNAP")}
        event = _event(vertex.job, facets, event_type)
        event["run"] = {"runId": snap_run_id(vertex.key.run_id, vertex.key.snap_id), "facets": run_facets}
        return {
            **event,
            "job": job,
            "inputs": self.inputs(vertex, facets),
            "outputs": self.outputs(vertex, facets),
        }

    def event_type(self, end: End) -> str:
        if end is End.STOPPED:
            return "ABORT" if self.options.stopped_as_abort else "COMPLETE"
        return {End.FAILED: "FAIL", End.OPEN: "RUNNING"}.get(end, "COMPLETE")

    def parent(self, job: Job, facets: PipelineFacets) -> dict[str, Any]:
        content = run_and_job(job.run.run_id, NAMESPACE, job.name)
        root = _ancestor(job.run.root_ruuid, job.run.root_path)
        if self.options.modern and root and root["run"]["runId"] != job.run.run_id:
            content["root"] = root
        return facets.facet("parent", "Run", content)

    def child_event(self, job: Job, labels: Mapping[str, str]) -> Event | None:
        """The event of a child pipeline's own run: its parent is the run of the pipeline that executed it."""
        run = job.run
        parent = _ancestor(run.parent_ruuid, run.parent_path, labels)
        if parent is None:
            return None
        facets = self.facets(job)
        run_facets = {"parent": facets.facet("parent", "Run", parent)}
        if run.end is End.FAILED:
            run_facets["errorMessage"] = _error(facets, run.error or f"the pipeline ended in state {run.state}", "")
        own: Event = {"namespace": NAMESPACE, "name": job.name}
        if self.options.modern:
            own["facets"] = {"jobType": _job_type(facets, "PIPELINE")}
        event = _event(job, facets, self.event_type(run.end))
        event["run"] = {"runId": run.run_id, "facets": run_facets}
        return {**event, "job": own, "inputs": [], "outputs": []}

    def inputs(self, vertex: Vertex, facets: PipelineFacets) -> list[Event]:
        outcome = self.outcomes[vertex.key]
        found: dict[DatasetName, Event] = {}
        for port in dict.fromkeys(edge.port for edge in self.graph.into.get(vertex.key, ())):
            dataset = self.dataset(self.name(port), shape_of(port, self.outcomes), facets)
            _count(dataset, "input", _documents_in(vertex, port, self.graph), facets)
            found.setdefault(self.name(port), dataset)
        for name, shape in outcome.reads.items():
            dataset = self.dataset(name, shape, facets)
            is_reader = self.rules[vertex.key].role is Role.READ or (outcome.output.columns and not outcome.writes)
            is_reader = bool(is_reader) and len(outcome.reads) == 1
            _count(dataset, "input", _documents_out(vertex) if is_reader else None, facets)
            found.setdefault(name, dataset)
        return list(found.values())

    def outputs(self, vertex: Vertex, facets: PipelineFacets) -> list[Event]:
        outcome = self.outcomes[vertex.key]
        datasets: list[Event] = []
        if self.puts_out(vertex):
            dataset = self.output(vertex, self.name(Port(vertex.key)), outcome.output, facets)
            _count(dataset, "output", _documents_out(vertex), facets)
            datasets.append(dataset)
        for name, shape in outcome.writes.items():
            dataset = self.output(vertex, name, shape, facets)
            is_writer = self.rules[vertex.key].role is Role.WRITE and len(outcome.writes) == 1
            _count(dataset, "output", _documents_written(vertex) if is_writer else None, facets)
            datasets.append(dataset)
        for view, shape in outcome.errors.items():
            dataset = self.output(vertex, self.name(Port(vertex.key, view)), shape, facets)
            _count(dataset, "output", vertex.ran.errors.get(view), facets)
            datasets.append(dataset)
        return datasets

    def puts_out(self, vertex: Vertex) -> bool:
        """Whether the Snap has a virtual output: always with an output view, for writing Snaps only if
        somebody takes it."""
        taken = "" in self.graph.taken.get(vertex.key, ())
        rule = self.rules[vertex.key]
        is_writer = rule.role is Role.WRITE or bool(rule.writes)
        return taken or (bool(vertex.snap.outputs) and not is_writer)

    def dataset(self, name: DatasetName, shape: Shape, facets: PipelineFacets) -> Event:
        columns: dict[str, str] = {}
        for path, column in sorted(shape.columns.items(), key=lambda item: self.column(item[0])):
            text = self.column(path)
            is_part = len(path) > 1 and self.options.nested is Nested.TOP
            columns[text] = "" if is_part or text in columns else column.type
        facet = {"schema": facets.schema(columns)} if columns else {}
        return {"namespace": name.namespace, "name": name.name, "facets": facet}

    def output(self, vertex: Vertex, name: DatasetName, shape: Shape, facets: PipelineFacets) -> Event:
        dataset = self.dataset(name, shape, facets)
        if shape.columns:
            origins = self.origins(shape.columns)
            uses = self.fields((source, kind, False) for source, kind in self.outcomes[vertex.key].uses)
            dataset["facets"]["columnLineage"] = facets.lineage(origins, uses)
        return dataset

    def origins(self, columns: Mapping[Path, Column]) -> dict[str, Origin]:
        """Origins by column name; nested fields that share a name are put together."""
        grouped: dict[str, list[Column]] = {}
        for path, column in columns.items():
            grouped.setdefault(self.column(path), []).append(column)
        return {name: self.origin(grouped[name]) for name in sorted(grouped)}

    def origin(self, columns: Sequence[Column]) -> Origin:
        sources = ((source, column.subtype, True) for column in columns for source in column.sources)
        conditions = ((source, "CONDITIONAL", False) for column in columns for source in column.conditions)
        texts = dict.fromkeys(column.description for column in columns if column.description)
        return Origin(self.fields((*sources, *conditions)), ", ".join(texts))

    def fields(self, found: Iterable[tuple[tuple[Ref, Path], str, bool]]) -> tuple[InputField, ...]:
        """Input fields, each once per dataset, name and way (in documented events: once per dataset and
        name)."""
        fields: dict[object, InputField] = {}
        for (ref, path), subtype, direct in found:
            name, column = self.name(ref), self.column(path)
            field = InputField(name.namespace, name.name, column, subtype, direct)
            fields.setdefault((name, column, direct) if self.options.modern else (name, column), field)
        return tuple(fields.values())


def _event(job: Job, facets: PipelineFacets, event_type: str) -> Event:
    return {
        "eventTime": event_time(job.run.time),
        "producer": facets.producer,
        "schemaURL": facets.schema_url,
        "eventType": event_type,
    }


def _ancestor(ruuid: str, path: str, labels: Mapping[str, str] | None = None) -> dict[str, Any] | None:
    """Run and job of a parent or root: its UUID, and its name from the exported pipelines or the end of its
    path."""
    try:
        run_id = str(uuid.UUID(ruuid.rpartition("_")[2]))
    except ValueError:
        return None
    name = (labels or {}).get(run_id) or path.rpartition("/")[2]
    return run_and_job(run_id, NAMESPACE, name) if name else None


def _error(facets: PipelineFacets, message: str, stack_trace: str) -> dict[str, Any]:
    return facets.facet("errorMessage", "Run", error_message(message, "SnapLogic", stack_trace))


def _job_type(facets: PipelineFacets, kind: str) -> dict[str, Any]:
    return facets.facet("jobType", "Job", job_type("SNAPLOGIC", kind))


def _count(dataset: Event, side: Literal["input", "output"], documents: int | None, facets: PipelineFacets) -> None:
    if documents is not None:
        holder: Holder = "InputDataset" if side == "input" else "OutputDataset"
        facet = facets.facet(f"{side}Statistics", holder, {"rowCount": documents})
        dataset[f"{side}Facets"] = {f"{side}Statistics": facet}


def _documents_in(vertex: Vertex, port: Port, graph: Graph) -> int | None:
    """Documents that came from `port`: those of the input views that nothing else feeds. Binary streams are
    no rows."""
    edges = graph.into.get(vertex.key, ())
    views = {edge.dst_view for edge in edges if edge.port == port and not edge.from_child}
    shared = {edge.dst_view for edge in edges if edge.port != port}
    binary = {view.id for view in vertex.snap.inputs if view.binary}
    return None if not views or views & (shared | binary) else _sum(vertex.ran.inputs.get(view) for view in views)


def _documents_out(vertex: Vertex) -> int | None:
    """Documents put out over all output views; a Copy puts each document into every view, so the fullest view
    counts."""
    views = vertex.snap.outputs
    if not views or any(view.binary for view in views):
        return None
    counts = [vertex.ran.outputs.get(view.id) for view in views]
    if vertex.snap.kind != "flow-copy":
        return _sum(counts)
    return max((count for count in counts if count is not None), default=None)


def _documents_written(vertex: Vertex) -> int | None:
    """Rows written: documents that came in and did not go to the error view. What a delete removes is not
    told."""
    if any(view.binary for view in vertex.snap.inputs) or vertex.snap.kind.endswith("-delete"):
        return None
    came = _sum(vertex.ran.inputs.values())
    lost = sum(count or 0 for count in vertex.ran.errors.values())
    return None if came is None else max(0, came - lost)


def _sum(counts: Iterable[int | None]) -> int | None:
    """The sum; None when there is nothing to add or one number is not told."""
    total: int | None = None
    for count in counts:
        if count is None:
            return None
        total = (total or 0) + count
    return total
