"""Resolves the arrows of mappings into column lineage: which fields each target field comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lineagelog.export.satsuma.columns import Table, bare, table_of
from lineagelog.export.satsuma.conditions import bare_fields, description, named_in
from lineagelog.export.satsuma.definitions import find_key
from lineagelog.export.satsuma.masking import masks
from lineagelog.export.satsuma.metadata import values_of
from lineagelog.export.satsuma.transforms import read_transform
from lineagelog.export.satsuma.tree import Arrow, Condition, Mapping, Path, SpecProblem, qualified

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineagelog.export.satsuma.transforms import AtReference, Transform
    from lineagelog.export.satsuma.tree import Spec

CONTAINERS = frozenset({"each", "flatten", "nested"})


@dataclass(frozen=True, slots=True)
class SourceField:
    """A field that a target field comes from, and how.

    `how` is `copy`, `transform` or `inferred` from a reference; of what decides on whole rows JOIN, FILTER, ….
    """

    schema: str
    field: str
    how: str
    description: str
    masks: bool


@dataclass(slots=True)
class Entry:
    """The lineage of one target field of a mapping, over all its arrows."""

    target: str
    sources: list[SourceField] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    direct: bool = True
    is_prose: bool = False


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a mapping does: its entries by (schema key, field path), in the order of the spec."""

    mapping: Mapping
    entries: dict[tuple[str, str], Entry]
    problems: tuple[SpecProblem, ...]
    arrow_lines: dict[int, str]  # the line of an arrow to its target's path
    rows: tuple[SourceField, ...] = ()  # what decides which rows there are: joins and filters


@dataclass(frozen=True, slots=True)
class _Match:
    schema: str
    path: str
    declared: bool
    rivals: tuple[str, ...] = ()  # further sources that declare a bare field


type _Prefix = Path | None


