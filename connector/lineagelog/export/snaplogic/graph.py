"""The Snaps of all runs as one graph: links, and the ways into child pipelines and back."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineagelog.errors import InputError

from .document import ExportNote
from .pipeline import Dialect, Pipeline, Snap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .rule import Rule
    from .runs import PipelineRun, SnapRun


@dataclass(frozen=True, slots=True)
class Key:
    """A Snap in a run: the run's UUID and the real Snap id."""

    run_id: str
    snap_id: str


@dataclass(frozen=True, slots=True)
class Port:
    """What a Snap puts out: its documents, or with `error_view` the documents of that error view."""

    key: Key
    error_view: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A pipeline with one of its runs. `ids`: Snap id in the file to real Snap id, of the Snaps that ran."""

    pipeline: Pipeline
    run: PipelineRun
    name: str
    pipe_snode: str
    ids: Mapping[str, str]

    @property
    def keys(self) -> list[Key]:
        """The Snaps that ran, in the order of the file."""
        return [Key(self.run.run_id, real_id) for real_id in self.ids.values()]

    @property
    def parent_id(self) -> str:
        """The run id of the pipeline run that executed this one; "" for a run of its own."""
        return self.run.parent_ruuid.rpartition("_")[2].lower()

    def is_called(self, name: str) -> bool:
        """Whether a Pipeline Execute that names `name` (a name or a path) means this pipeline."""
        own = (self.name, self.run.label, self.pipeline.file_name)
        return name.rpartition("/")[2].removesuffix(".slp") in own


@dataclass(frozen=True, slots=True)
class Vertex:
    """A Snap of a run."""

    key: Key
    job: Job
    snap: Snap
    ran: SnapRun
    label: str


@dataclass(frozen=True, slots=True)
class Edge:
    """Documents flow from `port` (leaving by `src_view`) into input view `dst_view` of `dst`; `from_child`:
    handed back."""

    port: Port
    src_view: str
    dst: Key
    dst_view: str
    from_child: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """All Snaps, the edges into each, sources first in `order`.

    `taken`: the outputs of each Snap that somebody takes documents from, "" or the name of an error view.
    """

    vertices: Mapping[Key, Vertex]
    into: Mapping[Key, tuple[Edge, ...]]
    order: tuple[Key, ...]
    taken: Mapping[Key, tuple[str, ...]]


def match(pipelines: Sequence[Pipeline], runs: Sequence[PipelineRun], findings: list[ExportNote]) -> list[Job]:
    """Each run with its pipeline; InputError for a run without a pipeline, or a lone pipeline without a
    run."""
    seen: set[str] = set()
    jobs: list[Job] = []
    for run in runs:
        if run.run_id in seen:
            findings.append(ExportNote(run.file, run.place, f"run {run.ruuid} was given twice; taken once", "note"))
            continue
        seen.add(run.run_id)
        jobs.append(_job(_pipeline_of(run, pipelines), run, findings))
    used = [job.pipeline for job in jobs]
    for pipeline in pipelines:
        if pipeline not in used:
            _without_run(pipeline, pipelines, findings)
    return jobs


def _without_run(pipeline: Pipeline, pipelines: Sequence[Pipeline], findings: list[ExportNote]) -> None:
    name = pipeline.name or pipeline.file_name
    message = f"no run information for pipeline {name!r}; give the API's answer with --run"
    siblings = [other for other in pipelines if other.file == pipeline.file]
    if len(siblings) == 1:
        raise InputError(f"{pipeline.file}: {pipeline.place}: {message}")
    findings.append(ExportNote(pipeline.file, pipeline.place, message, "note"))


def _pipeline_of(run: PipelineRun, pipelines: Sequence[Pipeline]) -> Pipeline:
    """By snode id, else pipeline id, else the Snaps in common (real or placeholder ids), else the label."""
    scored = [(_score(run, pipeline), pipeline) for pipeline in pipelines]
    best = max(score for score, _ in scored)
    found = [pipeline for score, pipeline in scored if score == best]
    if best == 0:
        hint = "give the .slp file of this pipeline"
        raise InputError(
            f"{run.file}: {run.place}: run {run.ruuid} of {run.label!r} fits none of the pipelines; {hint}"
        )
    if len(found) > 1:
        files = ", ".join(pipeline.file for pipeline in found)
        raise InputError(
            f"{run.file}: {run.place}: run {run.ruuid} fits several pipelines: {files}; give only one of them"
        )
    return found[0]


def _score(run: PipelineRun, pipeline: Pipeline) -> int:
    if pipeline.snode_id and pipeline.snode_id == run.snode_id:
        return 5
    if pipeline.instance_id and pipeline.instance_id == run.class_id:
        return 4
    common = set(pipeline.snaps) & {*run.snaps, *run.artifact_ids, *run.artifact_ids.values()}
    named = run.label in (pipeline.name, pipeline.file_name)
    if common and (named or pipeline.dialect is Dialect.EXPORT):
        return 3
    if named and (not run.snaps or _same_labels(run, pipeline)):
        return 2
    return 1 if _same_labels(run, pipeline) else 0


def _same_labels(run: PipelineRun, pipeline: Pipeline) -> bool:
    """Whether at least half of the Snaps that ran have a namesake in the pipeline."""
    labels = {snap.label for snap in pipeline.snaps.values()}
    shared = sum(snap.label in labels for snap in run.snaps.values())
    return shared > 0 and 2 * shared >= len(run.snaps)


def _job(pipeline: Pipeline, run: PipelineRun, findings: list[ExportNote]) -> Job:
    snode = pipeline.snode_id or run.snode_id
    if not snode:
        raise InputError(
            f"{run.file}: {run.place}: no snode_id, so the pipeline has no id; ask the API for level=detail"
        )
    if run.snode_id and run.snode_id != snode:
        message = f"snode_id {run.snode_id} is not the pipeline's ({snode}); the pipeline's is taken"
        findings.append(ExportNote(run.file, run.place, message))
    ids = _ids(pipeline, run, findings)
    return Job(pipeline, run, pipeline.name or run.label or pipeline.file_name, snode, ids)


def _ids(pipeline: Pipeline, run: PipelineRun, findings: list[ExportNote]) -> dict[str, str]:
    """Which real Snap id each Snap of the file has in the run; findings for those on one side only."""
    real = {placeholder: snap for snap, placeholder in run.artifact_ids.items()}
    by_label = _unique_labels(run)
    ids: dict[str, str] = {}
    for key, snap in pipeline.snaps.items():
        candidates = (key, real.get(key, ""), run.artifact_ids.get(key, ""))
        found = next((candidate for candidate in candidates if candidate in run.snaps), "")
        if not found and pipeline.dialect is Dialect.ARTIFACT:
            found = by_label.get(snap.label, "")
        if found:
            ids[key] = found
        else:
            _missing(pipeline, snap, run, findings)
    for key in run.snaps.keys() - set(ids.values()):
        message = f"Snap {run.snaps[key].label!r} ({key}) ran but is not in {pipeline.file}: another version?"
        findings.append(ExportNote(run.file, f"{run.place}.snap_map.{key}".removeprefix("$."), message))
    return ids


def _missing(pipeline: Pipeline, snap: Snap, run: PipelineRun, findings: list[ExportNote]) -> None:
    place = f"snap_map.{snap.id}"
    if snap.disabled:
        findings.append(
            ExportNote(pipeline.file, place, f"Snap {snap.label!r} is disabled and did not run: no event", "note")
        )
    else:
        message = f"Snap {snap.label!r} is not among those that ran ({run.file}): no event"
        findings.append(ExportNote(pipeline.file, place, message))


def _unique_labels(run: PipelineRun) -> dict[str, str]:
    found: dict[str, list[str]] = defaultdict(list)
    for key, snap in run.snaps.items():
        found[snap.label].append(key)
    return {label: keys[0] for label, keys in found.items() if len(keys) == 1}


def vertices(jobs: Sequence[Job]) -> dict[Key, Vertex]:
    """The Snaps that ran, in the order of the files."""
    found: dict[Key, Vertex] = {}
    for job in jobs:
        for file_id, real_id in job.ids.items():
            snap, ran = job.pipeline.snaps[file_id], job.run.snaps[real_id]
            label = snap.label or ran.label or snap.kind
            key = Key(job.run.run_id, real_id)
            found[key] = Vertex(key, job, snap, ran, label)
    return found


def connect(
    found: Mapping[Key, Vertex],
    rules: Mapping[Key, Rule],
    jobs: Sequence[Job],
    findings: list[ExportNote],
    through_children: bool = True,
) -> Graph:
    """The graph of all links between Snaps that ran, and of the ways into child pipelines and back.

    `jobs`: parents before their children, so that what is handed to a child reaches its own children.
    """
    into: dict[Key, list[Edge]] = defaultdict(list)
    for edge in (edge for job in jobs for edge in _links(job)):
        into[edge.dst].append(edge)
    by_run = {job.run.run_id: job for job in jobs}
    for child in jobs if through_children else ():
        if parent := by_run.get(child.parent_id):
            _through_child(child, parent, rules, into)
    taken: dict[Key, set[str]] = defaultdict(set)
    for edge in (edge for edges in into.values() for edge in edges):
        taken[edge.port.key].add(edge.port.error_view)
    order = _sorted(found, into, findings)
    outputs = {key: tuple(sorted(views)) for key, views in taken.items()}
    return Graph(found, {key: tuple(edges) for key, edges in into.items()}, order, outputs)


def _links(job: Job) -> list[Edge]:
    edges: list[Edge] = []
    for link in job.pipeline.links:
        if link.src not in job.ids or link.dst not in job.ids:
            continue
        source = job.pipeline.snaps[link.src]
        outputs = {view.id for view in source.outputs}
        is_error = link.src_view in {view.id for view in source.errors} or link.src_view.startswith("error")
        error_view = link.src_view if is_error and link.src_view not in outputs else ""
        port = Port(Key(job.run.run_id, job.ids[link.src]), error_view)
        edges.append(Edge(port, link.src_view, Key(job.run.run_id, job.ids[link.dst]), link.dst_view))
    return edges


def _through_child(child: Job, parent: Job, rules: Mapping[Key, Rule], into: dict[Key, list[Edge]]) -> None:
    """What is fed to a Pipeline Execute goes to the child's open inputs; its open outputs come back."""
    own = child.run.run_id
    entries = [(view, child.ids.get(view.snap)) for view in child.pipeline.open_inputs]
    exits = [(view, child.ids.get(view.snap)) for view in child.pipeline.open_outputs]
    for caller in parent.keys:
        if not rules[caller].child or not child.is_called(rules[caller].child):
            continue
        feeding = [edge for edge in into.get(caller, ()) if not edge.from_child]
        for view, snap in entries:
            if snap:
                ways = [Edge(edge.port, edge.src_view, Key(own, snap), view.view) for edge in feeding]
                into[Key(own, snap)] += ways
        for view, snap in exits:
            if snap:
                into[caller].append(Edge(Port(Key(own, snap)), view.view, caller, "", from_child=True))


def _sorted(
    found: Mapping[Key, Vertex], into: Mapping[Key, Sequence[Edge]], findings: list[ExportNote]
) -> tuple[Key, ...]:
    """Sources first; Snaps in a circle come last, in file order, with a finding."""
    waiting = {key: len({edge.port.key for edge in into.get(key, ())}) for key in found}
    after: dict[Key, set[Key]] = defaultdict(set)
    for key in found:
        for edge in into.get(key, ()):
            after[edge.port.key].add(key)
    ready = [key for key in found if waiting[key] == 0]
    order: list[Key] = []
    while len(order) < len(ready):
        key = ready[len(order)]
        order.append(key)
        for following in sorted(after[key], key=lambda item: (item.run_id, item.snap_id)):
            waiting[following] -= 1
            if waiting[following] == 0:
                ready.append(following)
    circular = [key for key in found if waiting[key] > 0]
    if circular:
        vertex = found[circular[0]]
        message = f"the links run in a circle at Snap {vertex.label!r}; columns there may be incomplete"
        findings.append(ExportNote(vertex.job.pipeline.file, "link_map", message))
    return (*order, *circular)
