"""A contract double of Egeria's view server: HTTPS, stateful, as strict as what is known of Egeria 6, with faults.

It holds elements, classifications and relationships; checks the class of each body, unique qualified names, unknown
GUIDs and tokens; answers errors as Egeria does (HTTP 200, `relatedHTTPCode` in the body) and unknown paths with a bare
404. Message ids and texts are plausible, not captured. Real pyegeria drives it.
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SUPER_TYPES = {
    "DeployedSoftwareComponent": ["Process", "Asset", "Referenceable"],
    "GovernanceActionProcess": ["Process", "Asset", "Referenceable"],
    "GovernanceActionProcessStep": ["GovernanceAction", "Referenceable"],
    "GovernanceActionType": ["GovernanceAction", "Referenceable"],
    "GovernanceActionEngine": ["GovernanceEngine", "SoftwareCapability", "Referenceable"],
    "GovernanceActionService": ["GovernanceService", "DeployedConnector", "Asset", "Referenceable"],
    "EngineAction": ["Process", "Asset", "Referenceable"],
    "SoftwareServer": ["ITInfrastructure", "Infrastructure", "Asset", "Referenceable"],
    "DataSet": ["DataAsset", "Asset", "Referenceable"],
    "DataFile": ["DataAsset", "Asset", "Referenceable"],
    "DataFolder": ["DataStore", "DataAsset", "Asset", "Referenceable"],
    "DataStore": ["DataAsset", "Asset", "Referenceable"],
    "Topic": ["DataAsset", "Asset", "Referenceable"],
    "RelationalTable": ["SchemaAttribute", "SchemaElement", "Referenceable"],
    "TabularSchemaType": ["SchemaType", "SchemaElement", "Referenceable"],
    "TabularColumn": ["SchemaAttribute", "SchemaElement", "Referenceable"],
    "SurveyReport": ["Report", "Asset", "Referenceable"],
    "IncidentReport": ["Report", "Asset", "Referenceable"],
    "QualityAnnotation": ["DataFieldAnnotation", "Annotation", "Referenceable"],
    "ResourceMeasureAnnotation": ["Annotation", "Referenceable"],
    "RequestForAction": ["Annotation", "Referenceable"],
}
NOT_FOUND = ("InvalidParameterException", 404, "OMAG-REPOSITORY-HANDLER-404-001", "no element has the GUID {0}")
NOT_UNIQUE = ("InvalidParameterException", 400, "OMAG-GENERIC-HANDLERS-400-014", "the qualified name {0} is in use")
WRONG_CLASS = ("InvalidParameterException", 400, "OMAG-COMMON-400-017", "the body's class is {0}")
NO_VALUE = ("InvalidParameterException", 400, "OMAG-COMMON-400-004", "{0} is missing")
NO_TYPE = ("InvalidParameterException", 400, "OMAG-GENERIC-HANDLERS-400-003", "{0} is no type")
CLASSIFIED = ("InvalidParameterException", 400, "OMAG-GENERIC-HANDLERS-400-020", "it is classified as {0} already")
A_FAULT = ("PropertyServerException", 500, "OMAG-COMMON-500-001", "a fault of {0}")
WRONG_STATUS = ("PropertyServerException", 500, "OMAG-GENERIC-HANDLERS-500-011", "the engine action is {0}")
NOT_CLAIMER = ("UserNotAuthorizedException", 403, "OMAG-GENERIC-HANDLERS-403-003", "user {0} did not claim it")


class Problem(Exception):
    """An error that Egeria reports."""

    def __init__(self, problem: tuple[str, int, str, str], *values: object) -> None:
        name, self.code, self.message_id, text = problem
        self.name = name
        self.text = f"{self.message_id} " + text.format(*values)
        self.values = [str(value) for value in values]


@dataclass
class Element:
    guid: str
    type_name: str
    properties: dict[str, Any]
    number: int
    anchor: str | None = None
    classifications: dict[str, dict[str, Any]] = field(default_factory=dict)
    related: dict[str, Any] = field(default_factory=dict)
    """What only the element itself tells, no list: its relationships by name."""

    def is_a(self, type_name: str) -> bool:
        return type_name in (self.type_name, *SUPER_TYPES.get(self.type_name, ()), "OpenMetadataRoot")

    def told(self) -> dict[str, Any]:
        header: dict[str, Any] = {
            "class": "ElementHeader",
            "guid": self.guid,
            "type": {"typeName": self.type_name, "superTypeNames": SUPER_TYPES.get(self.type_name, [])},
            "versions": {"createTime": f"2026-01-01T00:00:{self.number % 60:02}.000+00:00", "version": 1},
        }
        others = []
        for name, properties in self.classifications.items():
            told = {
                "class": "ElementClassification",
                "classificationName": name,
                "classificationProperties": properties,
            }
            if name == "DataScope":
                header["dataScope"] = told
            else:
                others.append(told)
        header["otherClassifications"] = others
        return {"elementHeader": header, "properties": {"typeName": self.type_name, **self.properties}}


@dataclass
class Relationship:
    guid: str
    type_name: str
    end1: str
    end2: str
    properties: dict[str, Any]


@dataclass
class Asked:
    """A request that came in."""

    method: str
    path: str
    body: Any


type Fault = Callable[[Asked], str | None]
"""Says what happens in place of an answer: wrapped-500, wrapped-400, bare-503, bare-404, hang-up, after (does it, then
hangs up), 401, text, 204; None: nothing unusual."""


class Double:
    """The state, and what its requests do."""

    def __init__(self) -> None:
        self.view_server, self.user, self.password = "qs-view-server", "erinoverview", "secret"
        self.elements: dict[str, Element] = {}
        self.relationships: dict[str, Relationship] = {}
        self.connectors: dict[str, dict[str, Any]] = {"OpenLineageCataloguer": {"catalogRuns": "false"}}
        self.failures: dict[str, str] = {}
        """Why a connector of the daemon failed, by its name."""
        self.events: list[Any] = []
        self.asked: list[Asked] = []
        self.tokens: dict[str, int] = {}
        self.calls_per_token = 1_000_000_000
        self.fault: Fault = lambda _: None
        self.without: tuple[str, ...] = ()
        """Beginnings of paths (after the view server) that this server is too old for."""
        self.lock = threading.RLock()
        self.url = ""
        self.certificate = Path()

    # --- what a test puts in and looks at ---------------------------------------------------------------------------

    def add(self, type_name: str, qualified_name: str, **properties: Any) -> str:
        """An element that was there before."""
        return self._create(type_name, {"qualifiedName": qualified_name, **properties}).guid

    def of_type(self, type_name: str) -> list[Element]:
        return [each for each in self.elements.values() if each.is_a(type_name)]

    def links(self, type_name: str) -> list[Relationship]:
        return [each for each in self.relationships.values() if each.type_name == type_name]

    def named(self, qualified_name: str) -> Element:
        return next(each for each in self.elements.values() if each.properties.get("qualifiedName") == qualified_name)

    @staticmethod
    def changes_something(asked: Asked) -> bool:
        reads = r"by-exact-property-value|retrieve|by-name|by-search-string|by-relationship|elements/[^/]*$"
        return asked.method == "POST" and not re.search(reads, asked.path)

    def changes(self) -> list[Asked]:
        """The requests that were to change something."""
        return [each for each in self.asked if self.changes_something(each)]

    # --- requests ---------------------------------------------------------------------------------------------------

    def answer(self, asked: Asked) -> dict[str, Any] | None:
        """The reply to a request below the view server; None: there is no such endpoint."""
        with self.lock:
            for (method, pattern), handler in ROUTES.items():
                if asked.method == method and (found := re.fullmatch(pattern, asked.path)):
                    return handler(self, asked.body, *found.groups())
        return None

    def _create(self, type_name: str, properties: dict[str, Any], anchor: str | None = None) -> Element:
        if type_name not in SUPER_TYPES:
            raise Problem(NO_TYPE, type_name)
        name = properties.get("qualifiedName")
        if not name:
            raise Problem(NO_VALUE, "qualifiedName")
        if any(each.properties.get("qualifiedName") == name for each in self.elements.values()):
            raise Problem(NOT_UNIQUE, name)
        element = Element(str(uuid.uuid4()), type_name, dict(properties), len(self.elements), anchor)
        self.elements[element.guid] = element
        return element

    def _link(self, type_name: str, end1: str, end2: str, properties: dict[str, Any] | None) -> Relationship:
        self.element(end1), self.element(end2)
        made = Relationship(str(uuid.uuid4()), type_name, end1, end2, dict(properties or {}))
        self.relationships[made.guid] = made
        return made

    def element(self, guid: str) -> Element:
        if guid not in self.elements:
            raise Problem(NOT_FOUND, guid)
        return self.elements[guid]

    def create(self, body: Any) -> dict[str, Any]:
        _class(body, "NewElementRequestBody")
        properties = dict(body.get("properties") or {})
        kind = str(properties.pop("class", ""))
        type_name = properties.pop("typeName", None) or kind.removesuffix("Properties")
        if kind.removesuffix("Properties") not in (type_name, "Asset"):
            raise Problem(WRONG_CLASS, kind)
        anchor, parent = body.get("anchorGUID"), body.get("parentGUID")
        for guid in filter(None, (anchor, parent)):
            self.element(guid)
        if parent and not body.get("parentRelationshipTypeName"):
            raise Problem(NO_VALUE, "parentRelationshipTypeName")
        element = self._create(type_name, properties, anchor)
        if parent:
            ends = (parent, element.guid) if body.get("parentAtEnd1", True) else (element.guid, parent)
            self._link(body["parentRelationshipTypeName"], *ends, body.get("parentRelationshipProperties"))
        return _guid(element.guid)

    def update(self, body: Any, guid: str) -> dict[str, Any]:
        _class(body, "UpdateElementRequestBody")
        element = self.element(guid)
        given = {key: each for key, each in (body.get("properties") or {}).items() if key not in ("class", "typeName")}
        if not body.get("mergeUpdate"):
            if not given.get("qualifiedName"):
                raise Problem(NO_VALUE, "qualifiedName")
            element.properties = given
        else:
            element.properties = {**element.properties, **given}
        return VOID

    def delete(self, body: Any, guid: str) -> dict[str, Any]:
        self.element(guid)
        gone = {guid} | {each.guid for each in self.elements.values() if each.anchor == guid}
        self.elements = {key: each for key, each in self.elements.items() if key not in gone}
        self.relationships = {
            key: each for key, each in self.relationships.items() if not {each.end1, each.end2} & gone
        }
        return VOID

    def link(self, type_name: str, end1: str, end2: str, body: Any, *, gives_guid: bool = False) -> dict[str, Any]:
        if body:
            _class(body, "NewRelationshipRequestBody")
        properties = {key: value for key, value in ((body or {}).get("properties") or {}).items() if key != "class"}
        made = self._link(type_name, end1, end2, properties)
        return _guid(made.guid) if gives_guid else VOID

    def find(self, body: Any) -> dict[str, Any]:
        _class(body, "FindPropertyNamesProperties")
        kind = body.get("metadataElementTypeName") or "OpenMetadataRoot"
        found = [
            each
            for each in self.elements.values()
            if each.is_a(kind)
            and any(each.properties.get(name) == body.get("propertyValue") for name in body.get("propertyNames") or ())
        ]
        return self._page(found, body)

    def find_text(self, body: Any) -> dict[str, Any]:
        kind = body.get("metadataElementTypeName") or "OpenMetadataRoot"
        text = str(body.get("searchString") or body.get("filter") or "")
        found = [
            each
            for each in self.elements.values()
            if each.is_a(kind) and (not text or any(text in str(value) for value in each.properties.values()))
        ]
        return self._page(found, body)

    def _page(self, found: list[Element], body: Any) -> dict[str, Any]:
        start, size = int(body.get("startFrom") or 0), int(body.get("pageSize") or 0)
        page = found[start : start + size] if size else found[start:]
        return {
            "class": "OpenMetadataRootElementsResponse",
            "relatedHTTPCode": 200,
            "elements": [each.told() for each in page],
        }

    def retrieve(self, body: Any, guid: str) -> dict[str, Any]:
        return {
            "class": "OpenMetadataRootElementResponse",
            "relatedHTTPCode": 200,
            "element": self.element(guid).told() | self.element(guid).related,
        }

    def related(self, body: Any, guid: str, type_name: str) -> dict[str, Any]:
        self.element(guid)
        found = []
        for each in self.links(type_name):
            if guid in (each.end1, each.end2):
                other = self.elements[each.end2 if each.end1 == guid else each.end1]
                header = {"class": "ElementHeader", "guid": each.guid, "type": {"typeName": type_name}}
                found.append(
                    {
                        "relationshipHeader": header,
                        "relationshipProperties": each.properties,
                        "relatedElement": other.told(),
                        "relatedElementAtEnd1": each.end2 == guid,
                    }
                )
        start, size = int((body or {}).get("startFrom") or 0), int((body or {}).get("pageSize") or 0)
        page = found[start : start + size] if size else found[start:]
        return {"class": "RelatedMetadataElementsResponse", "relatedHTTPCode": 200, "elements": page}

    def classify(self, body: Any, guid: str, name: str) -> dict[str, Any]:
        _class(body, "NewClassificationRequestBody")
        element = self.element(guid)
        if name in element.classifications:
            raise Problem(CLASSIFIED, name)
        element.classifications[name] = _plain(body.get("properties"))
        return VOID

    def reclassify(self, body: Any, guid: str, name: str) -> dict[str, Any]:
        element = self.element(guid)
        if name not in element.classifications:
            raise Problem(NOT_FOUND, f"{guid}/{name}")
        _class(body, "UpdatePropertiesRequestBody", "UpdateClassificationRequestBody")
        merge = body.get("mergeUpdate", not body.get("replaceProperties", False))
        given = _plain(body.get("properties"))
        element.classifications[name] = {**(element.classifications[name] if merge else {}), **given}
        return VOID

    def publish_event(self, body: Any, guid: str) -> dict[str, Any]:
        if not isinstance(body, dict) or "run" not in body:
            raise Problem(NO_VALUE, "run")
        self.events.append(body)
        return VOID

    def server_report(self, body: Any, guid: str) -> dict[str, Any]:
        reports = [
            {
                "connectorName": name,
                "connectorStatus": "FAILED" if name in self.failures else "WAITING",
                "lastRefreshTime": "2026-09-10T10:00:00.000+00:00",
                "failingExceptionMessage": self.failures.get(name),
            }
            for name in self.connectors
        ]
        report = {"serverName": self.element(guid).properties["resourceName"], "integrationConnectorReports": reports}
        return {"class": "OMAGServerReportResponse", "relatedHTTPCode": 200, "serverReport": report}

    # --- engine actions ---------------------------------------------------------------------------------------------

    def approved(self, body: Any, engine: str) -> dict[str, Any]:
        return self._actions(engine, "APPROVED", None)

    def active_claimed(self, body: Any, engine: str) -> dict[str, Any]:
        return self._actions(engine, None, self.user)

    def _actions(self, engine: str, status: str | None, user: str | None) -> dict[str, Any]:
        self.element(engine)
        found = [
            each
            for each in self.of_type("EngineAction")
            if each.properties.get("executorEngineGUID") == engine
            and (status is None or each.properties.get("activityStatus") == status)
            and (user is None or each.properties.get("processingEngineUserId") == user)
            and (user is None or each.properties.get("activityStatus") in ("WAITING", "IN_PROGRESS", "ACTIVATING"))
        ]
        return {"class": "EngineActionElementsResponse", "relatedHTTPCode": 200, "elements": [e.told() for e in found]}

    def claim(self, body: Any, guid: str) -> dict[str, Any]:
        action = self.element(guid).properties
        if action.get("activityStatus") != "APPROVED" or action.get("processingEngineUserId"):
            raise Problem(WRONG_STATUS, action.get("activityStatus"))
        action.update(activityStatus="WAITING", processingEngineUserId=self.user)
        return VOID

    def action_status(self, body: Any, guid: str) -> dict[str, Any]:
        _class(body, "EngineActionStatusRequestBody", "ActivityStatusRequestBody")
        action = self._claimed(guid)
        action["activityStatus"] = body["status"]
        if body["status"] == "IN_PROGRESS":
            action["startTime"] = "2026-09-10T10:00:00Z"
        return VOID

    def complete(self, body: Any, guid: str) -> dict[str, Any]:
        _class(body, "CompletionStatusRequestBody")
        action = self._claimed(guid)
        if action["activityStatus"] in ("REQUESTED", "APPROVED", "WAITING", "ACTIVATING", "IN_PROGRESS"):
            status = {"ACTIONED": "COMPLETED"}.get(body["status"], body["status"])
            action.update(
                activityStatus=status,
                completionGuards=body.get("outputGuards"),
                completionMessage=body.get("completionMessage"),
                completionTime="2026-09-10T10:05:00Z",
            )
        return VOID

    def _claimed(self, guid: str) -> dict[str, Any]:
        action = self.element(guid).properties
        if action.get("processingEngineUserId") != self.user:
            raise Problem(NOT_CLAIMER, self.user)
        return action


VOID = {"class": "VoidResponse", "relatedHTTPCode": 200}


def _guid(guid: str) -> dict[str, Any]:
    return {"class": "GUIDResponse", "relatedHTTPCode": 200, "guid": guid}


def _class(body: Any, *allowed: str) -> None:
    given = body.get("class") if isinstance(body, dict) else None
    if given not in allowed:
        raise Problem(WRONG_CLASS, given)


def _plain(properties: dict[str, Any] | None) -> dict[str, Any]:
    """Properties of either form as plain values."""
    given = dict(properties or {})
    if given.get("class") != "NewElementProperties":
        given.pop("class", None)
        return given
    return {name: _value(value) for name, value in (given.get("propertyValueMap") or {}).items()}


def _value(value: dict[str, Any]) -> Any:
    if value["class"] == "PrimitiveTypePropertyValue":
        return value["primitiveValue"]
    if value["class"] == "MapTypePropertyValue":
        inner = value["mapValues"]
        return {name: _value(each) for name, each in inner["propertyValueMap"].items()}
    raise Problem(WRONG_CLASS, value["class"])


_G = "([^/?]+)"
_EXPERT = f"metadata-expert/metadata-elements/{_G}/classifications/{_G}"
_EXPLORER = f"classification-explorer/elements/{_G}"
_DAEMON = f"runtime-manager/integration-daemons/{_G}"
_ASSET_LINKS = {
    f"elements/{_G}/reports/{_G}/attach": "ReportSubject",
    f"elements/{_G}/originated-reports/{_G}/attach": "ReportOriginator",
    f"processes/{_G}/process-hierarchies/{_G}/attach": "ProcessHierarchy",
    f"resources/{_G}/impacted-resources/{_G}/attach": "ImpactedResource",
    f"elements/{_G}/associated-logs/{_G}/attach": "AssociatedLog",
}

type Handler = Callable[..., dict[str, Any] | None]


def _linker(type_name: str) -> Handler:
    return lambda double, body, one, two: double.link(type_name, one, two, body)


def _configured(double: Double, body: Any, guid: str) -> dict[str, Any]:
    _class(body, "ConnectorConfigPropertiesRequestBody")
    name = body["connectorName"]
    if name not in double.connectors:
        raise Problem(NOT_FOUND, name)
    before = double.connectors[name] if body.get("mergeUpdate") else {}
    double.connectors[name] = {**before, **(body.get("configurationProperties") or {})}
    return VOID


def _connector_properties(double: Double, body: Any, guid: str, name: str) -> dict[str, Any]:
    if name not in double.connectors:
        raise Problem(NOT_FOUND, name)
    return {"class": "PropertiesResponse", "relatedHTTPCode": 200, "properties": double.connectors[name]}


def _named(double: Double, body: Any, guid: str) -> dict[str, Any]:
    _class(body, "NameRequestBody")
    if body.get("name") and body["name"] not in double.connectors:
        raise Problem(NOT_FOUND, body["name"])
    return VOID


ROUTES: dict[tuple[str, str], Handler] = {
    ("POST", "asset-maker/assets"): lambda d, b: d.create(b),
    ("POST", "data-discovery/annotations"): lambda d, b: d.create(b),
    ("POST", "schema-maker/schema-types"): lambda d, b: d.create(b),
    ("POST", "schema-maker/schema-attributes"): lambda d, b: d.create(b),
    ("POST", f"asset-maker/assets/{_G}/update"): lambda d, b, g: d.update(b, g),
    ("POST", f"data-discovery/annotations/{_G}/update"): lambda d, b, g: d.update(b, g),
    ("POST", f"asset-maker/assets/{_G}/delete"): lambda d, b, g: d.delete(b, g),
    ("POST", f"data-discovery/annotations/{_G}/delete"): lambda d, b, g: d.delete(b, g),
    ("POST", f"asset-maker/assets/{_G}/retrieve"): lambda d, b, g: d.retrieve(b, g),
    ("POST", f"asset-maker/assets/{_G}/lineage-log"): lambda d, b, g: d.classify(
        b or {"class": "NewClassificationRequestBody"}, g, "LineageLog"
    ),
    ("POST", "asset-maker/assets/by-name"): lambda d, b: d.find_text(b),
    ("POST", "asset-maker/assets/by-search-string"): lambda d, b: d.find_text(b),
    ("POST", "automated-curation/assets/by-search-string"): lambda d, b: d.find_text(b),
    ("POST", "automated-curation/assets/by-name"): lambda d, b: d.find_text(b),
    **{("POST", f"asset-maker/{path}"): _linker(type_name) for path, type_name in _ASSET_LINKS.items()},
    ("POST", f"data-discovery/elements/{_G}/associated-annotations/{_G}/attach"): _linker("AssociatedAnnotation"),
    ("POST", f"data-discovery/annotations/{_G}/request-for-action-targets/{_G}/attach"): _linker(
        "RequestForActionTarget"
    ),
    ("POST", f"lineage-linker/from-elements/{_G}/via/{_G}/to-elements/{_G}/attach"): (
        lambda d, b, one, kind, two: d.link(kind, one, two, b, gives_guid=True)
    ),
    ("POST", "classification-explorer/elements/by-exact-property-value"): lambda d, b: d.find(b),
    ("POST", _EXPLORER): lambda d, b, g: d.retrieve(b, g),
    ("POST", f"{_EXPLORER}/data-scope"): lambda d, b, g: d.classify(b, g, "DataScope"),
    ("POST", f"{_EXPLORER}/data-scope/update"): lambda d, b, g: d.reclassify(b, g, "DataScope"),
    ("POST", f"{_EXPLORER}/by-relationship/{_G}"): lambda d, b, g, t: d.related(b, g, t),
    ("POST", _EXPERT): lambda d, b, g, n: d.classify(b, g, n),
    ("POST", f"{_EXPERT}/update-properties"): lambda d, b, g, n: d.reclassify(b, g, n),
    ("POST", f"{_DAEMON}/open-lineage-events/publish-event"): lambda d, b, g: d.publish_event(b, g),
    ("POST", f"{_DAEMON}/integration-connectors/configuration-properties"): _configured,
    ("GET", f"{_DAEMON}/integration-connectors/{_G}/configuration-properties"): _connector_properties,
    ("POST", f"{_DAEMON}/integration-connectors/refresh"): _named,
    ("POST", f"{_DAEMON}/integration-connectors/restart"): _named,
    ("GET", f"runtime-manager/omag-servers/{_G}/instance/report"): lambda d, b, g: d.server_report(b, g),
    ("GET", f"governance-engine/governance-engines/{_G}/engine-actions/approved"): lambda d, b, g: d.approved(b, g),
    ("GET", f"governance-engine/governance-engines/{_G}/engine-actions/active-claimed"): (
        lambda d, b, g: d.active_claimed(b, g)
    ),
    **{
        ("POST", f"{service}/engine-actions/{_G}/{path}"): handler
        for service in ("governance-engine", "automated-curation")
        for path, handler in {
            "claim": lambda d, b, g: d.claim(b, g),
            "status/update": lambda d, b, g: d.action_status(b, g),
            "completion-status": lambda d, b, g: d.complete(b, g),
        }.items()
    },
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    double: Double

    def log_message(self, *_: object) -> None:
        """Nothing: the test has `asked`."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        try:
            body = json.loads(text) if text else None
        except ValueError:
            body = text
        path = self.path.partition("?")[0]
        double = self.double
        if path == "/api/about":
            return self._reply(200, "Egeria OMAG Server Platform (version 6.2)", "text/plain")
        root = f"/servers/{double.view_server}/api/"
        if path == f"{root}token":
            return self._token(body)
        if not path.startswith(root):
            return self._reply(404, {"status": 404, "error": "Not Found", "path": path})
        asked = Asked(self.command, path.removeprefix(f"{root}open-metadata/"), body)
        if not self._let_in():
            return self._reply(401, "")
        with double.lock:
            double.asked.append(asked)
        return self._answer(asked)

    def _token(self, body: Any) -> None:
        double = self.double
        if not isinstance(body, dict) or (body.get("userId"), body.get("password")) != (double.user, double.password):
            return self._reply(401, {"status": 401, "error": "Unauthorized", "message": "Bad credentials"})
        token = "e." + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=") + ".s"
        double.tokens[token] = double.calls_per_token
        return self._reply(200, token, "text/plain")

    def _let_in(self) -> bool:
        with self.double.lock:
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            left = self.double.tokens.get(token, 0)
            self.double.tokens[token] = left - 1
        return left > 0

    def _answer(self, asked: Asked) -> None:
        double = self.double
        if asked.path.startswith(double.without):
            return self._reply(404, {"status": 404, "error": "Not Found", "path": self.path})
        fault = double.fault(asked)
        match fault:
            case "wrapped-500":
                return self._problem(Problem(A_FAULT, "ours"))
            case "wrapped-400":
                return self._problem(Problem(NO_VALUE, "something"))
            case "bare-503":
                return self._reply(503, "busy", "text/plain")
            case "bare-404":
                return self._reply(404, {"status": 404})
            case "401":
                return self._reply(401, "")
            case "text":
                return self._reply(200, "<html>sign in</html>", "text/html")
            case "hang-up":
                return self._hang_up()
            case "silence":
                time.sleep(30)
                return self._hang_up()
        try:
            told = double.answer(asked)
        except Problem as problem:
            return self._problem(problem)
        if fault == "after":
            return self._hang_up()
        if fault == "204":
            self.send_response(204)
            return self.end_headers()
        return self._reply(404, {"status": 404, "error": "Not Found"}) if told is None else self._reply(200, told)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.close()

    def _problem(self, problem: Problem) -> None:
        package = "org.odpi.openmetadata.frameworks.openmetadata.ffdc"
        self._reply(
            200,
            {
                "class": "GUIDResponse",
                "relatedHTTPCode": problem.code,
                "exceptionClassName": f"{package}.{problem.name}",
                "actionDescription": "anAction",
                "exceptionErrorMessage": problem.text,
                "exceptionErrorMessageId": problem.message_id,
                "exceptionErrorMessageParameters": problem.values,
                "exceptionSystemAction": "The system did nothing.",
                "exceptionUserAction": "Look at the request and correct it.",
            },
        )

    def _reply(self, status: int, body: object, kind: str = "application/json") -> None:
        told = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of one's own for 127.0.0.1, and its key."""
    cert, key = folder / "egeria.pem", folder / "egeria.key"
    if not cert.exists():
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=127.0.0.1",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
            check=True, capture_output=True,
        )  # fmt: skip
    return cert, key


@contextmanager
def running(double: Double, folder: Path) -> Iterator[Double]:
    """The double behind HTTPS on a port of its own, until the end of the block."""
    cert, key = certificate(folder)
    handler = type("Handler", (_Handler,), {"double": double})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that hang up are part of the tests
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    double.url, double.certificate = f"https://127.0.0.1:{server.server_port}", cert
    try:
        yield double
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
