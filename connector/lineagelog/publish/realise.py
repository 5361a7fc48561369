"""Makes a wish true in Egeria: looks first, creates what is missing, changes what differs; again, it does nothing.

Whatever is created has a qualified name, by which it is found again, and is related to its anchor by the request that
creates it. So a process that dies between two calls, or before it could remember one, leaves nothing to be made twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from . import merge
from .element import (
    Element,
    classification,
    element_update,
    expert_classification,
    new_element,
    new_relationship,
    read_element,
)
from .find import Catalogue, ElementFinder
from .item import About, PlanItem, PlanKind

_QUALITY: Final = "OpenLineageDataQualitySummary"
_FINDINGS: Final = "LineageLogFindings"


class NoElementError(Exception):
    """Egeria knows no element for what the wish is about."""


class Realiser:
    """Makes wishes true, one after the other, with one memory of what was looked up."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._resolver = ElementFinder(catalogue)

    def realise(self, wish: PlanItem, guids: Mapping[str, str]) -> dict[str, str]:
        """Do it; the GUIDs of what there is of it now, by qualified name, as ``guids`` are from the last time.

        Raises NoElementError, and what calls raise.
        """
        if wish.kind in _REPORTS:
            return _REPORTS[wish.kind](self, wish, guids)
        return _WAYS[wish.kind](self, wish)

    def withdraw(self, guids: Mapping[str, str]) -> None:
        """Delete what was made for a wish, its report with all that is anchored to it. Raises what calls raise."""
        for name in guids:
            if name.startswith((f"{_QUALITY}::", f"{_FINDINGS}::")) and "::annotation::" not in name:
                found = self._resolver.by_qualified_name(name)
                if found is not None:
                    self._catalogue.call("delete_asset", asset_guid=found.guid)

    # --- classifications --------------------------------------------------------------------------------------------

    def _run_metrics(self, wish: PlanItem) -> dict[str, str]:
        element = self._element(wish.about)
        existing = element.classifications.get("RunMetrics")
        properties = merge.run_metrics(existing, wish.content)
        if properties != existing:
            update = existing is not None
            self._catalogue.call(
                "reclassify" if update else "classify",
                metadata_element_guid=element.guid,
                classification_name="RunMetrics",
                body=expert_classification(properties, update=update),
            )
        return {element.qualified_name: element.guid}

    def _data_scope(self, wish: PlanItem) -> dict[str, str]:
        element = self._element(wish.about)
        existing = element.classifications.get("DataScope")
        properties = merge.data_scope(existing, wish.content)
        if properties != existing:
            update = existing is not None
            self._catalogue.call(
                "update_data_scope" if update else "add_data_scope",
                element_guid=element.guid,
                body=classification("DataScope", properties, update=update),
            )
        return {element.qualified_name: element.guid}

    # --- reports ----------------------------------------------------------------------------------------------------

    def _quality_report(self, wish: PlanItem, guids: Mapping[str, str]) -> dict[str, str]:
        element = self._element(wish.about)
        name = f"{_QUALITY}::{element.qualified_name}::{wish.day}"
        link = "ReportSubject" if wish.about.kind == "dataset" else "ReportOriginator"
        report = self._report(element, name, link, wish.content["report"])
        known = {element.qualified_name: element.guid, name: report}
        for each in wish.content["annotations"]:
            given = {"qualifiedName": f"{name}::annotation::{each['qualityDimension']}", **each}
            known[given["qualifiedName"]] = self._annotation("QualityAnnotation", report, given, element, guids)
        self._remove(guids.keys() - known.keys())
        return known

    def _findings(self, wish: PlanItem, guids: Mapping[str, str]) -> dict[str, str]:
        element = self._element(wish.about)
        name = f"{_FINDINGS}::{element.qualified_name}"
        told = {"displayName": f"What lineagelog found of {wish.about}", "purpose": "Tell what should be looked at."}
        report = self._report(element, name, "ReportSubject", {**told, "analysisStep": "FIND"})
        known = {element.qualified_name: element.guid, name: report}
        for each in wish.content["findings"]:
            told = {key: each[key] for key in each if key not in ("finding_id", "severity", "is_open")}
            given = {"qualifiedName": f"{name}::annotation::{each['finding_id']}", **told}
            known[given["qualifiedName"]] = self._annotation("RequestForAction", report, given, element, guids)
        for closed in guids.keys() - known.keys():
            self._close(closed)
        return known | {name: guid for name, guid in guids.items() if name not in known}

    def _report(self, element: Element, name: str, link: str, properties: Mapping[str, Any]) -> str:
        return self._made("SurveyReport", {"qualifiedName": name, **properties}, anchor=element.guid, link=link)

    def _annotation(
        self, type_name: str, report: str, given: Mapping[str, Any], element: Element, guids: Mapping[str, str]
    ) -> str:
        """An annotation of the report about the element; ``guids`` has those that are related to it already."""
        guid = self._made(type_name, given, anchor=report, link="ReportedAnnotation")
        if given["qualifiedName"] not in guids:
            self._relate("AssociatedAnnotation", guid, element.guid)
            if type_name == "RequestForAction":
                self._relate("RequestForActionTarget", guid, element.guid)
        return guid

    def _close(self, name: str) -> None:
        """A finding that is over: its request for action says so."""
        found = self._resolver.by_qualified_name(name)
        if found is None or not found.is_a("RequestForAction"):
            return
        properties = {**(found.properties.get("actionProperties") or {}), "status": "CLOSED"}
        if properties != found.properties.get("actionProperties"):
            body = element_update("RequestForAction", {"actionProperties": properties})
            self._catalogue.call("update_annotation", annotation_guid=found.guid, body=body)

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            found = self._resolver.by_qualified_name(name) if "::annotation::" in name else None
            if found is not None:
                self._catalogue.call("delete_annotation", annotation_guid=found.guid)

    def _incident(self, wish: PlanItem) -> dict[str, str]:
        element = self._element(wish.about)
        name = f"IncidentReport::lineagelog::{wish.day}"
        guid = self._made("IncidentReport", {"qualifiedName": name, **wish.content})
        self._relate("ImpactedResource", element.guid, guid)
        return {element.qualified_name: element.guid, name: guid}

    # --- lineage, elements, the log ---------------------------------------------------------------------------------

    def _lineage(self, wish: PlanItem) -> dict[str, str]:
        process = self._element(wish.about)
        known = {process.qualified_name: process.guid}
        chain = wish.content.get("iscQualifiedName")
        # the second spelling is what servers before odpi/egeria PR 9310 read
        properties = {"label": "lineagelog"} | ({"iscQualifiedName": chain, "iscqualifiedName": chain} if chain else {})
        for each in wish.content["datasets"]:
            data = self._resolver.find(About("dataset", each["namespace"], each["name"]))
            if data is None:
                continue
            known[data.qualified_name] = data.guid
            ends = (data.guid, process.guid) if each["direction"] == "I" else (process.guid, data.guid)
            self._relate("DataFlow", *ends, properties)
        return known

    def _new_element(self, wish: PlanItem) -> dict[str, str]:
        found = self._resolver.find(wish.about)
        if found is not None:
            return {found.qualified_name: found.guid}
        properties = dict(wish.content["properties"])
        guid = self._made(wish.content["type"], properties)
        return {properties["qualifiedName"]: guid}

    def _log(self, wish: PlanItem) -> dict[str, str]:
        properties = dict(wish.content["properties"])
        guid = self._made(wish.content["type"], properties)
        held = read_element(self._catalogue.call("get", guid=guid))
        if "LineageLog" not in held.classifications:
            body = classification("LineageLog", {}, update=False)
            self._catalogue.call("set_asset_as_lineage_log", asset_guid=guid, body=body)
        return {properties["qualifiedName"]: guid}

    # --- what all have in common ------------------------------------------------------------------------------------

    def _element(self, about: About) -> Element:
        found = self._resolver.find(about)
        if found is None:
            raise NoElementError(f"Egeria knows no {about}")
        return found

    def _made(self, type_name: str, properties: Mapping[str, Any], *, anchor: str = "", link: str = "") -> str:
        """The GUID of the element of that qualified name: created, or changed where it differs."""
        found = self._resolver.by_qualified_name(properties["qualifiedName"])
        is_annotation = link == "ReportedAnnotation"
        if found is None:
            body = new_element(type_name, properties, anchor=anchor, link=link)
            return str(self._catalogue.call("create_annotation" if is_annotation else "create_asset", body=body))
        differs = {key: value for key, value in properties.items() if not _same(found.properties.get(key), value)}
        if differs:
            body = element_update(type_name, differs)
            if is_annotation:
                self._catalogue.call("update_annotation", annotation_guid=found.guid, body=body)
            else:
                self._catalogue.call("update_asset", asset_guid=found.guid, body=body)
        return found.guid

    def _relate(self, type_name: str, end1: str, end2: str, properties: Mapping[str, Any] | None = None) -> None:
        """Relate two elements once: Egeria would relate them again."""
        given = {"element_guid": end1, "relationship_type": type_name, "start_at_end": 0}  # at either end
        related = self._catalogue.call("related", pages=True, **given)
        if not any(_other_end(each) == end2 for each in related):
            body = new_relationship(type_name, properties)
            call, first, second = _LINKS[type_name]
            arguments: dict[str, Any] = {first: end1, second: end2, "body": body}
            if call == "link_lineage":
                arguments["relationship_type_name"] = type_name
            self._catalogue.call(call, **arguments)


