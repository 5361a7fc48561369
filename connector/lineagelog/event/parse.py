"""Bytes in, event or reason out: pure, tolerant where real producers are, strict on what identifies an event."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, NoReturn

from lineagelog import compiled

from .canonical import mended
from .decoding import Decoded, RefusedError, decode, decode_event
from .facets import LOOKED_AT
from .model import AssertionResult, Event, EventKind, Reason, Rejected, TestResult
from .run_ids import MAX_RUN_ID, stored_run_id
from .sightings import DatasetGatherer, Notices, limit_name, run_and_job, tests_of_run
from .times import BadTimeError, parse_time

__all__ = ["MAX_EVENT_TYPE", "MAX_RUN_ID", "Check", "decode", "identity", "parse"]

MAX_EVENT_TYPE: Final = 64

_SCANNER: Final = compiled.scanner(LOOKED_AT)

_KINDS: Final = (("run", EventKind.RUN), ("job", EventKind.JOB), ("dataset", EventKind.DATASET))

type Check = Callable[[Any], tuple[str, str] | None]
"""A further check of the decoded event (strict mode): None, or the JSON path and what is wrong there."""


def parse(data: bytes, *, check: Check | None = None) -> Event | Rejected:
    """Read one event.

    ``data`` is the JSON text of one object, UTF-8. The rules are those of the OpenLineage specification 2-0-2, loosened
    for what producers really send; ``check`` can add the specification's own schemas.
    """
    if check is None and (event := _scanned(data)) is not None:
        return event
    tree: Any = None
    try:
        decoded = decode_event(data)
        tree = decoded.tree
        if type(tree) is not dict:
            _refuse(Reason.NOT_AN_EVENT, "$", "an event is a JSON object")
        if check is not None and (problem := check(tree)) is not None:
            _refuse(Reason.SCHEMA, *problem)
        return _event(tree, decoded)
    except RefusedError as refused:
        names = identity(refused.tree if tree is None else tree)
        return Rejected(refused.reason, refused.path, refused.detail, data, **names)


def _scanned(data: bytes) -> Event | None:
    """The event, if the compiled scanner is there and finds it plain; all else is for the reference to look at."""
    if _SCANNER is None or (found := _SCANNER.scan(data)) is None:
        return None
    try:
        return _event(found[0], Decoded(*found, data, None, None))
    except RefusedError:
        return None


def identity(tree: Any) -> dict[str, Any]:
    """Whatever names the event that a refused tree was to be; texts cut to 512 characters, mended."""

    def at(*path: str) -> str | None:
        value = tree
        for step in path:
            value = value.get(step) if type(value) is dict else None
        return mended(value[:512]) if type(value) is str else None

    return {
        "run_id": at("run", "runId"),
        "job_namespace": at("job", "namespace"),
        "job_name": at("job", "name"),
        "event_type": at("eventType"),
        "event_time": at("eventTime"),
    }


def _refuse(reason: Reason, path: str, detail: str) -> NoReturn:
    raise RefusedError(reason, path, detail)


def _event(tree: dict[str, Any], decoded: Decoded) -> Event:
    kind = _kind(tree)
    notices = Notices()
    event_time, zoned = _event_time(tree.get("eventTime"))
    if not zoned:
        notices.note("time_without_zone", "eventTime")
    if decoded.notice is not None:
        for place in decoded.places:
            notices.note(decoded.notice, *place)
    namespace, name = _job(tree.get("job"), kind)
    run_id = event_type = ""
    assertions: tuple[AssertionResult, ...] = ()
    tests: tuple[TestResult, ...] = ()
    if kind is EventKind.RUN:
        run_id = _run_id(tree["run"].get("runId"))
        event_type = _event_type(tree.get("eventType"), notices)
        tests = tests_of_run(tree, event_type, notices)
    run, job = run_and_job(tree, event_type, notices)
    gathered = DatasetGatherer(tree, event_type, notices)
    datasets = gathered.sightings()
    if kind is EventKind.RUN:
        assertions = tuple(gathered.assertions)
    producer = tree.get("producer")
    return Event(
        kind,
        run_id,
        event_time,
        event_type,
        decoded.event_hash,
        namespace,
        name,
        producer if type(producer) is str else "",
        decoded.body,
        decoded.raw,
        tuple(notices),
        run,
        datasets,
        assertions,
        tests,
        job,
    )


def _kind(tree: dict[str, Any]) -> EventKind:
    for member, kind in _KINDS:
        value = tree.get(member)
        if value is not None:
            if type(value) is not dict:
                _refuse(Reason.WRONG_TYPE, f"$.{member}", "must be an object")
            return kind
    _refuse(Reason.NOT_AN_EVENT, "$", "has neither run, job nor dataset")


def _event_time(value: Any) -> tuple[datetime, bool]:
    try:
        return parse_time(_required_text(value, "$.eventTime"))
    except BadTimeError as problem:
        _refuse(Reason.BAD_TIME, "$.eventTime", f"{value[:60]!r} cannot be read: {problem}")


def _run_id(value: Any) -> str:
    run_id = _required_text(value, "$.run.runId")
    if len(run_id.encode()) > MAX_RUN_ID:
        _refuse(Reason.TOO_LONG, "$.run.runId", f"is longer than {MAX_RUN_ID} bytes")
    return stored_run_id(run_id)


def _required_text(value: Any, path: str) -> str:
    if type(value) is not str:
        if value is None:
            _refuse(Reason.MISSING_FIELD, path, "is required")
        _refuse(Reason.WRONG_TYPE, path, "must be a text")
    if not value:
        _refuse(Reason.MISSING_FIELD, path, "is required")
    return value


def _job(job: Any, kind: EventKind) -> tuple[str, str]:
    """Namespace and name of the job; a dataset event has none."""
    if kind is EventKind.DATASET:
        return "", ""
    if type(job) is not dict:
        if job is None:
            _refuse(Reason.MISSING_FIELD, "$.job", "is required")
        _refuse(Reason.WRONG_TYPE, "$.job", "must be an object")
    namespace = job.get("namespace")
    if namespace is None:
        namespace = ""
    elif type(namespace) is not str:
        _refuse(Reason.WRONG_TYPE, "$.job.namespace", "must be a text")
    name = _required_text(job.get("name"), "$.job.name")
    limit_name(namespace, "job", "namespace")
    limit_name(name, "job", "name")
    return namespace, name


def _event_type(value: Any, notices: Notices) -> str:
    if type(value) is not str or not value:
        notices.note("no_event_type" if value is None or value == "" else "not_a_text", "eventType")
        return "UNKNOWN"
    upper = value.upper()
    if len(upper.encode()) > MAX_EVENT_TYPE:
        _refuse(Reason.TOO_LONG, "$.eventType", f"is longer than {MAX_EVENT_TYPE} bytes")
    return upper
