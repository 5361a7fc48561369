"""Engine actions of Egeria as the OpenLineage events that Egeria's own connector makes of them. Pure.

Source: odpi/egeria, GovernanceActionOpenLineageIntegrationConnector. It sees each change of an engine action; here an
action is seen once, with what became of it, so its START is built of what was known then. Otherwise than there: times
have seconds (Java leaves out zeros, which RFC 3339 does not allow), and a parent without a name is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from msgspec import Struct

from .element import Element, read_element

NAMESPACE: Final = "GovernanceActions"
"""Of jobs, where that connector is not told another."""

_PRODUCER: Final = "https://egeria-project.org/"
_SCHEMA: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS: Final = "https://openlineage.io/spec/facets"
_GOVERNANCE: Final = (
    "https://egeria-project.org/openlineage/facets/1-0-0/EgeriaGovernanceActionRunFacet.json"
    "#/$defs/EgeriaGovernanceActionRunFacet"
)
_ENDS: Final = {"COMPLETED": "COMPLETE", "FAILED": "FAIL", "INVALID": "ABORT"}
_SCHEMES_ONLY: Final = frozenset(("file", "bigquery", "pubsub", "inmemory", "egeria"))
_OBJECT_STORES: Final = frozenset(("s3", "s3a", "gs", "wasbs"))
_OUTPUTS: Final = ("destination", "output")

type Told = Mapping[str, Any]


class EngineEvent(Struct, frozen=True):
    """An OpenLineage event of an engine action."""

    type: str
    run_id: str
    time: datetime
    body: dict[str, Any]


def engine_events(action: Told, namespace: str = NAMESPACE) -> list[EngineEvent]:
    """The events of an engine action as Egeria gives it (`OpenMetadataRootElement`): none, its START, START and end.

    An action that never was in progress has no START. Raises ValueError for a GUID or a time that is none.
    """
    element = read_element(action)
    told = element.properties
    run_id, status = _run_id(element.guid), str(told.get("activityStatus") or "")
    start, end = _time(told.get("startTime")), _time(told.get("completionTime"))
    found: list[tuple[str, datetime]] = []
    if start is not None and (status == "IN_PROGRESS" or status in _ENDS):
        found.append(("START", start))
    if status in _ENDS and (ended := end or _time(_changed(action))) is not None:
        found.append((_ENDS[status], ended))
    made = _ActionEvent(element, action, namespace, run_id)
    return [EngineEvent(kind, run_id, time, made.body(kind, time)) for kind, time in found]


class _ActionEvent:
    """The event of an action, but its type and time."""

    def __init__(self, element: Element, action: Told, namespace: str, run_id: str) -> None:
        self._element, self._told = element, element.properties
        self._action, self._namespace, self._run_id = action, namespace, run_id

    def body(self, kind: str, time: datetime) -> dict[str, Any]:
        targets = [each for each in self._action.get("actionTargets") or () if each and each.get("relatedElement")]
        inputs, outputs = _datasets(targets)
        told = self._told
        name = told.get("processStepName") or f"{told.get('executorEngineName')}::{told.get('requestType')}"
        event: dict[str, Any] = {
            "eventType": kind,
            "eventTime": _text(time),
            "producer": _PRODUCER,
            "schemaURL": _SCHEMA,
            "run": {"runId": self._run_id, "facets": self._facets(targets, is_end=kind != "START")},
            "job": {"namespace": self._namespace, "name": name},
            "inputs": inputs,
        }
        return event | ({"outputs": outputs} if outputs else {})

    def _facets(self, targets: list[Told], *, is_end: bool) -> dict[str, Any]:
        told, facets = self._told, {}
        anchor = self._element.classifications.get("Anchors", {}).get("anchorGUID")
        if anchor and told.get("processName"):
            job = {"namespace": self._namespace, "name": told["processName"]}
            parent = {"run": {"runId": _run_id(str(anchor))}, "job": job}
            facets["parent"] = _facet("1-1-0/ParentRunFacet.json#/$defs/ParentRunFacet", parent)
        start = _time(told.get("startTime")) or _time(told.get("requestedTime"))
        end = _time(told.get("completionTime")) if is_end else None
        if start is not None:
            nominal = {"nominalStartTime": _text(start)} | ({"nominalEndTime": _text(end)} if end else {})
            facets["nominalTime"] = _facet("1-0-1/NominalTimeRunFacet.json#/$defs/NominalTimeRunFacet", nominal)
        facets["egeria_governanceAction"] = self._governance()
        if parameters := list(_parameters(told, targets, is_end=end is not None)):
            url = "1-0-0/ExecutionParametersRunFacet.json#/$defs/ExecutionParametersRunFacet"
            facets["executionParameters"] = _facet(url, {"parameters": parameters})
        return facets

    def _governance(self) -> dict[str, Any]:
        told = self._told
        facet = {
            "_producer": _PRODUCER,
            "_schemaURL": _GOVERNANCE,
            # servers before odpi/egeria PR 9310 write the second spelling
            "iscQualifiedName": told.get("iscQualifiedName") or told.get("iscqualifiedName"),
            "engineActionGUID": self._element.guid,
            "governanceEngineName": told.get("executorEngineName"),
            **{name: told.get(name) for name in ("requestType", "governanceActionTypeName")},
            **{name: told.get(name) for name in ("processName", "processStepName")},
        }
        return {name: value for name, value in facet.items() if value is not None}


def _facet(url: str, content: Told) -> dict[str, Any]:
    return {"_producer": _PRODUCER, "_schemaURL": f"{_FACETS}/{url}", **content}


def _parameters(told: Told, targets: Iterable[Told], *, is_end: bool) -> Iterator[dict[str, str]]:
    """How it was asked for, each with a key of its own: the second of a key is ``key:2``."""
    given: list[tuple[str, str, Any]] = [
        (key, key, value) for key, value in (told.get("requestParameters") or {}).items()
    ]
    for target in targets:
        name = _target_name(target)
        given.append((f"actionTarget:{name}", str(name), read_element(target["relatedElement"]).qualified_name))
    guards = ("receivedGuards", "completionGuards") if is_end else ("receivedGuards",)
    given += [(key, key, ", ".join(map(str, told[key]))) for key in guards if told.get(key) is not None]
    keys: set[str] = set()
    for key, name, value in given:
        if value is None:
            continue
        unique, count = key, 1
        while unique in keys:
            count += 1
            unique = f"{key}:{count}"
        keys.add(unique)
        yield {"key": unique, "name": name, "value": str(value)}


def _datasets(targets: Iterable[Told]) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """What it reads and what it writes, by the names of its targets; only data assets are datasets."""
    inputs: list[dict[str, str]] = []
    outputs: list[dict[str, str]] = []
    for target in targets:
        element = read_element(target["relatedElement"])
        if element.is_a("DataAsset"):
            namespace, name = _identity(element)
            is_output = str(_target_name(target) or "").lower().startswith(_OUTPUTS)
            (outputs if is_output else inputs).append({"namespace": namespace, "name": name})
    return inputs, outputs


def _target_name(target: Told) -> str | None:
    return (target.get("relationshipProperties") or {}).get("actionTargetName")


def _identity(element: Element) -> tuple[str, str]:
    """Namespace and name: as catalogued from OpenLineage, else of the path, else its qualified name."""
    namespace, name = element.properties.get("namespacePath"), element.properties.get("resourceName")
    if namespace and name and _is_openlineage(namespace):
        return namespace, name
    path = str(element.properties.get("pathName") or "").strip()
    return (path and _of_path(path)) or ("egeria", element.qualified_name)


def _is_openlineage(namespace: str) -> bool:
    return "://" in namespace or namespace.startswith("arn:") or namespace.lower() in _SCHEMES_ONLY


def _of_path(path: str) -> tuple[str, str] | None:
    found = re.fullmatch(r"([^:/]{2,})://([^/]*)(/.*)?", path)  # one letter is a drive of Windows
    if found is None:
        return "file", path
    scheme, authority, rest = found[1].lower(), found[2], found[3] or ""
    if scheme == "file":
        return (f"file://{authority}" if authority else "file", rest) if rest else None
    if scheme in _OBJECT_STORES:
        rest = rest.removeprefix("/")
    return (f"{scheme}://{authority}", rest) if authority and rest else None


def _run_id(guid: str) -> str:
    """Egeria's in-memory repository puts the type before a GUID."""
    return str(UUID(guid[-36:]))


def _changed(action: Told) -> object:
    versions = (action.get("elementHeader") or {}).get("versions") or {}
    return versions.get("updateTime") or versions.get("createTime")


def _time(value: object) -> datetime | None:
    """A time as Jackson writes it: milliseconds, or ISO 8601."""
    if value is None or value == "":
        return None
    if isinstance(value, int):
        return datetime.fromtimestamp(value / 1000, UTC)
    at = datetime.fromisoformat(str(value))
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)


def _text(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds" if time.microsecond else "seconds").replace("+00:00", "Z")