def _same(held: Any, wished: Any) -> bool:
    """Whether a property is as wished; Egeria writes times its own way, and texts for what is in maps of texts."""
    if wished is None:
        return True
    return bool(held == wished) or (
        isinstance(held, str) and isinstance(wished, str) and held.replace(".000+00:00", "Z") == wished
    )


def _other_end(related: Mapping[str, Any]) -> str:
    element = related.get("relatedElement") or related
    return read_element(element).guid


_LINKS: Final = {
    "AssociatedAnnotation": ("link_annotation", "annotation_guid", "element_guid"),
    "RequestForActionTarget": ("link_request_for_action_target", "annotation_guid", "element_guid"),
    "ImpactedResource": ("link_impacted_resource", "resource_guid", "incident_report_guid"),
    "DataFlow": ("link_lineage", "element_one_guid", "element_two_guid"),
}
"""The call that relates two elements, and what it calls them."""

_WAYS: Final = {
    PlanKind.RUN_METRICS: Realiser._run_metrics,
    PlanKind.DATA_SCOPE: Realiser._data_scope,
    PlanKind.INCIDENT: Realiser._incident,
    PlanKind.LINEAGE: Realiser._lineage,
    PlanKind.ELEMENT: Realiser._new_element,
    PlanKind.LOG: Realiser._log,
}

_REPORTS: Final = {PlanKind.QUALITY_REPORT: Realiser._quality_report, PlanKind.FINDINGS: Realiser._findings}
"""These change what they made the last time."""
