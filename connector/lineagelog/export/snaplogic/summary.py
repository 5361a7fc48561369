"""The numbers of an export: what a person looks at to see whether it is right."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .document import ExportNote


@dataclass(frozen=True, slots=True)
class PipelineSummary:
    """Counts. `columns`: columns of all outputs; `traced_columns`: those with at least one input field;
    `tables`: endpoint datasets."""

    runs: int
    events: int
    failed: int
    running: int
    jobs: int
    virtual_datasets: int
    tables_read: int
    tables_written: int
    columns: int
    traced_columns: int
    warnings: int
    notes: int

    @property
    def coverage(self) -> float | None:
        """Traced columns / columns, or None without columns."""
        return round(self.traced_columns / self.columns, 4) if self.columns else None

    def as_dict(self) -> dict[str, Any]:
        """All numbers, for `--json`."""
        return {**asdict(self), "column_coverage": self.coverage}


def summarise(
    events: Sequence[dict[str, Any]], findings: Iterable[ExportNote], runs: int, virtual: str
) -> PipelineSummary:
    """Count what the events hold; `virtual` is the namespace of virtual datasets."""
    outputs = [dataset for event in events for dataset in event["outputs"]]
    inputs = [dataset for event in events for dataset in event["inputs"]]
    fields = [
        column
        for dataset in outputs
        for column in dataset["facets"].get("columnLineage", {}).get("fields", {}).values()
    ]
    severities = Counter(finding.severity for finding in findings)
    return PipelineSummary(
        runs=runs,
        events=len(events),
        failed=sum(event["eventType"] == "FAIL" for event in events),
        running=sum(event["eventType"] == "RUNNING" for event in events),
        jobs=len({event["job"]["name"] for event in events}),
        virtual_datasets=len({dataset["name"] for dataset in (*inputs, *outputs) if dataset["namespace"] == virtual}),
        tables_read=len({_identity(dataset) for dataset in inputs if dataset["namespace"] != virtual}),
        tables_written=len({_identity(dataset) for dataset in outputs if dataset["namespace"] != virtual}),
        columns=len(fields),
        traced_columns=sum(bool(column["inputFields"]) for column in fields),
        warnings=severities["warning"],
        notes=severities["note"],
    )


def _identity(dataset: dict[str, Any]) -> tuple[str, str]:
    return dataset["namespace"], dataset["name"]
