"""The plan: documents in, wishes out; and what is laid over what Egeria holds."""

from __future__ import annotations

from itertools import permutations

from lineagelog.publish import PlanKind, plan
from lineagelog.publish.element import classification, element_properties, new_element, read_element
from lineagelog.publish.merge import data_scope, run_metrics

from .documents import STAMPS, WINDOW, document, finding, profile, quality, scope


def test_each_result_is_one_wish() -> None:
    documents = [
        document("run_profile", profile("a"), profile("b")),
        document("data_scope", scope("d", dataCollectionStartTime="2026-09-01T00:00:00Z")),
        document("quality_summary", quality("dataset", "d", overall=97), quality("job", "a", overall=97)),
        document("stale_dataset", findings=(finding("d", 1), finding("d", 2))),
    ]
    wishes = plan(documents)
    assert [wish.kind for wish in wishes] == [
        PlanKind.RUN_METRICS,
        PlanKind.RUN_METRICS,
        PlanKind.DATA_SCOPE,
        PlanKind.QUALITY_REPORT,
        PlanKind.QUALITY_REPORT,
        PlanKind.FINDINGS,
    ]
    metrics, data = wishes[0], wishes[2]
    assert metrics.content == {"additionalProperties": {**STAMPS, "runsInWindow": "3"}}
    assert data.content["dataCollectionStartTime"] == "2026-09-01T00:00:00Z"
    assert "dataCollectionStartTime" not in data.content["additionalProperties"]
    assert [wish.day for wish in wishes[3:5]] == ["2026-09-10", "2026-09-10"]


def test_the_order_of_documents_does_not_matter() -> None:
    documents = [
        document("run_profile", profile("b"), profile("a")),
        document("data_scope", scope("d")),
        document("late_run", findings=(finding("a", 1, kind="job"),)),
    ]
    plans = [[(wish.wish_id, wish.content_hash) for wish in plan(each)] for each in permutations(documents)]
    assert all(each == plans[0] for each in plans)


def test_a_quality_report_has_the_texts_of_the_analysis() -> None:
    """What is not its own, the explanation, goes to its annotations, as in lovelace-insights."""
    result = quality("dataset", "d", unique=98)
    content = plan([document("quality_summary", result)])[0].content
    texts = {name: text for name, text in result["report"].items() if name != "explanation"}
    assert content["report"] == {**texts, "analysisParameters": result["properties"]}
    assert content["annotations"] == [
        {
            **result["annotations"][0],
            "annotationType": "OpenLineage Data Quality Summary",
            "analysisStep": "SUMMARISE",
            "explanation": "Derived from the log store.",
        }
    ]


def test_a_window_may_begin_before_everything() -> None:
    told = document("quality_summary", quality("dataset", "d", overall=1))
    told["window"] = {"from": None, "to": WINDOW["to"]}
    assert plan([told])[0].day == "2026-09-10"


def test_the_same_window_is_the_same_wish_and_other_values_are_another_content() -> None:
    one, same, other = (
        plan([document("run_profile", profile("a", failedRuns=failed))])[0] for failed in ("1", "1", "2")
    )
    assert (one.wish_id, one.content_hash) == (same.wish_id, same.content_hash)
    assert one.wish_id == other.wish_id and one.content_hash != other.content_hash


def test_only_what_is_critical_is_an_incident_and_only_where_asked_for() -> None:
    documents = [document("late_run", findings=(finding("d", 1), finding("d", 2, severity="critical")))]
    assert [wish.kind for wish in plan(documents)] == [PlanKind.FINDINGS]
    wishes = plan(documents, incidents=True)
    assert [wish.kind for wish in wishes] == [PlanKind.FINDINGS, PlanKind.INCIDENT]
    assert wishes[1].content["incidentStatus"] == "RAISED"


def test_times_of_a_window_may_be_datetimes() -> None:
    from datetime import datetime

    told = document("quality_summary", quality("dataset", "d", overall=1))
    told["window"] = {name: datetime.fromisoformat(text) for name, text in WINDOW.items()}
    assert plan([told])[0].day == "2026-09-10"


# --- what Egeria holds already ---------------------------------------------------------------------------------------


