"""What imports bring into scope, and what a file uses without having it in scope.

An imported name brings itself and what it needs: a mapping its schemas, a schema its fragments (language
specification 5.3). The export resolves names over all files that were read; what is out of scope is reported.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from typing import TYPE_CHECKING

from lineagelog.export.satsuma.definitions import find_key, similar
from lineagelog.export.satsuma.tree import SpecProblem, Spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lineagelog.export.satsuma.definitions import Definitions
    from lineagelog.export.satsuma.tree import Field, File, Import, Reference

type _Use = tuple[str, Reference | Spread, str]  # the definition that uses something, where, and the key used


def imported_path(file: str, statement: Import) -> str:
    """The path that an import means: relative to the importing file."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), statement.path.replace("\\", "/")))


def import_problems(files: Mapping[str, File], definitions: Definitions) -> list[SpecProblem]:
    """Imported names that are not there, and used names that no import brings."""
    problems: list[SpecProblem] = []
    needs: dict[str, set[str]] = defaultdict(set)
    uses = {path: list(_uses(file, definitions)) for path, file in files.items()}
    for found in uses.values():
        for user, _, key in found:
            needs[user].add(key)
    homes = {key: path for path, file in files.items() for key in _defined(file)}
    for path, file in files.items():
        scope = set(_defined(file))
        for statement in file.imports:
            target = imported_path(path, statement)
            for name in statement.names:
                keys = _named(name, files[target])
                scope |= _closure(keys, needs)
                if not keys:
                    hint = similar(name, _defined(files[target]))
                    message = f"{target} does not define '{name}'{hint}"
                    problems.append(SpecProblem(message, path, statement.line, statement.column))
        problems += _out_of_scope(path, uses[path], scope, homes)
    return problems


def _out_of_scope(path: str, uses: Iterable[_Use], scope: set[str], homes: Mapping[str, str]) -> Iterator[SpecProblem]:
    for _, at, key in uses:
        if key not in scope:
            scope.add(key)  # told once per file
            home = posixpath.relpath(homes[key], posixpath.dirname(path) or ".")
            message = f"'{key}' is not imported here; add `import {{ {key} }} from \"{home}\"`"
            yield SpecProblem(message, path, at.line, at.column)


def _defined(file: File) -> list[str]:
    return [block.key for block in (*file.schemas, *file.fragments, *file.transforms, *file.mappings) if block.name]


def _named(name: str, file: File) -> set[str]:
    """The keys that an imported name means: as written, or bare for a definition in a namespace."""
    keys = _defined(file)
    return {name} & set(keys) or {key for key in keys if "::" not in name and key.rpartition("::")[2] == name}


def _closure(keys: Iterable[str], needs: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached.add(key)
            waiting.extend(needs.get(key, ()))
    return reached


def _uses(file: File, definitions: Definitions) -> Iterator[_Use]:
    for block in (*file.schemas, *file.fragments):
        for spread in _spreads(block.items):
            key = find_key(spread.name, block.namespace, definitions.fragments)
            if key is not None:
                yield block.key, spread, key
    for mapping in file.mappings:
        for reference in (*mapping.sources, *mapping.targets):
            key = find_key(reference.name, mapping.namespace, definitions.schemas) or find_key(
                reference.name, mapping.namespace, definitions.fragments
            )
            if key is not None:
                yield mapping.key, reference, key


def _spreads(items: Iterable[Field | Spread]) -> Iterator[Spread]:
    for item in items:
        if isinstance(item, Spread):
            yield item
        elif item.children is not None:
            yield from _spreads(item.children)
