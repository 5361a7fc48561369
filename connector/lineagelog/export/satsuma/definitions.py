"""The named definitions of a workspace by key, and how a name is found where it is written."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from lineagelog.export.satsuma.text import SatsumaError, SourceText
from lineagelog.export.satsuma.tree import qualified

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from lineagelog.export.satsuma.tree import Field, File, MappingBlock, Reference, SchemaBlock, Spread


class Definitions:
    """The named definitions of all files by key, and how a name is found from a namespace."""

    def __init__(self, files: Iterable[File], sources: dict[str, SourceText]) -> None:
        self.sources = sources
        self.schemas: dict[str, tuple[SchemaBlock, str]] = {}
        self.fragments: dict[str, tuple[SchemaBlock, str]] = {}
        self.transforms: dict[str, str] = {}
        self.expanded: dict[str, tuple[tuple[Field, ...], int]] = {}  # fragments: their fields and depth
        for file in files:
            self._collect(file.schemas, file.path, self.schemas, "schema")
            self._collect(file.fragments, file.path, self.fragments, "fragment")
            for block in file.transforms:
                self.transforms.setdefault(block.key, block.body or "")

    def _collect(
        self, blocks: Iterable[SchemaBlock], file: str, into: dict[str, tuple[SchemaBlock, str]], kind: str
    ) -> None:
        for block in blocks:
            earlier = into.setdefault(block.key, (block, file))
            if earlier[0] is not block:
                where = f"{earlier[1]}:{earlier[0].line}"
                raise self.error(
                    file, block, f"{kind} '{block.key}' is already defined in {where}; rename one of the two"
                )

    def error(self, file: str, at: SchemaBlock | MappingBlock | Reference | Spread, message: str) -> SatsumaError:
        """An error at a block or reference of a file."""
        return SatsumaError(
            message, file=file, line=at.line, column=at.column, excerpt=self.sources[file].line_at(at.line)
        )


def find_key(name: str, namespace: str | None, keys: Container[str]) -> str | None:
    """The key that a name means where it is written: first in its own namespace, then outside of any."""
    if "::" not in name and namespace:
        inner = qualified(namespace, name)
        if inner in keys:
            return inner
    return name if name in keys else None


def similar(name: str, keys: Iterable[str]) -> str:
    """A hint for a name that is not there: ', did you mean …?' or nothing."""
    known = sorted(keys)
    bare = name.rpartition("::")[2]
    same = [key for key in known if key.rpartition("::")[2] == bare]
    close = same or difflib.get_close_matches(name, known, n=2)
    return f"; did you mean {' or '.join(repr(key) for key in close)}?" if close else ""
