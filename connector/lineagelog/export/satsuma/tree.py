"""What a Satsuma file says, as frozen values with places: the parser's tree and what an engine hands on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping as Mapped


CONSUMERS = frozenset({"report", "model", "ml_model"})
"""The tags of schemas that are jobs themselves when they name their sources."""


@dataclass(frozen=True, slots=True)
class Meta:
    """One entry in `( )`: a bare tag, a key with a value, `enum {…}`, `slice {…}` or a note.

    `value` is the text as written, without the quotes if it is one quoted string; `{a, b}` keeps its braces.
    `places` are the lines and columns of the value's items, one for each that `split_list` finds.
    """

    kind: str  # tag, kv, enum, slice or note
    key: str
    value: str = ""
    values: tuple[str, ...] = ()
    places: tuple[tuple[int, int], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Spread:
    """`...name`: the fields of a fragment stand here."""

    name: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a schema; `children` is None unless it is a record, `origin` the fragment it came from."""

    name: str
    type: str
    is_list: bool
    metadata: tuple[Meta, ...]
    children: tuple[Field | Spread, ...] | None
    line: int
    column: int
    end_line: int
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """A field path as written: the names without their backticks, and the namespace before `::`, if any."""

    names: tuple[str, ...]
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Arrow:
    """A line of a mapping. `kind`: map, computed, nested, each, flatten; `body`: the transform as written."""

    kind: str
    sources: tuple[Path, ...]
    target: Path
    body: str | None
    metadata: tuple[Meta, ...]
    children: tuple[Arrow, ...]
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema named in a `source` or `target` block, with its place."""

    name: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Condition:
    """What a mapping's `source` block says about its rows: a join in prose, or the `filter` of one schema.

    `schema` is the name (in a `Mapping` the key) of the schema whose bare fields the text may name, if any.
    """

    text: str
    schema: str | None
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Block:
    """What the named blocks share; `name` is None for an anonymous mapping, `end` the offset behind `}`."""

    name: str | None
    namespace: str | None
    line: int
    column: int
    start: int
    end: int
    metadata: tuple[Meta, ...]
    notes: tuple[str, ...]

    @property
    def key(self) -> str:
        """`namespace::name`, or the bare name outside of namespaces; '' for an anonymous mapping."""
        return qualified(self.namespace, self.name or "")


@dataclass(frozen=True, slots=True)
class SchemaBlock(Block):
    """A `schema` or a `fragment` with its fields and spreads as written."""

    items: tuple[Field | Spread, ...]


@dataclass(frozen=True, slots=True)
class MappingBlock(Block):
    """A `mapping` as written."""

    sources: tuple[Reference, ...]
    targets: tuple[Reference, ...]
    conditions: tuple[Condition, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True)
class TransformBlock(Block):
    """A named `transform`: its pipe text."""

    body: str | None


@dataclass(frozen=True, slots=True)
class Import:
    """`import { names } from "path"`, with the place of the path."""

    names: tuple[str, ...]
    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Namespace:
    """`namespace name (metadata) { }`: one of the blocks that a namespace is opened with."""

    name: str
    metadata: tuple[Meta, ...]
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A `//!` (kind `warning`) or `//?` (kind `question`) comment and the block that it stands in, if any."""

    kind: str
    text: str
    file: str
    line: int
    block: str | None = None  # the block's key
    block_line: int = 0  # the line the block begins in: tells anonymous mappings apart
    block_type: str | None = None  # schema, fragment, transform or mapping


@dataclass(frozen=True, slots=True)
class File:
    """The tree of one file."""

    path: str
    imports: tuple[Import, ...]
    namespaces: tuple[Namespace, ...]
    schemas: tuple[SchemaBlock, ...]
    fragments: tuple[SchemaBlock, ...]
    transforms: tuple[TransformBlock, ...]
    mappings: tuple[MappingBlock, ...]
    notes: tuple[str, ...]
    comments: tuple[Comment, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema with its spreads expanded: the fields are complete, in the order body, then spread."""

    key: str
    namespace: str | None
    name: str
    file: str
    line: int
    metadata: tuple[Meta, ...]
    notes: tuple[str, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping with the keys of its schemas; its arrows are as written."""

    namespace: str | None
    name: str | None
    file: str
    line: int
    column: int
    metadata: tuple[Meta, ...]
    notes: tuple[str, ...]
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    conditions: tuple[Condition, ...]
    arrows: tuple[Arrow, ...]

    @property
    def key(self) -> str:
        """`namespace::name`, or the bare name outside of namespaces; '' for an anonymous mapping."""
        return qualified(self.namespace, self.name or "")

    @property
    def label(self) -> str:
        """How a message calls the mapping."""
        return f"mapping '{self.key}'" if self.name else "the mapping without a name"


@dataclass(frozen=True, slots=True)
class SpecProblem:
    """Something in the spec that deserves a look but does not stop the export, and where it is.

    `column` is 0 where the engine does not tell it.
    """

    message: str
    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}" if self.column else f"{self.line}"
        return f"{self.file}:{place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Spec:
    """What an engine reads from a workspace: the same values whichever engine it is."""

    schemas: Mapped[str, Schema]
    transforms: Mapped[str, str]  # named transforms: their pipe text by key
    fragments: frozenset[str]
    names: Mapped[str, str]  # every definition's key, and the file that it is in
    mappings: tuple[Mapping, ...]
    comments: tuple[Comment, ...]
    files: tuple[str, ...]
    problems: tuple[SpecProblem, ...] = field(default=())


def qualified(namespace: str | None, name: str) -> str:
    """The key of a definition: `namespace::name`, or the bare name outside of namespaces."""
    return f"{namespace}::{name}" if namespace else name
