"""Facets: their `_producer` and `_schemaURL`, and the helpers that declare a dataset's schema and column lineage."""

from __future__ import annotations

import importlib.metadata
import platform
import traceback
from collections.abc import Iterable, Mapping
from typing import Any, Final

from lineagelog.shown import mask_text

from .guard import describe, guarded, warn_once
from .plain import plain

type Dataset = dict[str, Any]
"""A dataset as OpenLineage has it: name, maybe namespace, facets, inputFacets, outputFacets."""
type Facet = dict[str, Any]

VERSION: Final = importlib.metadata.version("lineagelog")
PRODUCER: Final = f"urn:lineagelog:sdk:{VERSION}"

_SPEC: Final = "https://openlineage.io/spec/"
_BASE: Final = _SPEC + "2-0-2/OpenLineage.json#/$defs/"
_VERSIONS: Final = {
    "BaseSubsetDatasetFacet": "1-0-0",
    "CatalogDatasetFacet": "1-1-0",
    "ColumnLineageDatasetFacet": "1-2-0",
    "DataQualityAssertionsDatasetFacet": "1-1-0",
    "DataQualityMetricsDatasetFacet": "1-0-0",
    "DataQualityMetricsInputDatasetFacet": "1-0-3",
    "DatasetTypeDatasetFacet": "1-0-1",
    "DatasetVersionDatasetFacet": "1-0-1",
    "DatasourceDatasetFacet": "1-0-1",
    "DocumentationDatasetFacet": "1-1-0",
    "DocumentationJobFacet": "1-1-0",
    "EnvironmentVariablesRunFacet": "1-0-0",
    "ErrorMessageRunFacet": "1-0-1",
    "ExecutionParametersRunFacet": "1-0-0",
    "ExternalQueryRunFacet": "1-0-2",
    "ExtractionErrorRunFacet": "1-1-2",
    "HierarchyDatasetFacet": "1-0-0",
    "InputStatisticsInputDatasetFacet": "1-0-0",
    "JobDependenciesRunFacet": "1-0-1",
    "JobTypeJobFacet": "2-0-4",
    "LifecycleStateChangeDatasetFacet": "1-0-1",
    "NominalTimeRunFacet": "1-0-1",
    "OutputStatisticsOutputDatasetFacet": "1-0-2",
    "OwnershipDatasetFacet": "1-0-1",
    "OwnershipJobFacet": "1-0-1",
    "ParentRunFacet": "1-2-0",
    "ProcessingEngineRunFacet": "1-1-1",
    "SchemaDatasetFacet": "1-2-0",
    "SourceCodeJobFacet": "1-0-1",
    "SourceCodeLocationJobFacet": "1-1-0",
    "SQLJobFacet": "1-1-0",
    "StorageDatasetFacet": "1-0-1",
    "SymlinksDatasetFacet": "1-0-1",
    "TagsDatasetFacet": "1-0-0",
    "TagsJobFacet": "1-0-0",
    "TagsRunFacet": "1-0-0",
    "TestRunFacet": "1-0-1",
}
"""The facets of specification 2-0-2 and their versions."""

_KEYS: Final = {
    "dataSource": "DatasourceDatasetFacet",
    "datasetType": "DatasetTypeDatasetFacet",
    "version": "DatasetVersionDatasetFacet",
    "sql": "SQLJobFacet",
}
"""The keys that are not the facet's name in lower camel case."""

_AGGREGATES: Final = frozenset(("SUM", "COUNT", "AVG", "MIN", "MAX", "MEDIAN", "STDDEV", "VARIANCE", "ARRAY_AGG"))
_MAX_TRACE: Final = 32_000


def complete_facet(key: str, facet: Any, kind: str) -> Facet:
    """A facet as plain values with the two members each facet must have.

    ``kind`` says where it stands: Run, Job, Dataset, InputDataset or OutputDataset. Raises TypeError if the facet is
    neither a mapping nor a facet object of the OpenLineage client.
    """
    made = plain(facet)
    if not isinstance(made, dict):
        raise TypeError(f"the facet {key!r} is a {type(facet).__name__}, not a dict")
    made.setdefault("_producer", PRODUCER)
    made.setdefault("_schemaURL", schema_url(key, kind))
    return made


def schema_url(key: str, kind: str) -> str:
    """The address of the schema of a facet; the base facet's for one that the specification does not know."""
    name = _KEYS.get(key, f"{key[:1].upper()}{key[1:]}{kind}Facet")
    version = _VERSIONS.get(name)
    if version is None and kind != "Dataset":  # quality metrics stand under inputFacets with a dataset facet's name
        name = name.replace(f"{kind}Facet", "DatasetFacet")
        version = _VERSIONS.get(name)
    return f"{_SPEC}facets/{version}/{name}.json" if version else f"{_BASE}{kind}Facet"


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
    made = {"type": "DIRECT", "description": str(operation)}
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
    facet = {
        "message": mask_text(message[:_MAX_TRACE]),
        "programmingLanguage": "PYTHON",
        "stackTrace": mask_text(trace),
    }
    return complete_facet("errorMessage", facet, "Run")


def engine_facet() -> Facet:
    """The processing_engine facet: Python and its version, and ours."""
    facet = {"version": platform.python_version(), "name": "Python", "openlineageAdapterVersion": VERSION}
    return complete_facet("processing_engine", facet, "Run")


def job_type_facet() -> Facet:
    """The jobType facet of a Python job."""
    return complete_facet("jobType", {"processingType": "BATCH", "integration": "PYTHON", "jobType": "JOB"}, "Job")
