"""Strict mode: a decoded event against the OpenLineage specification's own schemas, without any network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple, NoReturn

from lineagelog.errors import SettingsError

from .paths import json_path

_CORE: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json"
_KINDS: Final = (("run", "RunEvent"), ("dataset", "DatasetEvent"), ("job", "JobEvent"))
_CONTAINERS: Final = ("facets", "inputFacets", "outputFacets")

type Place = tuple[str | int, ...]


def strict_check(tree: Any) -> tuple[str, str] | None:
    """The first thing in which a decoded event departs from the specification: JSON path and what is wrong there.

    The event is checked against the core schema 2-0-2, formats included, and each facet whose ``_schemaURL`` names
    a version that comes with this package against that version. For ``parse(data, check=strict_check)``. Raises
    SettingsError where the extra ``strict`` is not installed.
    """
    schemas = load_schemas()
    kind = next((kind for member, kind in _KINDS if tree.get(member) is not None), None)
    if kind is not None and (problem := _first_problem(schemas.events[kind], tree, ())) is not None:
        return problem
    for place, name, facet in _facets(tree):
        address = facet.get("_schemaURL")
        validator = schemas.facets.get((address.partition("#")[0], name)) if type(address) is str else None
        if validator is None or facet.get("_deleted") is True:
            continue
        if (problem := _first_problem(validator, facet, (*place, name))) is not None:
            return problem
    return None


class Schemas(NamedTuple):
    """The compiled schemas."""

    events: dict[str, Any]
    """By name of the event's definition in the core schema."""
    facets: dict[tuple[str, str], Any]
    """By ``$id`` of the facet's schema and name of the facet."""


@cache
def load_schemas() -> Schemas:
    """Compile all schemas, once. Raises SettingsError where the extra ``strict`` is not installed."""
    try:
        import jsonschema_rs
    except ImportError:
        raise SettingsError("strict mode needs jsonschema-rs: pip install 'lineagelog[strict]'") from None
    folder = resources.files(__package__) / "schemas"
    files = [folder / "OpenLineage.json", *(folder / "facets").iterdir()]
    documents = {schema["$id"]: schema for schema in (json.loads(file.read_text("utf-8")) for file in files)}
    registry = jsonschema_rs.Registry(list(documents.items()), retriever=_no_network)

    def compiled(reference: str) -> Any:
        return jsonschema_rs.validator_for(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": reference},
            registry=registry,
            validate_formats=True,
            mask="the value",  # values may be secret, and long
        )

    return Schemas(
        {kind: compiled(f"{_CORE}#/$defs/{kind}") for _, kind in _KINDS},
        {
            (address, name): compiled(f"{address}#/properties/{name}")
            for address, schema in documents.items()
            for name in schema.get("properties", {})
            if address != _CORE
        },
    )


def _no_network(address: str) -> NoReturn:
    raise ValueError(f"{address} is not among the schemas of this package")


def _facets(tree: dict[str, Any]) -> Iterator[tuple[Place, str, dict[str, Any]]]:
    """Place, name and content of every facet, wherever it stands."""
    holders: list[tuple[Place, Any]] = [((member,), tree.get(member)) for member in ("run", "job", "dataset")]
    for side in ("inputs", "outputs"):
        entries = tree.get(side)
        if type(entries) is list:
            holders += [((side, index), entry) for index, entry in enumerate(entries)]
    for place, holder in holders:
        for container in _CONTAINERS if type(holder) is dict else ():
            facets = holder.get(container)
            for name, facet in facets.items() if type(facets) is dict else ():
                if type(facet) is dict:
                    yield (*place, container), name, facet


def _first_problem(validator: Any, value: Any, place: Place) -> tuple[str, str] | None:
    try:
        error = next(iter(validator.iter_errors(value)), None)
    except ValueError as problem:  # nested deeper than the validator goes
        return json_path(place), f"cannot be checked: {problem}"
    if error is None:
        return None
    branches: Any = getattr(error.kind, "context", ())
    while len(branches) == 1:  # anyOf with one choice: what is wrong with that one
        error = branches[0][0]
        branches = getattr(error.kind, "context", ())
    return json_path((*place, *error.instance_path)), " ".join(error.message[:500].split())
