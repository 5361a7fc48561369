"""What the tests of the Satsuma exporter share: small workspaces in memory, and questions to an export."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lineagelog.export.satsuma import Export, ExportOptions, OwnEngine, Spec, export, validate

WHEN = datetime(2025, 1, 31, 6, 0, tzinfo=UTC)

type Files = dict[str, str | bytes]


def read_spec(files: Files | str) -> Spec:
    """Read a workspace that is given as a text, or as texts by path; the first is the one to begin with."""
    given: Files = {"main.stm": files} if isinstance(files, str) else files
    contents = {path: text.encode() if isinstance(text, str) else text for path, text in given.items()}

    def read_file(path: str) -> bytes:
        if path not in contents:
            raise FileNotFoundError(2, "No such file or directory")
        return contents[path]

    return OwnEngine(read_file).read([next(iter(contents))])


class Exports:
    """An export, asked by names."""

    def __init__(self, made: Export) -> None:
        self.made = made
        self.events = [item.event for item in made.events]
        self.problems = [str(problem) for problem in made.problems]

    def event(self, job: str) -> dict[str, Any]:
        """The only event of a job."""
        (found,) = [event for event in self.events if event.get("job", {}).get("name") == job]
        return found

    def job(self, name: str) -> dict[str, Any]:
        """The facets of a job."""
        facets: dict[str, Any] = self.event(name)["job"]["facets"]
        return facets

    def dataset(self, name: str) -> dict[str, Any]:
        """The facets of a dataset, wherever it stands."""
        for event in self.events:
            for dataset in [*event.get("inputs", []), *event.get("outputs", []), event.get("dataset")]:
                if dataset and dataset["name"] == name:
                    facets: dict[str, Any] = dataset["facets"]
                    return facets
        raise AssertionError(f"no dataset {name}")

    def lineage(self, job: str) -> dict[str, dict[str, Any]]:
        """The column lineage of a job's only output, by target field."""
        (output,) = self.event(job)["outputs"]
        facet = output["facets"].get("columnLineage", {"fields": {}})
        fields: dict[str, dict[str, Any]] = facet["fields"]
        return fields

    def sources(self, job: str, field: str) -> list[str]:
        """`dataset.field` of what a target field comes from."""
        return [f"{item['name']}.{item['field']}" for item in self.lineage(job)[field]["inputFields"]]

    def columns(self, dataset: str) -> dict[str, str | None]:
        """Name to type of a dataset's columns, in their order."""
        return {field["name"]: field.get("type") for field in self.dataset(dataset)["schema"]["fields"]}


def content(facet: dict[str, Any]) -> dict[str, Any]:
    """A facet without the two keys that every facet has."""
    return {key: value for key, value in facet.items() if key not in ("_producer", "_schemaURL")}


def run_export(files: Files | str, **options: Any) -> Exports:
    """Export a workspace (files or a text, options by name); its events must be valid."""
    given = {"event_time": WHEN, "dataset_namespace": "snowflake://acme", **options}
    made = export(read_spec(files), ExportOptions(**given))
    assert validate(made.events) == []
    return Exports(made)
