"""The own engine: reads a workspace through its imports and settles names, namespaces and spreads."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from lineagelog.errors import InputError
from lineagelog.export.satsuma.definitions import Definitions, find_key, similar
from lineagelog.export.satsuma.imports import import_problems, imported_path
from lineagelog.export.satsuma.metadata import split_list
from lineagelog.export.satsuma.parser import parse_source
from lineagelog.export.satsuma.spreads import expand
from lineagelog.export.satsuma.text import SatsumaError, SourceText
from lineagelog.export.satsuma.tree import CONSUMERS, Mapping, Reference, Schema, Spec, SpecProblem, Spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lineagelog.export.satsuma.tree import File, Import, MappingBlock, SchemaBlock


class Engine(Protocol):
    """Reads the workspace that begins at some files; whichever engine it is, the values are the same."""

    def read(self, entries: Sequence[str]) -> Spec:
        """Read the files and all that they import. Raises InputError."""


class OwnEngine:
    """The default engine: our own parser. `read_file` gives the bytes of a path or raises OSError."""

    def __init__(self, read_file: Callable[[str], bytes]) -> None:
        self._read_file = read_file

    def read(self, entries: Sequence[str]) -> Spec:
        """Read the files and all that they import. Raises InputError."""
        loader = _Loader(self._read_file)
        for entry in entries:
            loader.load(entry)
        return _settle(loader)


class _Loader:
    """Follows imports depth first; a file is read once, however often it is imported."""

    def __init__(self, read_file: Callable[[str], bytes]) -> None:
        self._read_file = read_file
        self.files: dict[str, File] = {}
        self.sources: dict[str, SourceText] = {}
        self.problems: list[SpecProblem] = []

    def load(self, entry: str) -> None:
        path = posixpath.normpath(entry.replace("\\", "/"))
        if path in self.files:
            return
        self._parse(path, None)
        trail = [(path, iter(self.files[path].imports))]
        while trail:
            current, imports = trail[-1]
            found = next(imports, None)
            if found is None:
                trail.pop()
                continue
            target = imported_path(current, found)
            if target in self.files:
                self._note_circle(target, current, found, [name for name, _ in trail])
                continue
            self._parse(target, (current, found))
            trail.append((target, iter(self.files[target].imports)))

    def _parse(self, path: str, importer: tuple[str, Import] | None) -> None:
        try:
            data = self._read_file(path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            if importer is None:
                raise InputError(f"{path}: cannot be read: {reason}") from None
            file, statement = importer
            raise SatsumaError(
                f"the imported file {path} cannot be read: {reason}; correct the path, which is relative to this file",
                file=file,
                line=statement.line,
                column=statement.column,
                excerpt=self.sources[file].line_at(statement.line),
            ) from None
        source = SourceText.decode(data, path)
        self.files[path], self.sources[path] = parse_source(source), source

    def _note_circle(self, target: str, current: str, statement: Import, trail: list[str]) -> None:
        if target in trail:
            circle = " → ".join([*trail[trail.index(target) :], target])
            message = f"the imports go in a circle: {circle}; each file is read once"
            self.problems.append(SpecProblem(message, current, statement.line, statement.column))


def _settle(loader: _Loader) -> Spec:
    files = tuple(loader.files.values())
    definitions = Definitions(files, loader.sources)
    schemas: dict[str, Schema] = {}
    for block, file in definitions.schemas.values():
        _check_sources(block, file, definitions)
        schemas[block.key] = _schema(block, file, definitions)
    mappings: list[Mapping] = []
    for tree in files:
        mappings += [_mapping(mapping, tree.path, definitions, schemas) for mapping in tree.mappings]
    return Spec(
        schemas=schemas,
        transforms=definitions.transforms,
        fragments=frozenset(definitions.fragments),
        names={
            block.key: file.path
            for file in files
            for block in (*file.schemas, *file.fragments, *file.transforms, *file.mappings)
            if block.name
        },
        mappings=tuple(mappings),
        comments=tuple(comment for file in files for comment in file.comments),
        files=tuple(loader.files),
        problems=(
            *loader.problems,
            *import_problems(loader.files, definitions),
            *_repeated(files),
            *_defined_twice(files),
            *_namespace_conflicts(files),
        ),
    )


def _check_sources(block: SchemaBlock, file: str, definitions: Definitions) -> None:
    """Raise SatsumaError at the first unknown source of a report or model."""
    kind = next((entry.key for entry in block.metadata if entry.kind == "tag" and entry.key in CONSUMERS), None)
    for entry in block.metadata if kind is not None else ():
        if entry.kind != "kv" or entry.key != "source":
            continue
        for name, (line, column) in zip(split_list(entry.value), entry.places, strict=True):
            if find_key(name.removeprefix("@"), block.namespace, definitions.schemas) is None:
                hint = similar(name, definitions.schemas) or "; define it or import it from the file that does"
                message = f"{kind} '{block.key}' has the unknown source '{name}'{hint}"
                raise definitions.error(file, Reference(name, line, column), message)


def _namespace_conflicts(files: Iterable[File]) -> Iterator[SpecProblem]:
    """Namespaces whose blocks say different things about them."""
    known: dict[tuple[str, str], tuple[str, str]] = {}
    for file in files:
        for space in file.namespaces:
            for entry in space.metadata:
                said = (entry.value, f"{file.path}:{space.line}")
                value, place = known.setdefault((space.name, entry.key), said)
                if value != entry.value:
                    message = f"namespace '{space.name}' has another '{entry.key}' than in {place}"
                    yield SpecProblem(message, file.path, space.line, space.column)


def _defined_twice(files: Iterable[File]) -> Iterator[SpecProblem]:
    """Definitions that share a name, whatever their kinds: there is one name space (language specification 2.8)."""
    earlier: dict[str, tuple[str, str]] = {}
    for file in files:
        blocks = [
            (block, kind)
            for kind, group in (
                ("schema", file.schemas),
                ("fragment", file.fragments),
                ("transform", file.transforms),
                ("mapping", file.mappings),
            )
            for block in group
            if block.name
        ]
        for block, kind in sorted(blocks, key=lambda found: found[0].start):
            if block.key in earlier:
                other, place = earlier[block.key]
                message = f"{kind} '{block.key}' has the name of the {other} in {place}; rename one of the two"
                yield SpecProblem(message, file.path, block.line, block.column)
            earlier.setdefault(block.key, (kind, f"{file.path}:{block.line}"))


def _repeated(files: Iterable[File]) -> Iterator[SpecProblem]:
    """Fields that a body declares twice."""
    for file in files:
        for block in (*file.schemas, *file.fragments):
            bodies = [block.items]
            while bodies:
                seen: set[str] = set()
                for item in bodies.pop():
                    if isinstance(item, Spread):
                        continue
                    if item.name in seen:
                        message = f"field '{item.name}' is declared twice in '{block.key}'; the first one stands"
                        yield SpecProblem(message, file.path, item.line, item.column)
                    seen.add(item.name)
                    bodies += [item.children] if item.children else []


def _schema(block: SchemaBlock, file: str, definitions: Definitions) -> Schema:
    fields = expand(block, file, definitions)
    return Schema(block.key, block.namespace, block.name or "", file, block.line, block.metadata, block.notes, fields)


def _mapping(block: MappingBlock, file: str, definitions: Definitions, schemas: dict[str, Schema]) -> Mapping:
    def side(references: Iterable[Reference], which: str) -> tuple[str, ...]:
        keys = (_referred(item, which, block, file, definitions, schemas) for item in references)
        return tuple(dict.fromkeys(keys))

    names = {item.name: _referred(item, "source", block, file, definitions, schemas) for item in block.sources}
    return Mapping(
        namespace=block.namespace,
        name=block.name,
        file=file,
        line=block.line,
        column=block.column,
        metadata=block.metadata,
        notes=block.notes,
        sources=side(block.sources, "source"),
        targets=side(block.targets, "target"),
        conditions=tuple(replace(item, schema=names.get(item.schema or "")) for item in block.conditions),
        arrows=block.arrows,
    )


def _referred(
    reference: Reference,
    side: str,
    block: MappingBlock,
    file: str,
    definitions: Definitions,
    schemas: dict[str, Schema],
) -> str:
    """The key of a mapping's schema; a fragment may stand there too, and then is a schema of its own."""
    name = reference.name
    key = find_key(name, block.namespace, definitions.schemas)
    if key is not None:
        return key
    key = find_key(name, block.namespace, definitions.fragments)
    if key is None:
        who = f"mapping '{block.key}'" if block.name else "the mapping"
        hint = similar(name, definitions.schemas) or "; define it or import it from the file that does"
        raise definitions.error(file, reference, f"{who} has the unknown {side} schema '{name}'{hint}")
    if key not in schemas:
        schemas[key] = _schema(*definitions.fragments[key], definitions)
    return key
