"""The plan: what analyses tell, as wishes. Pure: documents in (`Answer.document`), an ordered list out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import astuple

from .item import About, PlanItem, PlanKind

type Document = Mapping[str, Any]

SERVICE: Final = "lineagelog"

_OWN_TIMES: Final = ("dataCollectionStartTime", "dataCollectionEndTime")
"""Of DataScope: attributes of the classification, all else are its additional properties."""


def plan(documents: Iterable[Document], *, incidents: bool = False) -> list[PlanItem]:
    """What Egeria is to hold of what analyses tell, in the order in which it is to be sent.

    Run profiles become RunMetrics, data scopes DataScope, quality summaries a survey report per subject and day,
    findings one survey report per subject with a request for action each and, with ``incidents``, an incident report
    for each that is critical.
    """
    wishes: list[PlanItem] = []
    findings: dict[About, list[Document]] = {}
    for document in documents:
        make = _TABLES.get(document["analysis"])
        if make is not None:
            wishes += [make(document, result) for result in document["results"]]
        for finding in document["findings"]:
            findings.setdefault(_owner(finding["subject"]), []).append(finding)
    for about, found in findings.items():
        wishes.append(
            PlanItem(kind=PlanKind.FINDINGS, about=about, content={"findings": [_told(each) for each in found]})
        )
        if incidents:
            wishes += [_incident(about, each) for each in found if each["severity"] == "critical"]
    order = list(PlanKind)
    return sorted(wishes, key=lambda wish: (order.index(wish.kind), astuple(wish.about), wish.day))


def _about(subject: Document) -> About:
    names = tuple((str(each[0] or ""), str(each[1])) for each in subject.get("other_names") or ())
    return About(subject["kind"], subject["namespace"] or "", subject["name"], names)


def _owner(subject: Document) -> About:
    """Of a column, its dataset. A test stays one: it is of a dataset or of a job, whichever Egeria knows."""
    return _about({**subject, "kind": "dataset" if subject["kind"] == "column" else subject["kind"]})


def _run_metrics(_: Document, result: Document) -> PlanItem:
    content = {"additionalProperties": result["properties"]}
    if result.get("typed"):
        content["typed"] = result["typed"]
    return PlanItem(kind=PlanKind.RUN_METRICS, about=_about(result["subject"]), content=content)


def _data_scope(_: Document, result: Document) -> PlanItem:
    properties = result["properties"]
    content: dict[str, Any] = {name: properties[name] for name in _OWN_TIMES if name in properties}
    content["additionalProperties"] = {name: value for name, value in properties.items() if name not in _OWN_TIMES}
    return PlanItem(kind=PlanKind.DATA_SCOPE, about=_about(result["subject"]), content=content)


def _quality_report(document: Document, result: Document) -> PlanItem:
    """As Egeria's own service writes it (lovelace-insights, DataQualitySummary); the texts are the analysis's."""
    texts = result["report"]
    report = {name: text for name, text in texts.items() if name != "explanation"}
    annotations = [
        {
            **each,
            "annotationType": "OpenLineage Data Quality Summary",
            "analysisStep": texts["analysisStep"],
            "explanation": texts["explanation"],
        }
        for each in result.get("annotations") or ()
    ]
    content = {"report": {**report, "analysisParameters": result["properties"]}, "annotations": annotations}
    about = _about(result["subject"])
    return PlanItem(kind=PlanKind.QUALITY_REPORT, about=about, day=_day(document), content=content)


_TABLES: Final = {"run_profile": _run_metrics, "data_scope": _data_scope, "quality_summary": _quality_report}
"""What becomes of the results of which analysis."""


def _day(document: Document) -> str:
    end = document["window"]["to"]
    at = end if isinstance(end, datetime) else datetime.fromisoformat(end)
    return at.astimezone(UTC).date().isoformat()


def _told(finding: Document) -> dict[str, Any]:
    """A finding as a request for action: what to do, why, and all that it rests on as texts."""
    explanation = str(finding["explanation"])
    names = ("status", "observed", "expected", "lower", "upper", "score", "method", "n", "first_seen", "last_seen")
    properties = {name: _text(finding[name]) for name in names if finding.get(name) is not None}
    return {
        "finding_id": str(finding["finding_id"]),
        "severity": finding["severity"],
        "is_open": finding["status"] == "OPEN",
        "annotationType": f"lineagelog {finding['analysis']}",
        "analysisStep": finding["analysis"],
        "summary": explanation,
        "explanation": explanation,
        "actionSourceName": SERVICE,
        "actionRequested": f"{finding['severity']}: {explanation}",
        "actionProperties": {**properties, "runIds": ", ".join(map(str, finding["run_ids"]))},
    }


def _incident(about: About, finding: Document) -> PlanItem:
    told = _told(finding)
    content = {
        "displayName": f"{finding['analysis']} of {about}",
        "background": told["explanation"],
        "incidentStatus": "RAISED" if told["is_open"] else "RESOLVED",
        "additionalProperties": told["actionProperties"],
    }
    return PlanItem(kind=PlanKind.INCIDENT, about=about, day=told["finding_id"], content=content)


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return f"{value:g}" if isinstance(value, float) else str(value)
