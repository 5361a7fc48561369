"""`lineagelog export satsuma`: specs to OpenLineage events, checked, summed up and written as a whole."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from lineagelog.cli.export_files import renew_folder, write_file
from lineagelog.cli.printing import put, put_bytes, put_json, tell
from lineagelog.errors import InputError, LineageLogError, SettingsError
from lineagelog.export.satsuma import (
    CliEngine,
    ExportOptions,
    OwnEngine,
    Ran,
    SatsumaError,
    as_array,
    as_files,
    as_lines,
    as_ndjson,
    as_script,
    export,
    summarize,
    validate,
)
from lineagelog.export.satsuma.options import (
    JOB_NAMESPACE,
    NAMING,
    PRODUCER,
    consumer_options,
    namespace_options,
    needs_database,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineagelog.export.satsuma import Engine, Export, Spec, Summary

FINDINGS, ERROR = 1, 2
_SHOW_PROGRESS_FROM = 200
_HELP = """Turn Satsuma mapping specs (.stm) into OpenLineage events: design-time lineage.

Each mapping becomes a job with one COMPLETE event; a report or model that names its sources is a job too.
Imports are followed, a folder stands for all .stm files in it, and a re-run gives the same bytes.

Examples:

  lineagelog export satsuma platform.stm --dataset-namespace snowflake://acme --out lineage/

  lineagelog export satsuma specs/ -d 'crm::*=postgres://crm:5432' -d snowflake://acme --format ndjson

  lineagelog export satsuma platform.stm -d bigquery --consumer-namespace looker=looker://acme --load

  lineagelog export satsuma platform.stm -d bigquery --check --strict

Exit code: 0 fine; 1 findings (schema failures, with --strict problems in the spec); 2 no export possible.
"""

type Deliver = Callable[[list[bytes]], None]
"""Takes the events, one JSON text each, to where they shall go. Raises LineageLogError."""


class Format(StrEnum):
    """The forms of the output."""

    files = "files"
    array = "array"
    ndjson = "ndjson"
    python = "python"


class EventKind(StrEnum):
    """Which events tell of a job."""

    complete = "complete"
    start_complete = "start-complete"
    job = "job"


class EngineName(StrEnum):
    """What reads the specs."""

    own = "own"
    cli = "cli"


@dataclass(slots=True)
class Wiring:
    """What `--load` and `--emit` go through; the command line sets them, and None means not available."""

    load: Deliver | None = None
    emit: Deliver | None = None


wiring = Wiring()
app = typer.Typer(add_completion=False, rich_markup_mode=None)
_console = Console(stderr=True, highlight=False, soft_wrap=True)

Specs = Annotated[
    list[Path], typer.Argument(metavar="FILE|FOLDER...", help="the specs to begin with", show_default=False)
]
DatasetNamespace = Annotated[
    list[str] | None,
    typer.Option("--dataset-namespace", "-d", help="NAMESPACE for all schemas, or PATTERN=NAMESPACE for some"),
]
JobNamespace = Annotated[str, typer.Option("--job-namespace", help="the namespace of the jobs")]
Naming = Annotated[
    str,
    typer.Option("--naming", help="dataset names, as in database.namespace.schema; [ ] falls away when empty"),
]
Database = Annotated[str | None, typer.Option("--database", help="what `database` in --naming stands for")]
Kind = Annotated[EventKind, typer.Option("--event-kind", help="the events of a job")]
EventTime = Annotated[
    str | None,
    typer.Option("--event-time", help="ISO 8601; default SOURCE_DATE_EPOCH, else the newest change of a spec"),
]
Producer = Annotated[str, typer.Option("--producer", help="the URI of the producer")]
ConsumerNamespace = Annotated[
    list[str] | None,
    typer.Option("--consumer-namespace", help="TOOL=NAMESPACE for reports and models of a tool"),
]
Standalone = Annotated[
    bool, typer.Option("--standalone-consumers", help="reports and models without sources as DatasetEvents")
]
OutputFormat = Annotated[Format, typer.Option("--format", help="the form of the output")]
Out = Annotated[Path | None, typer.Option("--out", help="a folder for `files`, else a file; - is the standard output")]
Reader = Annotated[EngineName, typer.Option("--engine", help="our own parser, or the `satsuma` command")]
Load = Annotated[bool, typer.Option("--load", help="store the events in the log store")]
Emit = Annotated[bool, typer.Option("--emit", help="post the events to the configured backend")]
Check = Annotated[bool, typer.Option("--check", help="only validate: write and send nothing")]
Strict = Annotated[bool, typer.Option("--strict", help="exit 1 when the spec has problems")]
AsJson = Annotated[bool, typer.Option("--json", help="the summary as JSON")]


@app.command(name="satsuma", help=_HELP)
def export_satsuma(
    specs: Specs,
    dataset_namespace: DatasetNamespace = None,
    job_namespace: JobNamespace = JOB_NAMESPACE,
    naming: Naming = NAMING,
    database: Database = None,
    event_kind: Kind = EventKind.complete,
    event_time: EventTime = None,
    producer: Producer = PRODUCER,
    consumer_namespace: ConsumerNamespace = None,
    standalone_consumers: Standalone = False,
    output_format: OutputFormat = Format.files,
    out: Out = None,
    engine: Reader = EngineName.own,
    load: Load = False,
    emit: Emit = False,
    check: Check = False,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Read the options, do the work, say what came of it."""
    asked = _Asked(tuple(dataset_namespace or ()), naming, database)
    chosen = _Chosen(job_namespace, event_kind.value, producer, tuple(consumer_namespace or ()))
    target = _Target(output_format.value, out, load=load, emit=emit, check=check)
    with _told_errors(), uncollected():
        target.settle()
        spec = _read(engine.value, find_specs(specs))
        asked.complete(spec)
        time = settle_time(event_time, spec.files, os.environ.get("SOURCE_DATE_EPOCH"))
        made, summary = _make(spec, _options(asked, chosen, time, standalone=standalone_consumers))
        if not summary.failures:
            target.deliver(made)
        _tell(summary, as_json=as_json, to_stderr=target.uses_stdout)
    if summary.failures or (strict and summary.problems):
        raise typer.Exit(FINDINGS)


