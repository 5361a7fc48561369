"""Parses Satsuma text into its tree: schemas, fragments, transforms, mappings, namespaces, imports, notes.

The grammar is that of the Satsuma v2 language specification and of its reference parser: a field's type
stands on the field's line, `(` attached to a type opens its arguments, a multi-word spread ends with its
line, and an arrow inside the braces of a single-source arrow makes these a nesting scope, else they hold
pipe text.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from lineagelog.export.satsuma.arrows import ArrowParser
from lineagelog.export.satsuma.cursor import NAMES, STRINGS
from lineagelog.export.satsuma.lexer import END
from lineagelog.export.satsuma.text import SourceText
from lineagelog.export.satsuma.tree import (
    Comment,
    Condition,
    Field,
    File,
    Import,
    MappingBlock,
    Namespace,
    Reference,
    SchemaBlock,
    Spread,
    TransformBlock,
    qualified,
)

if TYPE_CHECKING:
    from lineagelog.export.satsuma.tree import Arrow, Block, Meta

MAX_DEPTH = 64
_BLOCKS = "import, note, namespace, schema, fragment, transform or mapping"


def parse(text: str, file: str) -> File:
    """Parse one file's text; `file` is the name that errors show. Raises SatsumaError."""
    return parse_source(SourceText.of(text, file))


def parse_bytes(data: bytes, file: str) -> File:
    """Parse one file's bytes (UTF-8). Raises SatsumaError."""
    return parse_source(SourceText.decode(data, file))


def parse_source(source: SourceText) -> File:
    """Parse a text that is already split into lines. Raises SatsumaError."""
    parser = _SpecParser(source)
    parser.top_level()
    return parser.file()


