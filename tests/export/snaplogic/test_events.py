"""The events themselves: field by field against SnapLogic's documented structure, the modern form, golden
files, options."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from datetime import datetime
from typing import Any

import pytest

from lineagelog.export.snaplogic import (
    Mapped,
    Naming,
    Nested,
    VirtualNames,
    problems,
    snap_run_id,
    virtual_dataset,
)

from .build import SAMPLES, Json, Sample, chain, samples
from .support import AccountBook, datasets, event, export, run, warnings

GOLDEN = SAMPLES / "golden"
ALL = [("files",), ("join",), ("router",), ("nested",), ("parent", "child"), ("artifact",), ("forty",)]
FACETS = "https://openlineage.io/spec/facets"
BUILT = {sample.name: sample for sample in samples()}


def _keys(value: Json, required: set[str], optional: set[str] = frozenset()) -> None:
    assert required <= set(value) <= required | optional, sorted(value)


def _facet(facet: Json, producer: str, url: str, content: set[str], optional: set[str] = frozenset()) -> None:
    _keys(facet, {"_producer", "_schemaURL"} | content, optional)
    assert facet["_producer"] == producer
    assert facet["_schemaURL"] == f"{FACETS}/{url}"


def _documented_dataset(dataset: Json, producer: str, side: str) -> None:
    _keys(dataset, {"namespace", "name", "facets"}, {f"{side}Facets"})
    assert dataset["namespace"]
    facets = dataset["facets"]
    _keys(facets, set(), {"schema", "columnLineage"} if side == "output" else {"schema"})
    if "schema" in facets:
        _facet(facets["schema"], producer, "1-0-0/SchemaDatasetFacet.json", {"fields"})
        names = [field["name"] for field in facets["schema"]["fields"]]
        assert names == sorted(set(names))
        for field in facets["schema"]["fields"]:
            assert field == {"name": field["name"], "type": "VARCHAR", "description": ""}
    for key, facet in dataset.get(f"{side}Facets", {}).items():
        assert key == f"{side}Statistics"
        _facet(facet, producer, f"1-0-0/{side.title()}Statistics{side.title()}DatasetFacet.json", {"rowCount"})
        assert isinstance(facet["rowCount"], int)


def _documented_lineage(dataset: Json, producer: str, inputs: list[Json]) -> None:
    facet = dataset["facets"].get("columnLineage")
    if facet is None:
        assert "schema" not in dataset["facets"]
        return
    _facet(facet, producer, "1-0-1/ColumnLineageDatasetFacet.json", {"fields"})
    known = {(item["namespace"], item["name"]): item for item in inputs}
    assert list(facet["fields"]) == [field["name"] for field in dataset["facets"]["schema"]["fields"]]
    for column in facet["fields"].values():
        assert column["transformationType"] == "IDENTITY"
        assert bool(column["inputFields"]) == bool(column.get("transformationDescription"))
        for origin in column["inputFields"]:
            _keys(origin, {"namespace", "name", "field"})
            origin_names = [f["name"] for f in known[origin["namespace"], origin["name"]]["facets"]["schema"]["fields"]]
            assert origin["field"] in origin_names


def _documented_event(item: Json, sample: Sample) -> None:
    producer = f"https://cdn.elastic.snaplogic.com/sl/designer.html?#pipe_snode={sample.snode}"
    _keys(item, {"eventTime", "producer", "schemaURL", "eventType", "run", "job", "inputs", "outputs"})
    assert item["producer"] == producer
    assert item["schemaURL"] == "https://openlineage.io/spec/1-0-0/OpenLineage.json#/definitions/RunEvent"
    assert item["eventTime"] == "2026-02-03T04:05:17.250Z"
    assert datetime.fromisoformat(item["eventTime"]).tzinfo is not None
    _keys(item["run"], {"runId", "facets"})
    _keys(item["run"]["facets"], {"parent"}, {"errorMessage"})
    assert ("errorMessage" in item["run"]["facets"]) == (item["eventType"] == "FAIL")
    parent = item["run"]["facets"]["parent"]
    _facet(parent, producer, "1-0-0/ParentRunFacet.json", {"run", "job"})
    _keys(item["job"], {"namespace", "name"})
    assert item["job"]["namespace"] == "SnapLogic"
    if item["job"]["name"] == sample.title:
        assert item["run"]["runId"] == sample.run_id
        return
    assert parent["run"] == {"runId": sample.run_id}
    assert parent["job"] == {"namespace": "SnapLogic", "name": sample.title}
    pipeline_and_label, _, snap_id = item["job"]["name"].rpartition(":")
    snap = next(snap for snap in sample.snaps if sample.id(snap.key) == snap_id)
    assert pipeline_and_label == f"{sample.title}:{snap.label}"
    digest = bytearray(hashlib.md5(f"{sample.run_id}:{snap_id}".encode()).digest())
    digest[6] = digest[6] & 0x0F | 0x30
    digest[8] = digest[8] & 0x3F | 0x80
    assert item["run"]["runId"] == str(uuid.UUID(bytes=bytes(digest)))
    for dataset in item["inputs"]:
        _documented_dataset(dataset, producer, "input")
    for dataset in item["outputs"]:
        _documented_dataset(dataset, producer, "output")
        _documented_lineage(dataset, producer, item["inputs"])


@pytest.mark.parametrize("names", ALL, ids="+".join)
def test_every_event_has_the_documented_structure(names: tuple[str, ...]) -> None:
    """Every key and value that SnapLogic documents, nothing more than row counts and errorMessage; one event
    per Snap."""
    exported = export(*names)
    for name in names:
        sample = BUILT[name]
        own = [item for item in exported.events if item["producer"].endswith(sample.snode)]
        ran = [snap for snap in sample.snaps if not snap.disabled]
        assert len(own) == len(ran) + (sample.parent is not None)
        for item in own:
            _documented_event(item, sample)
    assert problems(exported.events, modern=False) == []


@pytest.mark.parametrize("names", ALL, ids="+".join)
@pytest.mark.parametrize("nested", list(Nested))
def test_modern_events_and_every_facet_validate(names: tuple[str, ...], nested: Nested) -> None:
    """Against the current schemas: the event and each facet; what is unknown has no type, nothing is
    VARCHAR."""
    exported = export(*names, modern=True, nested=nested)
    assert problems(exported.events, modern=True) == []
    assert "VARCHAR" not in json.dumps(exported.events)
    assert {item["schemaURL"] for item in exported.events} == {
        "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
    }


def test_modern_events_tell_types_transformations_and_what_filters() -> None:
    """Types of generated values and of functions, subtypes of transformations, and fields that decide about
    documents."""
    exported = export("forty", modern=True)
    schema = event(exported, "Constants")["outputs"][0]["facets"]["schema"]["fields"]
    assert {field["name"]: field["type"] for field in schema} == {
        "key": "integer", "name": "string", "rate": "number", "vip": "boolean",
    }  # fmt: skip
    lineage = event(exported, "Narrow")["outputs"][0]["facets"]["columnLineage"]["fields"]
    how = [item["transformations"][0] for item in lineage["TOTAL"]["inputFields"]]
    assert how == [{"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "+", "masking": False}] * 4
    used = event(exported, "Filter 0")["outputs"][0]["facets"]["columnLineage"]["dataset"]
    assert [(item["field"], item["transformations"][0]["subtype"]) for item in used] == [("active", "FILTER")]
    joined = event(exported, "Join rates")["outputs"][0]["facets"]["columnLineage"]["dataset"]
    assert {item["transformations"][0]["subtype"] for item in joined} == {"JOIN"}


@pytest.mark.parametrize(("name", "modern"), [("files", False), ("router", False), ("join", True)])
def test_golden_events(name: str, modern: bool) -> None:
    """The whole events, byte for byte what was looked at once (rewrite the file after a wanted change)."""
    events = export(name, modern=modern).events
    golden = json.loads((GOLDEN / f"{name}{'.modern' if modern else ''}.json").read_text())
    assert list(events) == golden


def test_a_failed_snap_is_fail_with_failure_reason_and_resolution() -> None:
    """The others are COMPLETE, also the one that was stopped; unless stopped Snaps are to be ABORT."""
    exported = export("router")
    failed = event(exported, "Load")
    assert failed["eventType"] == "FAIL"
    assert failed["run"]["facets"]["errorMessage"]["message"] == (
        'SQL operation failed\nReason: ORA-00001: unique constraint "FIN"."PK" violated\nResolution: Check the key'
    )
    assert [item["eventType"] for item in exported.events].count("COMPLETE") == 8
    assert event(export("router", stopped_as_abort=True), "After load")["eventType"] == "ABORT"


@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize("state", ["Queued", "Prepared", "Started", "Failing", "Stopping", "Suspended", "Resuming", ""])
def test_a_run_that_is_not_over_is_running(state: str, modern: bool) -> None:
    """Its Snaps, too, unless their own state says that they are over; never COMPLETE, and a warning each."""
    sample = chain("flow-filter", "It", {}, "a")
    sample.parent, sample.state = Sample("above", "Above"), state
    sample.find("it").state = sample.find("use").state = state
    exported = run(sample, modern=modern)
    own = next(item for item in exported.events if item["job"]["name"] == "One")
    assert [own["eventType"], event(exported, "It")["eventType"]] == ["RUNNING", "RUNNING"]
    assert event(exported, "Gen")["eventType"] == "COMPLETE"
    assert f"the run is not over (state {state!r}); export it again when it is over" in warnings(exported)
    assert f"Snap 'It': is not over (state {state!r}), so its event is RUNNING;" in "\n".join(warnings(exported))
    assert exported.summary.running == 3


@pytest.mark.parametrize(
    ("run_state", "state", "failure", "expected"),
    [
        ("Completed", "Started", None, "RUNNING"),
        ("Completed", "NoUpdate", None, "COMPLETE"),
        ("Failed", "Failing", None, "FAIL"),
        ("Failed", "NoUpdate", None, "ABORT"),
        ("Started", "NoUpdate", ("broken", "", ""), "FAIL"),
        ("Stopped", "Stopping", None, "ABORT"),
        ("Started", "Weird", None, "RUNNING"),
    ],
)
def test_a_snap_that_is_about_to_end_ends_with_its_run(
    run_state: str, state: str, failure: tuple[str, str, str] | None, expected: str
) -> None:
    """One that tells nothing, too."""
    sample = chain("flow-filter", "It", {}, "a")
    sample.state, sample.find("it").state, sample.find("it").failure = run_state, state, failure
    assert event(run(sample, stopped_as_abort=True), "It")["eventType"] == expected


def test_a_child_run_is_tied_to_its_parent_run() -> None:
    """The child pipeline's own run has the parent's run as parent, its Snaps have the child's run."""
    exported = export("parent", "child")
    child, parent = BUILT["child"], BUILT["parent"]
    own = next(item for item in exported.events if item["job"]["name"] == "Child")
    assert own["run"]["runId"] == child.run_id
    assert own["run"]["facets"]["parent"]["run"]["runId"] == parent.run_id
    assert own["run"]["facets"]["parent"]["job"]["name"] == "Parent"
    alone = next(item for item in export("child").events if item["job"]["name"] == "Child")
    assert alone == own
    entry = event(export("parent", "child", modern=True), "Entry")["run"]["facets"]["parent"]
    assert entry["root"] == {
        "run": {"runId": parent.run_id},
        "job": {"namespace": "SnapLogic", "name": "Parent"},
    }


