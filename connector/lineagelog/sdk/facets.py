"""Facets: their `_producer` and `_schemaURL`, and the helpers that declare a dataset's schema and column lineage."""

from __future__ import annotations

import importlib.metadata
import platform
import traceback
from collections.abc import Iterable, Mapping
from typing import Any, Final

from lineagelog.shown import mask_text
from lineagelog.spec import (
    CURRENT_FILES,
    FacetBuilder,
    Holder,
    error_message,
    job_type,
    processing_engine,
    transformation,
)

from .guard import describe, guarded, warn_once
from .plain import plain

type Dataset = dict[str, Any]
"""A dataset as OpenLineage has it: name, maybe namespace, facets, inputFacets, outputFacets."""
type Facet = dict[str, Any]

VERSION: Final = importlib.metadata.version("lineagelog")
PRODUCER: Final = f"urn:lineagelog:sdk:{VERSION}"

_BUILDER: Final = FacetBuilder(PRODUCER, CURRENT_FILES)
_AGGREGATES: Final = frozenset(("SUM", "COUNT", "AVG", "MIN", "MAX", "MEDIAN", "STDDEV", "VARIANCE", "ARRAY_AGG"))
_MAX_TRACE: Final = 32_000


def complete_facet(key: str, facet: Any, holder: Holder) -> Facet:
    """A facet as plain values with the two members each facet must have.

    Raises TypeError if the facet is neither a mapping nor a facet object of the OpenLineage client.
    """
    made = plain(facet)
    if not isinstance(made, dict):
        raise TypeError(f"the facet {key!r} is a {type(facet).__name__}, not a dict")
    return _BUILDER.completed(key, holder, made)


def as_dataset(dataset: Any) -> Dataset:
    """A dataset given as name, dict, object of the OpenLineage client or naming helper, as a dict of plain values.

    Raises TypeError or ValueError if there is no name in it.
    """
    if isinstance(dataset, str):
        made: Any = {"name": dataset}
    elif callable(getattr(dataset, "get_name", None)) and callable(getattr(dataset, "get_namespace", None)):
        made = {"name": dataset.get_name(), "namespace": dataset.get_namespace()}
    else:
        made = plain(dataset)
    if not isinstance(made, dict):
        raise TypeError(f"a dataset is a name or a dict, not a {type(dataset).__name__}")
    if not isinstance(made.get("name"), str) or not made["name"]:
        raise ValueError("a dataset needs a name")
    return made


def schema_facet(name: Any, fields: Iterable[Any]) -> Dataset:
    """Declare a dataset with its columns.

    ``name``: the dataset's name, or what another helper returned (it keeps its facets). ``fields``: pairs
    ``(column, type)``; dicts with name, type, description are taken too. Never raises: a field that cannot be read is
    left out and logged.
    """
    made = _start(name)
    made.setdefault("facets", {})["schema"] = complete_facet("schema", {"fields": schema_fields(fields)}, "Dataset")
    return made


def column_lineage_facet(name: Any, mappings: Mapping[str, Any]) -> Dataset:
    """Declare a dataset with the lineage of its columns.

    ``name``: the dataset's name, or what another helper returned (it keeps its facets). ``mappings``: column →
    ``{"source": dataset, "field": column, "operation": optional text}``, or a list of these. The namespaces, of the
    sources too, are filled in when the event is emitted. Never raises: a mapping that cannot be read is left out and
    logged.
    """
    made = _start(name)
    fields = _lineage_fields(mappings) or {}
    facet = complete_facet("columnLineage", {"fields": fields}, "Dataset")
    made.setdefault("facets", {})["columnLineage"] = facet
    return made


def _start(name: Any) -> Dataset:
    try:
        return as_dataset(name)
    except Exception as problem:
        warn_once(f"lineage: a dataset cannot be declared: {describe(problem)}")
        return {"name": "unknown"}


def schema_fields(fields: Any) -> list[dict[str, Any]]:
    """Columns given as pairs, dicts, objects with name and type, or a mapping name → type, as schema facet fields.

    Never raises: fields that cannot be read are left out and logged.
    """
    return _schema_fields(fields) or []


