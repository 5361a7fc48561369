"""Parses the body of a mapping: paths, arrows, `each` and `flatten` blocks, the pipe text of transforms."""

from __future__ import annotations

from lineagelog.export.satsuma.cursor import NAMES, STRINGS
from lineagelog.export.satsuma.metadata import MetadataParser
from lineagelog.export.satsuma.text import SourceText
from lineagelog.export.satsuma.tree import Arrow, Path

MAX_ARROW_DEPTH = 64
_ATOMS = frozenset({"string", "triple", "backtick", "number", "name", "op"})
_MAP_KEYS = frozenset({"string", "name", "number", "op"})
_MAP_VALUES = frozenset({"string", "triple", "name", "number", "op"})


class ArrowParser(MetadataParser):
    """The part of the grammar that stands inside a mapping."""

    def arrow(self, depth: int) -> Arrow:
        """One arrow, or one `each` or `flatten` block with what is inside."""
        if depth > MAX_ARROW_DEPTH:
            raise self.error(f"arrows are nested more than {MAX_ARROW_DEPTH} deep")
        place = self.place()
        if self._is_block_word():
            kind = self.take()
            source = self.path("the list to iterate")
            self.expect("arrow", "'->'")
            target = self.path("the target path")
            metadata = self.metadata()
            return Arrow(kind, (source,), target, None, metadata, self._children(depth), *place)
        sources: list[Path] = []
        if self.kind != "arrow":
            sources.append(self.path("an arrow, source, target, note, each, flatten or '}'"))
            while self.accept(","):
                sources.append(self.path("a source path"))
        self.expect("arrow", "'->'")
        target = self.path("the target path")
        return self._arrow_body(tuple(sources), target, depth, place)

    def _is_block_word(self) -> bool:
        """Whether `each` or `flatten` opens a block here: a field of that name is written in backticks."""
        if not (self.is_word("each") or self.is_word("flatten")):
            return False
        if self.peek() not in (".", *NAMES):
            self.fail_reserved()
        return True

    def _arrow_body(self, sources: tuple[Path, ...], target: Path, depth: int, place: tuple[int, int]) -> Arrow:
        metadata = self.metadata()
        kind = "map" if sources else "computed"
        if self.kind != "{":
            return Arrow(kind, sources, target, None, metadata, (), *place)
        if len(sources) == 1 and self._holds_arrow():
            return Arrow("nested", sources, target, None, metadata, self._children(depth), *place)
        self.open()
        body = self.pipe_chain() if self.kind != "}" else None
        self.close("'|' or '}'")
        return Arrow(kind, sources, target, body, metadata, (), *place)

    def _children(self, depth: int) -> tuple[Arrow, ...]:
        self.open()
        children: list[Arrow] = []
        while self.kind != "}":
            children.append(self.arrow(depth + 1))
        self.close()
        return tuple(children)

    def _holds_arrow(self) -> bool:
        """Whether an arrow stands between the `{` here and its `}`: then they hold arrows, not pipe text."""
        depth, at, kinds = 0, self.at, self.kinds
        while at < len(kinds):
            kind = kinds[at]
            if kind == "arrow":
                return True
            if kind == "{":
                depth += 1
            elif kind == "}":
                depth -= 1
                if not depth:
                    return False
            at += 1
        return False

    def path(self, what: str) -> Path:
        """A path: `a.b`, `.b` (relative), `schema.b`, `namespace::schema.b`, each name maybe in backticks."""
        self.accept(".")
        names = [self.name(what)]
        namespace = None
        if self.accept("scope"):
            namespace = names[0]
            names = [self.name("a schema's name after '::'")]
        while self.kind == "." and self.attached():
            self.at += 1
            names.append(self.name("a field's name after '.'"))
        return Path(tuple(names), namespace)

    def pipe_chain(self) -> str:
        """Step over the pipe text before `}` and return it as written."""
        start = self.at
        while True:
            self._pipe_step()
            if not self.accept("|"):
                break
        return self.text[self.starts[start] : self.ends[self.at - 1]]

    def _pipe_step(self) -> None:
        if self.kind == "spread":
            self.spread_label()
        elif self.is_word("map"):
            self._map_literal()
        else:
            self._pipe_text()

    def spread_label(self) -> str:
        """Step over `...name`: a backticked or qualified name, or the bare words to the end of the line."""
        self.take()
        if self.kind == "backtick":
            return self.name("a name after '...'")
        first = self.expect("name", "a name after '...'")
        if self.accept("scope"):
            return f"{first}::{self.name('a name after ::')}"
        words = [first]
        while self.kind == "name" and self.same_line():
            words.append(self.take())
        return " ".join(words)

    def _pipe_text(self) -> None:
        start, parentheses = self.at, 0
        while True:
            kind = self.kind
            if kind in _ATOMS:
                self.at += 1
            elif kind == "@":
                self._at_reference()
            elif kind == "." and self.attached() and self.peek() in ("name", "number"):
                self.at += 1
            elif kind == "(":
                parentheses += 1
                self.at += 1
            elif parentheses and kind in (")", ","):
                parentheses -= kind == ")"
                self.at += 1
            else:
                break
        if parentheses:
            self.fail("')'")
        if self.at == start or self.kind not in ("|", "}"):
            self._fail_in_pipe()

    def _fail_in_pipe(self) -> None:
        if self.kind == "arrow":
            raise self.error("an arrow cannot stand in a transform; close the transform's '}' before it")
        if self.kind == "{":
            raise self.error("in a transform only `map { … }` opens braces")
        self.fail("a transform step, '|' or '}' (put free text in double quotes)")

    def _at_reference(self) -> None:
        """Step over `@schema.field`, `@namespace::schema.field` or one with backticked names."""
        self.take()
        self.name("a name after '@'")
        if self.accept("scope"):
            self.name("a name after '::'")
        while self.kind == "." and self.attached() and self.peek() in NAMES:
            self.at += 2

    def _map_literal(self) -> None:
        self.take()
        if self.kind != "{":
            self.fail("'{' with the entries of the value map")
        self.open()
        while self.kind != "}":
            self.map_entry()
            self.accept(",")
        self.close("a map entry or '}'")

    def map_entry(self) -> tuple[str, str]:
        """Step over `key: value` and return both as written; a bare value ends with its line."""
        start = self.at
        while self.kind in _MAP_KEYS:
            self.at += 1
        if self.at == start:
            self.fail("a map entry `key: value` or '}'")
        key = self.text[self.starts[start] : self.ends[self.at - 1]]
        self.expect(":", "':' in the map entry")
        if self.kind not in _MAP_VALUES:
            self.fail("the map entry's value")
        start = self.at
        self.at += 1
        while self.kind in ("name", "number", "op", ".") and self.same_line():
            self.at += 1
        if self.kind == ":":
            self.fail("',' between two map entries on one line")
        return key, self.text[self.starts[start] : self.ends[self.at - 1]]


