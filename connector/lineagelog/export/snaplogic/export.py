"""The whole way: pipeline files and run information in, validated events, findings and numbers out. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lineagelog.errors import InputError

from .accounts import AccountBook
from .classes import Role, snap_class
from .demand import analyse, undecided
from .document import ExportNote
from .events import Event, PipelineExportOptions, build_events, snap_run_id
from .graph import Job, Key, Vertex, connect, match, vertices
from .paths import format_path, starts_with
from .pipeline import CLASS_PREFIX, Pipeline, read_pipelines
from .rule import Context, Rule
from .rules import child_parameters, read_rule
from .runs import End, read_runs
from .summary import PipelineSummary, summarise
from .validate import unknown_columns
from .virtual import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .paths import Path


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read: the name to show in messages, and its bytes."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class PipelineExport:
    """The result: events in order, what a person should know, the numbers."""

    events: tuple[Event, ...]
    findings: tuple[ExportNote, ...]
    summary: PipelineSummary


def export_snaplogic(
    pipelines: Sequence[Source], runs: Sequence[Source], options: PipelineExportOptions | None = None
) -> PipelineExport:
    """Events for the Snaps of all `runs`; InputError (file, place, what to do) when an input cannot be
    used."""
    options = options or PipelineExportOptions()
    findings: list[ExportNote] = []
    read: list[Pipeline] = []
    for source in pipelines:
        found, odd = read_pipelines(source.data, source.name)
        read += found
        findings += odd
    if not runs:
        place = pipelines[0].name if pipelines else "no pipeline"
        raise InputError(f"{place}: no run information; give the API's answer for a run of this pipeline with --run")
    jobs = match(read, [run for source in runs for run in read_runs(source.data, source.name)], findings)
    all_vertices = vertices(jobs)
    rules = _rules(jobs, all_vertices, options, findings)
    graph = connect(all_vertices, rules, _parents_first(jobs), findings, not options.separate_children)
    analysis = analyse(graph, rules)
    outcomes = analysis.outcomes
    for vertex, paths in undecided(graph, rules, outcomes):
        findings.append(_undecided(vertex, rules[vertex.key].role, paths))
    for key, missing in analysis.missing.items():
        findings += _missing(all_vertices[key], rules[key], missing)
    findings += _unfinished(jobs, all_vertices.values())
    findings += _orphans(jobs)
    events = build_events(graph, rules, outcomes, jobs, options)
    findings += _strangers(events, all_vertices)
    unique = tuple(dict.fromkeys(findings))
    return PipelineExport(tuple(events), unique, summarise(events, unique, len(jobs), NAMESPACE))


def _rules(
    jobs: Sequence[Job], found: Mapping[Key, Vertex], options: PipelineExportOptions, findings: list[ExportNote]
) -> dict[Key, Rule]:
    """The rule of every Snap; parents are read before their children, for the parameters that they hand
    down."""
    rules: dict[Key, Rule] = {}
    handed: dict[str, list[tuple[str, dict[str, str]]]] = {}
    for job in _parents_first(jobs):
        context = _context(job, handed, options, findings)
        for vertex in (found[key] for key in job.keys):
            class_id = vertex.snap.class_id or vertex.ran.class_id
            known = snap_class(class_id.removeprefix(CLASS_PREFIX), options.classes)
            if not known.known:
                findings.append(_unknown(vertex))
            rule = rules[vertex.key] = read_rule(vertex.snap, known, context)
            if rule.child:
                given = child_parameters(vertex.snap, context.parameters)
                handed.setdefault(job.run.run_id, []).append((rule.child, given))
    return rules


def _parents_first(jobs: Sequence[Job]) -> list[Job]:
    by_run = {job.run.run_id: job for job in jobs}

    def depth(job: Job) -> int:
        steps, seen = 0, {job.run.run_id}
        while (above := by_run.get(job.parent_id)) and above.run.run_id not in seen:
            seen.add(above.run.run_id)
            job, steps = above, steps + 1
        return steps

    return sorted(jobs, key=depth)


def _context(
    job: Job,
    handed: Mapping[str, list[tuple[str, dict[str, str]]]],
    options: PipelineExportOptions,
    findings: list[ExportNote],
) -> Context:
    """Parameters: the pipeline's defaults, what the parent handed down, what the run says (the later
    wins)."""
    parameters = dict(job.pipeline.parameters)
    for name, given in handed.get(job.parent_id, ()):
        if job.is_called(name):
            parameters.update(given)
    parameters.update(job.run.parameters)
    return Context(parameters, options.accounts or AccountBook(), options.naming, options.columns, findings)


def _finding(vertex: Vertex, message: str, severity: Literal["warning", "note"] = "warning") -> ExportNote:
    return ExportNote(
        vertex.job.pipeline.file, f"snap_map.{vertex.snap.id}", f"Snap {vertex.label!r}: {message}", severity
    )


def _unknown(vertex: Vertex) -> ExportNote:
    message = f"class {vertex.snap.class_id!r} is unknown, so are its columns and datasets; teach it with --classes"
    return _finding(vertex, message)


_OPEN = {
    Role.SPLIT: "the elements and what is around them are open",
    Role.EXECUTE: "the columns of its tables are open",
}


def _undecided(vertex: Vertex, role: Role, paths: Sequence[Path]) -> ExportNote:
    why = _OPEN.get(role, "both sides are open")
    return _finding(vertex, f"{why}, so {_listed(paths)} may come from either; tell the columns with --columns")


def _missing(vertex: Vertex, rule: Rule, paths: Sequence[Path]) -> list[ExportNote]:
    """Fields that the Snap uses and nothing has; a note only for those that it asks for first (`hasPath`)."""
    asked = [path for path in paths if any(starts_with(path, guard) for guard in rule.guards)]
    used = [path for path in paths if path not in asked]
    nothing = "which nothing that reaches it has"
    warned = [_finding(vertex, f"uses {_listed(used)}, {nothing}; left without origin")] if used else []
    noted = [_finding(vertex, f"asks for {_listed(asked)}, {nothing}", "note")] if asked else []
    return warned + noted


def _strangers(events: Iterable[Event], found: Mapping[Key, Vertex]) -> list[ExportNote]:
    """Input fields that are no column of their input: only where two datasets have one name."""
    by_run = {snap_run_id(key.run_id, key.snap_id): vertex for key, vertex in found.items()}
    return [
        _finding(by_run[event["run"]["runId"]], message)
        for event in events
        if event["run"]["runId"] in by_run
        for message in unknown_columns(event)
    ]


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(format_path(path) for path in paths[:5]) + (" ..." if len(paths) > 5 else "")


def _unfinished(jobs: Sequence[Job], found: Iterable[Vertex]) -> list[ExportNote]:
    """Runs and Snaps that are not over (their event is RUNNING), and Snaps that were stopped."""
    again = "export it again when it is over"
    findings = [
        ExportNote(job.run.file, job.run.place, f"the run is not over (state {job.run.state!r}); {again}")
        for job in jobs
        if job.run.end is End.OPEN
    ]
    for vertex in found:
        if vertex.ran.end is End.STOPPED:
            message = "was stopped before its end; --stopped-as-abort tells it so in the event"
            findings.append(_finding(vertex, message, "note"))
        if vertex.ran.end is End.OPEN:
            message = f"is not over (state {vertex.ran.state!r}), so its event is RUNNING; {again}"
            findings.append(_finding(vertex, message))
    return findings


def _orphans(jobs: Sequence[Job]) -> list[ExportNote]:
    """Child runs whose parent's name nothing tells, so that they cannot be tied to it."""
    labels = {job.run.run_id for job in jobs}
    return [
        ExportNote(
            job.run.file,
            "parent_path",
            f"the parent {job.run.parent_ruuid} has no name here, so the child run stands alone",
        )
        for job in jobs
        if job.run.parent_ruuid and not job.run.parent_path and job.parent_id not in labels
    ]