@guarded("reading the columns of a dataset", None)
def _schema_fields(fields: Any) -> list[dict[str, Any]]:
    if isinstance(fields, Mapping):
        inner = fields.get("fields", fields.get("columns"))
        fields = inner if isinstance(inner, (list, tuple)) else fields.items()
    made: list[dict[str, Any]] = []
    for field in fields:
        one = _schema_field(field)
        if one is None:
            warn_once(f"lineage: a column given as {type(field).__name__} cannot be read")
        else:
            made.append(one)
    return made


@guarded("reading a column", None)
def _schema_field(field: Any) -> dict[str, Any] | None:
    if isinstance(field, str):
        return {"name": field}
    if isinstance(field, Mapping):
        name = _first(field, "name", "column_name", "column", "field")
        kind = _first(field, "type", "data_type", "column_type", "dtype")
        made: dict[str, Any] = {"name": name, "type": kind, "description": field.get("description")}
        if isinstance(nested := field.get("fields"), (list, tuple)):
            made["fields"] = schema_fields(nested) or None
    elif isinstance(field, (list, tuple)) and field:
        made = {"name": field[0], "type": field[1] if len(field) > 1 else None}
    else:
        made = {"name": getattr(field, "name", None), "type": getattr(field, "type", getattr(field, "dtype", None))}
    if made["name"] is None:
        return None
    keep = {key: value if key == "fields" else str(value) for key, value in made.items() if value is not None}
    return {key: value for key, value in keep.items() if value}


def _first(field: Mapping[str, Any], *keys: str) -> Any:
    return next((field[key] for key in keys if field.get(key) is not None), None)


@guarded("reading a column lineage", None)
def _lineage_fields(mappings: Mapping[str, Any]) -> dict[str, Any] | None:
    return {str(column): made for column, given in mappings.items() if (made := _lineage_field(str(column), given))}


def _lineage_field(column: str, given: Any) -> dict[str, Any] | None:
    sources = [given] if isinstance(given, Mapping) else given
    fields, operations = [], []
    for source in sources if isinstance(sources, (list, tuple)) else [None]:
        if not isinstance(source, Mapping) or not source.get("source") or not source.get("field"):
            warn_once(f"lineage: the column {column!r} needs a dict with 'source' and 'field', or a list of these")
            continue
        made = {"name": str(source["source"]), "field": str(source["field"])}
        if source.get("namespace"):
            made["namespace"] = str(source["namespace"])
        if operation := source.get("operation"):
            operations.append(str(operation))
        fields.append(made | _transformations(source.get("operation")))
    if not fields:
        return None
    described = {"transformationDescription": "; ".join(dict.fromkeys(operations))} if operations else {}
    return {"inputFields": fields, **described}


def _transformations(operation: Any) -> dict[str, Any]:
    """What OpenLineage calls a direct transformation; its subtype only where the operation is a known aggregate."""
    if not operation:
        return {}
    made = transformation("DIRECT", description=str(operation))
    if str(operation).split("(")[0].strip().upper() in _AGGREGATES:
        made["subtype"] = "AGGREGATION"
    return {"transformations": [made]}


def error_facet(problem: BaseException) -> Facet:
    """The errorMessage facet of an exception, credentials masked, the trace cut in its middle to 32,000 characters."""
    try:
        text = str(problem)
    except Exception:
        text = ""
    try:
        trace = "".join(traceback.format_exception(problem))
    except Exception:
        trace = ""
    if len(trace) > _MAX_TRACE:
        trace = f"{trace[: _MAX_TRACE // 2]}\n…\n{trace[-_MAX_TRACE // 2 :]}"
    message = f"{type(problem).__name__}: {text}" if text else type(problem).__name__
    return error_message_facet(mask_text(message[:_MAX_TRACE]), mask_text(trace))


def error_message_facet(message: str, stack_trace: str = "") -> Facet:
    """The errorMessage facet of a Python job."""
    return complete_facet("errorMessage", error_message(message, "PYTHON", stack_trace), "Run")


def engine_facet() -> Facet:
    """The processing_engine facet: Python and its version, and ours."""
    return complete_facet("processing_engine", processing_engine("Python", platform.python_version(), VERSION), "Run")


def job_type_facet() -> Facet:
    """The jobType facet of a Python job."""
    return complete_facet("jobType", job_type("PYTHON", "JOB"), "Job")