class TransformReader(ArrowParser):
    """Reads a transform's text again, apart from the file that it stands in."""

    def __init__(self, body: str) -> None:
        super().__init__(SourceText.of(body, "transform"))

    def map_entries(self) -> tuple[tuple[str, str], ...] | None:
        """The entries of a body that is one `map { … }` and nothing else; None for any other body."""
        if not (self.is_word("map") and self.peek() == "{"):
            return None
        self.at += 2
        entries: list[tuple[str, str]] = []
        while self.kind != "}":
            entries.append(self.map_entry())
            self.accept(",")
        self.at += 1
        return tuple(entries) if self.kind == "end" else None

    def only_string(self) -> str | None:
        """The content of a body that is one quoted text; None for any other body."""
        if self.kind in STRINGS and self.peek() == "end":
            return self.string("a text")
        return None

    def without_comments(self) -> str:
        """The tokens as written, with one space where there was white space or a comment."""
        parts: list[str] = []
        for index in range(len(self.kinds) - 1):
            if index and self.ends[index - 1] < self.starts[index]:
                parts.append(" ")
            parts.append(" ".join(self.lexeme(index).split()) if self.kinds[index] in STRINGS else self.lexeme(index))
        return "".join(parts)


def read_path(text: str) -> Path:
    """Read a path that an engine hands over as text. Raises SatsumaError if it is none."""
    reader = ArrowParser(SourceText.of(text, "path"))
    path = reader.path("a path")
    if reader.kind != "end":
        reader.fail("the end of the path")
    return path