@dataclass(slots=True)
class _Asked:
    """Answers that an export cannot do without; what is missing is asked for on a terminal."""

    namespaces: tuple[str, ...]
    naming: str
    database: str | None

    def complete(self, spec: Spec) -> None:
        if needs_database(self.naming) and not self.database and is_terminal():
            self.database = str(typer.prompt("Database in the dataset names", err=True))
        default, rules = namespace_options(self.namespaces)
        unsettled = [key for key in spec.schemas if not any(rule.matches(key) for rule in rules)]
        if default is not None or not unsettled:
            return
        if is_terminal():
            whose = f" of {', '.join(unsettled[:3])}{' …' if unsettled[3:] else ''}" if rules else ""
            question = f"Dataset namespace{whose} (as in snowflake://account or postgres://host:5432)"
            self.namespaces = (*self.namespaces, str(typer.prompt(question, err=True)))
        elif not rules:
            raise SettingsError("the dataset namespace is missing: give --dataset-namespace, as in snowflake://account")


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Options that have a default."""

    job_namespace: str
    event_kind: str
    producer: str
    consumer_namespaces: tuple[str, ...]


def _options(asked: _Asked, chosen: _Chosen, time: datetime, *, standalone: bool) -> ExportOptions:
    default, rules = namespace_options(asked.namespaces)
    return ExportOptions(
        event_time=time,
        dataset_namespace=default,
        namespace_rules=rules,
        job_namespace=chosen.job_namespace,
        naming=asked.naming,
        database=asked.database,
        event_kind=chosen.event_kind,
        producer=chosen.producer,
        consumer_namespaces=consumer_options(chosen.consumer_namespaces),
        standalone_consumers=standalone,
    )


@dataclass(slots=True)
class _Target:
    """Where the events go."""

    form: str
    out: Path | None
    load: bool
    emit: bool
    check: bool

    @property
    def uses_stdout(self) -> bool:
        """Whether the events themselves go to the standard output."""
        return not self.check and self.out is not None and str(self.out) == "-"

    def settle(self) -> None:
        """Settle what is left open. Raises SettingsError for what does not go together."""
        for wanted, way, name in ((self.load, wiring.load, "--load"), (self.emit, wiring.emit, "--emit")):
            if wanted and way is None:
                raise SettingsError(f"{name} is not available here")
        if self.out is None and not (self.check or self.load or self.emit):
            self.out = self._default_out()
        if self.form == "files" and self.uses_stdout:
            raise SettingsError("--format files needs a folder; use array or ndjson for the standard output")

    def _default_out(self) -> Path:
        if self.form != "files":
            return Path("-")
        if not is_terminal():
            raise SettingsError("--out is missing: the folder for the event files")
        return Path(typer.prompt("Folder for the event files", default="openlineage", err=True))

    def deliver(self, made: Export) -> None:
        """Write and send the events."""
        if self.check:
            return
        if self.out is not None:
            self._write(made, self.out)
        lines = as_lines(made.events) if self.load or self.emit else []
        if self.load and wiring.load is not None:
            wiring.load(lines)
        if self.emit and wiring.emit is not None:
            wiring.emit(lines)

    def _write(self, made: Export, out: Path) -> None:
        try:
            if self.form == "files":
                renew_folder(out, as_files(made.events))
            elif self.uses_stdout:
                put_bytes(self._content(made, "emit.py"))
            else:
                write_file(out, self._content(made, out.name))
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(f"{error.filename or out}: cannot be written: {reason}") from None

    def _content(self, made: Export, name: str) -> bytes:
        if self.form == "python":
            return as_script(made.events, name)
        return as_array(made.events) if self.form == "array" else as_ndjson(made.events)


def is_terminal() -> bool:
    """Whether a person can answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def find_specs(paths: Sequence[Path]) -> list[str]:
    """The files to begin with; a folder stands for its .stm files, in the order of their names."""
    from lineagelog.settings import is_folder  # brings pydantic, which `--help` does without

    found: list[str] = []
    for path in paths:
        if not is_folder(path):
            found.append(str(path))
            continue
        inside = sorted(str(file) for file in path.rglob("*.stm"))
        if not inside:
            raise InputError(f"{path}: the folder has no .stm file")
        found += inside
    return found


