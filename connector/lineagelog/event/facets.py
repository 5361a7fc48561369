"""Which facts are read from which facets: one line per fact, so that a new facet is a new line.

A line says which member of the sighting it fills, the facet's name, the path inside the facet, and how the value is
read. Of several lines for one member the first that finds a value wins. Dataset facets are looked up where producers
really put them: in `inputFacets` of inputs and `outputFacets` of outputs, then in `facets`. A null at any level means
"not carried". Names and members are those of the OpenLineage specification and of its older versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import orjson

from .canonical import canonical
from .times import BadTimeError, parse_time

_LONG_MAX: Final = 2**63 - 1


class UnreadableError(ValueError):
    """The value is there but is not what its place asks for; the event stays, the value is unknown."""


def count(value: Any) -> int:
    """A number of rows, bytes or files. Long.MAX_VALUE is Spark's way of saying "unknown"."""
    if type(value) is str and len(value) < 25 and value.isascii() and value.strip().isdigit():
        value = int(value)
    if type(value) is int and 0 <= value < _LONG_MAX:
        return value
    raise UnreadableError("not_a_count")


def text(value: Any) -> str:
    """A text; an integer (some producers number their dataset versions) is written out."""
    if type(value) is str:
        return value
    if type(value) is int:
        return str(value)
    raise UnreadableError("not_a_text")


def boolean(value: Any) -> bool | None:
    """A truth value as Jackson reads it; None for anything else."""
    if type(value) is bool:
        return value
    if type(value) is int:
        return value != 0
    if type(value) is str and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    return None


def condition_type(value: Any) -> str:
    """The type of a subset condition; a condition without a type still is one: ''."""
    if type(value) is not dict:
        raise UnreadableError("not_an_object")
    kind = value.get("type")
    return kind if type(kind) is str else ""


def schema_fields(value: Any) -> bytes | None:
    """The fields of a schema facet, canonical; an empty list says nothing."""
    if type(value) is bytes and value[:1] == b"[":  # a scanner has the canonical text at hand
        return value
    if type(value) is not list:
        raise UnreadableError("not_an_array")
    return canonical(value) if value else None


def lineage_edges(facet: dict[str, Any]) -> bytes | None:
    """The edges of a columnLineage facet without its `_producer` and the like, canonical."""
    edges = {name: _fragment(facet[name]) for name in ("fields", "dataset") if facet.get(name)}
    return canonical(edges) if edges else None


def _fragment(value: Any) -> Any:
    return orjson.Fragment(value) if type(value) is bytes else value


def whole(facet: dict[str, Any]) -> bytes:
    """The facet itself, canonical."""
    return canonical(facet)


def text_or_none(facet: dict[str, Any], name: str) -> str | None:
    """A member that is a text, None for anything else."""
    value = facet.get(name)
    return value if type(value) is str else None


def job_type(facet: dict[str, Any]) -> tuple[str | None, ...] | None:
    """Processing type, integration and job type of a jobType facet."""
    return _unless_empty(
        (text_or_none(facet, "processingType"), text_or_none(facet, "integration"), text_or_none(facet, "jobType"))
    )


def parent(facet: dict[str, Any]) -> tuple[str | None, ...] | None:
    """Job namespace, job name and run id of a parent facet, then the same of its root."""
    return _unless_empty(_job_and_run(facet) + _job_and_run(facet.get("root")))


def _job_and_run(holder: Any) -> tuple[str | None, ...]:
    namespace = name = run_id = None
    if type(holder) is dict:
        if type(job := holder.get("job")) is dict:
            namespace, name = text_or_none(job, "namespace"), text_or_none(job, "name")
        if type(run := holder.get("run")) is dict:
            run_id = text_or_none(run, "runId")
    return namespace, name, run_id


def nominal_time(facet: dict[str, Any]) -> tuple[Any, ...] | None:
    """Start and end of a nominalTime facet, in UTC; one that cannot be read is left out."""
    return _unless_empty((_time(facet.get("nominalStartTime")), _time(facet.get("nominalEndTime"))))


def _time(value: Any) -> Any:
    try:
        return parse_time(value)[0] if type(value) is str else None
    except BadTimeError:
        return None


