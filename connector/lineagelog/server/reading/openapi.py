"""The OpenAPI document: reads and their answers as they are declared, and what receiving takes and says."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version
from typing import Any, Final

import msgspec

from lineagelog.server.answers import SUMMARY, Problem
from lineagelog.server.paths import BATCH, SINGLE
from lineagelog.spec import CORE

from . import explore, findings
from .analyses import ANALYSES, LIST
from .query import SOME_TEXT, TEXT, QueryParameter
from .reads import READS, Read

_REFUSALS: Final = {
    400: "Not an OpenLineage event, or a bad parameter; kept as a dead letter if it was to be an event",
    401: "No valid token",
    403: "The token does not allow this, or there are no tokens and a page of another web site asks",
    404: "Nothing here",
    405: "Another method is needed",
    408: "The body came too slowly",
    413: "Larger than the limit; identity and first 64 KiB are kept as a dead letter. Never with Retry-After",
    415: "Neither JSON in UTF-8 nor gzip of it",
    421: "There are no tokens and the request is addressed to a foreign name",
    501: "This server has no reads",
    503: "Nothing was stored or read: send it again after Retry-After seconds",
}
_EVENT: Final = {
    "type": "object",
    "description": "A run, job or dataset event. What a facet holds never makes the whole event unacceptable.",
    "externalDocs": {"url": CORE},
    "required": ["eventTime"],
    "properties": {
        "eventTime": {
            "type": "string",
            "examples": ["2026-03-01T08:00:00.123Z"],
            "description": "RFC 3339; also without seconds, with Java's [Zone/Name] behind it, or without a zone "
            "(UTC, with a notice). Digits beyond microseconds are cut off. A date only is refused",
        },
        "eventType": {"type": ["string", "null"], "maxLength": 64},
        "run": {"type": "object", "required": ["runId"], "properties": {"runId": SOME_TEXT}},
        "job": {"type": "object", "required": ["name"], "properties": {"name": SOME_TEXT}},
        "dataset": {"type": "object", "required": ["name"], "properties": {"name": SOME_TEXT}},
    },
    "anyOf": [{"required": ["run", "job"]}, {"required": ["job"]}, {"required": ["dataset"]}],
}
"""What an event must have; the specification says what it may have."""


_ALL: Final = (*READS, *explore.READS, *findings.READS, LIST, *ANALYSES.values())


def _refs(*statuses: int) -> dict[str, Any]:
    return {str(status): {"$ref": f"#/components/responses/{status}"} for status in statuses}


def _json(description: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _receiving(clients: str, is_batch: bool) -> dict[str, Any]:
    events = {"type": "array", "items": _ref("Event")}
    wrapped = {"type": "object", "properties": {"events": events}, "required": ["events"]}
    bodies = {"anyOf": [_ref("Event"), events, wrapped]}
    responses: dict[str, Any] = {
        "200": _json(
            "A batch that is not stored as a whole, or an event older than the retention floor", _ref("Received")
        ),
        "204": {"description": "The whole batch is stored"},
        **_refs(400, 401, 403, 405, 408, 413, 415, 421, 503),
    }
    if not is_batch:
        responses["201"] = _json("The event is stored, now or before", _ref("Received"))
    return {
        "post": {
            "tags": ["receive"],
            "summary": f"{'Store events' if is_batch else 'Store an event, or a batch'} ({clients})",
            "description": "Answered after COMMIT. The body may be gzip. The path works with a trailing slash too.",
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": bodies}, "application/x-ndjson": {"schema": TEXT}},
            },
            "responses": responses,
        }
    }


def _get(summary: str, ok: dict[str, Any], *statuses: int, **more: Any) -> dict[str, Any]:
    return {
        "get": {
            "tags": ["read"],
            "summary": summary,
            "parameters": [],
            "responses": {"200": ok, **_refs(*statuses)},
            **more,
        }
    }


def _page(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"items": {"type": "array", "items": _ref(name)}, "next_cursor": {"type": ["string", "null"]}},
    }


def _read(read: Read) -> dict[str, Any]:
    ok, parameters = _json("The answer", _answer(read)), [*read.parameters]
    if read.is_paged:
        ok = _json("A page", _answer(read))
    if read.instead is not None:
        given, other = read.instead
        ok = _json(f"A page; with {given} the one", {"anyOf": [_answer(read), _answer(other)]})
        more_of = [each for each in other.parameters if each.name not in read.accepted]
        parameters += [QueryParameter(p.name, f"{p.description}; only with {given}", p.schema) for p in more_of]
    refusals = (400, 401, 403, 405, 421, 501, 503, *((404,) if read.may_miss else ()))
    in_path = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in read.named]
    more = {"description": read.description} if read.description else {}
    return _get(read.summary, ok, *refusals, parameters=[*(each.document for each in parameters), *in_path], **more)


def _answer(read: Read) -> dict[str, Any]:
    name = read.answer.__name__
    return _page(name) if read.is_paged else _ref(name)


def _read_paths() -> dict[str, Any]:
    return {_without_types(read.path): _read(read) for read in _ALL}


def _write(write: findings.Write) -> dict[str, Any]:
    body = {"required": False, "content": {"application/json": {"schema": _ref(write.body.__name__)}}}
    return {
        "post": {
            "tags": ["read"],
            "summary": write.summary,
            "description": "Needs the scope admin.",
            "parameters": [{"name": "finding_id", "in": "path", "required": True, "schema": TEXT}],
            "requestBody": body,
            "responses": {
                "200": _json("The finding as it is then", _ref(write.answer.__name__)),
                **_refs(400, 401, 403, 404, 405, 413, 421, 501, 503),
            },
        }
    }


def _write_paths() -> dict[str, Any]:
    return {_without_types(write.path): _write(write) for write in findings.WRITES}


def _without_types(path: str) -> str:
    return re.sub(r":\w+}", "}", path)


def _own_paths() -> dict[str, Any]:
    anything = {"type": "object"}
    text = {"description": "OpenMetrics text", "content": {"text/plain": {"schema": TEXT}}}
    heads = (400, 403, 405, 421)
    paths = {
        "/healthz": _get("Whether the server lives", _json("It does", anything), *heads),
        "/readyz": _get("Whether events can be stored now", _json("They can", anything), 401, 503, *heads),
        "/metrics": _get("Metrics for Prometheus", text, 401, 503, *heads),
        "/openapi.json": _get("This document", _json("OpenAPI 3.1", anything), *heads),
    }
    for path in ("/healthz", "/openapi.json"):
        paths[path]["get"]["security"] = []
    return paths


def _schemas() -> dict[str, Any]:
    types = {*(read.answer for read in _ALL), *(write.body for write in findings.WRITES), Problem}
    _, schemas = msgspec.json.schema_components(
        sorted(types, key=lambda each: each.__name__), ref_template="#/components/schemas/{name}"
    )
    failed = {
        "index": {"type": "integer"},
        "reason": TEXT,
        "path": {"type": ["string", "null"], "description": "JSON path in the event"},
        "message": TEXT,
        "retriable": {"type": "boolean"},
    }
    event = schemas["EventRow"]["properties"]
    event["event_hash"] = {"type": "string", "description": "SHA-256 of the canonical JSON, hexadecimal"}
    event["event"] = {"type": "object", "description": "The event, where content=true"}
    finding = schemas["Finding"]["properties"]
    del finding["values"]  # they stand side by side with the rest
    finding |= {"finding_id": {"type": "string", "format": "uuid"}, "status": TEXT}
    kept = schemas["FindingRow"]["properties"]
    del kept["content"]  # that of the finding, side by side with what became of it
    schemas["FindingRow"]["properties"] = finding | kept
    schemas["FindingRow"]["required"].remove("content")
    return schemas | {
        "Event": _EVENT,
        "Received": {
            "type": "object",
            "required": ["status"],
            "properties": {
                "status": {"enum": ["stored", "duplicate", "expired", "success", "partial_success", "failure"]},
                "summary": {"type": "object", "properties": {key: {"type": "integer"} for key in SUMMARY}},
                "failed_events": {"type": "array", "items": {"type": "object", "properties": failed}},
                "notices": {"type": "array", "items": {"type": "object", "properties": {"code": TEXT, "path": TEXT}}},
            },
        },
    }


@cache
def document() -> dict[str, Any]:
    """The document of the server at the root of its URL."""
    paths = {path: _receiving(clients, False) for path, clients in SINGLE.items()}
    paths |= {path: _receiving(clients, True) for path, clients in BATCH.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "lineagelog", "version": version("lineagelog"), "license": {"name": "Apache-2.0"}},
        "paths": paths | _read_paths() | _write_paths() | _own_paths(),
        "components": {
            "schemas": _schemas(),
            "responses": {str(status): _json(text, _ref("Problem")) for status, text in _REFUSALS.items()},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
        "security": [{"bearer": []}, {"key": []}, {}],
    }
