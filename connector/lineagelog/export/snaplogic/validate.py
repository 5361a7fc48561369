"""Validation of exported events: against today's schemas or the documented structure, and as a set."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from lineagelog.spec import Validator, facets_of, read_schemas

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineagelog.spec import Departure

_DOCUMENTED: Final = "https://lineagelog.github.io/spec/snaplogic/documented.schema.json"


def problems(events: Sequence[dict[str, Any]], modern: bool) -> list[str]:
    """Everything that is wrong with the events, one line each; SettingsError without the `export` extra."""
    found: list[str] = []
    seen: set[str] = set()
    for event in events:
        job = event["job"]["name"]
        found += [f"{job}: {problem}" for problem in (*_schema_problems(event, modern), *_own_problems(event))]
        if event["run"]["runId"] in seen:
            found.append(f"{job}: run id {event['run']['runId']} is used twice")
        seen.add(event["run"]["runId"])
    return found


def unknown_columns(event: dict[str, Any]) -> list[str]:
    """Input fields of an event that are not among the columns of their input: for a warning, the event is valid."""
    known = {
        (dataset["namespace"], dataset["name"]): {
            field["name"] for field in dataset["facets"].get("schema", {}).get("fields", [])
        }
        for dataset in event["inputs"]
    }
    found: dict[str, None] = {}
    for dataset in event["outputs"]:
        for column, origin in dataset["facets"].get("columnLineage", {}).get("fields", {}).items():
            for field in origin["inputFields"]:
                if field["field"] not in known.get((field["namespace"], field["name"]), ()):
                    found[
                        f"column {column} comes from {field['field']} of {field['name']}, which has no such column"
                    ] = None
    return list(found)


def _schema_problems(event: dict[str, Any], modern: bool) -> Iterator[Departure]:
    validator = _validator()
    if not modern:
        yield from validator.whole(_DOCUMENTED, event)
        return
    yield from validator.event("RunEvent", event)
    for facet in facets_of(event):
        yield from validator.unknown(facet)
        yield from validator.facet(facet)


def _own_problems(event: dict[str, Any]) -> Iterator[str]:
    """What no schema says: lineage is of outputs only, and names nothing that the event does not read."""
    inputs = {(dataset["namespace"], dataset["name"]) for dataset in event["inputs"]}
    if any("columnLineage" in dataset["facets"] for dataset in event["inputs"]):
        yield "columnLineage on an input"
    for dataset in event["outputs"]:
        for name, column in dataset["facets"].get("columnLineage", {}).get("fields", {}).items():
            for field in column["inputFields"]:
                if (field["namespace"], field["name"]) not in inputs:
                    yield f"column {name} of {dataset['name']} comes from {field['name']}: no input"


@cache
def _validator() -> Validator:
    """The specification, and the structure that SnapLogic documents."""
    return Validator(others=read_schemas(resources.files(__package__)))
