"""The OpenAPI document, made from the tables of paths, parameters and row types that the server itself goes by."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any, Final

import msgspec

from lineagelog.read import Assertion, EventRow, EventSummary, Run, RunDataset, RunDetails, Status, Test
from lineagelog.spec import CORE

from .paths import BATCH, SINGLE
from .query import DEFAULT_PAGE
from .reads import DATASET, DIRECTIONS, JOB, PAGE, STATUSES, WINDOW

_TEXT: Final = {"type": "string"}
_SOME_TEXT: Final = {"type": "string", "minLength": 1}
_PARAMETERS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "since": (
        "From here on: 2026-03-01, 2026-03-01T08:00:00Z, -7d (s, m, h, d, w) or now; the start of all if absent",
        _SOME_TEXT,
    ),
    "until": ("Before this; written like since", _SOME_TEXT),
    "job": ("Job name", _TEXT),
    "namespace": ("Job namespace; empty for jobs without one", _TEXT),
    "dataset": ("Dataset name", _TEXT),
    "dataset_namespace": ("Dataset namespace", _TEXT),
    "status": ("Status of the run", {"type": "string", "enum": list(STATUSES)}),
    "test_status": ("Status of the test, such as pass or fail", _TEXT),
    "direction": ("I = input, O = output", {"type": "string", "enum": list(DIRECTIONS)}),
    "success": ("Outcome of the assertion", {"type": "boolean"}),
    "run_id": ("Run id, with any characters", _TEXT),
    "event_type": ("Event type", _TEXT),
    "content": ("Whether to give the content too", {"type": "boolean", "default": False}),
    "limit": ("Rows at most", {"type": "integer", "minimum": 1, "maximum": 1000, "default": DEFAULT_PAGE}),
    "cursor": ("next_cursor of the page before", _SOME_TEXT),
}
_READS: Final[dict[str, tuple[str, Any, tuple[str, ...]]]] = {
    "/api/v1/runs": (
        "Runs of a window, oldest first; with run_id: one run",
        Run,
        (*WINDOW, *JOB, *DATASET, "status", "run_id", *PAGE),
    ),
    "/api/v1/run-datasets": (
        "Datasets of the runs of a window",
        RunDataset,
        (*WINDOW, *JOB, *DATASET, "status", "direction", *PAGE),
    ),
    "/api/v1/assertions": ("Assertions of a window", Assertion, (*WINDOW, *JOB, *DATASET, "success", *PAGE)),
    "/api/v1/tests": ("Tests of a window", Test, (*WINDOW, *JOB, "test_status", *PAGE)),
    "/api/v1/events": ("Raw events of a window", EventRow, (*WINDOW, *JOB, "event_type", "content", *PAGE)),
}
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
        "eventTime": {"type": "string", "format": "date-time"},
        "eventType": {"type": ["string", "null"], "maxLength": 64},
        "run": {"type": "object", "required": ["runId"], "properties": {"runId": _SOME_TEXT}},
        "job": {"type": "object", "required": ["name"], "properties": {"name": _SOME_TEXT}},
        "dataset": {"type": "object", "required": ["name"], "properties": {"name": _SOME_TEXT}},
    },
    "anyOf": [{"required": ["run", "job"]}, {"required": ["job"]}, {"required": ["dataset"]}],
}
"""What an event must have; the specification says what it may have."""


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
                "content": {"application/json": {"schema": bodies}, "application/x-ndjson": {"schema": _TEXT}},
            },
            "responses": responses,
        }
    }


def _get(summary: str, ok: dict[str, Any], parameters: tuple[str, ...], *statuses: int) -> dict[str, Any]:
    return {
        "get": {
            "tags": ["read"],
            "summary": summary,
            "parameters": [_parameter(name) for name in parameters],
            "responses": {"200": ok, **_refs(*statuses)},
        }
    }


def _parameter(name: str) -> dict[str, Any]:
    description, schema = _PARAMETERS[name]
    return {
        "name": "status" if name == "test_status" else name,
        "in": "query",
        "description": description,
        "schema": schema,
    }


def _page(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"items": {"type": "array", "items": _ref(name)}, "next_cursor": {"type": ["string", "null"]}},
    }


def _read_paths() -> dict[str, Any]:
    refusals = (400, 401, 403, 405, 421, 501, 503)
    paths = {
        path: _get(summary, _json("A page", _page(row.__name__)), parameters, *refusals)
        for path, (summary, row, parameters) in _READS.items()
    }
    paths["/api/v1/runs"]["get"]["responses"] |= _refs(404)
    details = _get(
        "All that is known of one run", _json("The run", _ref("RunDetails")), ("limit", "content"), *refusals, 404
    )
    run_id = {"name": "run_id", "in": "path", "required": True, "schema": _TEXT}
    details["get"]["parameters"].append(run_id)
    paths["/api/v1/runs/{run_id}"] = details
    paths["/api/v1/summary"] = _get("Events of a window", _json("The summary", _ref("EventSummary")), WINDOW, *refusals)
    paths["/api/v1/status"] = _get("Figures of the store", _json("The figures", _ref("Status")), (), *refusals)
    return paths


def _own_paths() -> dict[str, Any]:
    anything = {"type": "object"}
    text = {"description": "OpenMetrics text", "content": {"text/plain": {"schema": _TEXT}}}
    heads = (400, 403, 405, 421)
    paths = {
        "/healthz": _get("Whether the server lives", _json("It does", anything), (), *heads),
        "/readyz": _get("Whether events can be stored now", _json("They can", anything), (), 401, 503, *heads),
        "/metrics": _get("Metrics for Prometheus", text, (), 401, 503, *heads),
        "/openapi.json": _get("This document", _json("OpenAPI 3.1", anything), (), *heads),
    }
    for path in ("/healthz", "/openapi.json"):
        paths[path]["get"]["security"] = []
    return paths


def _schemas() -> dict[str, Any]:
    _, schemas = msgspec.json.schema_components(
        (Run, RunDataset, Assertion, Test, EventRow, EventSummary, RunDetails, Status),
        ref_template="#/components/schemas/{name}",
    )
    failed = {
        "index": {"type": "integer"},
        "reason": _TEXT,
        "path": {},
        "message": _TEXT,
        "retriable": {"type": "boolean"},
    }
    event = schemas["EventRow"]["properties"]
    event["event_hash"] = {"type": "string", "description": "SHA-256 of the canonical JSON, hexadecimal"}
    event["event"] = {"type": "object", "description": "The event, where content=true"}
    return schemas | {
        "Event": _EVENT,
        "Received": {
            "type": "object",
            "required": ["status"],
            "properties": {
                "status": {"enum": ["stored", "duplicate", "expired", "success", "partial_success", "failure"]},
                "summary": {"type": "object", "additionalProperties": {"type": "integer"}},
                "failed_events": {"type": "array", "items": {"type": "object", "properties": failed}},
                "notices": {"type": "array", "items": {"type": "object", "properties": {"code": _TEXT, "path": _TEXT}}},
            },
        },
        "Error": {
            "type": "object",
            "required": ["code", "message", "reason", "retriable"],
            "properties": {
                "code": {"type": "integer"},
                "message": _TEXT,
                "reason": _TEXT,
                "path": {"type": ["string", "null"], "description": "JSON path in the event"},
                "parameter": _TEXT,
                "retriable": {"type": "boolean"},
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
        "paths": paths | _read_paths() | _own_paths(),
        "components": {
            "schemas": _schemas(),
            "responses": {str(status): _json(text, _ref("Error")) for status, text in _REFUSALS.items()},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
        "security": [{"bearer": []}, {"key": []}, {}],
    }
