"""The events this project makes itself, examples and benchmarks, are valid OpenLineage with valid facets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.generator import generate

from tests.specification import second_opinion, validate
from tests.support import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.ndjson"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_valid(path: Path) -> None:
    """Every event of every example file is valid."""
    for line in path.read_bytes().splitlines():
        validate(json.loads(line))
        assert second_opinion(json.loads(line)) == []


@pytest.mark.parametrize("spaced", [False, True])
def test_generated_events_are_valid(spaced: bool) -> None:
    """300 generated events of all producers and types are valid, in both spellings."""
    checked = [json.loads(event) for event in generate(300, jobs=60, heartbeats=1, spaced=spaced)]
    assert {event["eventType"] for event in checked} >= {"START", "RUNNING", "COMPLETE", "FAIL"}
    for event in checked:
        validate(event)


@pytest.mark.parametrize("break_it", ["runId", "eventTime", "fields", "key"])
def test_the_check_sees_what_is_wrong(break_it: str) -> None:
    """A run id that is no UUID, a bad time, a facet of another shape or under another key: refused."""
    event = json.loads(next(generate(1, jobs=1)))
    facets = event["job"]["facets"]
    if break_it == "runId":
        event["run"]["runId"] = "42"
    elif break_it == "eventTime":
        event["eventTime"] = "yesterday"
    elif break_it == "fields":
        del facets["jobType"]["integration"]
    else:
        facets["jobtype"] = facets.pop("jobType")
    with pytest.raises(AssertionError):
        validate(event)
