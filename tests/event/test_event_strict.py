"""Strict mode: the specification's own schemas, offline, with the place of the first departure."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.generator import generate

from lineagelog.event import Event, Reason, Rejected, parse
from lineagelog.spec.strict import strict_check

from .event_samples import run_event, text_of, with_input, with_output

FACET = {"_producer": "https://example.invalid/emitter/1"}
SPEC = "https://openlineage.io/spec/facets"
SCHEMA = FACET | {"_schemaURL": f"{SPEC}/1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet"}

STATISTICS = FACET | {"_schemaURL": f"{SPEC}/1-0-2/OutputStatisticsOutputDatasetFacet.json"}


def test_what_follows_the_specification_passes() -> None:
    """Own run events, the three kinds, generated events."""
    assert strict_check(run_event()) is None
    head = {name: run_event()[name] for name in ("eventTime", "producer", "schemaURL")}
    assert strict_check(head | {"job": {"namespace": "prod", "name": "load"}}) is None
    assert strict_check(head | {"dataset": {"namespace": "db", "name": "t"}}) is None
    for text in generate(200, seed=3):
        assert isinstance(parse(text, check=strict_check), Event)


@pytest.mark.parametrize(
    ("event", "path", "detail"),
    [
        (run_event(eventTime="2026-03-02 08:00"), "$.eventTime", "date-time"),
        (run_event(eventType="HEARTBEAT"), "$.eventType", "the value is not one of"),
        (run_event(run={"runId": "run-77"}), "$.run.runId", "uuid"),
        (run_event(producer=None), "$.producer", "string"),
        (run_event(inputs=[{"name": "t"}]), "$.inputs[0]", "namespace"),
        (run_event(outputs=[{"name": "t", "namespace": 5}]), "$.outputs[0].namespace", "string"),
        (with_input(facets={"schema": {}}), "$.inputs[0].facets.schema", "_producer"),
        (with_input(facets={"my.own": {}}), "$.inputs[0].facets['my.own']", "_producer"),
        (with_input(facets={"a\nb": {}}), "$.inputs[0].facets['a\\nb']", "_producer"),
        (with_input(facets={"schema": SCHEMA | {"fields": [{}]}}), "$.inputs[0].facets.schema.fields[0]", "name"),
        (
            with_output(outputFacets={"outputStatistics": STATISTICS | {"rowCount": "x"}}),
            "$.outputs[0].outputFacets.outputStatistics.rowCount",
            "integer",
        ),
    ],
)  # fmt: skip
def test_the_first_departure_is_named(event: dict[str, Any], path: str, detail: str) -> None:
    """JSON path and one line, without the value, which may be secret or long."""
    outcome = parse(text_of(event), check=strict_check)
    assert isinstance(outcome, Rejected)
    assert (outcome.reason, outcome.path) == (Reason.SCHEMA, path)
    assert detail in outcome.detail


def test_messages_never_show_values() -> None:
    """A password in a wrong place does not reach the logs."""
    found = strict_check(run_event(producer=["hunter2"], eventType="hunter2"))
    assert found is not None
    assert "hunter2" not in str(found)


def test_other_versions_and_deleted_facets_are_checked_by_the_core_schema_only() -> None:
    """A facet of a version that this package does not have may have other members."""
    for facet in (
        SCHEMA | {"_schemaURL": SCHEMA["_schemaURL"].replace("1-2-0", "9-9-9"), "fields": 5},
        SCHEMA | {"fields": 5, "_deleted": True},
    ):
        assert strict_check(with_input(facets={"schema": facet})) is None
    assert strict_check(with_input(facets={"mySchema": SCHEMA | {"fields": 5}})) is None


def test_deep_and_odd_trees_get_an_answer() -> None:
    """Nested to the limit, big numbers, no known kind."""
    nested: Any = 1
    for _ in range(254):
        nested = [nested]
    for extra in (nested, 2**64 - 1, 1e300, {"a": [None, True]}):
        assert isinstance(parse(text_of(run_event(extra=extra)), check=strict_check), Event | Rejected)
    assert strict_check({}) is None
