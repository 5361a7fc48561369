"""The validator: places, one line without values, registered schemas, no network; and another library agrees."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from importlib import resources
from typing import Any

import pytest
from benchmarks.generator import generate

from lineagelog.errors import SettingsError
from lineagelog.spec import CORE, Departure, PlacedFacet, Validator, facets_of, read_schemas, specification
from lineagelog.spec.validator import _no_network
from tests.specification import second_opinion

FACETS = "https://openlineage.io/spec/facets"
OWN = "https://example.invalid/facets/1-0-0/TeamJobFacet.json"
TEAM = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": OWN,
    "$defs": {
        "TeamJobFacet": {
            "allOf": [
                {"$ref": f"{CORE}#/$defs/JobFacet"},
                {"type": "object", "properties": {"team": {"type": "string"}}, "required": ["team"]},
            ]
        }
    },
    "properties": {"team": {"$ref": "#/$defs/TeamJobFacet"}},
}


def job_facet(key: str, **members: Any) -> PlacedFacet:
    """A facet of a job."""
    return PlacedFacet("Job", ("job", "facets", key), {"_producer": "x:y", **members})


def test_all_departures_are_told_each_with_its_place() -> None:
    """Of the event, then of its facets."""
    event = json.loads(next(generate(1, jobs=1)))
    event["eventTime"] = "yesterday"
    del event["run"]["runId"]
    del event["job"]["facets"]["jobType"]["integration"]
    found = {departure.path for departure in specification().departures(event)}
    assert found == {"$.eventTime", "$.run", "$.job.facets.jobType"}
    assert all("\n" not in str(departure) for departure in specification().departures(event))


def test_messages_show_no_value() -> None:
    """A password in a wrong place does not reach a terminal or a log."""
    event = json.loads(next(generate(1, jobs=1))) | {"producer": ["hunter2"], "eventType": "hunter2"}
    told = "; ".join(map(str, specification().departures(event)))
    assert "$.producer" in told
    assert "$.eventType" in told
    assert "hunter2" not in told


@pytest.mark.parametrize("broken", ["nothing", "eventTime", "runId", "name", "integration", "_producer"])
def test_another_library_finds_the_same_places(broken: str) -> None:
    """Events of all producers, whole and without one member; the other tells of what holds such a place, too."""
    removed = 0
    for text in generate(20, jobs=20, seed=5):
        event = json.loads(text)
        here = _without(event, broken)
        found = {departure.place for departure in specification().departures(event)}
        others = set(second_opinion(event))
        assert found <= others
        assert all(any(place[: len(other)] == other for place in found) for other in others)
        assert bool(found) == bool(here)
        removed += here
    assert bool(removed) == (broken != "nothing")


def _without(value: Any, member: str) -> int:
    """Take a member away, wherever it stands; how often."""
    if isinstance(value, list):
        return sum(_without(item, member) for item in value)
    if not isinstance(value, dict):
        return 0
    here = int(value.pop(member, None) is not None)
    return here + sum(_without(item, member) for item in value.values())


def test_schemas_of_others_are_registered() -> None:
    """A facet of one's own is checked and known; the specification alone does not know it."""
    mine = Validator(facets=[TEAM])
    good, bad = job_facet("team", _schemaURL=OWN, team="x"), job_facet("team", _schemaURL=OWN)
    assert [*mine.unknown(good), *mine.facet(good)] == []
    assert [departure.path for departure in mine.facet(bad)] == ["$.job.facets.team"]
    assert list(specification().facet(bad)) == []
    assert "no schema is known" in next(specification().unknown(good)).message
    other = Validator(others=[{"$id": "https://example.invalid/other.json", "type": "object"}])
    (found,) = other.whole("https://example.invalid/other.json", [])
    assert found.path == "$"


@pytest.mark.parametrize(
    ("holder", "key", "address", "message"),
    [
        ("Job", "team", f"{OWN}#/$defs/TeamJobFacet", None),
        ("Job", "team", f"{OWN}#/$defs/Other", "no schema is known"),
        ("Job", "other", OWN, "no schema is known"),
        ("Job", "team", "", "no schema is known"),
        ("Run", "team", OWN, "is not for a facet of Run"),
        ("InputDataset", "dataQualityAssertions", f"{FACETS}/1-1-0/DataQualityAssertionsDatasetFacet.json", None),
        ("Dataset", "inputStatistics", f"{FACETS}/1-0-0/InputStatisticsInputDatasetFacet.json", "not for a facet"),
        ("Job", "schema", f"{FACETS}/1-2-0/SchemaDatasetFacet.json", "not for a facet of Job"),
    ],
)
def test_a_facet_names_a_schema_of_its_key_and_place(holder: Any, key: str, address: str, message: str | None) -> None:
    """With a pointer or without; a facet of a job is none of a run."""
    facet = PlacedFacet(holder, ("x", "facets", key), {"_schemaURL": address})
    found = list(Validator(facets=[TEAM]).unknown(facet))
    assert len(found) == (message is not None)
    assert message is None or message in found[0].message


def test_every_facet_is_found_where_it_stands() -> None:
    """In runs, jobs and datasets; shapes that are none are passed over."""
    event: Any = {
        "run": {"facets": {"a": {}, "b": 5}},
        "job": {"facets": []},
        "dataset": {"facets": {"c": {}}},
        "inputs": [7, {"facets": {"d": {}}, "inputFacets": {"e": {}}}],
        "outputs": {"facets": {"f": {}}},
    }
    before = copy.deepcopy(event)
    assert [(facet.holder, facet.key) for facet in facets_of(event)] == [
        ("Run", "a"), ("Dataset", "c"), ("Dataset", "d"), ("InputDataset", "e"),
    ]  # fmt: skip
    assert event == before


def test_the_specification_is_compiled_once_and_without_network() -> None:
    """Every reference is found among the files of the package; any other is refused instead of fetched."""
    assert specification() is specification()
    schemas = [it for it in read_schemas(resources.files("lineagelog.spec") / "schemas") if it["$id"] != CORE]
    assert len(schemas) > 30
    for schema in schemas:
        (key,) = schema["properties"]
        facet = job_facet(key, _schemaURL=schema["$id"], _producer=5)
        assert list(specification().facet(facet)), schema["$id"]
    with pytest.raises(ValueError, match=r"other\.json"):
        _no_network("https://example.invalid/other.json")


def test_a_missing_extra_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line with the command that helps."""
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    with pytest.raises(SettingsError, match=r"lineagelog\[strict\]"):
        Validator()


def test_building_facets_loads_no_validator() -> None:
    """The SDK is in other people's processes: it pays for no schema and no library that checks one."""
    code = "import sys, lineagelog.sdk; print(int('jsonschema_rs' in sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert answer.stdout.strip() == "0"


def test_a_departure_is_one_line() -> None:
    """JSON path and what is wrong there."""
    assert str(Departure(("inputs", 0, "a b"), "bad")) == "$.inputs[0]['a b']: bad"
