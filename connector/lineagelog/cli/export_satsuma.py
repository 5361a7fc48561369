"""`lineagelog export satsuma`: specs to OpenLineage events, checked, summed up, written as a whole and delivered."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import Progress

from lineagelog.errors import InputError, LineageLogError, SettingsError
from lineagelog.export.files import renew_folder, write_file
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

from .command import ERROR, FINDINGS, OK, command
from .printing import put, put_bytes, put_json, tell
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lineagelog.export.satsuma import Engine, Export, Spec, Summary

_SHOW_PROGRESS_FROM = 200
_WATCH_EVERY = 0.5
_REPRODUCIBLE = datetime(2025, 1, 1, tzinfo=UTC)
"""The time of events without one: the same in every clone of the specs, whenever it was made."""
_EXAMPLES = (
    "lineagelog export satsuma platform.stm --dataset-namespace snowflake://acme --out lineage/",
    "lineagelog export satsuma specs/ -d 'crm::*=postgres://crm:5432' -d snowflake://acme --format ndjson",
    "lineagelog export satsuma platform.stm -d bigquery --consumer-namespace looker=looker://acme --load",
    "OPENLINEAGE_URL=http://localhost:5000 lineagelog export satsuma platform.stm -d bigquery --emit",
    "lineagelog export satsuma platform.stm -d bigquery --check --strict",
    "lineagelog export satsuma specs/ -d bigquery --out lineage/ --watch",
)


class Format(StrEnum):
    """The forms of the output."""

    files = "files"
    array = "array"
    ndjson = "ndjson"
    python = "python"


class EventForm(StrEnum):
    """Which events tell of a job."""

    complete = "complete"
    start_complete = "start-complete"
    job = "job"


class EngineName(StrEnum):
    """What reads the specs."""

    own = "own"
    cli = "cli"


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
DatasetDatabase = Annotated[
    str | None, typer.Option("--dataset-database", help="what `database` in --naming stands for")
]
Kind = Annotated[EventForm, typer.Option("--event-kind", help="the events of a job")]
EventTime = Annotated[
    str | None,
    typer.Option(
        "--event-time",
        help="ISO 8601; default SOURCE_DATE_EPOCH, else now for --load and --emit, else 2025-01-01T00:00:00Z",
    ),
]
Producer = Annotated[str, typer.Option("--producer", help="the URI of the producer")]
ConsumerNamespace = Annotated[
    list[str] | None,
    typer.Option("--consumer-namespace", help="TOOL=NAMESPACE for reports and models of a tool"),
]
Standalone = Annotated[
    bool, typer.Option("--standalone-consumers", help="reports and models without sources as DatasetEvents")
]
StandaloneSchemas = Annotated[
    bool, typer.Option("--standalone-schemas", help="schemas that no mapping names as DatasetEvents")
]
OutputFormat = Annotated[Format, typer.Option("--format", help="the form of the output")]
Out = Annotated[Path | None, typer.Option("--out", help="a folder for `files`, else a file; - is the standard output")]
Reader = Annotated[
    EngineName, typer.Option("--engine", help="our own parser, or that compared with the `satsuma` command")
]
Load = Annotated[bool, typer.Option("--load", help="store the events in the log store")]
Retire = Annotated[
    bool, typer.Option("--retire", help="with --load: end the jobs of earlier loads that are gone from the specs")
]
Emit = Annotated[
    bool, typer.Option("--emit", help="post the events to the backend of OPENLINEAGE_URL or openlineage.yml")
]
Check = Annotated[bool, typer.Option("--check", help="only validate: write and send nothing")]
Watch = Annotated[bool, typer.Option("--watch", help="export again whenever a spec changes, until Ctrl-C")]
Strict = Annotated[bool, typer.Option("--strict", help="exit 1 when the spec has problems")]
AsJson = Annotated[bool, typer.Option("--json", help="the summary as JSON")]


def register(group: typer.Typer) -> None:
    """Mount the command."""
    command(group, "satsuma", *_EXAMPLES)(_export_satsuma)


def _export_satsuma(
    session: Session,
    specs: Specs,
    dataset_namespace: DatasetNamespace = None,
    job_namespace: JobNamespace = JOB_NAMESPACE,
    naming: Naming = NAMING,
    dataset_database: DatasetDatabase = None,
    event_kind: Kind = EventForm.complete,
    event_time: EventTime = None,
    producer: Producer = PRODUCER,
    consumer_namespace: ConsumerNamespace = None,
    standalone_consumers: Standalone = False,
    standalone_schemas: StandaloneSchemas = False,
    output_format: OutputFormat = Format.files,
    out: Out = None,
    engine: Reader = EngineName.own,
    load: Load = False,
    retire: Retire = False,
    emit: Emit = False,
    check: Check = False,
    watch: Watch = False,
    strict: Strict = False,
    as_json: AsJson = False,
) -> int:
    """Turn Satsuma mapping specs (.stm) into OpenLineage events: design-time lineage.

    Each mapping becomes a job with one COMPLETE event; a report or model that names its sources is a job too. Imports
    are followed, a folder stands for all .stm files in it, and a re-run gives the same bytes.

    --emit posts the events to the backend (Marquez, DataHub, OpenMetadata, Atlan, …) that the OpenLineage client is
    configured for: OPENLINEAGE_URL and OPENLINEAGE_API_KEY, or the file that OPENLINEAGE_CONFIG names,
    ./openlineage.yml or ~/.openlineage/openlineage.yml. What the backend refuses (a 401 too) ends it with exit code 2.

    Exit code: 0 fine; 1 findings (schema failures, with --strict problems in the spec); 2 no export possible.
    """
    asked = _Asked(tuple(dataset_namespace or ()), naming, dataset_database)
    chosen = _Chosen(
        job_namespace, event_kind.value, producer, tuple(consumer_namespace or ()), event_time,
        standalone_consumers, standalone_schemas,
    )  # fmt: skip
    target = _Target(session, output_format.value, out, load=load, retire=retire, emit=emit, check=check)
    target.settle()
    work = _Work(tuple(specs), engine.value, asked, chosen, target, strict=strict, as_json=as_json, files=_Files())
    return work.watch() if watch else work.once()


@dataclass(slots=True)
class _Work:
    """One export, and under `--watch` one after each change of a spec."""

    specs: tuple[Path, ...]
    engine: str
    asked: _Asked
    chosen: _Chosen
    target: _Target
    strict: bool
    as_json: bool
    files: _Files

    def once(self) -> int:
        """Export; the exit code. A spec that cannot be read is told with its line and a mark."""
        try:
            with uncollected():
                return self._export()
        except SatsumaError as error:
            _tell_place(error)
            return ERROR

    def _export(self) -> int:
        spec = _read(self.engine, find_specs(self.specs), self.files)
        self.asked.complete(spec)
        live = self.target.load or self.target.emit
        time = settle_time(self.chosen.event_time, os.environ.get("SOURCE_DATE_EPOCH"), live=live)
        made, summary = _make(spec, _options(self.asked, self.chosen, time))
        if not summary.failures:
            self.target.deliver(made, self.chosen)
        _tell(made, summary, as_json=self.as_json, to_stderr=self.target.uses_stdout)
        return FINDINGS if summary.failures or (self.strict and summary.problems) else OK

    def watch(self) -> NoReturn:
        """Export now and after each change, until it is interrupted; errors are told and do not end it."""
        while True:
            self.files.ages.clear()
            listing = self._listing()
            try:
                self.once()
            except LineageLogError as error:
                tell(f"lineagelog: {error}")
            tell(f"watching {len(self.files.ages)} specs")
            while self._listing() == listing and not self.files.changed():
                time.sleep(_WATCH_EVERY)

    def _listing(self) -> set[Path]:
        """The specs in the folders: a new one is exported too."""
        return {file for path in self.specs if path.is_dir() for file in path.rglob("*.stm")}


@dataclass(slots=True)
class _Files:
    """Reads specs and what they import, and knows which have changed since; one may be missing or broken."""

    ages: dict[str, tuple[int, int] | None] = field(default_factory=dict)

    def read(self, path: str) -> bytes:
        """The bytes of a file; its age is that before it is read, so that no change is lost."""
        self.ages[path] = _age(path)
        return Path(path).read_bytes()

    def changed(self) -> bool:
        """Whether one of the files that were read, or looked for, is another one now."""
        return any(_age(name) != age for name, age in self.ages.items())


def _age(name: str) -> tuple[int, int] | None:
    try:
        found = Path(name).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


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
    event_time: str | None
    standalone_consumers: bool
    standalone_schemas: bool


def _options(asked: _Asked, chosen: _Chosen, time: datetime) -> ExportOptions:
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
        standalone_consumers=chosen.standalone_consumers,
        standalone_schemas=chosen.standalone_schemas,
    )


@dataclass(slots=True)
class _Target:
    """Where the events go."""

    session: Session
    form: str
    out: Path | None
    load: bool
    retire: bool
    emit: bool
    check: bool

    @property
    def uses_stdout(self) -> bool:
        """Whether the events themselves go to the standard output."""
        return not self.check and self.out is not None and str(self.out) == "-"

    def settle(self) -> None:
        """Settle what is left open. Raises SettingsError for what does not go together."""
        if self.retire and not self.load:
            raise SettingsError("--retire ends jobs in the store: give --load too")
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

    def deliver(self, made: Export, chosen: _Chosen) -> None:
        """Write and send the events."""
        if self.check:
            return
        if self.out is not None:
            self._write(made, self.out)
        if self.load:
            self._store(made, chosen)
        if self.emit:
            self.session.emit(as_lines(made.events))

    def _store(self, made: Export, chosen: _Chosen) -> None:
        """Load the events as what comes after earlier loads, and tell what has changed since."""
        import orjson

        from lineagelog.export.satsuma.history import INTEGRATION, continue_events
        from lineagelog.read import Reader as StoreReader
        from lineagelog.read.newest import newest_events

        given = chosen.event_time is not None or bool(os.environ.get("SOURCE_DATE_EPOCH"))
        with self.session.store(create=True, pool_size=self.session.settings.intake.writers) as store:
            earlier = newest_events(StoreReader(store.database), chosen.job_namespace, INTEGRATION)
            retire = settle_time(chosen.event_time, os.environ.get("SOURCE_DATE_EPOCH"), live=True)
            continued = continue_events(
                (item.event for item in made.events), earlier,
                time_given=given, retire=retire if self.retire else None,
            )  # fmt: skip
            self.session.load(store, map(orjson.dumps, continued.events))
        for name in continued.changed:
            tell(f"changed since the last load, so a new run: {name}")
        for name in continued.gone:
            end = "ended" if self.retire else "--retire ends it"
            tell(f"loaded earlier and in none of these specs: {name} ({end})")

    def _write(self, made: Export, out: Path) -> None:
        if self.form == "files":
            renew_folder(out, as_files(made.events))
        elif self.uses_stdout:
            put_bytes(self._content(made, "emit.py"))
        else:
            write_file(out, self._content(made, out.name))

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


def make_engine(name: str, read_file: Callable[[str], bytes] = lambda path: Path(path).read_bytes()) -> Engine:
    """The engine that reads the specs: `own`, or `cli` for the `satsuma` command."""
    own = OwnEngine(read_file)
    return CliEngine(run_satsuma, own) if name == "cli" else own


def run_satsuma(arguments: Sequence[str]) -> Ran:
    """Run the `satsuma` command. Raises SettingsError when it is not on PATH."""
    command = shutil.which("satsuma")
    if command is None:
        raise SettingsError("the satsuma command is not on PATH: install it, or use --engine own")
    done = subprocess.run(  # noqa: S603  # the command of that name on PATH, no shell between
        [command, *arguments], capture_output=True, check=False, encoding="utf-8", errors="replace"
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def settle_time(given: str | None, epoch: str | None, *, live: bool) -> datetime:
    """The event time: as given, else SOURCE_DATE_EPOCH, else now for what is `live`, else one fixed time.

    The age of a file would differ from clone to clone.
    """
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
    return datetime.now(UTC) if live else _REPRODUCIBLE


def _read(engine: str, files: list[str], reader: _Files) -> Spec:
    with _console.status(f"reading {len(files)} specs and what they import"):
        return make_engine(engine, reader.read).read(files)


def _make(spec: Spec, options: ExportOptions) -> tuple[Export, Summary]:
    jobs = len(spec.mappings)
    shown = jobs >= _SHOW_PROGRESS_FROM and _console.is_terminal
    with Progress(console=_console, transient=True, disable=not shown) as progress:
        making = progress.add_task("making events", total=jobs)
        made = export(spec, options, lambda done: progress.update(making, completed=done))
        checking = progress.add_task("validating", total=len(made.events))
        failures = validate(made.events, lambda done: progress.update(checking, completed=done))
    return made, summarize(made, failures)


def _tell(made: Export, summary: Summary, *, as_json: bool, to_stderr: bool) -> None:
    for problem in summary.problems:
        tell(f"warning: {problem}")
    for schema in made.unmapped:
        what = f"schema '{schema.key}' is named by no mapping and stands in no event"
        tell(f"note: {schema.file}:{schema.line}: {what} (--standalone-schemas exports it)")
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


def _tell_place(error: SatsumaError) -> None:
    """The error's place and message, and the offending line with a mark."""
    tell(f"lineagelog: {error.file}:{error.line}:{error.column}: {error.message}")
    if error.excerpt:
        before = error.excerpt[: error.column - 1]
        mark = "".join(letter if letter == "\t" else " " for letter in before)
        put(f"  {error.excerpt}\n  {mark}^", err=True)
