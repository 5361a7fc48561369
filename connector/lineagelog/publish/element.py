"""An element as Egeria's view services give it, and the bodies of requests. Pure.

Facts: Egeria gives a classification as a named key of the element's header or in `otherClassifications`, with plain
properties or with a `propertyValueMap`, depending on the service and its version; all of it is read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct


class Element(Struct, frozen=True):
    """What is needed of an element."""

    guid: str
    type_names: tuple[str, ...]
    """Its type, then the types above it."""
    properties: Mapping[str, Any]
    classifications: Mapping[str, Mapping[str, Any]]
    """Their properties as plain values, by name."""
    created: str
    """When, as ISO 8601; '' where it is not told."""

    @property
    def qualified_name(self) -> str:
        """Unique among all elements; its GUID where there is none."""
        return str(self.properties.get("qualifiedName") or self.guid)

    def is_a(self, *type_names: str) -> bool:
        """Whether it is of one of the types, or below one."""
        return any(name in self.type_names for name in type_names)


def read_element(given: Mapping[str, Any]) -> Element:
    """An element of a reply."""
    header = given.get("elementHeader") or {}
    kind = header.get("type") or {}
    return Element(
        guid=str(header.get("guid") or ""),
        type_names=(str(kind.get("typeName") or ""), *map(str, kind.get("superTypeNames") or ())),
        properties=given.get("properties") or {},
        classifications=dict(_classifications(header)),
        created=str((header.get("versions") or {}).get("createTime") or ""),
    )


def _classifications(header: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for value in header.values():
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, Mapping) and each.get("classificationName"):
                yield str(each["classificationName"]), plain(each.get("classificationProperties") or {})


def plain(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties of either form as plain values."""
    values = properties.get("propertyValueMap")
    if values is None:
        return {name: value for name, value in properties.items() if name != "class"}
    return {name: _plain_value(value) for name, value in values.items()}


def _plain_value(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    if "primitiveValue" in value:
        return value["primitiveValue"]
    inner = value.get("mapValues")
    return plain(inner) if isinstance(inner, Mapping) else dict(value)


# --- bodies ----------------------------------------------------------------------------------------------------------

_DATES: Final = frozenset(("firstRunStartTime", "lastRunStartTime", "lastRunEndTime"))
"""Attributes of RunMetrics (odpi/egeria, RunMetricsProperties); its other numbers are long."""
_PRIMITIVES: Final = {int: "long", float: "double", str: "string", bool: "boolean"}


def element_properties(values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values in the form that metadata-expert takes: numbers, texts, and maps of texts."""
    return {
        "class": "NewElementProperties",
        "propertyValueMap": {name: _typed_value(value, name) for name, value in values.items() if value is not None},
    }


def _typed_value(value: Any, name: str = "") -> dict[str, Any]:
    if name in _DATES:
        return {"class": "PrimitiveTypePropertyValue", "typeName": "date", "primitiveValue": _epoch(value)}
    if isinstance(value, Mapping):
        inner = {"class": "ElementProperties", "propertyValueMap": {k: _typed_value(v) for k, v in value.items()}}
        return {"class": "MapTypePropertyValue", "typeName": "map<string,string>", "mapValues": inner}
    type_name = _PRIMITIVES[type(value)]
    return {"class": "PrimitiveTypePropertyValue", "typeName": type_name, "primitiveValue": value}


def _epoch(value: str | int) -> int:
    """Milliseconds since 1970, which is how Egeria keeps dates, of a time as it gives or as an analysis tells it."""
    return value if isinstance(value, int) else round(datetime.fromisoformat(value).timestamp() * 1000)


def new_element(type_name: str, properties: Mapping[str, Any], *, anchor: str = "", link: str = "") -> dict[str, Any]:
    """The body that creates an element: on its own, or anchored to another, to which ``link`` relates it at once."""
    body: dict[str, Any] = {
        "class": "NewElementRequestBody",
        "isOwnAnchor": not anchor,
        "properties": _properties(type_name, properties) | {"typeName": type_name},
    }
    if anchor:
        related = {"parentGUID": anchor, "parentRelationshipTypeName": link, "parentAtEnd1": True}
        body |= {"anchorGUID": anchor, **related}
    return body


def element_update(type_name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The body that changes these properties of an element, and no others."""
    return {"class": "UpdateElementRequestBody", "mergeUpdate": True, "properties": _properties(type_name, properties)}


def new_relationship(type_name: str, properties: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The body that relates two elements."""
    return {"class": "NewRelationshipRequestBody", "properties": _properties(type_name, properties or {})}


def classification(type_name: str, properties: Mapping[str, Any], *, update: bool) -> dict[str, Any]:
    """The body that classifies an element, or replaces the properties of a classification that it has."""
    if update:
        return {
            "class": "UpdateClassificationRequestBody",
            "mergeUpdate": False,
            "properties": _properties(type_name, properties),
        }
    return {"class": "NewClassificationRequestBody", "properties": _properties(type_name, properties)}


def expert_classification(properties: Mapping[str, Any], *, update: bool) -> dict[str, Any]:
    """The same for metadata-expert, which knows no beans."""
    if update:
        return {
            "class": "UpdatePropertiesRequestBody",
            "replaceProperties": True,
            "properties": element_properties(properties),
        }
    return {"class": "NewClassificationRequestBody", "properties": element_properties(properties)}


def _properties(type_name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in properties.items() if value is not None}
    return {"class": f"{type_name}Properties", **given}
