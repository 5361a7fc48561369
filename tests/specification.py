"""OpenLineage's own word on an event that we made: by the product's validator, and by another implementation."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import jsonschema
import referencing

from lineagelog.spec import CORE, CURRENT, event_kind, facets_of, read_schemas, specification


def validate(event: dict[str, Any]) -> None:
    """Fail for an event that the specification would not have, or a facet that names no schema of its key."""
    validator = specification()
    kind = event_kind(event)
    assert kind is not None
    assert event["schemaURL"] == CURRENT.event(kind)
    found = list(validator.departures(event))
    for facet in facets_of(event):
        if facet.key.startswith("egeria_"):
            continue  # Egeria's own, no part of the specification
        if not facet.address.startswith(CORE):  # the base facet, for what the specification does not have
            found += validator.unknown(facet)
    assert not found, "; ".join(map(str, found))


def second_opinion(event: dict[str, Any]) -> list[tuple[str | int, ...]]:
    """The places in which an event departs from the specification, as the library jsonschema has them."""
    kind = event_kind(event)
    assert kind is not None
    found = [tuple(error.absolute_path) for error in _checker(f"{CORE}#/$defs/{kind}").iter_errors(event)]
    for facet in facets_of(event):
        document = facet.address.partition("#")[0]
        if document in _addresses() and document != CORE:
            errors = _checker(f"{document}#/properties/{facet.key}").iter_errors(facet.content)
            found += [(*facet.place, *error.absolute_path) for error in errors]
    return found


@cache
def _addresses() -> dict[str, dict[str, Any]]:
    return {schema["$id"]: schema for schema in read_schemas(resources.files("lineagelog.spec") / "schemas")}


@cache
def _checker(address: str) -> Any:
    registry = referencing.Registry().with_contents(_addresses().items())
    return jsonschema.Draft202012Validator(
        {"$ref": address}, registry=registry, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
