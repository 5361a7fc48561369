"""What Egeria's file reader takes from a raw event: who ran, what was read and written, what was checked.

Source: `OpenLineageLogStoreReader` of odpi/egeria (e205cc1) and the beans of its facets, read by Jackson.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson
from msgspec import Struct

from lineagelog.analysis.declaration import RawEvent

from .formulas import millis

type Name = tuple[str | None, str]
"""Namespace, None where the event has none, and name."""

_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{0,9})?)?(Z|[+-]\d\d:\d\d(:\d\d)?)", re.IGNORECASE | re.ASCII
)
_RUN_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TRUE: Final = frozenset(("true", "True", "TRUE"))


class Unreadable(ValueError):
    """A value that Egeria's beans do not take: the whole event is passed over."""


class Reported(Struct, frozen=True):
    """A result: of an assertion of a dataset, or of a test of a run."""

    dimension: str
    result: str
    """pass, fail, or whatever else a test says."""
    severity: str | None


class Touched(Struct, frozen=True):
    """A dataset in the inputs or outputs of an event."""

    dataset: Name
    rows: int | None
    size: int | None
    lifecycle: str | None = None
    is_subset: bool = False
    version: str | None = None
    checks: tuple[Reported, ...] = ()

    @property
    def has_statistics(self) -> bool:
        """Rows or bytes; a number of files alone is none."""
        return self.rows is not None or self.size is not None


class Sighting(Struct, frozen=True):
    """An event."""

    time: int
    type: str | None
    job: Name
    run_id: str
    inputs: tuple[Touched, ...]
    outputs: tuple[Touched, ...]
    checks: tuple[Reported, ...]
    """Of the run itself: tests."""

    @property
    def is_start(self) -> bool:
        """A START without statistics registers a dataset, and replaces nothing."""
        return self.type == "START"


def sightings(events: Iterable[RawEvent]) -> Iterator[Sighting]:
    """The events that Egeria reads, in order.

    Of several that share a file of its log store (the same job, run, time and type) the last one that arrived is left.
    """
    now: dict[tuple[Any, ...], Sighting] = {}
    time = None
    for event in events:
        if event.time != time:
            yield from now.values()
            now, time = {}, event.time
        if (seen := sighting(event)) is not None:
            key = (seen.job, seen.run_id, seen.type)
            now.pop(key, None)
            now[key] = seen
    yield from now.values()


def sighting(event: RawEvent) -> Sighting | None:
    """What is read from one event; None for one that Egeria does not read or does not count."""
    try:
        content = orjson.loads(event.content)
        job, run = _object(content.get("job")), _object(content.get("run"))
        name, run_id = _text(job.get("name")), _text(run.get("runId"))
        if name is None or run_id is None or not _TIME.fullmatch(_text(content.get("eventTime")) or ""):
            return None
        if not _RUN_ID.fullmatch(run_id):
            return None
        return Sighting(
            millis(event.time),
            _text(content.get("eventType")),
            (_text(job.get("namespace")), name),
            run_id.lower(),
            tuple(_input(each) for each in _named(content.get("inputs"))),
            tuple(_output(each) for each in _named(content.get("outputs"))),
            _tests(_object(run.get("facets"))),
        )
    except Unreadable:
        return None


def _input(entry: dict[str, Any]) -> Touched:
    facets = _object(entry.get("inputFacets"))
    rows, size = _counts(facets)
    reported = _list(_object(facets.get("dataQualityAssertions")).get("assertions"))
    checks = tuple(_assertion(_object(each)) for each in reported if each is not None)
    return Touched(_name(entry), rows, size, checks=checks)


def _counts(facets: dict[str, Any]) -> tuple[int | None, int | None]:
    """Of inputStatistics, even where it is empty, else of dataQualityMetrics."""
    statistics, metrics = facets.get("inputStatistics"), _object(facets.get("dataQualityMetrics"))
    if statistics is not None:
        found = _object(statistics)
        return _number(found.get("rowCount")), _number(found.get("size"))
    return _number(metrics.get("rowCount")), _number(metrics.get("bytes"))


def _assertion(facet: dict[str, Any]) -> Reported:
    base = _text(facet.get("assertion"))
    base = base if base is not None else _text(facet.get("name"))
    column = _text(facet.get("column"))
    dimension = "unknown" if base is None else base
    result = "pass" if _flag(facet.get("success")) else "fail"
    return Reported(dimension if column is None else f"{dimension}.{column}", result, _text(facet.get("severity")))


def _output(entry: dict[str, Any]) -> Touched:
    own, facets = _object(entry.get("outputFacets")), _object(entry.get("facets"))
    statistics = _object(own.get("outputStatistics"))
    return Touched(
        _name(entry),
        _number(statistics.get("rowCount")),
        _number(statistics.get("size")),
        _text(_object(facets.get("lifecycleStateChange")).get("lifecycleStateChange")),
        _object(own.get("subset")).get("outputCondition") is not None,
        _text(_object(facets.get("version")).get("datasetVersion")),
    )


def _tests(facets: dict[str, Any]) -> tuple[Reported, ...]:
    found = []
    reported = _list(_object(facets.get("test")).get("tests"))
    for test in (_object(each) for each in reported if each is not None):
        kind, name, status = _text(test.get("type")), _text(test.get("name")), _text(test.get("status"))
        dimension = f"{kind}.{'null' if name is None else name}" if kind is not None else name
        result = "skip" if status is None else status.lower()
        found.append(Reported("null" if dimension is None else dimension, result, _text(test.get("severity"))))
    return tuple(found)


def _named(entries: Any) -> Iterator[dict[str, Any]]:
    return (entry for entry in map(_object, _list(entries)) if _text(entry.get("name")) is not None)


def _name(entry: dict[str, Any]) -> Name:
    return _text(entry.get("namespace")), _text(entry["name"]) or ""


def _object(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unreadable
    return value


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise Unreadable
    return value


def _text(value: Any) -> str | None:
    """A text; numbers and truth values are taken for one."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        raise Unreadable
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(value: Any) -> int | None:
    """A long: a text that spells one, and a fraction without its fraction."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise Unreadable from None
    if isinstance(value, bool) or not -(1 << 63) <= number < 1 << 63:
        raise Unreadable
    return number


def _flag(value: Any) -> bool:
    """A truth value; missing is false."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, int):
        return value != 0
    if isinstance(value, str):
        return value.strip() in _TRUE
    raise Unreadable
