"""Small events of an invented company, for the tests of this folder."""

from __future__ import annotations

import json
from typing import Any

from lineagelog.event import Event, Rejected, parse

RUN_ID = "0b0f0f1e-5d0a-5a5e-9a55-2f4c1d5a7c01"


def run_event(**members: Any) -> dict[str, Any]:
    """A minimal COMPLETE event, with members replaced or added."""
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-03-02T08:00:00Z",
        "producer": "https://example.invalid/emitter/1",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": RUN_ID},
        "job": {"namespace": "prod", "name": "load.orders"},
    } | members


def with_input(**members: Any) -> dict[str, Any]:
    """An event with one input dataset."""
    return run_event(inputs=[{"namespace": "db", "name": "orders", **members}])


def with_output(**members: Any) -> dict[str, Any]:
    """An event with one output dataset."""
    return run_event(outputs=[{"namespace": "db", "name": "orders", **members}])


def text_of(event: Any) -> bytes:
    """The event as JSON; lone surrogates and NUL stay escaped."""
    return json.dumps(event).encode()


def accepted(event: dict[str, Any] | bytes) -> Event:
    """Parse, and insist that the event is accepted."""
    outcome = parse(event if isinstance(event, bytes) else text_of(event))
    assert isinstance(outcome, Event), outcome
    return outcome


def refused(event: Any) -> Rejected:
    """Parse, and insist that the event is refused."""
    outcome = parse(event if isinstance(event, bytes) else text_of(event))
    assert isinstance(outcome, Rejected), outcome
    return outcome


def notices(event: Event) -> list[str]:
    """The notices as texts."""
    return [str(notice) for notice in event.notices]
