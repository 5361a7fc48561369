"""What the tests of the SnapLogic exporter share: exporting samples, and events as short readable rows."""

from __future__ import annotations

import json
import re
from typing import Any

from lineagelog.export.snaplogic import (
    AccountBook,
    PipelineExport,
    PipelineExportOptions,
    Source,
    export_snaplogic,
    problems,
    read_accounts,
)

from .build import SAMPLES, Json, Sample

FILES = {"artifact": "Nightly export"}
_ID = re.compile(r": ?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def source(name: str) -> Source:
    """A sample file as the exporter takes it."""
    return Source(name, (SAMPLES / name).read_bytes())


def book() -> AccountBook:
    """The accounts of the samples."""
    return AccountBook(read_accounts((SAMPLES / "accounts.json").read_bytes(), "accounts.json"))


def export(*names: str, **options: Any) -> PipelineExport:
    """Export samples by name with their accounts."""
    chosen = PipelineExportOptions(**{"accounts": book()} | options)
    files = [source(f"{FILES.get(name, name)}.slp") for name in names]
    return export_snaplogic(files, [source(f"{name}.run.json") for name in names], chosen)


def event(exported: PipelineExport, label: str) -> Json:
    """The event of the Snap with that label."""
    found = [event for event in exported.events if short(event["job"]["name"]).endswith(f":{label}")]
    assert len(found) == 1, [event["job"]["name"] for event in exported.events]
    return found[0]


def short(name: str) -> str:
    """A name without the Snap id in it."""
    return _ID.sub("", name)


def datasets(listed: list[Json]) -> list[str]:
    """`namespace | name` of datasets, ids left out."""
    return [f"{dataset['namespace']} | {short(dataset['name'])}" for dataset in listed]


def columns(dataset: Json) -> list[str]:
    """The names in a dataset's schema."""
    return [field["name"] for field in dataset["facets"].get("schema", {}).get("fields", [])]


def lineage(dataset: Json) -> dict[str, tuple[list[str], str]]:
    """Column to (origins as `dataset.field`, description)."""
    fields = dataset["facets"].get("columnLineage", {}).get("fields", {})
    return {
        name: (
            [f"{short(origin['name'])}.{origin['field']}" for origin in column["inputFields"]],
            column.get("transformationDescription", ""),
        )
        for name, column in fields.items()
    }


def rows(dataset: Json) -> int | None:
    """The row count of a dataset in an event."""
    facets = dataset.get("inputFacets", {}) | dataset.get("outputFacets", {})
    return next((facet["rowCount"] for facet in facets.values()), None)


def run(*chosen: Sample, **options: Any) -> PipelineExport:
    """Export samples that are made in a test."""
    files = [Source(f"{sample.name}.slp", json.dumps(sample.pipeline()).encode()) for sample in chosen]
    runs = [Source(f"{sample.name}.json", json.dumps(sample.run()).encode()) for sample in chosen]
    exported = export_snaplogic(files, runs, PipelineExportOptions(**{"accounts": book()} | options))
    assert problems(exported.events, options.get("modern", False)) == []
    assert strangers(exported) == []
    return exported


def strangers(exported: PipelineExport) -> list[str]:
    """Input fields that are not among the columns of their input, as `job: dataset.field`."""
    found = []
    for item in exported.events:
        known = {(each["namespace"], each["name"]): columns(each) for each in item["inputs"]}
        for dataset in item["outputs"]:
            for column in dataset["facets"].get("columnLineage", {}).get("fields", {}).values():
                found += [
                    f"{short(item['job']['name'])}: {short(origin['name'])}.{origin['field']}"
                    for origin in column["inputFields"]
                    if origin["field"] not in known[origin["namespace"], origin["name"]]
                ]
    return found


def warnings(exported: PipelineExport) -> list[str]:
    """The messages of the warnings."""
    return [finding.message for finding in exported.findings if finding.severity == "warning"]