class _SpecParser(ArrowParser):
    """Recursive descent over the definition blocks."""

    def __init__(self, source: SourceText) -> None:
        super().__init__(source)
        self.namespace: str | None = None
        self.imports: list[Import] = []
        self.namespaces: list[Namespace] = []
        self.schemas: list[SchemaBlock] = []
        self.fragments: list[SchemaBlock] = []
        self.transforms: list[TransformBlock] = []
        self.mappings: list[MappingBlock] = []
        self.notes: list[str] = []

    def file(self) -> File:
        """The finished tree."""
        return File(
            path=self.source.file,
            imports=tuple(self.imports),
            namespaces=tuple(self.namespaces),
            schemas=tuple(self.schemas),
            fragments=tuple(self.fragments),
            transforms=tuple(self.transforms),
            mappings=tuple(self.mappings),
            notes=tuple(self.notes),
            comments=self._comments(),
        )

    def top_level(self) -> None:
        """Everything a file may hold."""
        while self.kind != END:
            if self.is_word("import"):
                self._import()
            elif self.is_word("namespace"):
                self._namespace()
            elif not self._definition():
                self.fail(f"a block ({_BLOCKS})")

    def _namespace(self) -> None:
        place = self.place()
        self.take()
        self.namespace = self.name("the namespace's name")
        self.namespaces.append(Namespace(self.namespace, self.metadata(), *place))
        self.open()
        while self.kind != "}":
            if not self._definition():
                self.fail("a schema, fragment, transform, mapping or note of the namespace, or '}'")
        self.close()
        self.namespace = None

    def _definition(self) -> bool:
        """A block that may stand at the top and in a namespace; False if there is none here."""
        if self.kind != "name":
            return False
        word = self.lexeme()
        if word == "note":
            self.notes.extend(self._note_block())
        elif word == "schema":
            self.schemas.append(self._schema())
        elif word == "fragment":
            self.fragments.append(self._schema())
        elif word == "transform":
            self.transforms.append(self._transform())
        elif word == "mapping":
            self.mappings.append(self._mapping())
        else:
            return False
        return True

    def _import(self) -> None:
        self.take()
        self.open()
        names = [self._qualified_name("a name to import")]
        while self.accept(",") and self.kind != "}":
            names.append(self._qualified_name("a name to import"))
        self.close("',' or '}'")
        if not self.is_word("from"):
            self.fail("'from'")
        self.take()
        line, column = self.place()
        self.imports.append(Import(tuple(names), self.string('the path in "…"'), line, column))

    def _qualified_name(self, what: str) -> str:
        """`name`, `` `any name` `` or `namespace::name`, as a key."""
        first = self.name(what)
        if self.accept("scope"):
            return qualified(first, self.name("a name after '::'"))
        return first

    def _head(self) -> tuple[int, str, tuple[Meta, ...]]:
        """Keyword, label and metadata: (index of the keyword's token, label, metadata)."""
        start = self.at
        keyword = self.take()
        label = self.name(f"the {keyword}'s name")
        return start, label, self.metadata()

    def _schema(self) -> SchemaBlock:
        start, label, metadata = self._head()
        self.open()
        items, notes = self._schema_body(0)
        self.close("a field, '...', a note or '}'")
        line, column = self.place(start)
        return SchemaBlock(
            name=label,
            namespace=self.namespace,
            line=line,
            column=column,
            start=self.starts[start],
            end=self.ends[self.at - 1],
            metadata=metadata,
            notes=notes,
            items=items,
        )

    def _schema_body(self, depth: int) -> tuple[tuple[Field | Spread, ...], tuple[str, ...]]:
        if depth > MAX_DEPTH:
            raise self.error(f"records are nested more than {MAX_DEPTH} deep")
        items: list[Field | Spread] = []
        notes: list[str] = []
        while True:
            kind = self.kind
            if kind == "spread":
                items.append(self._spread())
            elif kind == "name" and self.peek() == "{" and self.is_word("note"):
                notes.extend(self._note_block())
            elif self.is_word("note"):
                self.fail_reserved()
            elif kind in NAMES:
                items.append(self._field(depth))
            else:
                return tuple(items), tuple(notes)

    def _spread(self) -> Spread:
        line, column = self.place()
        return Spread(self.spread_label(), line, column)

    def _field(self, depth: int) -> Field:
        line, column = self.place()
        name = self.name("a field's name")
        is_list = self._keyword("list_of")
        if self._keyword("record"):
            metadata = self.metadata()
            end_line = self.place(self.at - 1)[0]
            self.open()
            children, _ = self._schema_body(depth + 1)
            self.close("a field, '...', a note or '}'")
            return Field(name, "record", is_list, metadata, children, line, column, end_line)
        typed = self._type()
        if is_list and not typed:
            self.fail("the type of the list's elements on the same line")
        metadata = self.metadata() if self.kind == "(" else ()
        if not typed and self.kinds[self.at - 1] != ")":
            self.fail(f"a type, 'record', 'list_of' or '(' on the line of field '{name}'")
        end_line = self.source.place(self.ends[self.at - 1] - 1)[0]
        return Field(name, typed, is_list, metadata, None, line, column, end_line)

    def _keyword(self, word: str) -> bool:
        if self.kind == "name" and self.lexeme() == word and self.same_line():
            self.at += 1
            return True
        return False

    def _type(self) -> str:
        """A type on the field's line with the arguments attached to it; '' if there is none."""
        if self.kind != "name" or not self.same_line():
            return ""
        start = self.at
        self.at += 1
        end = self.ends[start]
        if self.kind == "(" and self.attached():
            close = self.text.find(")", end)
            if close < 0:
                raise self.error("these type arguments are never closed: expected ')'")
            end = close + 1
            self.at = bisect.bisect_left(self.starts, end, self.at)
        return self.text[self.starts[start] : end]

    def _note_block(self) -> list[str]:
        self.take()
        self.open()
        alone = self.kind == "triple"
        texts = [self.string('the note\'s text in "…"')]
        while self.kind in STRINGS and not alone:
            texts.append(self.string("a text"))
        self.close("a text in quotes or '}'")
        return texts

    def _transform(self) -> TransformBlock:
        start, label, metadata = self._head()
        self.open()
        body = self.pipe_chain() if self.kind != "}" else None
        self.close()
        line, column = self.place(start)
        return TransformBlock(
            name=label,
            namespace=self.namespace,
            line=line,
            column=column,
            start=self.starts[start],
            end=self.ends[self.at - 1],
            metadata=metadata,
            notes=(),
            body=body,
        )

    def _mapping(self) -> MappingBlock:
        start = self.at
        self.take()
        label = self.name("the mapping's name") if self.kind in NAMES else None
        metadata = self.metadata()
        self.open()
        sources: list[Reference] = []
        targets: list[Reference] = []
        conditions: list[Condition] = []
        notes: list[str] = []
        arrows: list[Arrow] = []
        while self.kind != "}":
            opens = self.kind == "name" and self.peek() == "{"
            if opens and self.is_word("note"):
                notes.append("\n".join(self._note_block()))
            elif opens and self.is_word("source"):
                self._references("source", sources, conditions)
            elif opens and self.is_word("target"):
                self._references("target", targets, [])
            elif any(map(self.is_word, ("note", "source", "target"))):
                self.fail_reserved()
            else:
                arrows.append(self.arrow(0))
        self.close()
        line, column = self.place(start)
        return MappingBlock(
            name=label,
            namespace=self.namespace,
            line=line,
            column=column,
            start=self.starts[start],
            end=self.ends[self.at - 1],
            metadata=metadata,
            notes=tuple(notes),
            sources=tuple(sources),
            targets=tuple(targets),
            conditions=tuple(conditions),
            arrows=tuple(arrows),
        )

    def _references(self, side: str, found: list[Reference], conditions: list[Condition]) -> None:
        """The schemas of a `source` or `target` block, and what it says about their rows: joins and filters."""
        self.take()
        self.open()
        while True:
            line, column = self.place()
            name = None
            if self.kind in STRINGS:
                conditions.append(Condition(self.string("a text"), None, line, column))
            else:
                name = self._qualified_name(f"a schema's name in '{side}'")
                found.append(Reference(name, line, column))
            conditions.extend(
                Condition(entry.value, name, *entry.places[0])
                for entry in self.metadata()
                if entry.kind == "kv" and entry.key in ("filter", "join")
            )
            self.accept(",")
            if self.kind == "}":
                return self.close()
            if side == "target":
                self.fail("'}': a target block names one schema, a further one stands in a target block of its own")

    def _comments(self) -> tuple[Comment, ...]:
        """The `//!` and `//?` comments, each with the block that it stands in."""
        blocks: list[tuple[int, int, str, Block]] = sorted(
            (
                (block.start, block.end, kind, block)
                for kind, group in (
                    ("schema", self.schemas),
                    ("fragment", self.fragments),
                    ("transform", self.transforms),
                    ("mapping", self.mappings),
                )
                for block in group
            ),
            key=lambda entry: entry[0],
        )
        begins = [entry[0] for entry in blocks]
        found: list[Comment] = []
        for remark in self.remarks:
            line = self.source.place(remark.offset)[0]
            at = bisect.bisect_right(begins, remark.offset) - 1
            inside = at >= 0 and remark.offset < blocks[at][1]
            owner = blocks[at] if inside else None
            found.append(
                Comment(
                    kind=remark.kind,
                    text=remark.text,
                    file=self.source.file,
                    line=line,
                    block=owner[3].key if owner else None,
                    block_line=owner[3].line if owner else 0,
                    block_type=owner[2] if owner else None,
                )
            )
        return tuple(found)