def test_run_ids_are_those_of_published_events_rule() -> None:
    """Version 3, MD5 of `<uuid>:<snap id>` without a namespace, as Java's nameUUIDFromBytes makes them."""
    made = uuid.UUID(snap_run_id("cdcc6929-2f45-4678-b09d-6b79965eda32", "9d2c67ed-a13f-4e79-b9cb-9e86830c71c2"))
    assert str(made) == "5ab721e5-69ff-3df3-873d-6d332a834c2f"
    assert (made.version, made.variant) == (3, uuid.RFC_4122)


def test_virtual_names_as_in_real_events() -> None:
    """VIRTUAL_DB.VIRTUAL_SCHEMA.<label>:<five characters>, in outputs, inputs and lineage alike; they are
    recognised."""
    exported = export("join", virtual_names=VirtualNames.SNAPLOGIC)
    joined = event(exported, "Join")
    for dataset in (*joined["inputs"], *joined["outputs"]):
        assert re.fullmatch(r"VIRTUAL_DB\.VIRTUAL_SCHEMA\..+:[0-9a-f]{5}", dataset["name"])
        assert virtual_dataset(dataset["namespace"], dataset["name"])
    assert problems(exported.events, modern=False) == []


def test_openlineage_naming_of_endpoints() -> None:
    """Host and port from the account assets, a bucket and a host in the namespace; the names lose nothing."""
    naming: dict[str, Any] = {"naming": Naming.OPENLINEAGE}
    join, files, router = (export(name, **naming) for name in ("join", "files", "router"))
    assert datasets(event(join, "Orders")["inputs"]) == ["postgres://pg.acme.example:5432 | shopdb.public.orders"]
    assert datasets(event(join, "Load")["outputs"]) == ["snowflake://acme | ANALYTICS.SALES.ORDERS_BY_COUNTRY"]
    assert datasets(event(files, "Write")["outputs"]) == ["s3://lake | prices/day.json"]
    assert datasets(event(router, "Read")["inputs"]) == ["mysql://web.acme.example:3306 | web.orders"]
    lost = datasets(event(router, "Keep errors")["outputs"])
    assert lost == ["sftp://files.acme.example:2222 | /errors.json"]


