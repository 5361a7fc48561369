"""Events of engine actions, worked by hand from the source of Egeria's own connector."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from lineagelog.event import parse
from lineagelog.publish.governance import engine_events

GUID = "0197b7a0-0000-7000-8000-000000000001"
PROCESS = "0197b7a0-0000-7000-8000-000000000002"


def action(status: str = "COMPLETED", **properties: Any) -> dict[str, Any]:
    told = {
        "activityStatus": status,
        "executorEngineName": "OurEngine",
        "requestType": "copy-file",
        "requestedTime": "2026-09-10T09:59:00.000+00:00",
        "startTime": "2026-09-10T10:00:00.000+00:00",
        "completionTime": "2026-09-10T10:05:00.250+00:00",
        **properties,
    }
    given = {name: value for name, value in told.items() if value is not None}
    return {"elementHeader": {"guid": GUID, "type": {"typeName": "EngineAction"}}, "properties": given}


def target(name: str | None, kind: str = "DataFile", guid: str = "g", **properties: Any) -> dict[str, Any]:
    above = ["DataAsset", "Asset"] if kind.startswith("Data") else ["Asset"]
    header = {"guid": guid, "type": {"typeName": kind, "superTypeNames": above}}
    role = {"class": "ActionTargetProperties", "actionTargetName": name}
    return {"relationshipProperties": role, "relatedElement": {"elementHeader": header, "properties": properties}}


def kinds(given: dict[str, Any]) -> list[tuple[str, str]]:
    return [(event.type, event.body["eventTime"]) for event in engine_events(given)]


@pytest.mark.parametrize(("status", "type_"), [("COMPLETED", "COMPLETE"), ("FAILED", "FAIL"), ("INVALID", "ABORT")])
def test_an_action_that_ended_is_a_start_and_an_end(status: str, type_: str) -> None:
    assert kinds(action(status)) == [("START", "2026-09-10T10:00:00Z"), (type_, "2026-09-10T10:05:00.250Z")]


def test_other_statuses() -> None:
    assert kinds(action("IN_PROGRESS", completionTime=None)) == [("START", "2026-09-10T10:00:00Z")]
    for status in ("APPROVED", "WAITING", "CANCELLED", "IGNORED", ""):
        assert kinds(action(status)) == []
    assert kinds(action("INVALID", startTime=None)) == [("ABORT", "2026-09-10T10:05:00.250Z")]


def test_an_end_without_a_time_is_when_the_action_last_changed() -> None:
    given = action("FAILED", startTime=None, completionTime=None)
    assert kinds(given) == []
    given["elementHeader"]["versions"] = {"createTime": 1, "updateTime": 1_789_034_700_000}
    assert kinds(given) == [("FAIL", "2026-09-10T10:05:00Z")]


def test_all_that_an_event_tells() -> None:
    given = action(
        processName="Process::p",
        processStepName="Step::s",
        governanceActionTypeName="Type::t",
        iscqualifiedName="Chain::c",
        requestParameters={"a": "1", "actionTarget:source": "x", "none": None},
        receivedGuards=["one", "two"],
        completionGuards=["done"],
    )
    given["elementHeader"]["anchor"] = {
        "classificationName": "Anchors",
        "classificationProperties": {"class": "AnchorsProperties", "anchorGUID": PROCESS},
    }
    given["actionTargets"] = [
        target("source", qualifiedName="DataFile::in", pathName="s3://bucket/in.csv"),
        target("destinationFolder", "DataFolder", qualifiedName="DataFolder::out", pathName="/data/out"),
        target("engine", "SoftwareServer", qualifiedName="Server::x"),
        None,
    ]
    start, end = engine_events(given)
    egeria = "https://egeria-project.org/"
    assert start.run_id == end.body["run"]["runId"] == GUID
    assert end.body["producer"] == egeria
    assert end.body["job"] == {"namespace": "GovernanceActions", "name": "Step::s"}
    assert end.body["inputs"] == [{"namespace": "s3://bucket", "name": "in.csv"}]
    assert end.body["outputs"] == [{"namespace": "file", "name": "/data/out"}]
    facets = end.body["run"]["facets"]
    assert facets["egeria_governanceAction"] == {
        "_producer": egeria,
        "_schemaURL": f"{egeria}openlineage/facets/1-0-0/EgeriaGovernanceActionRunFacet.json"
        "#/$defs/EgeriaGovernanceActionRunFacet",
        "iscQualifiedName": "Chain::c",
        "engineActionGUID": GUID,
        "governanceEngineName": "OurEngine",
        "requestType": "copy-file",
        "governanceActionTypeName": "Type::t",
        "processName": "Process::p",
        "processStepName": "Step::s",
    }
    assert facets["parent"]["run"] == {"runId": PROCESS}
    assert facets["parent"]["job"] == {"namespace": "GovernanceActions", "name": "Process::p"}
    times = {name: value for name, value in facets["nominalTime"].items() if not name.startswith("_")}
    assert times == {"nominalStartTime": "2026-09-10T10:00:00Z", "nominalEndTime": "2026-09-10T10:05:00.250Z"}
    assert [tuple(each.values()) for each in facets["executionParameters"]["parameters"]] == [
        ("a", "a", "1"),
        ("actionTarget:source", "actionTarget:source", "x"),
        ("actionTarget:source:2", "source", "DataFile::in"),
        ("actionTarget:destinationFolder", "destinationFolder", "DataFolder::out"),
        ("actionTarget:engine", "engine", "Server::x"),
        ("receivedGuards", "receivedGuards", "one, two"),
        ("completionGuards", "completionGuards", "done"),
    ]
    then = start.body["run"]["facets"]
    assert "nominalEndTime" not in then["nominalTime"]
    assert "completionGuards" not in [each["key"] for each in then["executionParameters"]["parameters"]]


def test_a_job_without_a_step_is_named_by_engine_and_request() -> None:
    (event, _) = engine_events(action(), "ours")
    assert event.body["job"] == {"namespace": "ours", "name": "OurEngine::copy-file"}
    assert event.body["inputs"] == [] and "outputs" not in event.body
    assert "executionParameters" not in event.body["run"]["facets"]


@pytest.mark.parametrize(
    ("properties", "identity"),
    [
        ({"namespacePath": "postgres://db:5432", "resourceName": "d.s.t"}, ("postgres://db:5432", "d.s.t")),
        ({"namespacePath": "catalog.schema", "resourceName": "t", "pathName": "/x"}, ("file", "/x")),
        ({"namespacePath": "BigQuery", "resourceName": "p.d.t"}, ("BigQuery", "p.d.t")),
        ({"namespacePath": "arn:aws:glue:x", "resourceName": "table/t"}, ("arn:aws:glue:x", "table/t")),
        ({"pathName": "HDFS://namenode:8020/a/b"}, ("hdfs://namenode:8020", "/a/b")),
        ({"pathName": "gs://bucket/a/b"}, ("gs://bucket", "a/b")),
        ({"pathName": "file:///a/b"}, ("file", "/a/b")),
        ({"pathName": "file://host/a"}, ("file://host", "/a")),
        ({"pathName": "C:/a/b"}, ("file", "C:/a/b")),
        ({"pathName": "s3://bucket/"}, ("egeria", "q")),
        ({"pathName": " "}, ("egeria", "q")),
        ({}, ("egeria", "q")),
    ],
)
def test_the_name_of_a_target(properties: dict[str, str], identity: tuple[str, str]) -> None:
    given = action() | {"actionTargets": [target("source", qualifiedName="q", **properties)]}
    assert engine_events(given)[0].body["inputs"] == [dict(zip(("namespace", "name"), identity, strict=True))]


def test_a_target_without_a_name_is_read() -> None:
    given = action() | {"actionTargets": [target(None, guid="guid")]}
    body = engine_events(given)[0].body
    assert body["inputs"] == [{"namespace": "egeria", "name": "guid"}]


def test_a_guid_with_its_type_before_it_and_one_that_is_none() -> None:
    given = action()
    given["elementHeader"]["guid"] = f"EngineAction-{GUID.upper()}"
    assert engine_events(given)[0].run_id == GUID
    given["elementHeader"]["guid"] = "nothing"
    with pytest.raises(ValueError, match="UUID"):
        engine_events(given)


def test_the_events_are_read_as_any_others() -> None:
    for event in engine_events(action(processStepName="Step::s")):
        read = parse(orjson.dumps(event.body))
        assert (read.run_id, read.event_type, read.notices) == (GUID, event.type, ())
