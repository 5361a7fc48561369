"""`lineagelog analyse …`: questions to a window of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .command import FINDINGS, command
from .lists import window_of
from .printing import Csv, Form, JsonLines, form_of, print_rows, tell
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lineagelog.analysis import Finding

group = typer.Typer(no_args_is_help=True, help="Ask questions about a window of the log; findings explain themselves.")

_WINDOW: Final = "Which part of the log"
_TABLE: Final = ("severity", "change", "first_seen", "explanation")
_COLUMNS: Final = (
    *("finding_id", "analysis", "severity", "subject_kind", "subject_namespace", "subject_name", "subject_column"),
    *("change", "detail", "observed", "expected", "lower", "upper", "score", "method", "n"),
    *("first_seen", "last_seen", "run_ids", "explanation"),
)

Since = Annotated[
    str,
    typer.Option(
        metavar="TIME", rich_help_panel=_WINDOW, help="From: 2026-03-01, 2026-03-01T08:00Z or -7d (s m h d w)."
    ),
]
Until = Annotated[str, typer.Option(metavar="TIME", rich_help_panel=_WINDOW, help="Before: the same, or now.")]
History = Annotated[
    str, typer.Option(metavar="SPAN", rich_help_panel=_WINDOW, help="Compare with runs from so long before --since on.")
]
Runs = Annotated[
    int, typer.Option(metavar="N", min=1, help="Runs in a row without something before it is new, or has vanished.")
]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if there are findings.")]


@command(
    group,
    "lineage-drift",
    "lineagelog analyse lineage-drift",
    "lineagelog analyse lineage-drift --since -1d --history '2 weeks' --exit-code",
)
def _lineage_drift(
    session: Session,
    since: Since = "-7d",
    until: Until = "now",
    history: History = "30 days",
    runs: Runs = 3,
    exit_code: ExitCode = False,
    json: JsonLines = False,
    csv: Csv = False,
) -> int:
    """Find the inputs and outputs of jobs that are new, or have vanished.

    A job is compared with its own completed runs. Through SnapLogic's Snaps lineage is followed from table to table.
    """
    values = {"history": history, "runs": str(runs)}
    return _analyse(session, "lineage_drift", (since, until), values, form_of(json=json, csv=csv), exit_code)


@command(
    group,
    "column-lineage-drift",
    "lineagelog analyse column-lineage-drift",
    "lineagelog analyse column-lineage-drift --since -1d --json | jq 'select(.severity == \"high\").explanation'",
)
def _column_lineage_drift(
    session: Session,
    since: Since = "-7d",
    until: Until = "now",
    history: History = "30 days",
    runs: Runs = 3,
    exit_code: ExitCode = False,
    json: JsonLines = False,
    csv: Csv = False,
) -> int:
    """Find the columns that are no longer fed from where they were, or from somewhere new.

    High: nothing feeds the column any more.
    """
    values = {"history": history, "runs": str(runs)}
    return _analyse(session, "column_lineage_drift", (since, until), values, form_of(json=json, csv=csv), exit_code)


@command(
    group,
    "schema-drift",
    "lineagelog analyse schema-drift --since -1d --exit-code",
    "lineagelog analyse schema-drift --json | jq 'select(.is_breaking)'",
)
def _schema_drift(
    session: Session,
    since: Since = "-7d",
    until: Until = "now",
    history: History = "30 days",
    exit_code: ExitCode = False,
    json: JsonLines = False,
    csv: Csv = False,
) -> int:
    """Find the datasets that changed their columns, and what breaks readers.

    Compared is what one job says of a dataset from run to run. Reordered columns and other words for the same type are
    no change. High: a column was removed, or its values may no longer fit.
    """
    form = form_of(json=json, csv=csv)
    return _analyse(session, "schema_drift", (since, until), {"history": history}, form, exit_code)


@command(
    group,
    "blast-radius",
    "lineagelog analyse blast-radius --dataset shop.public.orders --dataset-namespace postgres://db:5432 --since -2d",
    "lineagelog analyse blast-radius --run 3c7f2e3a-0000-0000-0000-000000000000 --json",
)
def _blast_radius(
    session: Session,
    dataset: Annotated[str, typer.Option(metavar="NAME", help="The dataset that is bad from --since on.")] = "",
    dataset_namespace: Annotated[str, typer.Option(metavar="NAME", help="Its namespace.")] = "",
    run: Annotated[str, typer.Option(metavar="RUN_ID", help="Or: the run whose outputs are bad.")] = "",
    depth: Annotated[int, typer.Option(metavar="N", min=1, max=99, help="How many steps to follow.")] = 10,
    since: Since = "-7d",
    until: Until = "now",
    exit_code: ExitCode = False,
    json: JsonLines = False,
    csv: Csv = False,
) -> int:
    """Find what is downstream of a bad dataset or of a bad run, and who read it.

    Follows the data in the order of time: who read it after the bad write, what they wrote, who read that, and so on.
    """
    values = {"dataset": dataset, "dataset_namespace": dataset_namespace, "run_id": run, "depth": str(depth)}
    hint = ": nobody read it, or its name is spelled otherwise in the log (lineagelog list datasets)"
    return _analyse(session, "blast_radius", (since, until), values, form_of(json=json, csv=csv), exit_code, hint)


def _analyse(
    session: Session,
    name: str,
    period: tuple[str, str],
    values: Mapping[str, str],
    form: Form,
    exit_code: bool,
    hint: str = "",
) -> int:
    from lineagelog.analysis import analyse, analysis_named

    window = window_of(*period)
    with session.store() as store:
        findings = analyse(store.engine, store.schema, analysis_named(name), window, values)
    columns = _COLUMNS if form is Form.CSV else _TABLE
    rows = [_row(finding) for finding in findings]
    if rows or form is not Form.TABLE:
        print_rows(form, columns, rows)
    if not rows:
        period_text = f"{window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} UTC"
        tell(f"nothing found from {period_text}{hint}")
    return FINDINGS if findings and exit_code else 0


def _row(finding: Finding) -> dict[str, Any]:
    """The finding with its subject's and its own further values side by side."""
    from msgspec.structs import asdict

    fields = asdict(finding)
    subject, values = fields.pop("subject"), fields.pop("values")
    about = {f"subject_{name}": value for name, value in asdict(subject).items()}
    return {"finding_id": str(finding.finding_id), **about, **fields, **values}