def test_the_namespaces_file_wins_over_the_accounts() -> None:
    """System name, namespace and database can be told per account label."""
    book = AccountBook(mapped={"shop": Mapped("Postgres (shop)", "postgres://shop:5432", "prod")})
    assert datasets(event(export("join", accounts=book), "Orders")["inputs"]) == [
        "Postgres (shop) | prod.public.orders"
    ]
    modern = export("join", accounts=book, naming=Naming.OPENLINEAGE)
    assert datasets(event(modern, "Orders")["inputs"]) == ["postgres://shop:5432 | prod.public.orders"]


def test_without_accounts_the_database_is_missing_and_a_warning_says_so() -> None:
    """schema.table, and what to give."""
    exported = export("parent", accounts=None)
    assert datasets(event(exported, "Read")["inputs"]) == ["Postgres | public.orders"]
    assert any("--accounts" in finding.message for finding in exported.findings)


def test_the_control_plane_is_in_every_producer() -> None:
    """The host of the Designer, in events and facets."""
    text = json.dumps(export("join", control_plane="emea.snaplogic.com").events)
    assert "cdn.elastic" not in text
    assert "https://emea.snaplogic.com/sl/designer.html?#pipe_snode=" in text


def test_told_columns_settle_what_the_pipeline_leaves_open() -> None:
    """--columns lists a table's columns, by name with or without the database."""
    exported = export("parent", columns={"public.orders": ("order_id", "net")})
    read = event(exported, "Read")["inputs"][0]
    assert [field["name"] for field in read["facets"]["schema"]["fields"]] == ["net", "order_id"]


def test_the_same_input_gives_the_same_events() -> None:
    """Byte for byte, whatever order runs and pipelines are given in per run."""
    assert json.dumps(export("forty").events) == json.dumps(export("forty").events)
    forth, back = export("parent", "child").events, export("child", "parent").events
    assert sorted(map(json.dumps, forth)) == sorted(map(json.dumps, back))


def test_credentials_of_urls_are_in_no_event() -> None:
    """User and password of the file's URL stay out."""
    text = json.dumps(export("router").events)
    assert "secret" not in text
    assert "ops" not in text
