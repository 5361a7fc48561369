"""Bytes in, event or reason out: pure, tolerant where real producers are, strict on what identifies an event."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, Final, NoReturn

import msgspec
import orjson

from . import facets as table
from .canonical import canonical, fold_float
from .model import (
    AssertionResult,
    DatasetSighting,
    Event,
    EventKind,
    Notice,
    Reason,
    Rejected,
    RunSighting,
    TestResult,
)
from .times import BadTimeError, parse_time

MAX_DEPTH: Final = 256
MAX_RUN_ID: Final = 512
MAX_EVENT_TYPE: Final = 64
MAX_NAME: Final = 64 * 1024
MAX_NOTICES: Final = 50
"""More notices of one event than these tell nothing new."""

STATUSES: Final = frozenset(("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER"))

_DECODER: Final = msgspec.json.Decoder(float_hook=fold_float)
_DATASET_TABLE: Final = table.by_facet(table.DATASET_FACTS)
_RUN_TABLE: Final = table.by_facet(table.RUN_FACTS)
_JOB_TABLE: Final = table.by_facet(table.JOB_FACTS)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_REPLACED: Final = re.compile("[\x00\ud800-\udfff]")

type Check = Callable[[Any], tuple[str, str] | None]
"""A further check of the decoded event (strict mode): None, or the JSON path and what is wrong there."""


class _RefusedError(Exception):
    def __init__(self, reason: Reason, path: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.path, self.detail = reason, path, detail


def parse(data: bytes, *, check: Check | None = None) -> Event | Rejected:
    """Read one event.

    ``data`` is the JSON text of one object, UTF-8. The rules are those of the OpenLineage specification 2-0-2, loosened
    for what producers really send; ``check`` can add the specification's own schemas.
    """
    tree: Any = None
    try:
        tree, body, raw = _decode(data)
        if type(tree) is not dict:
            raise _RefusedError(Reason.NOT_AN_EVENT, "$", "an event is a JSON object")
        if check is not None and (problem := check(tree)) is not None:
            raise _RefusedError(Reason.SCHEMA, *problem)
        return _event(tree, body, raw)
    except _RefusedError as refused:
        return Rejected(refused.reason, refused.path, refused.detail, data, **identity(tree))


def identity(tree: Any) -> dict[str, Any]:
    """Whatever names the event that a refused tree was to be; long texts are cut to 512 characters."""

    def at(*path: str) -> str | None:
        value = tree
        for step in path:
            value = value.get(step) if type(value) is dict else None
        return value[:512] if type(value) is str else None

    return {
        "run_id": at("run", "runId"),
        "job_namespace": at("job", "namespace"),
        "job_name": at("job", "name"),
        "event_type": at("eventType"),
        "event_time": at("eventTime"),
    }


def decode(text: bytes) -> Any:
    """A JSON text as Python values, numbers folded as the canonical form wants them."""
    return _DECODER.decode(text)


# --- decoding -------------------------------------------------------------------------------------------------------


def _decode(data: bytes) -> tuple[Any, bytes, bytes | None]:
    """The tree, the JSON text for PostgreSQL, and the exact bytes where that text cannot give them back."""
    body = data.removeprefix(b"\xef\xbb\xbf")
    try:
        tree = _DECODER.decode(body)
    except RecursionError:
        _refuse(Reason.TOO_DEEP, "$", f"nested deeper than {MAX_DEPTH} levels")
    except (msgspec.DecodeError, ValueError) as problem:
        if b"\\u" not in body:
            _refuse_undecodable(body, problem)
        tree = _decode_surrogates(body, problem)
        repaired = _repair(tree)
        return repaired, canonical(repaired), data
    if b"\\" in body and b"\\u0000" in body:
        repaired = _repair(tree)
        if repaired != tree:
            return repaired, canonical(repaired), data
    return tree, body, None


def _decode_surrogates(body: bytes, first_problem: Exception) -> Any:
    """Decode text that msgspec refuses; the standard library lets a lone surrogate pass."""

    def refuse_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(body.decode(), parse_float=fold_float, parse_constant=refuse_constant)
    except RecursionError:
        _refuse(Reason.TOO_DEEP, "$", f"nested deeper than {MAX_DEPTH} levels")
    except ValueError:
        _refuse_undecodable(body, first_problem)


def _refuse_undecodable(body: bytes, problem: Exception) -> NoReturn:
    message = str(problem)
    if "UTF-8" in message:
        _refuse(Reason.NOT_UTF8, "$", "the text is not UTF-8")
    if "out of range" in message:
        path = re.search(r"`(\$[^`]*)`", message)
        _refuse(Reason.NUMBER_OUT_OF_RANGE, path[1] if path else "$", "a number is out of range")
    try:
        body.decode()
    except UnicodeDecodeError as bad:
        _refuse(Reason.NOT_UTF8, "$", f"the text is not UTF-8 at byte {bad.start}")
    if not body.strip():
        _refuse(Reason.NOT_JSON, "$", "the text is empty")
    _refuse(Reason.NOT_JSON, "$", message.removeprefix("JSON is malformed: ") or "the text is not JSON")


def _repair(value: Any, depth: int = 0) -> Any:
    """Replace NUL and lone surrogates by U+FFFD, in keys too: PostgreSQL's text and jsonb hold neither."""
    if depth > MAX_DEPTH:
        _refuse(Reason.TOO_DEEP, "$", f"nested deeper than {MAX_DEPTH} levels")
    if type(value) is str:
        return _REPLACED.sub("\ufffd", value)
    if type(value) is dict:
        return {_REPLACED.sub("\ufffd", key): _repair(member, depth + 1) for key, member in value.items()}
    if type(value) is list:
        return [_repair(member, depth + 1) for member in value]
    return value