class Resolver:
    """Resolves the mappings of one spec; tables are flattened once."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.tables: dict[str, Table] = {key: table_of(schema) for key, schema in spec.schemas.items()}
        self._by_bare_name: dict[str, list[str]] = {}
        for key in self.tables:
            self._by_bare_name.setdefault(bare(key), []).append(key)

    def resolve(self, mapping: Mapping) -> Lineage:
        """The column lineage of a mapping."""
        work = _Resolution(self, mapping)
        work.walk(mapping.arrows, None, None)
        work.conditions()
        if not mapping.targets:
            work.report(mapping, f"{mapping.label} has no target")
        if not mapping.sources:
            work.report(mapping, f"{mapping.label} has no source")
        return Lineage(mapping, work.entries, tuple(work.problems), work.arrow_lines, tuple(work.rows))

    def reference(self, reference: AtReference, mapping: Mapping) -> _Match | str | None:
        """The field that an @reference means, the key of a schema if it means one, or None.

        The order is the reference implementation's: the mapping's sources, its targets, then all schemas.
        """
        sides: tuple[str, ...] = (*mapping.sources, *mapping.targets)
        names, namespace = reference.names, reference.namespace
        if namespace is not None:
            return self._scoped(qualified(namespace, names[0]), names[1:])
        for key in sides:
            path = self.tables[key].find(names)
            if path is not None:
                return _Match(key, path, True)
        own = qualified(mapping.namespace, names[0])
        everywhere: tuple[str, ...] = (*sides, own, names[0], *self._by_bare_name.get(names[0], ()))
        for key in everywhere:
            if key not in self.tables or (bare(key) != names[0] and key != names[0]):
                continue
            if len(names) == 1:
                return key
            path = self.tables[key].find(names[1:])
            if path is not None:
                return _Match(key, path, True)
        return None

    def _scoped(self, key: str, names: tuple[str, ...]) -> _Match | str | None:
        if key not in self.tables:
            return None
        if not names:
            return key
        path = self.tables[key].find(names)
        return _Match(key, path, True) if path is not None else None

    def locate(self, path: Path, side: tuple[str, ...]) -> _Match | None:
        """The field that an arrow's path means among the schemas of its side; None if the side has no schema.

        A path may begin with the name of a schema. A bare field belongs to the first schema that declares it,
        or, declared by none, to the first of the side.
        """
        names = path.names
        if path.namespace is not None:
            key = qualified(path.namespace, names[0])
            return self._in(key, names[1:]) if key in self.tables else _Match(key, ".".join(names[1:]), False)
        owner = next((key for key in side if key == names[0]), None) or next(
            (key for key in side if bare(key) == names[0]), None
        )
        named = self._in(owner, names[1:]) if owner is not None and len(names) > 1 else None
        if named is not None and named.declared:
            return named
        whole = ".".join(names)
        owners = [key for key in side if whole in self.tables[key].fields]
        if owners:
            return _Match(owners[0], whole, True, tuple(owners[1:]))
        for key in side:
            if whole in self.tables[key].mechanical:
                return _Match(key, whole, True)
        if len(names) == 1 and "." in whole:  # one backticked name that spells a path
            return self.locate(Path(tuple(whole.split("."))), side)
        return named or (_Match(side[0], whole, False) if side else None)

    def _in(self, key: str, names: tuple[str, ...]) -> _Match:
        path = ".".join(names)
        return _Match(key, path, self.tables[key].declares(path))


class _Resolution:
    """The resolution of one mapping under way."""

    def __init__(self, resolver: Resolver, mapping: Mapping) -> None:
        self.resolver, self.mapping = resolver, mapping
        self.entries: dict[tuple[str, str], Entry] = {}
        self.problems: list[SpecProblem] = []
        self.arrow_lines: dict[int, str] = {}
        self.rows: list[SourceField] = []
        tables = [resolver.tables[key] for key in mapping.sources]
        self._names = frozenset(field.name for table in tables for field in table.fields.values())

    def report(self, at: Arrow | Mapping | Condition, message: str) -> None:
        self.problems.append(SpecProblem(message, self.mapping.file, at.line, at.column))

    def walk(self, arrows: Iterable[Arrow], source: _Prefix, target: _Prefix) -> None:
        for arrow in arrows:
            sources = tuple(_under(source, path) for path in arrow.sources)
            into = _under(target, arrow.target)
            if arrow.kind in CONTAINERS:
                self.walk(arrow.children, sources[0], into)
            else:
                self._arrow(arrow, sources, into)

    def _arrow(self, arrow: Arrow, sources: tuple[Path, ...], target: Path) -> None:
        found = self.resolver.locate(target, self.mapping.targets)
        if found is None:
            return
        self.arrow_lines[arrow.line] = found.path
        if not found.path:
            self.report(arrow, f"'{_shown(target)}' is a schema, not a field: no column lineage for this arrow")
            return
        if not found.declared:
            self.report(arrow, f"target field '{found.path}' is not declared in '{found.schema}'")
        entry = self.entries.setdefault((found.schema, found.path), Entry(found.path))
        transform = read_transform(arrow.body) if arrow.body is not None else None
        entry.direct = entry.direct and transform is None and bool(sources)
        if transform is not None and transform.description not in entry.descriptions:
            entry.descriptions.append(transform.description)
        masked = arrow.body is not None and masks(arrow.body, self._names, self._named_transform)
        for path in sources:
            self._source(arrow, path, entry, transform, masked=masked)
        if transform is not None:
            entry.is_prose = entry.is_prose or transform.is_prose
            self._inferred(arrow, found, entry, transform)

    def _named_transform(self, name: str) -> str | None:
        transforms = self.resolver.spec.transforms
        key = find_key(name, self.mapping.namespace, transforms)
        return transforms[key] if key is not None else None

    def _source(self, arrow: Arrow, path: Path, entry: Entry, transform: Transform | None, *, masked: bool) -> None:
        found = self.resolver.locate(path, self.mapping.sources)
        if found is None:
            return
        if found.schema not in self.mapping.sources:
            self.report(arrow, f"'{_shown(path)}' is in '{found.schema}', which is no source of the mapping")
        elif not found.path:
            self.report(arrow, f"'{_shown(path)}' is a schema, not a field: it gives no column lineage")
        elif not found.declared:
            sides = ", ".join(f"'{key}'" for key in self.mapping.sources)
            self.report(arrow, f"source field '{_shown(path)}' is not declared in {sides}")
        if found.rivals:
            others = ", ".join(f"'{key}'" for key in found.rivals)
            better = f"{found.schema}.{found.path}"
            shown = f"source field '{_shown(path)}' is declared in '{found.schema}' and in {others}"
            self.report(arrow, f"{shown}; the first counts: write {better}, or the one that is meant")
        if found.path and transform is None:
            add(entry, SourceField(found.schema, found.path, "copy", "", masks=False))
        elif found.path and transform is not None:
            add(entry, SourceField(found.schema, found.path, "transform", transform.description, masked))

    def _inferred(self, arrow: Arrow, target: _Match, entry: Entry, transform: Transform) -> None:
        """The fields that the transform's prose refers to: of sources, and other fields of the target."""
        for reference in transform.references:
            found = self.resolver.reference(reference, self.mapping)
            if found is None:
                self.report(arrow, f"{reference} refers to nothing that is known")
            elif isinstance(found, _Match) and (found.schema, found.path) != (target.schema, target.path):
                if found.schema not in (*self.mapping.sources, *self.mapping.targets):
                    self.report(
                        arrow,
                        f"{reference} refers to '{found.schema}', which is no source of the mapping",
                    )
                known = {(source.schema, source.field) for source in entry.sources}
                if (found.schema, found.path) not in known:
                    add(entry, SourceField(found.schema, found.path, "inferred", "", masks=False))

    def conditions(self) -> None:
        """The fields that joins and filters name: those of the `source` block, and those on lists that are read."""
        for condition in self.mapping.conditions:
            before = len(self.rows)
            for named in named_in(condition, self.mapping):
                found = self.resolver.reference(named.reference, self.mapping)
                if isinstance(found, _Match) and found.schema not in self.mapping.targets:
                    self._row(found.schema, found.path, named.use, description(condition))
                elif found is None and named.sure:
                    self.report(condition, f"{named.reference} refers to nothing that is known")
            if condition.schema is not None:
                for path in bare_fields(condition.text, self.resolver.tables[condition.schema]):
                    self._row(condition.schema, path, "FILTER", description(condition))
            if len(self.rows) == before:
                self.report(condition, "this text about the rows names no field of a source: write @schema.field")
        for schema, path in self._lists_read():
            table = self.resolver.tables[schema]
            for text in values_of(table.fields[path].metadata, "filter"):
                for field_path in bare_fields(text, table, path):
                    self._row(schema, field_path, "FILTER", text)

    def _lists_read(self) -> list[tuple[str, str]]:
        """The records and lists around the fields that the mapping reads."""
        read = [(source.schema, source.field) for entry in self.entries.values() for source in entry.sources]
        around = [
            (schema, path[:end])
            for schema, path in read
            if schema in self.mapping.sources
            for end in range(len(path))
            if path[end] == "." and path[:end] in self.resolver.tables[schema].fields
        ]
        return list(dict.fromkeys(around))

    def _row(self, schema: str, path: str, use: str, text: str) -> None:
        source = SourceField(schema, path, use, text, masks=False)
        if source not in self.rows:
            self.rows.append(source)


def add(entry: Entry, source: SourceField) -> None:
    """Add a source once per way in which it flows."""
    if source not in entry.sources:
        entry.sources.append(source)


def _under(prefix: _Prefix, path: Path) -> Path:
    """A path inside an `each`, `flatten` or nested arrow is relative to it, with or without its dot."""
    if prefix is None or path.namespace is not None:
        return path
    return Path((*prefix.names, *path.names), prefix.namespace)


def _shown(path: Path) -> str:
    return (f"{path.namespace}::" if path.namespace else "") + ".".join(path.names)