def make_engine(name: str) -> Engine:
    """The engine that reads the specs: `own`, or `cli` for the `satsuma` command."""
    return CliEngine(run_satsuma) if name == "cli" else OwnEngine(lambda path: Path(path).read_bytes())


def run_satsuma(arguments: Sequence[str]) -> Ran:
    """Run the `satsuma` command. Raises SettingsError when it is not on PATH."""
    command = shutil.which("satsuma")
    if command is None:
        raise SettingsError("the satsuma command is not on PATH: install it, or use --engine own")
    done = subprocess.run(  # noqa: S603  # the command of that name on PATH, no shell between
        [command, *arguments], capture_output=True, check=False, encoding="utf-8", errors="replace"
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def settle_time(given: str | None, files: Sequence[str], epoch: str | None) -> datetime:
    """The event time: as given, else SOURCE_DATE_EPOCH, else the newest modification time of the files."""
    if given is not None:
        try:
            time = datetime.fromisoformat(given)
        except ValueError:
            raise SettingsError(f"--event-time '{given}' is not a time such as 2025-01-31T06:00:00Z") from None
        return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    if epoch:
        try:
            return datetime.fromtimestamp(int(epoch), UTC)
        except (ValueError, OverflowError, OSError):
            raise SettingsError(f"SOURCE_DATE_EPOCH '{epoch}' is not a number of seconds") from None
    times = [file.stat().st_mtime for file in map(Path, files) if file.exists()]
    return datetime.fromtimestamp(max(times, default=0), UTC)


def _read(engine: str, files: list[str]) -> Spec:
    with _console.status(f"reading {len(files)} specs and what they import"):
        return make_engine(engine).read(files)


def _make(spec: Spec, options: ExportOptions) -> tuple[Export, Summary]:
    jobs = len(spec.mappings)
    shown = jobs >= _SHOW_PROGRESS_FROM and _console.is_terminal
    with Progress(console=_console, transient=True, disable=not shown) as progress:
        making = progress.add_task("making events", total=jobs)
        made = export(spec, options, lambda done: progress.update(making, completed=done))
        checking = progress.add_task("validating", total=len(made.events))
        failures = validate(made.events, lambda done: progress.update(checking, completed=done))
    return made, summarize(made, failures)


def _tell(summary: Summary, *, as_json: bool, to_stderr: bool) -> None:
    for problem in summary.problems:
        tell(f"warning: {problem}")
    for failure in summary.failures:
        tell(f"invalid: {failure}")
    data = summary.as_json()
    if as_json:
        put_json(json.dumps(data, indent=2, ensure_ascii=False), err=to_stderr)
    else:
        put("\n".join(summary.lines()), err=to_stderr)


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector from walking a large spec over and over: its values hold no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _told_errors() -> Iterator[None]:
    """Turn an error on purpose into its line, a spec's offending line with a mark, and exit code 2."""
    try:
        yield
    except SatsumaError as error:
        tell(f"error: {error.file}:{error.line}:{error.column}: {error.message}")
        if error.excerpt:
            before = error.excerpt[: error.column - 1]
            mark = "".join(letter if letter == "\t" else " " for letter in before)
            put(f"  {error.excerpt}\n  {mark}^", err=True)
        raise typer.Exit(ERROR) from None
    except LineageLogError as error:
        tell(f"error: {error}")
        raise typer.Exit(ERROR) from None
