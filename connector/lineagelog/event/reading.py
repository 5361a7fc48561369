"""How the value of a fact is read from its place in a facet; a null at any level means "not carried"."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import orjson

from .canonical import canonical
from .times import BadTimeError, parse_midnight, parse_time

_LONG_MAX: Final = 2**63 - 1
_REMEMBERED: Final = 64 * 1024
"""Bytes of column lineage whose order is remembered."""

MAX_NAME: Final = 64 * 1024
"""Bytes of a name or a namespace."""
MAX_IDENTIFIERS: Final = 1_000
"""Identifiers of one symlinks facet that reach the digest."""


class UnreadableError(ValueError):
    """Something is there that is not what its place asks for; the event stays, and what could be read counts.

    ``problems``: a notice's code, and the member of the value, '' for the value itself. ``value``: what could be read.
    """

    def __init__(self, *problems: tuple[str, str], value: Any = None) -> None:
        super().__init__(", ".join(code for code, _ in problems))
        self.problems, self.value = problems, value


def count(value: Any) -> int:
    """A number of rows, bytes or files. Long.MAX_VALUE is Spark's way of saying "unknown"."""
    if type(value) is str and len(value) < 25 and value.isascii() and value.strip().isdigit():
        value = int(value)
    if type(value) is int and 0 <= value < _LONG_MAX:
        return value
    raise UnreadableError(("not_a_count", ""))


def text(value: Any) -> str:
    """A text; an integer (some producers number their dataset versions) is written out."""
    if type(value) is str:
        return value
    if type(value) is int:
        return str(value)
    raise UnreadableError(("not_a_text", ""))


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
        raise UnreadableError(("not_an_object", ""))
    kind = value.get("type")
    return kind if type(kind) is str else ""


def schema_fields(value: Any) -> bytes | None:
    """The fields of a schema facet, canonical; an empty list says nothing."""
    if type(value) is bytes and value[:1] == b"[":  # a scanner has the canonical text at hand
        return value
    if type(value) is not list:
        raise UnreadableError(("not_an_array", ""))
    return canonical(value) if value else None


def lineage_edges(facet: dict[str, Any]) -> bytes | None:
    """The edges of a columnLineage facet without its `_producer` and the like, canonical."""
    edges = {name: _fragment(facet[name]) for name in ("fields", "dataset") if facet.get(name)}
    if not edges:
        return None
    text = canonical(edges)
    return _known_as_set(text) if len(text) <= _REMEMBERED else _as_set(text)


def _as_set(lineage: bytes) -> bytes:
    """The same column lineage with its lists of sources and transformations in order, and each once: they are sets."""
    edges = orjson.loads(lineage)
    if "dataset" in edges:
        edges["dataset"] = _sources(edges["dataset"])
    if type(fields := edges.get("fields")) is dict:
        for field in fields.values():
            if type(field) is dict and "inputFields" in field:
                field["inputFields"] = _sources(field["inputFields"])
    return canonical(edges)


_known_as_set = lru_cache(maxsize=1024)(_as_set)
"""Column lineage comes again with every run."""


def _sources(listed: Any) -> Any:
    if type(listed) is not list:
        return listed
    for source in listed:
        if type(source) is dict and type(given := source.get("transformations")) is list:
            source["transformations"] = _ordered(given)
    return _ordered(listed)


def _ordered(listed: list[Any]) -> list[Any]:
    if len(listed) < 2:
        return listed
    return [value for _, value in sorted({canonical(value): value for value in listed}.items())]


def _fragment(value: Any) -> Any:
    return orjson.Fragment(value) if type(value) is bytes else value


def whole(facet: dict[str, Any]) -> bytes:
    """The facet itself, canonical."""
    return canonical(facet)


def text_or_none(facet: dict[str, Any], name: str) -> str | None:
    """A member that is a text, None for anything else."""
    value = facet.get(name)
    return value if type(value) is str else None


def said(facet: dict[str, Any], name: str) -> str | None:
    """A member as text, whatever it is: a text as it is, anything else as canonical JSON."""
    value = facet.get(name)
    return value if value is None or type(value) is str else canonical(value).decode()


def params(facet: dict[str, Any]) -> str | None:
    """The parameters of an assertion or test, as canonical JSON."""
    value = facet.get("params")
    return canonical(value).decode() if value else None


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
    """Start and end of a nominalTime facet, in UTC, by the rules of eventTime; a date only is its midnight.

    Raises UnreadableError, with what can be used, for a time that has no zone, is a date only or cannot be read.
    """
    times, problems = [], []
    for member in ("nominalStartTime", "nominalEndTime"):
        time, problem = _time(facet.get(member))
        times.append(time)
        if problem is not None:
            problems.append((problem, member))
    found = _unless_empty(tuple(times))
    if problems:
        raise UnreadableError(*problems, value=found)
    return found


def _time(value: Any) -> tuple[datetime | None, str | None]:
    """The time, as far as there is one, and the code of what is wrong with it."""
    if type(value) is not str:
        return None, None if value is None else "not_a_text"
    try:
        time, zoned = parse_time(value)
    except BadTimeError:
        midnight = parse_midnight(value)
        return midnight, "not_a_time" if midnight is None else "date_without_time"
    return time, None if zoned else "time_without_zone"


