"""The two ways the same content is written: SnapLogic's documented events, and today's OpenLineage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineagelog.spec import CURRENT, FIRST_FILES, FacetBuilder, schema_field, transformation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lineagelog.spec import Edition, Holder


@dataclass(frozen=True, slots=True)
class InputField:
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

    fields: tuple[InputField, ...]
    description: str


@dataclass(frozen=True, slots=True)
class PipelineFacets:
    """Writes facets for one pipeline: `producer` is the link to it in the Designer."""

    producer: str
    modern: bool

    @property
    def schema_url(self) -> str:
        """The schema of an event."""
        return self._edition.event("RunEvent")

    def facet(self, key: str, holder: Holder, content: Mapping[str, Any]) -> dict[str, Any]:
        """A facet with producer and schema."""
        return FacetBuilder(self.producer, self._edition).facet(key, holder, content)

    @property
    def _edition(self) -> Edition:
        return CURRENT if self.modern else FIRST_FILES

    def schema(self, columns: Mapping[str, str]) -> dict[str, Any]:
        """The schema facet: column name to type. Documented events say VARCHAR for all; today's leave out
        what is unknown."""
        if self.modern:
            fields = [schema_field(name, kind or None) for name, kind in columns.items()]
        else:
            fields = [schema_field(name, "VARCHAR", "") for name in columns]
        return self.facet("schema", "Dataset", {"fields": fields})

    def lineage(self, columns: Mapping[str, Origin], uses: Sequence[InputField]) -> dict[str, Any]:
        """The columnLineage facet; `uses` (fields that filter, sort, join or group) exist in today's facet
        only."""
        content: dict[str, Any]
        if not self.modern:
            content = {"fields": {name: _documented(origin) for name, origin in columns.items()}}
            return self.facet("columnLineage", "Dataset", content)
        content = {"fields": {name: _current(origin) for name, origin in columns.items()}}
        if uses:
            content["dataset"] = [_field(use) | {"transformations": [_transformation(use, "")]} for use in uses]
        return self.facet("columnLineage", "Dataset", content)


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


def _field(field: InputField) -> dict[str, Any]:
    return {"namespace": field.namespace, "name": field.name, "field": field.field}


def _transformation(field: InputField, description: str) -> dict[str, Any]:
    return transformation("DIRECT" if field.direct else "INDIRECT", field.subtype, description, masking=False)
