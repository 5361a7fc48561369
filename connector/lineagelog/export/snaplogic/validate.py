"""Validation of exported events: against today's schemas or the documented structure, and as a set."""

from __future__ import annotations

import importlib.util
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import orjson

from lineagelog.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

type _Check = Callable[[object], Iterator[str]]

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json"


def validator_is_installed() -> bool:
    """Whether schemas can be checked (the `export` extra)."""
    return importlib.util.find_spec("jsonschema_rs") is not None


def problems(events: Sequence[dict[str, Any]], modern: bool) -> list[str]:
    """Everything that is wrong with the events, one line each; SettingsError without the `export` extra."""
    if not validator_is_installed():
        raise SettingsError("validation needs jsonschema-rs: pip install 'lineagelog[export]'")
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


def _schema_problems(event: dict[str, Any], modern: bool) -> Iterator[str]:
    if not modern:
        yield from _documented()(event)
        return
    yield from _run_event()(event)
    for key, facet in _facets(event):
        yield from _facet(_file_of(facet))({key: facet})


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


def _facets(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    holders = [event["run"].get("facets", {}), event["job"].get("facets", {})]
    for dataset in (*event["inputs"], *event["outputs"]):
        holders += [dataset.get(key, {}) for key in ("facets", "inputFacets", "outputFacets")]
    for holder in holders:
        yield from holder.items()


def _file_of(facet: dict[str, Any]) -> str:
    return str(facet["_schemaURL"]).partition("#")[0].rpartition("/")[2]


@cache
def _documented() -> _Check:
    data = files("lineagelog.export.snaplogic").joinpath("documented.schema.json").read_bytes()
    return _check(orjson.loads(data))


@cache
def _run_event() -> _Check:
    return _check({"$ref": f"{_SPEC}#/$defs/RunEvent"})


@cache
def _facet(file: str) -> _Check:
    schema = orjson.loads(_schemas().joinpath("facets", file).read_bytes())
    return _check(schema)


def _schemas() -> Any:
    return files("lineagelog.event").joinpath("schemas")


def _check(schema: dict[str, Any]) -> _Check:
    import jsonschema_rs

    spec = orjson.loads(_schemas().joinpath("OpenLineage.json").read_bytes())
    registry = jsonschema_rs.Registry([(_SPEC, spec)])
    validator = jsonschema_rs.Draft202012Validator(schema, registry=registry, validate_formats=True)

    def check(value: object) -> Iterator[str]:
        for error in validator.iter_errors(value):
            place = ".".join(str(part) for part in error.instance_path)
            yield f"{place or 'event'}: {error.message}"

    return check
