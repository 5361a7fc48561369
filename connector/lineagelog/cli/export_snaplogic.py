"""`lineagelog export snaplogic`: SnapLogic pipelines and their runs as events, to files, the store or a backend."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from lineagelog.errors import InputError, LineageLogError, SettingsError
from lineagelog.export.files import write_file, write_folder
from lineagelog.export.snaplogic import (
    CLASS_PREFIX,
    DEFAULT_CONTROL_PLANE,
    AccountBook,
    Naming,
    Nested,
    PipelineExport,
    PipelineExportOptions,
    Source,
    VirtualNames,
    export_snaplogic,
    problems,
    read_accounts,
    read_classes,
    read_columns,
    read_namespaces,
)
from lineagelog.shown import counted
from lineagelog.spec import validator_is_installed

from .command import FINDINGS, OK, command
from .printing import put, put_bytes, put_json, tell
from .session import Session

if TYPE_CHECKING:
    from lineagelog.export.snaplogic.classes import SnapClass


class OutputFormat(StrEnum):
    """How events are written: one JSON file each in a folder, one JSON array, or one event a line."""

    FILES = "files"
    ARRAY = "array"
    NDJSON = "ndjson"


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    pipelines: tuple[Path, ...]
    runs: tuple[Path, ...]
    options: PipelineExportOptions
    out: Path | None
    format: OutputFormat
    check: bool
    load: bool
    emit: bool
    strict: bool
    as_json: bool


_EXAMPLES = (
    "lineagelog export snaplogic orders.slp --run run.json --accounts accounts.json --out events/",
    "lineagelog export snaplogic parent.slp child.slp --run parent.json --run child.json --out all.ndjson",
    "lineagelog export snaplogic orders.slp --run run.json --namespaces names.json --modern --load",
    "OPENLINEAGE_URL=http://localhost:8080 lineagelog export snaplogic orders.slp --run run.json --modern --emit",
    "lineagelog export snaplogic orders.slp --run run.json --check --strict --json",
)

_Pipelines = Annotated[list[Path], typer.Argument(help="Pipeline exports (.slp, API answers, project export.json).")]
_Runs = Annotated[list[Path] | None, typer.Option("--run", help="Run information (JSON); repeat for more runs.")]
_Accounts = Annotated[list[Path] | None, typer.Option(help="Account assets: host and database of each account.")]
_Namespaces = Annotated[
    Path | None,
    typer.Option(help="Account label to system, openlineage_namespace and database; wins over --accounts."),
]
_Classes = Annotated[
    Path | None, typer.Option(help="Your own Snap classes: class id to role, system, place, settings.")
]
_Columns = Annotated[
    Path | None, typer.Option(help="Columns of tables whose Select lists none, and for * in SQL: dataset to names.")
]
_Out = Annotated[Path | None, typer.Option(help="Folder (--format files) or file; array and ndjson default to stdout.")]
_Format = Annotated[
    OutputFormat | None,
    typer.Option(
        "--format",
        help="One JSON file per event, one array, one event a line. Default: by the ending of --out.",
    ),
]
_ControlPlane = Annotated[str, typer.Option(help="Host of the Designer in the producer links.")]
_VirtualNames = Annotated[
    VirtualNames,
    typer.Option(help="Names of what flows between Snaps: as documented, or as SnapLogic's own events say."),
]
_Naming = Annotated[Naming, typer.Option(help="Namespaces of endpoints: the system's name, or OpenLineage's naming.")]
_Nested = Annotated[Nested, typer.Option(help="Nested fields as their top-level column, or with the whole path.")]
_Modern = Annotated[bool, typer.Option("--modern", help="Today's specification (2-0-2) and facets, real types.")]
_Abort = Annotated[
    bool, typer.Option("--stopped-as-abort", help="ABORT instead of COMPLETE for stopped Snaps and runs.")
]
_Separate = Annotated[
    bool, typer.Option("--separate-children", help="Do not follow documents into child pipelines and back.")
]
_Check = Annotated[bool, typer.Option("--check", help="Export and validate, write nothing.")]
_Load = Annotated[bool, typer.Option("--load", help="Store the events in the log store.")]
_Emit = Annotated[
    bool,
    typer.Option(
        "--emit",
        help="Post the events to the backend of OPENLINEAGE_URL (token: OPENLINEAGE_API_KEY) or openlineage.yml;"
        " what it refuses (a 401, too) ends with code 2.",
    ),
]
_Strict = Annotated[bool, typer.Option("--strict", help="Exit 1 when there are warnings.")]
_Json = Annotated[bool, typer.Option("--json", help="Summary and findings as JSON.")]


def register(group: typer.Typer) -> None:
    """Mount the command."""
    command(group, "snaplogic", *_EXAMPLES)(_export_snaplogic)


def _export_snaplogic(
    session: Session,
    pipelines: _Pipelines,
    run: _Runs = None,
    accounts: _Accounts = None,
    namespaces: _Namespaces = None,
    classes: _Classes = None,
    columns: _Columns = None,
    out: _Out = None,
    output_format: _Format = None,
    control_plane: _ControlPlane = DEFAULT_CONTROL_PLANE,
    virtual_names: _VirtualNames = VirtualNames.DOCUMENTED,
    naming: _Naming = Naming.DOCUMENTED,
    nested: _Nested = Nested.TOP,
    modern: _Modern = False,
    stopped_as_abort: _Abort = False,
    separate_children: _Separate = False,
    check: _Check = False,
    load: _Load = False,
    emit: _Emit = False,
    strict: _Strict = False,
    as_json: _Json = False,
) -> int:
    """Export SnapLogic pipelines and their runs: one OpenLineage event per Snap that ran.

    Run information is what GET https://HOST/api/1/rest/public/runtime/ORG/RUUID?level=detail answers.

    Exit code: 0 fine; 1 warnings, with --strict; 2 no export possible, and no file written.
    """
    book = _accounts(accounts or [], namespaces)
    options = PipelineExportOptions(
        _host(control_plane), virtual_names, naming, nested, modern,
        stopped_as_abort, separate_children, book, _classes(classes), _columns(columns),
    )  # fmt: skip
    request = Request(
        tuple(pipelines), tuple(run or ()), options, out, output_format or _format_of(out),
        check, load, emit, strict, as_json,
    )  # fmt: skip
    return _run_export(session, request)


def _run_export(session: Session, request: Request) -> int:
    """Export, validate, deliver, write, report; the exit code."""
    _check_request(request)
    exported = export_snaplogic(_sources(request.pipelines), _sources(request.runs), request.options)
    validated = _validate(exported, request)
    wrote = None
    if not request.check:
        _deliver(session, request, [orjson.dumps(event) for event in exported.events])
        wrote = _write(exported, request)
    _report(exported, request, wrote, validated)
    return FINDINGS if request.strict and exported.summary.warnings else OK


def _deliver(session: Session, request: Request, events: list[bytes]) -> None:
    """Store and post the events, as far as that was asked for."""
    if request.load:
        with session.store(create=True, pool_size=session.settings.intake.writers) as store:
            session.load(store, events)
    if request.emit:
        session.emit(events)


def _format_of(out: Path | None) -> OutputFormat:
    endings = {".json": OutputFormat.ARRAY, ".ndjson": OutputFormat.NDJSON, ".jsonl": OutputFormat.NDJSON}
    return endings.get(out.suffix.lower(), OutputFormat.FILES) if out and not out.is_dir() else OutputFormat.FILES


def _check_request(request: Request) -> None:
    has_target = request.out or request.check or request.load or request.emit
    if request.format is OutputFormat.FILES and not has_target:
        raise SettingsError("nowhere to put the events: give --out FOLDER, --load, --emit or --check")


def _sources(paths: tuple[Path, ...]) -> list[Source]:
    return [Source(str(path), _read(path)) for path in paths]


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise InputError(f"{path}: a folder; give the file in it")
    return path.read_bytes()


def _host(control_plane: str) -> str:
    host = re.sub(r"^https?://", "", control_plane.strip()).rstrip("/")
    if not re.fullmatch(r"[A-Za-z0-9.-]+(?::\d+)?", host):
        raise SettingsError(
            f"--control-plane {control_plane!r} is no host name; expected one like {DEFAULT_CONTROL_PLANE}"
        )
    return host


def _accounts(paths: list[Path], namespaces: Path | None) -> AccountBook:
    accounts = tuple(account for path in paths for account in read_accounts(_read(path), str(path)))
    return AccountBook(accounts, read_namespaces(_read(namespaces), str(namespaces)) if namespaces else {})


def _classes(file: Path | None) -> dict[str, SnapClass]:
    return read_classes(_read(file), str(file), CLASS_PREFIX) if file else {}


def _columns(file: Path | None) -> dict[str, tuple[str, ...]]:
    return read_columns(_read(file), str(file)) if file else {}


def _validate(exported: PipelineExport, request: Request) -> bool:
    """Whether the events were validated. An invalid one is our fault, not the user's: nothing is written then."""
    if not validator_is_installed() and not request.check:
        tell("note: not validated; pip install 'lineagelog[export]' adds the validator")
        return False
    found = problems(exported.events, request.options.modern)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise LineageLogError(f"the exported events are not valid, nothing was written: {found[0]}{more}")
    return True


