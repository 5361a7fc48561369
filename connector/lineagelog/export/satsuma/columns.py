"""The columns of a schema: its leaves by dotted path, its records, and what its modelling tokens imply.

The mechanical columns are those of the Satsuma conventions for Kimball dimensions and facts and for Data
Vault hubs, satellites and links; a column that the schema declares or spreads in is never repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineagelog.export.satsuma.metadata import tags, value_of, values_of
from lineagelog.export.satsuma.tree import Field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineagelog.export.satsuma.tree import Schema

INFERRED = "(inferred from Satsuma metadata)"
ENTITY_TYPES = ("dimension", "fact", "hub", "satellite", "link")
_HASH, _TIME = "CHAR(64)", "TIMESTAMPTZ"
_SOURCE = ("record_source", "VARCHAR(100)")


@dataclass(frozen=True, slots=True)
class LeafColumn:
    """A leaf of a schema: its dotted path, its type as events show it ('' without one), its declaration."""

    path: str
    type: str
    field: Field


@dataclass(frozen=True, slots=True)
class Table:
    """A schema as a flat table, made once and asked often."""

    schema: Schema
    columns: tuple[LeafColumn, ...]
    fields: dict[str, Field]  # every declared path, records too, shallow ones first
    mechanical: dict[str, str]  # name to type of the columns that metadata implies
    by_name: dict[str, str]  # a field's own name to its shallowest path

    def declares(self, path: str) -> bool:
        """Whether the schema has this path: declared, spread in or implied."""
        return path in self.fields or path in self.mechanical

    def find(self, names: tuple[str, ...]) -> str | None:
        """The path that a reference means, which may leave out the records in front; the shallowest one."""
        whole = ".".join(names)
        if whole in self.fields:
            return whole
        if len(names) == 1:
            return self.by_name.get(whole) or (whole if whole in self.mechanical else None)
        ends = "." + whole
        return next((path for path in self.fields if path.endswith(ends)), None)

    def leaves_under(self, path: str) -> tuple[str, ...]:
        """The leaves of a record, or the path itself if it is a leaf."""
        inside = path + "."
        return tuple(c.path for c in self.columns if c.path == path or c.path.startswith(inside))


def table_of(schema: Schema) -> Table:
    """Flatten a schema."""
    columns = tuple(_leaves(schema.fields, ""))
    fields = dict(_levels(schema.fields))
    by_name: dict[str, str] = {}
    for path, field in fields.items():
        by_name.setdefault(field.name, path)
    mechanical = {name: kind for name, kind in _implied(schema, columns) if name not in fields}
    return Table(schema, columns, fields, mechanical, by_name)


def entity_type(schema: Schema) -> str | None:
    """dimension, fact, hub, satellite or link, if the schema says so."""
    present = tags(schema.metadata)
    return next((kind for kind in ENTITY_TYPES if kind in present), None)


def scd_type(schema: Schema) -> int | None:
    """The number behind `scd`, if there is one."""
    value = value_of(schema.metadata, "scd") or ""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 4 else None


def bare(key: str) -> str:
    """A schema's name without its namespace."""
    return key.rpartition("::")[2]


def dimension_reference(value: str) -> tuple[str, str]:
    """`@dim.field` or `ns::dim.field` as (dimension, field); the field is '' where there is none."""
    scope, mark, rest = value.removeprefix("@").rpartition("::")
    dimension, _, field = rest.partition(".")
    return scope + mark + dimension.strip("`"), field.strip("`")


def _leaves(fields: Iterable[object], prefix: str) -> Iterator[LeafColumn]:
    for field in fields_only(fields):
        path = prefix + field.name
        if field.children:
            yield from _leaves(field.children, path + ".")
        else:
            kind = f"ARRAY<{field.type}>" if field.is_list else field.type
            yield LeafColumn(path, kind, field)


def _levels(fields: Iterable[object]) -> Iterator[tuple[str, Field]]:
    """Every path, level by level, so that the shallowest of two equal names comes first."""
    level = [(field.name, field) for field in fields_only(fields)]
    while level:
        yield from level
        level = [
            (f"{path}.{child.name}", child) for path, field in level for child in fields_only(field.children or ())
        ]


def fields_only(items: Iterable[object]) -> Iterator[Field]:
    """The fields of a body whose spreads are expanded."""
    return (item for item in items if isinstance(item, Field))


def _implied(schema: Schema, columns: tuple[LeafColumn, ...]) -> Iterator[tuple[str, str]]:
    present, kind = tags(schema.metadata), entity_type(schema)
    if kind == "fact":
        yield from _fact(schema)
    elif kind == "hub":
        yield from ((f"{schema.name}_hk", _HASH), ("load_date", _TIME), _SOURCE)
    elif kind == "satellite":
        yield from _satellite(schema, effectivity="effectivity" in present)
    elif kind == "link":
        yield (f"{schema.name}_hk", _HASH)
        yield from ((f"{bare(hub)}_hk", _HASH) for hub in values_of(schema.metadata, "link_hubs"))
        yield from (("load_date", _TIME), _SOURCE)
    elif scd_type(schema) in (2, 6):
        yield from _history(schema, columns)


def _fact(schema: Schema) -> Iterator[tuple[str, str]]:
    for value in values_of(schema.metadata, "ref"):
        yield f"{bare(dimension_reference(value)[0])}_key", "BIGINT"
    yield from (("etl_batch_id", "BIGINT"), ("loaded_at", _TIME))


def _satellite(schema: Schema, *, effectivity: bool) -> Iterator[tuple[str, str]]:
    yield from ((f"{bare(parent)}_hk", _HASH) for parent in values_of(schema.metadata, "parent"))
    yield from (("load_date", _TIME), ("load_end_date", _TIME), ("hash_diff", _HASH), _SOURCE)
    if effectivity:
        yield from (("start_date", _TIME), ("end_date", _TIME), ("is_current", "BOOLEAN"))


def _history(schema: Schema, columns: tuple[LeafColumn, ...]) -> Iterator[tuple[str, str]]:
    """The columns of a dimension that keeps its history (scd 2), and the current values beside it (scd 6)."""
    yield from (("surrogate_key", "BIGINT"), ("valid_from", _TIME), ("valid_to", _TIME))
    yield from (("is_current", "BOOLEAN"), ("row_hash", _HASH))
    if scd_type(schema) == 6:
        kinds = {column.path: column.type for column in columns}
        for tracked in values_of(schema.metadata, "track"):
            yield f"current_{tracked}", kinds.get(tracked, "")