def _canonical(tree: dict[str, Any]) -> bytes:
    """The canonical bytes, after looking at the depth where the fast serializer gave up."""
    try:
        return orjson.dumps(tree, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        path = _deeper_than(tree, MAX_DEPTH)
        if path is not None:
            _refuse(Reason.TOO_DEEP, path, f"nested deeper than {MAX_DEPTH} levels")
        return canonical(tree)


def _deeper_than(tree: Any, limit: int) -> str | None:
    """The start of a path that is deeper than the limit; None if there is none."""
    stack: list[tuple[Any, int, str]] = [(tree, 1, "$")]
    while stack:
        value, depth, path = stack.pop()
        if depth > limit:
            return path
        short = len(path) < 60
        if type(value) is dict:
            stack.extend((v, depth + 1, f"{path}.{k[:40]}" if short else path) for k, v in value.items())
        elif type(value) is list:
            stack.extend((v, depth + 1, f"{path}[{i}]" if short else path) for i, v in enumerate(value))
    return None


def _has_duplicate_keys(body: bytes, canonical_bytes: bytes) -> bool:
    """Whether an object of the text has a key twice (jsonb keeps the last one only).

    A dropped key takes its quotes along, so equal numbers of quotes mean none was dropped, unless escaped quotes
    (``\\u0022``) make up for it; only then are the pairs looked at one by one.
    """
    if body.count(b'"') == canonical_bytes.count(b'"') and b"\\u0022" not in body:
        return False
    duplicates = False

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal duplicates
        members = dict(pairs)
        duplicates = duplicates or len(members) < len(pairs)
        return members

    json.loads(body, object_pairs_hook=look)
    return duplicates


# --- the event ------------------------------------------------------------------------------------------------------


def _refuse(reason: Reason, path: str, detail: str) -> NoReturn:
    raise _RefusedError(reason, path, detail)


def _event(tree: dict[str, Any], body: bytes, raw: bytes | None) -> Event:
    kind = _kind(tree)
    notices: list[Notice] = []
    event_time, zoned = _event_time(tree)
    if not zoned:
        notices.append(Notice("time_without_zone", "$.eventTime"))
    run_id = _run_id(tree["run"]) if kind is EventKind.RUN else ""
    namespace, name = _job(tree.get("job"), kind)
    canonical_bytes = _canonical(tree)
    if raw is not None:
        notices.append(Notice("repaired_text", "$"))
    elif _has_duplicate_keys(body, canonical_bytes):
        raw = body
        notices.append(Notice("duplicate_keys", "$"))
    producer = tree.get("producer")
    event_type, facts = "", {}
    if kind is EventKind.RUN:
        event_type = _event_type(tree, notices)
        facts = _facts(tree, event_type, notices)
    return Event(
        kind=kind,
        run_id=run_id,
        event_time=event_time,
        event_type=event_type,
        event_hash=sha256(canonical_bytes).digest(),
        job_namespace=namespace,
        job_name=name,
        producer=producer if type(producer) is str else "",
        body=body,
        raw=raw,
        notices=tuple(notices[:MAX_NOTICES]),
        **facts,
    )


def _kind(tree: dict[str, Any]) -> EventKind:
    for member, kind in (("run", EventKind.RUN), ("job", EventKind.JOB), ("dataset", EventKind.DATASET)):
        value = tree.get(member)
        if value is not None:
            if type(value) is not dict:
                _refuse(Reason.WRONG_TYPE, f"$.{member}", "must be an object")
            return kind
    _refuse(Reason.NOT_AN_EVENT, "$", "has neither run, job nor dataset")


def _event_time(tree: dict[str, Any]) -> tuple[Any, bool]:
    value = tree.get("eventTime")
    if value is None:
        _refuse(Reason.MISSING_FIELD, "$.eventTime", "is required")
    if type(value) is not str:
        _refuse(Reason.WRONG_TYPE, "$.eventTime", "must be a text")
    try:
        return parse_time(value)
    except BadTimeError as problem:
        _refuse(Reason.BAD_TIME, "$.eventTime", f"{value[:60]!r} cannot be read: {problem}")


def _run_id(run: dict[str, Any]) -> str:
    value = _required_text(run.get("runId"), "$.run.runId")
    if len(value) == 36 and _UUID.fullmatch(value):
        return value.lower()
    if len(value.encode()) > MAX_RUN_ID:
        _refuse(Reason.TOO_LONG, "$.run.runId", f"is longer than {MAX_RUN_ID} bytes")
    return value


def _required_text(value: Any, path: str) -> str:
    if value is None or value == "":
        _refuse(Reason.MISSING_FIELD, path, "is required")
    if type(value) is not str:
        _refuse(Reason.WRONG_TYPE, path, "must be a text")
    return value


def _job(job: Any, kind: EventKind) -> tuple[str, str]:
    """Namespace and name of the job; a dataset event has none."""
    if kind is EventKind.DATASET:
        return "", ""
    if job is None:
        _refuse(Reason.MISSING_FIELD, "$.job", "is required")
    if type(job) is not dict:
        _refuse(Reason.WRONG_TYPE, "$.job", "must be an object")
    namespace = job.get("namespace")
    if namespace is not None and type(namespace) is not str:
        _refuse(Reason.WRONG_TYPE, "$.job.namespace", "must be a text")
    name = _required_text(job.get("name"), "$.job.name")
    _limit_name(namespace or "", "$.job.namespace")
    _limit_name(name, "$.job.name")
    return namespace or "", name


def _limit_name(name: str, path: str) -> None:
    if len(name) * 4 > MAX_NAME and len(name.encode()) > MAX_NAME:
        _refuse(Reason.TOO_LONG, path, f"is longer than {MAX_NAME} bytes")


def _event_type(tree: dict[str, Any], notices: list[Notice]) -> str:
    value = tree.get("eventType")
    if value is None or value == "":
        notices.append(Notice("no_event_type", "$.eventType"))
        return "UNKNOWN"
    if type(value) is not str:
        notices.append(Notice("not_a_text", "$.eventType"))
        return "UNKNOWN"
    upper = value.upper()
    if len(upper.encode()) > MAX_EVENT_TYPE:
        _refuse(Reason.TOO_LONG, "$.eventType", f"is longer than {MAX_EVENT_TYPE} bytes")
    return upper


def _facts(tree: dict[str, Any], event_type: str, notices: list[Notice]) -> dict[str, Any]:
    """What a run event says of its run, its datasets, its assertions and its tests."""
    found: dict[str, Any] = {}
    run_facets = _object(tree["run"].get("facets"), "$.run.facets", notices)
    if run_facets:
        _look_up(run_facets, _RUN_TABLE, "$.run.facets", found, {}, None, notices)
    job_facets = _object(tree["job"].get("facets"), "$.job.facets", notices)
    if job_facets:
        _look_up(job_facets, _JOB_TABLE, "$.job.facets", found, {}, None, notices)
    status = event_type if event_type in STATUSES or event_type == "UNKNOWN" else "OTHER"
    datasets: dict[tuple[str, str, str], dict[str, Any]] = {}
    assertions: list[AssertionResult] = []
    seen: dict[Any, int] = {}
    for side, direction, own in (("inputs", "I", "inputFacets"), ("outputs", "O", "outputFacets")):
        for dataset, path in _datasets(tree.get(side), f"$.{side}", notices):
            key = (direction, dataset["namespace"], dataset["name"])
            facts = _dataset_facts(dataset, own, path, notices)
            merged = datasets.get(key)
            datasets[key] = facts if merged is None else _merge_entries(merged, facts)
            assertions.extend(_assertions(dataset, own, path, seen, notices))
    return {
        "run": RunSighting(status, **found),
        "datasets": tuple([DatasetSighting(*key, **facts) for key, facts in datasets.items()]),
        "assertions": tuple(assertions),
        "tests": tuple(_tests(run_facets, notices)) if run_facets else (),
    }


def _object(value: Any, path: str, notices: list[Notice]) -> dict[str, Any] | None:
    if type(value) is dict:
        return value
    if value is not None:
        notices.append(Notice("not_an_object", path))
    return None


def _look_up(
    facets: dict[str, Any],
    lines: dict[str, table.Lines],
    path: str,
    found: dict[str, Any],
    places: dict[str, int],
    deleted: set[str] | None,
    notices: list[Notice],
) -> None:
    """Fill ``found`` from one facets object; ``places`` remembers which line of the table gave each member."""
    for name, facet in facets.items():
        if facet is None or (facet_lines := lines.get(name)) is None:
            continue
        if type(facet) is not dict:
            notices.append(Notice("not_an_object", f"{path}.{name}"))
            continue
        for place, fact in facet_lines:
            member = fact.member
            if places.get(member, place + 1) <= place:
                continue  # an earlier line, or the same line in an earlier container, has a value
            if deleted is not None and fact.deletable and facet.get("_deleted") is True:
                if member not in found:
                    deleted.add(member)
                continue
            value = facet if fact.path is None else facet.get(fact.path)
            if value is None:
                continue
            try:
                value = fact.read(value)
            except table.UnreadableError as problem:
                notices.append(Notice(str(problem), f"{path}.{name}.{fact.path}"))
                continue
            if value is not None:
                found[member] = value
                places[member] = place


def _datasets(value: Any, path: str, notices: list[Notice]) -> Iterator[tuple[dict[str, Any], str]]:
    """The entries of inputs or outputs that can be named; the others are noticed and passed over."""
    if value is None:
        return
    if type(value) is not list:
        notices.append(Notice("not_an_array", path))
        return
    for index, entry in enumerate(value):
        place = f"{path}[{index}]"
        if type(entry) is not dict:
            notices.append(Notice("not_an_object", place))
            continue
        namespace, name = entry.get("namespace"), entry.get("name")
        if type(name) is not str or not name:
            notices.append(Notice("dataset_without_name", f"{place}.name"))
        elif namespace == "" or (namespace is not None and type(namespace) is not str):
            notices.append(Notice("dataset_without_namespace", f"{place}.namespace"))
        else:
            _limit_name(name, f"{place}.name")
            _limit_name(namespace or "", f"{place}.namespace")
            yield entry if namespace is not None else {**entry, "namespace": ""}, place


def _dataset_facts(dataset: dict[str, Any], own: str, path: str, notices: list[Notice]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    places: dict[str, int] = {}
    deleted: set[str] = set()
    for container in (own, "facets"):
        value = dataset.get(container)
        if value is None:
            continue
        facets = _object(value, f"{path}.{container}", notices)
        if facets:
            _look_up(facets, _DATASET_TABLE, f"{path}.{container}", found, places, deleted, notices)
    deleted.difference_update(found)
    if deleted:
        found["deleted"] = frozenset(deleted)
    return found


def _merge_entries(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    """One dataset twice on one side (a self join): each member from the last entry that carries it."""
    cleared = later.get("deleted", frozenset())
    merged = {name: value for name, value in earlier.items() if name not in cleared} | later
    deleted = (earlier.get("deleted", frozenset()) | cleared) - merged.keys()
    merged.pop("deleted", None)
    return merged | ({"deleted": deleted} if deleted else {})


def _assertions(
    dataset: dict[str, Any], own: str, path: str, seen: dict[Any, int], notices: list[Notice]
) -> Iterator[AssertionResult]:
    """The assertions of one dataset entry, from the first container that has the facet."""
    for container in (own, "facets"):
        facets = dataset.get(container)
        for name in table.ASSERTION_FACETS if type(facets) is dict else ():
            facet = facets.get(name)  # type: ignore[union-attr]  # narrowed in the loop's condition
            if type(facet) is not dict or facet.get("assertions") is None:
                continue
            place = f"{path}.{container}.{name}.assertions"
            for index, entry in _entries(facet["assertions"], place, notices):
                row = (
                    dataset["namespace"],
                    dataset["name"],
                    _text(entry, "assertion"),
                    _text(entry, "column"),
                    table.boolean(entry.get("success")),
                    _text(entry, "severity"),
                    _text(entry, "name"),
                )
                if row[2] is None and row[6] is None:
                    notices.append(Notice("assertion_without_name", f"{place}[{index}]"))
                    continue
                yield AssertionResult(*row, occurrence=_occurrence(seen, row))
            return


def _tests(run_facets: dict[str, Any], notices: list[Notice]) -> Iterator[TestResult]:
    seen: dict[Any, int] = {}
    for name in table.TEST_FACETS:
        facet = run_facets.get(name)
        if type(facet) is not dict or facet.get("tests") is None:
            continue
        place = f"$.run.facets.{name}.tests"
        for index, entry in _entries(facet["tests"], place, notices):
            row = (
                _text(entry, "name"),
                _text(entry, "status"),
                _text(entry, "type"),
                _text(entry, "severity"),
            )
            if row[0] is None and row[2] is None:
                notices.append(Notice("test_without_name", f"{place}[{index}]"))
                continue
            yield TestResult(*row, occurrence=_occurrence(seen, row))


def _entries(value: Any, path: str, notices: list[Notice]) -> Iterator[tuple[int, dict[str, Any]]]:
    if type(value) is not list:
        notices.append(Notice("not_an_array", path))
        return
    for index, entry in enumerate(value):
        if type(entry) is dict:
            yield index, entry
        else:
            notices.append(Notice("not_an_object", f"{path}[{index}]"))


def _text(entry: dict[str, Any], name: str) -> str | None:
    value = entry.get(name)
    return value if type(value) is str else None


def _occurrence(seen: dict[Any, int], row: Any) -> int:
    number = seen.get(row, 0)
    seen[row] = number + 1
    return number