def _unless_empty(values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    return None if values.count(None) == len(values) else values


class Fact(NamedTuple):
    """One line of the table."""

    member: str
    """Member of RunSighting or DatasetSighting that it fills."""
    facet: str
    path: str | None
    """Member of the facet; None hands the whole facet to `read`."""
    read: Callable[[Any], Any]
    """Raises UnreadableError where the value is not what it should be."""
    deletable: bool = False
    """Whether `_deleted` on the facet clears the member as of that event."""


DATASET_FACTS: Final = (
    Fact("row_count", "inputStatistics", "rowCount", count),
    Fact("row_count", "outputStatistics", "rowCount", count),
    Fact("row_count", "dataQualityMetrics", "rowCount", count),
    Fact("row_count", "dataQuality", "rowCount", count),
    Fact("row_count", "stats", "rowCount", count),
    Fact("size_bytes", "inputStatistics", "size", count),
    Fact("size_bytes", "outputStatistics", "size", count),
    Fact("size_bytes", "dataQualityMetrics", "bytes", count),
    Fact("size_bytes", "dataQuality", "bytes", count),
    Fact("size_bytes", "stats", "size", count),
    Fact("file_count", "inputStatistics", "fileCount", count),
    Fact("file_count", "outputStatistics", "fileCount", count),
    Fact("file_count", "dataQualityMetrics", "fileCount", count),
    Fact("lifecycle_state_change", "lifecycleStateChange", "lifecycleStateChange", text, deletable=True),
    Fact("subset_type", "subset", "inputCondition", condition_type),
    Fact("subset_type", "subset", "outputCondition", condition_type),
    Fact("dataset_version", "version", "datasetVersion", text, deletable=True),
    Fact("schema", "schema", "fields", schema_fields),
    Fact("lineage", "columnLineage", None, lineage_edges),
)
RUN_FACTS: Final = (
    Fact("governance_action", "egeria_governanceAction", None, whole),
    Fact("error_message", "errorMessage", "message", text),
    Fact("parent", "parent", None, parent),
    Fact("parent", "parentRun", None, parent),
    Fact("nominal", "nominalTime", None, nominal_time),
)
JOB_FACTS: Final = (Fact("processing", "jobType", None, job_type),)

ASSERTIONS_FACET: Final = "dataQualityAssertions"
TESTS_FACET: Final = "test"

_AS_TEXT: Final = {"schema": {"fields": "text"}, "columnLineage": {"fields": "text", "dataset": "text"}}
"""Facets whose members are only wanted as canonical text, so that a scanner need not make values of them."""


def _looked_at(facts: tuple[Fact, ...]) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    for fact in facts:
        if fact.path is None:
            facets[fact.facet] = True
        else:
            facets.setdefault(fact.facet, {"_deleted": True})[fact.path] = True
    return facets


_DATASET_FACETS: Final = _looked_at(DATASET_FACTS) | {ASSERTIONS_FACET: {"assertions": True}} | _AS_TEXT
_DATASET: Final = dict.fromkeys(("namespace", "name"), True) | dict.fromkeys(
    ("facets", "inputFacets", "outputFacets"), _DATASET_FACETS
)
LOOKED_AT: Final[dict[str, Any]] = {
    **dict.fromkeys(("eventTime", "eventType", "producer", "dataset"), True),
    "run": {"runId": True, "facets": _looked_at(RUN_FACTS) | {TESTS_FACET: {"tests": True}}},
    "job": {"namespace": True, "name": True, "facets": _looked_at(JOB_FACTS)},
    "inputs": _DATASET,
    "outputs": _DATASET,
}
"""What parsing looks at in an event, as a scanner wants to know it: all else need not be read into values."""

type Line = tuple[int, str, str | None, Callable[[Any], Any], bool]
"""Place in the table, member, path, read, deletable: a plain tuple, because it is taken apart for every facet."""
type Table = dict[str, tuple[Line, ...]]


def by_facet(facts: tuple[Fact, ...]) -> Table:
    """The table as it is looked up: facet name to lines, so that the cost follows the facets of the event."""
    table: Table = {}
    for place, fact in enumerate(facts):
        line = (place, fact.member, fact.path, fact.read, fact.deletable)
        table[fact.facet] = (*table.get(fact.facet, ()), line)
    return table
