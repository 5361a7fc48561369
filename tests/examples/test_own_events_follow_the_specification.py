"""The events this project makes itself, examples and benchmarks, are valid OpenLineage with valid facets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from benchmarks.generator import generate

from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCHEMAS = ROOT / "connector" / "lineagelog" / "event" / "schemas"
EXAMPLES = sorted((ROOT / "examples").glob("*.ndjson"))


def facets_of(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (key, facet) of every facet of an event, wherever it stands."""
    holders = [event.get("run", {}), event.get("job", {}), event.get("dataset", {})]
    holders += event.get("inputs", []) + event.get("outputs", [])
    for holder in holders:
        for place in ("facets", "inputFacets", "outputFacets"):
            yield from holder.get(place, {}).items()


@pytest.fixture(scope="module")
def validate() -> Callable[[dict[str, Any]], None]:
    """Check an event against the vendored schemas, and each facet against the one its `_schemaURL` names."""
    schemas = [json.loads(path.read_text()) for path in SCHEMAS.rglob("*.json")]
    registry = jsonschema_rs.Registry([(schema["$id"], schema) for schema in schemas])
    validators = {
        schema["$id"]: jsonschema_rs.validator_for(schema, registry=registry, validate_formats=True)
        for schema in schemas
    }
    keys = {schema["$id"]: set(schema.get("properties", {})) for schema in schemas}

    def check(event: dict[str, Any]) -> None:
        validators[event["schemaURL"].split("#")[0]].validate(event)
        for key, facet in facets_of(event):
            if key.startswith("egeria_"):
                continue  # Egeria's own, no part of the specification
            address = facet["_schemaURL"].split("#")[0]
            assert key in keys[address], f"{key} is no facet of {address}"
            validators[address].validate({key: facet})

    return check


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_valid(path: Path, validate: Callable[[dict[str, Any]], None]) -> None:
    """Every event of every example file is valid."""
    for line in path.read_bytes().splitlines():
        validate(json.loads(line))


@pytest.mark.parametrize("spaced", [False, True])
def test_generated_events_are_valid(spaced: bool, validate: Callable[[dict[str, Any]], None]) -> None:
    """300 generated events of all producers and types are valid, in both spellings."""
    checked = [json.loads(event) for event in generate(300, jobs=60, heartbeats=1, spaced=spaced)]
    assert {event["eventType"] for event in checked} >= {"START", "RUNNING", "COMPLETE", "FAIL"}
    for event in checked:
        validate(event)


@pytest.mark.parametrize("break_it", ["runId", "eventTime", "fields", "key"])
def test_the_check_sees_what_is_wrong(break_it: str, validate: Callable[[dict[str, Any]], None]) -> None:
    """A run id that is no UUID, a bad time, a facet of another shape or under another key: refused."""
    event = json.loads(next(generate(1, jobs=1)))
    facets = event["job"]["facets"]
    if break_it == "runId":
        event["run"]["runId"] = "42"
    elif break_it == "eventTime":
        event["eventTime"] = "yesterday"
    elif break_it == "fields":
        del facets["jobType"]["integration"]
    else:
        facets["jobtype"] = facets.pop("jobType")
    with pytest.raises((jsonschema_rs.ValidationError, AssertionError)):
        validate(event)
