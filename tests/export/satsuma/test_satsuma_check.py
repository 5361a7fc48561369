"""Validation and summary: what the schemas reject, and the numbers of an export."""

from __future__ import annotations

import copy
import json
from importlib import resources
from typing import Any

import pytest

from lineagelog.export.satsuma import Exported, summarize, validate
from lineagelog.export.satsuma.facets import OWN_FACETS

from .support import run_export

SPEC = """
schema a (owner "team", classification C) { x INT (pii)  //! bad
  z INT }
schema b (dimension, scd 2, natural_key y) { y INT  w INT  v record { q INT } }
schema board (report, source {b}) { n INT }
mapping m (merge append) { source { a } target { b } //? open
  x -> y  z -> v { trim } }
mapping n { source { a } target { b } x -> y { hash }  -> nowhere { now } }
"""


def broken(change: Any) -> list[str]:
    """What validation says about an event after a change."""
    item = run_export(SPEC).made.events[0]
    event = copy.deepcopy(item.event)
    change(event)
    return validate([Exported("m", event)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e.pop("eventTime"), '"eventTime" is a required property'),
        (lambda e: e.update(eventTime="yesterday"), "eventTime"),
        (lambda e: e["run"].update(runId="1"), "run/runId"),
        (lambda e: e.update(schemaURL="x"), "schemaURL is 'x'"),
        (lambda e: e["job"].pop("name"), '"name" is a required property'),
        (lambda e: e["inputs"][0]["facets"]["schema"].pop("_producer"), '"_producer" is a required property'),
        (
            lambda e: e["outputs"][0]["facets"]["schema"]["fields"][0].pop("name"),
            '"name" is a required property',
        ),
        (
            lambda e: e["outputs"][0]["facets"]["columnLineage"].pop("fields"),
            '"fields" is a required property',
        ),
        (
            lambda e: e["inputs"][0]["facets"].update(columnLineage=e["outputs"][0]["facets"]["columnLineage"]),
            "belongs to outputs",
        ),
        (lambda e: e["outputs"][0]["facets"]["satsuma_modelling"].update(scdType="2"), "scdType"),
        (lambda e: e["inputs"][0]["facets"]["satsuma_governance"].update(piiFields=[]), "piiFields"),
        (
            lambda e: e["inputs"][0]["facets"]["satsuma_warnings"]["warnings"][0].update(type="x"),
            "warnings/0/type",
        ),
        (
            lambda e: e["job"]["facets"]["satsuma_mergeStrategy"].pop("strategy"),
            '"strategy" is a required property',
        ),
        (
            lambda e: e["inputs"][0]["facets"]["schema"].update(_schemaURL="https://example.org/x"),
            "_schemaURL is",
        ),
        (
            lambda e: e["job"]["facets"].update(other={"_producer": "x:y", "_schemaURL": "x:y"}),
            "no schema is known",
        ),
    ],
)
def test_what_is_wrong_is_found(change: Any, message: str) -> None:
    """Each broken event is told with its name and the place."""
    failures = broken(change)
    assert failures
    assert any(message in failure for failure in failures), failures
    assert all(failure.startswith("m: ") for failure in failures)


def test_run_ids_must_be_unique() -> None:
    """The same event twice is told; START and COMPLETE of one run are not."""
    event = run_export(SPEC).made.events[0]
    assert "is not the only COMPLETE" in validate([event, event])[0]
    assert validate(run_export(SPEC, event_kind="start-complete").made.events) == []


@pytest.mark.parametrize("kind", ["complete", "start-complete", "job"])
def test_the_summary_counts(kind: str) -> None:
    """Datasets and columns once, transforms per job, facets per dataset or job, whatever the event kind."""
    made = run_export(SPEC, event_kind=kind)
    summary = summarize(made.made, ["bad"])
    assert summary.events == (6 if kind == "start-complete" else 3)
    assert (summary.jobs, summary.datasets_in, summary.datasets_out) == (3, 2, 2)
    assert (summary.columns, summary.columns_mapped) == (3, 2)
    assert summary.transforms == 3
    assert summary.facets == {
        "satsuma_consumer": 1,
        "satsuma_governance": 1,
        "satsuma_mergeStrategy": 1,
        "satsuma_modelling": 1,
        "satsuma_warnings": 2,
    }
    assert (summary.warnings, summary.questions) == (1, 1)
    assert summary.problems == ("main.stm:8:56: target field 'nowhere' is not declared in 'b'",)
    assert summary.failures == ("bad",)
    assert json.loads(json.dumps(summary.as_json()))["columns_mapped"] == 2
    assert "column coverage        2 of 3 target columns (67 %)" in list(summary.lines())


def test_our_facet_schemas_are_shipped_and_named_by_their_url() -> None:
    """Each file's `$id` is its immutable URL, and it defines the facet of its name."""
    folder = resources.files("lineagelog.export.satsuma") / "schemas"
    names = sorted(file.name for file in folder.iterdir())
    assert len(names) == 6
    for name in names:
        schema = json.loads((folder / name).read_text())
        kind = name.removesuffix(".json")
        assert schema["$id"] == f"{OWN_FACETS}/{name}"
        assert list(schema["$defs"]) == [kind]
        (key,) = schema["properties"]
        assert key.startswith("satsuma_")
