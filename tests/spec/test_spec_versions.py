"""The table of facets against the vendored schemas, and the facets that the builder makes of it."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest

from lineagelog.sdk.facets import complete_facet, engine_facet
from lineagelog.spec import (
    CORE,
    CURRENT,
    CURRENT_FILES,
    DEFINITIONS,
    FIRST_FILES,
    FacetBuilder,
    error_message,
    facets_of,
    job_type,
    processing_engine,
    read_schemas,
    run_and_job,
    schema_field,
    specification,
    transformation,
)

FACETS = "https://openlineage.io/spec/facets"
BUILDER = FacetBuilder("urn:test:1")


def test_every_vendored_facet_is_in_the_table_and_no_other() -> None:
    """Key, definition, version and file are those of the schemas; a choice of several is listed by its parts."""
    found = set()
    for schema in read_schemas(resources.files("lineagelog.spec") / "schemas"):
        if schema["$id"] != CORE:
            ((key, entry),) = schema["properties"].items()
            own = entry.get("$ref", "").removeprefix("#/$defs/")
            definition = schema["$defs"].get(own, entry)
            choice = definition.get("oneOf") or definition.get("anyOf")
            names = [part["$ref"].removeprefix("#/$defs/") for part in choice] if choice else [own]
            found |= {(key, schema["$id"], name) for name in names}
    assert {(it.key, it.document, it.name) for it in DEFINITIONS.values()} == found


def test_no_two_facets_have_one_key_and_one_holder() -> None:
    """A key says which facet it is, where it stands."""
    places = [(it.key, it.holder) for it in DEFINITIONS.values()]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=lambda it: it.name)
def test_the_builder_names_a_schema_that_the_validator_knows(definition: Any) -> None:
    """Of each facet, by its definition and by its file."""
    for edition in (CURRENT, CURRENT_FILES):
        made = FacetBuilder("urn:test:1", edition).facet(definition.key, definition.holder, {})
        holder = definition.holder
        part, container = {
            "Run": ("run", "facets"),
            "Job": ("job", "facets"),
            "Dataset": ("dataset", "facets"),
            "InputDataset": ("inputs", "inputFacets"),
            "OutputDataset": ("outputs", "outputFacets"),
        }[holder]
        content: Any = {container: {definition.key: made}}
        event = {part: [content] if part.endswith("s") else content}
        (placed,) = facets_of(event)
        assert placed.holder == holder
        assert list(specification().unknown(placed)) == []


def test_what_is_made() -> None:
    """Marks first, then the content; what somebody began keeps what it has, in its order."""
    address = f"{FACETS}/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet"
    made = BUILDER.facet("errorMessage", "Run", error_message("bad", "PYTHON"))
    assert list(made.items()) == [
        ("_producer", "urn:test:1"), ("_schemaURL", address), ("message", "bad"), ("programmingLanguage", "PYTHON"),
    ]  # fmt: skip
    begun = BUILDER.completed("errorMessage", "Run", {"message": "bad", "_producer": "theirs:x"})
    assert list(begun.items()) == [("message", "bad"), ("_producer", "theirs:x"), ("_schemaURL", address)]


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("errorMessage", error_message("bad", "PYTHON", "a\nb")),
        ("parent", run_and_job("0b0f0f1e-5d0a-5a5e-9a55-2f4c1d5a7c01", "n", "j")),
        ("processing_engine", processing_engine("Python", "3.13", "1")),
    ],
)
def test_contents_of_runs_are_valid(key: str, content: dict[str, Any]) -> None:
    """By the schema that the facet names; without its first member it is not."""
    made = BUILDER.facet(key, "Run", content)
    (placed,) = facets_of({"run": {"facets": {key: made}}})
    assert list(specification().facet(placed)) == []
    del made[next(iter(content))]
    assert list(specification().facet(placed))


def test_contents_of_jobs_and_columns_are_valid() -> None:
    """jobType, schema and columnLineage; what is not told is left out."""
    field = {"namespace": "n", "name": "t", "field": "a"}
    how = [transformation("DIRECT", "IDENTITY", "copied", masking=False), transformation("INDIRECT")]
    lineage = {"fields": {"a": {"inputFields": [field | {"transformations": how}]}}}
    event = {
        "job": {"facets": {"jobType": BUILDER.facet("jobType", "Job", job_type("PYTHON", "JOB"))}},
        "outputs": [
            {
                "facets": {
                    "schema": BUILDER.facet(
                        "schema", "Dataset", {"fields": [schema_field("a", "INT"), schema_field("b")]}
                    ),
                    "columnLineage": BUILDER.facet("columnLineage", "Dataset", lineage),
                }
            }
        ],
    }
    placed = list(facets_of(event))
    assert len(placed) == 3
    assert [departure for facet in placed for departure in specification().facet(facet)] == []
    assert (schema_field("b"), transformation("INDIRECT")) == ({"name": "b"}, {"type": "INDIRECT"})


def test_the_first_edition_is_as_documented() -> None:
    """Addresses of files, and the core's definitions by their name of that time."""
    assert FIRST_FILES.event("RunEvent") == "https://openlineage.io/spec/1-0-0/OpenLineage.json#/definitions/RunEvent"
    assert FIRST_FILES.facet("columnLineage", "Dataset") == f"{FACETS}/1-0-1/ColumnLineageDatasetFacet.json"


def test_what_the_specification_does_not_have_is_a_base_facet() -> None:
    """By where it stands: a dataset's facet is none of a run or a job; what is read may have it under inputFacets."""
    assert CURRENT.facet("mine", "Run") == f"{CORE}#/$defs/RunFacet"
    assert CURRENT.facet("schema", "Job") == f"{CORE}#/$defs/JobFacet"
    assert CURRENT.facet("sql", "Dataset") == f"{CORE}#/$defs/DatasetFacet"
    assert CURRENT.facet("dataQualityAssertions", "InputDataset").endswith("/DataQualityAssertionsDatasetFacet")
    assert CURRENT.facet("dataQualityMetrics", "InputDataset").endswith("/DataQualityMetricsInputDatasetFacet")


def test_the_sdk_names_the_schemas_of_its_facets() -> None:
    """Keys that are not the definition's name in lower case, too; and no dataset's schema for a run's facet."""
    assert engine_facet()["_schemaURL"] == f"{FACETS}/1-1-1/ProcessingEngineRunFacet.json"
    assert complete_facet("subset", {}, "InputDataset")["_schemaURL"] == f"{FACETS}/1-0-0/BaseSubsetDatasetFacet.json"
    assert complete_facet("documentation", {}, "Run")["_schemaURL"] == f"{CORE}#/$defs/RunFacet"