def _write(exported: PipelineExport, request: Request) -> str | None:
    """Write the events in the format asked for; where to, None when only --load or --emit was asked for."""
    events = exported.events
    if request.format is OutputFormat.FILES:
        if request.out is None:
            return None
        contents = {_file_name(event): _pretty(event) for event in events}
        write_folder(request.out, contents)
        return str(request.out)
    lines = [orjson.dumps(event) for event in events]
    is_array = request.format is OutputFormat.ARRAY
    data = b"[\n" + b",\n".join(lines) + b"\n]\n" if is_array else b"".join(line + b"\n" for line in lines)
    if request.out is not None and str(request.out) != "-":
        write_file(request.out, data)
        return str(request.out)
    if request.out is None and (request.load or request.emit):
        return None
    put_bytes(data)
    return "-"


def _pretty(event: dict[str, Any]) -> bytes:
    return orjson.dumps(event, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _file_name(event: dict[str, Any]) -> str:
    """Readable and unique: the job's name without its id, then the run id."""
    readable = re.sub(r"[^\w.-]+", "_", event["job"]["name"].rpartition(":")[0] or event["job"]["name"], flags=re.ASCII)
    return f"{readable.strip('._')[:80] or 'event'}.{event['run']['runId']}.json"


def _report(exported: PipelineExport, request: Request, wrote: str | None, validated: bool) -> None:
    """Findings and numbers; to stderr when the events themselves went to stdout."""
    to_stderr = wrote == "-"
    if request.as_json:
        findings = [asdict(finding) for finding in exported.findings]
        content = {
            "summary": exported.summary.as_dict(),
            "findings": findings,
            "out": wrote,
            "validated": validated,
        }
        put_json(orjson.dumps(content, option=orjson.OPT_INDENT_2).decode(), err=to_stderr)
        return
    for finding in exported.findings:
        tell(finding)
    summary = exported.summary
    coverage = "" if summary.coverage is None else f" ({summary.coverage:.0%})"
    where = f", in {wrote}" if wrote else ""
    running = f", {summary.running} running" if summary.running else ""
    tables = f"{summary.tables_read} read, {summary.tables_written} written"
    lines = [
        f"events    {summary.events} of {counted(summary.runs, 'runs')}, {summary.failed} failed{running}{where}",
        f"datasets  {tables}, {summary.virtual_datasets} virtual",
        f"columns   {summary.traced_columns} of {summary.columns} with origin{coverage}",
        f"findings  {counted(summary.warnings, 'warnings')}, {counted(summary.notes, 'notes')}",
        f"valid     {'yes' if validated else 'not checked'}",
    ]
    put("\n".join(lines), err=to_stderr)
