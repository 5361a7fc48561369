"""OpenLineage's own word on an event: the vendored JSON schemas, for the event and for each of its facets."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from .support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMAS = ROOT / "connector" / "lineagelog" / "event" / "schemas"


def validate(event: dict[str, Any]) -> None:
    """Raise for an event, or a facet under the key of its `_schemaURL`, that the specification would not have."""
    validators, keys = _specification()
    validators[event["schemaURL"].split("#")[0]].validate(event)
    for key, facet in _facets_of(event):
        if key.startswith("egeria_"):
            continue  # Egeria's own, no part of the specification
        assert facet["_producer"]
        address = facet["_schemaURL"].split("#")[0]
        if not address.endswith("/OpenLineage.json"):
            assert key in keys[address], f"{key} is no facet of {address}"
            validators[address].validate({key: facet})


@cache
def _specification() -> tuple[dict[str, Any], dict[str, set[str]]]:
    """Validators, and the facets' keys, by the schemas' ids."""
    schemas = [json.loads(path.read_text()) for path in _SCHEMAS.rglob("*.json")]
    registry = jsonschema_rs.Registry([(schema["$id"], schema) for schema in schemas])
    validators = {
        schema["$id"]: jsonschema_rs.validator_for(schema, registry=registry, validate_formats=True)
        for schema in schemas
    }
    return validators, {schema["$id"]: set(schema.get("properties", {})) for schema in schemas}


def _facets_of(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (key, facet) of every facet of an event, wherever it stands."""
    holders = [event.get("run", {}), event.get("job", {}), event.get("dataset", {})]
    holders += event.get("inputs", []) + event.get("outputs", [])
    for holder in holders:
        for place in ("facets", "inputFacets", "outputFacets"):
            yield from holder.get(place, {}).items()
