"""`lineagelog show`: one run with all that is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lineagelog.errors import InputError
from lineagelog.shown import counted, place

from .command import command
from .printing import Form, Json, form_of, print_facts, print_json, print_rows, put, span_of
from .session import Session

if TYPE_CHECKING:
    from lineagelog.read import Run, RunDetails


def register(app: typer.Typer) -> None:
    """Mount the command."""
    command(
        app,
        "show",
        "lineagelog show 79dfb72c-813e-5623-b672-6cda60951d07",
        "lineagelog show RUN_ID --json | jq .datasets",
    )(_show)


def _show(
    session: Session,
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="As `lineagelog list runs` shows it.")],
    json: Json = False,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, help="At most so many datasets, assertions, tests and events.")
    ] = 1000,
) -> None:
    """Show one run: its facts, datasets, assertions, tests and the time line of its events."""
    from lineagelog.read import Reader

    with session.store() as store:
        details = Reader(store.database).run(run_id, limit=limit, content=True)
    if details is None:
        raise InputError(f"there is no run {run_id!r} in the store: see `lineagelog list runs`")
    if json:
        print_json(_as_json(details))
        return
    _print(details)


def _as_json(details: RunDetails) -> dict[str, Any]:
    from msgspec.structs import asdict

    rows = ("runs", "datasets", "assertions", "tests", "events")
    return {
        "run_id": details.run_id,
        **{name: [asdict(row) for row in getattr(details, name)] for name in rows},
        "truncated": details.truncated,
        "schemas": {str(key): value for key, value in details.schemas.items()},
        "column_lineage": {str(key): value for key, value in details.lineages.items()},
    }


def _print(details: RunDetails) -> None:
    from msgspec.structs import asdict

    for run in details.runs:
        print_facts(_facts(run))
    form = form_of(json=False, csv=False)
    datasets = [asdict(row) | {"column lineage": _lineage(details, row.lineage_hash)} for row in details.datasets]
    _print_part(
        form,
        "Datasets",
        ("direction", "dataset_namespace", "dataset_name", "row_count", "size_bytes", "file_count", "column lineage"),
        datasets,
    )
    checks = ("event_time", "dataset_name", "assertion", "column_name", "success", "severity")
    _print_part(form, "Assertions", checks, [asdict(row) for row in details.assertions])
    _print_part(
        form, "Tests", ("event_time", "test_name", "status", "severity"), [asdict(row) for row in details.tests]
    )
    _print_part(
        form, "Events", ("event_time", "event_type", "job_name", "received_at", "notices"), map(asdict, details.events)
    )
    if details.truncated:
        put("There is more: raise --limit.")


def _facts(run: Run) -> dict[str, Any]:
    parent = place(run.parent_namespace, run.parent_name or "") if run.parent_name else run.parent_namespace or ""
    return {
        "run": run.run_id,
        "job": f"{run.job_namespace or '(no namespace)'}  {run.job_name}",
        "outcome": run.outcome,
        "status": run.status if run.status != run.outcome else None,
        "start": run.start_time,
        "end": run.end_time,
        "duration": span_of(run.duration),
        "last event": run.last_event_time,
        "attempt": run.attempt,
        "map index": run.map_index,
        "error": run.error_message,
        "parent": f"{parent} {run.parent_run_id or ''}".strip() or None,
        "kind": " ".join(filter(None, (run.integration, run.job_type, run.processing_type))) or None,
        "nominal time": run.nominal_start_time,
        "producer": run.producer,
        "governance action": run.governance_action,
    }


def _print_part(form: Form, title: str, columns: tuple[str, ...], rows: Any) -> None:
    found = list(rows)
    if found:
        put(f"\n{title}")
        print_rows(form, columns, found)


def _lineage(details: RunDetails, key: Any) -> str | None:
    """The output columns that the run told the origin of."""
    edges = details.lineages.get(key)
    fields = edges.get("fields") if isinstance(edges, dict) else None
    return counted(len(fields), "columns") if isinstance(fields, dict) else None