def test_the_counters_of_others_stay_and_ours_go_where_nobody_has_any() -> None:
    content = {"additionalProperties": {"runsInWindow": "3"}, "typed": {"runCount": 3}}
    assert run_metrics(None, content) == {"runCount": 3, "additionalProperties": {"runsInWindow": "3"}}
    held = {"runCount": 40, "additionalProperties": {"theirs": "1", "meanRunInterval": "5", "maxRunDuration": "7"}}
    assert run_metrics(held, content) == {
        "runCount": 40,
        "additionalProperties": {"theirs": "1", "maxRunDuration": "7", "runsInWindow": "3"},
    }


def test_a_data_scope_begins_no_later_and_ends_no_earlier() -> None:
    held = {
        "dataCollectionStartTime": "2026-08-01T00:00:00.000+00:00",
        "dataCollectionEndTime": "2026-09-30T00:00:00.000+00:00",
        "additionalProperties": {"theirs": "1"},
    }
    content = {
        "dataCollectionStartTime": "2026-09-01T00:00:00Z",
        "dataCollectionEndTime": "2026-09-10T00:00:00Z",
        "additionalProperties": {"writePattern": "APPENDED"},
    }
    merged = data_scope(held, content)
    assert merged["dataCollectionStartTime"] == "2026-08-01T00:00:00.000+00:00"
    assert merged["dataCollectionEndTime"] == "2026-09-30T00:00:00.000+00:00"
    assert merged["additionalProperties"] == {"theirs": "1", "writePattern": "APPENDED"}
    replaced = {**content, "additionalProperties": {"writePattern": "REPLACED"}}
    assert data_scope(held, replaced)["dataCollectionStartTime"] == "2026-09-01T00:00:00Z"
    assert data_scope(None, {"additionalProperties": {"readsInWindow": "2"}}) == {
        "additionalProperties": {"readsInWindow": "2"}
    }


# --- elements and bodies ---------------------------------------------------------------------------------------------


def test_classifications_are_read_in_every_form() -> None:
    values = element_properties({"runCount": 3, "additionalProperties": {"a": "b"}})
    others = [{"classificationName": "RunMetrics", "classificationProperties": values}]
    scope_held = {"class": "DataScopeProperties", "x": "y"}
    header = {
        "guid": "g",
        "type": {"typeName": "DataSet", "superTypeNames": ["DataAsset"]},
        "dataScope": {"classificationName": "DataScope", "classificationProperties": scope_held},
        "otherClassifications": others,
    }
    element = read_element({"elementHeader": header, "properties": {"qualifiedName": "q"}})
    assert element.classifications == {
        "RunMetrics": {"runCount": 3, "additionalProperties": {"a": "b"}},
        "DataScope": {"x": "y"},
    }
    assert element.is_a("DataAsset") and element.qualified_name == "q"


def test_times_of_run_metrics_are_dates_however_they_were_given() -> None:
    """What Egeria holds already goes back to it: its times must stay of their type."""
    given = {"firstRunStartTime": "2026-09-10T10:00:00.250Z", "lastRunEndTime": "2026-09-10T10:00:00.250+00:00"}
    values = element_properties({**given, "lastRunStartTime": 1789034400250, "lastRunId": "r", "runCount": 3})
    told = {name: (each["typeName"], each["primitiveValue"]) for name, each in values["propertyValueMap"].items()}
    assert told == {
        **dict.fromkeys(("firstRunStartTime", "lastRunStartTime", "lastRunEndTime"), ("date", 1789034400250)),
        "lastRunId": ("string", "r"),
        "runCount": ("long", 3),
    }


def test_bodies_name_their_classes_and_leave_out_what_has_no_value() -> None:
    body = new_element("SurveyReport", {"qualifiedName": "q", "startTime": None}, anchor="a", link="ReportSubject")
    assert body["properties"] == {
        "class": "SurveyReportProperties",
        "typeName": "SurveyReport",
        "qualifiedName": "q",
    }
    assert (body["anchorGUID"], body["parentGUID"], body["isOwnAnchor"]) == ("a", "a", False)
    assert classification("DataScope", {}, update=True)["class"] == "UpdateClassificationRequestBody"