def task_attempt(instance: Any) -> tuple[int | None, int | None] | None:
    """Number of the try and map index of an Airflow task instance; Airflow's own index of what is not mapped is -1."""
    if type(instance) is not dict:
        raise UnreadableError(("not_an_object", ""))
    found = _number(instance, "try_number", 1), _number(instance, "map_index", 0)
    return None if found == (None, None) else found


def _number(holder: dict[str, Any], name: str, least: int) -> int | None:
    value = holder.get(name)
    return value if type(value) is int and least <= value < _LONG_MAX else None


def _unless_empty(values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """None where nothing is carried. An empty text is nothing: registers that compare as equal must be equal."""
    carried = tuple([value or None for value in values])
    return None if carried.count(None) == len(carried) else carried


def documentation(facet: dict[str, Any]) -> tuple[str | None, ...] | None:
    """Description and content type of a documentation facet; without a description it says nothing."""
    description = _said(facet, "description")
    return None if description is None else (description, _said(facet, "contentType"))


def owners(value: Any) -> bytes | None:
    """The owners of an ownership facet that have a name, each once, canonical and in order."""
    return _set_of_text(value, *_OWNER) if type(value) is bytes else _set_of(value, *_OWNER)


def tags(value: Any) -> bytes | None:
    """The tags of a tags facet that have a key, each once, canonical and in order."""
    return _set_of_text(value, *_TAG) if type(value) is bytes else _set_of(value, *_TAG)


def code_location(facet: dict[str, Any]) -> str | None:
    """The URL of a sourceCodeLocation facet; where it has none, the repository's with the path in it."""
    if (url := _said(facet, "url")) is not None:
        return url
    parts = [part for part in (_said(facet, "repoUrl"), _said(facet, "path")) if part is not None]
    return "/".join(parts) or None


def dataset_type(facet: dict[str, Any]) -> tuple[str | None, ...] | None:
    """Type and sub-type of a datasetType facet."""
    return _unless_empty((_said(facet, "datasetType"), _said(facet, "subType")))


def storage(facet: dict[str, Any]) -> tuple[str | None, ...] | None:
    """Layer and file format of a storage facet."""
    return _unless_empty((_said(facet, "storageLayer"), _said(facet, "fileFormat")))


def catalog(facet: dict[str, Any]) -> tuple[str | None, ...] | None:
    """Framework, type, name, metadata and warehouse of a catalog facet."""
    members = ("framework", "type", "name", "metadataUri", "warehouseUri")
    return _unless_empty(tuple([_said(facet, member) for member in members]))


def identifiers(value: Any) -> tuple[tuple[str, str], ...] | None:
    """Namespace and name of each identifier of a symlinks facet that can be one, each once."""
    if type(value) is not list:
        raise UnreadableError(("not_an_array", ""))
    found = [_identifier(entry) for entry in value[:MAX_IDENTIFIERS]]
    return tuple(dict.fromkeys(name for name in found if name is not None)) or None


def previous_name(facet: dict[str, Any]) -> tuple[str, str] | None:
    """Namespace and name before, of a lifecycleStateChange facet that tells of a renaming."""
    change = facet.get("lifecycleStateChange")
    if type(change) is not str or change.upper() != "RENAME" or facet.get("previousIdentifier") is None:
        return None
    if (name := _identifier(facet["previousIdentifier"])) is None:
        raise UnreadableError(("not_a_name", ""))
    return name


def _identifier(entry: Any) -> tuple[str, str] | None:
    if type(entry) is not dict or (name := _said(entry, "name")) is None:
        return None
    namespace = text_or_none(entry, "namespace") or ""
    too_long = max(len(name.encode()), len(namespace.encode())) > MAX_NAME
    return None if too_long else (namespace, name)


def _said(facet: dict[str, Any], name: str) -> str | None:
    """A member that is a text and not empty: '' and nothing could not be told apart in a comparison."""
    return text_or_none(facet, name) or None


def _set_of(value: Any, needed: str, members: tuple[str, ...]) -> bytes | None:
    """The objects of an array, of which one member is needed, as a set; an empty one says nothing."""
    if type(value) is not list:
        raise UnreadableError(("not_an_array", ""))
    entries = [entry for entry in value if type(entry) is dict and _said(entry, needed) is not None]
    return _set_of_texts(
        tuple([tuple([text_or_none(entry, member) for member in members]) for entry in entries]), members
    )


@lru_cache(maxsize=4096)
def _set_of_texts(entries: tuple[tuple[str | None, ...], ...], members: tuple[str, ...]) -> bytes | None:
    """They come again with every event."""
    found = sorted({tuple([said or "" for said in entry]) for entry in entries})
    rows = [{name: said for name, said in zip(members, row, strict=True) if said} for row in found]
    return canonical(rows) if rows else None


_OWNER: Final = ("name", ("name", "type"))
_TAG: Final = ("key", ("key", "value", "source", "field"))


@lru_cache(maxsize=4096)
def _set_of_text(value: bytes, needed: str, members: tuple[str, ...]) -> bytes | None:
    """The same of a text that a scanner has at hand: it comes again with every event."""
    return _set_of(orjson.loads(value), needed, members)
