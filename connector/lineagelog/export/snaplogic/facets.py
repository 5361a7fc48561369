"""The two ways the same content is written: SnapLogic's documented events, and today's OpenLineage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SPEC = "https://openlineage.io/spec"
_DOCUMENTED = {
    "parent": "1-0-0/ParentRunFacet.json",
    "errorMessage": "1-0-0/ErrorMessageRunFacet.json",
    "schema": "1-0-0/SchemaDatasetFacet.json",
    "columnLineage": "1-0-1/ColumnLineageDatasetFacet.json",
    "inputStatistics": "1-0-0/InputStatisticsInputDatasetFacet.json",
    "outputStatistics": "1-0-0/OutputStatisticsOutputDatasetFacet.json",
}
_MODERN = {
    "parent": "1-2-0/ParentRunFacet.json#/$defs/ParentRunFacet",
    "errorMessage": "1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet",
    "jobType": "2-0-4/JobTypeJobFacet.json#/$defs/JobTypeJobFacet",
    "schema": "1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
    "columnLineage": "1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet",
    "inputStatistics": "1-0-0/InputStatisticsInputDatasetFacet.json#/$defs/InputStatisticsInputDatasetFacet",
    "outputStatistics": ("1-0-2/OutputStatisticsOutputDatasetFacet.json#/$defs/OutputStatisticsOutputDatasetFacet"),
}


@dataclass(frozen=True, slots=True)
class Field:
    """An input field of a column: dataset, field, and how it gets in (`subtype` is OpenLineage's; `direct`:
    it is in the value)."""

    namespace: str
    name: str
    field: str
    subtype: str = "IDENTITY"
    direct: bool = True


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one output column comes from, and SnapLogic's description of the way ("" when it comes from
    nowhere)."""

    fields: tuple[Field, ...]
    description: str


@dataclass(frozen=True, slots=True)
class Facets:
    """Writes facets for one pipeline: `producer` is the link to it in the Designer."""

    producer: str
    modern: bool

    @property
    def schema_url(self) -> str:
        """The schema of an event."""
        return (
            f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
            if self.modern
            else f"{_SPEC}/1-0-0/OpenLineage.json#/definitions/RunEvent"
        )

    def facet(self, key: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """A facet with producer and schema."""
        url = (_MODERN if self.modern else _DOCUMENTED)[key]
        return {"_producer": self.producer, "_schemaURL": f"{_SPEC}/facets/{url}", **content}

    def schema(self, columns: Mapping[str, str]) -> dict[str, Any]:
        """The schema facet: column name to type. Documented events say VARCHAR for all; today's leave out
        what is unknown."""
        if self.modern:
            fields = [{"name": name, "type": kind} if kind else {"name": name} for name, kind in columns.items()]
        else:
            fields = [{"name": name, "type": "VARCHAR", "description": ""} for name in columns]
        return self.facet("schema", {"fields": fields})

    def lineage(self, columns: Mapping[str, Origin], uses: Sequence[Field]) -> dict[str, Any]:
        """The columnLineage facet; `uses` (fields that filter, sort, join or group) exist in today's facet
        only."""
        if not self.modern:
            return self.facet(
                "columnLineage", {"fields": {name: _documented(origin) for name, origin in columns.items()}}
            )
        content: dict[str, Any] = {"fields": {name: _current(origin) for name, origin in columns.items()}}
        if uses:
            content["dataset"] = [_field(use) | {"transformations": [_transformation(use, "")]} for use in uses]
        return self.facet("columnLineage", content)


def _documented(origin: Origin) -> dict[str, Any]:
    """A constant or untraceable column has no inputs and no description, as in SnapLogic's own events."""
    content: dict[str, Any] = {
        "inputFields": [_field(field) for field in origin.fields],
        "transformationType": "IDENTITY",
    }
    if origin.fields:
        content["transformationDescription"] = origin.description
    return content


def _current(origin: Origin) -> dict[str, Any]:
    fields = [
        _field(field) | {"transformations": [_transformation(field, origin.description)]} for field in origin.fields
    ]
    return {"inputFields": fields}


def _field(field: Field) -> dict[str, Any]:
    return {"namespace": field.namespace, "name": field.name, "field": field.field}


def _transformation(field: Field, description: str) -> dict[str, Any]:
    kind = "DIRECT" if field.direct else "INDIRECT"
    return {"type": kind, "subtype": field.subtype, "description": description, "masking": False}
