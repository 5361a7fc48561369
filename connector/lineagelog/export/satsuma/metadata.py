"""Parses `( )` metadata, and reads lists, references and texts out of its values."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

from lineagelog.export.satsuma.cursor import STRINGS, Cursor, unquote, untick
from lineagelog.export.satsuma.lexer import NAME
from lineagelog.export.satsuma.tree import Meta

if TYPE_CHECKING:
    from collections.abc import Iterator

# A bare one of these behind a value almost always means a forgotten comma, so it never belongs to the value
# (language specification 7.1, tag value boundaries).
_NEVER_VALUES = frozenset({"note", "enum", "slice", "pk", "required", "unique", "indexed", "pii", "encrypt"})
_VALUE_KINDS = frozenset({"string", "triple", "backtick", "number", "op", ".", ":", "scope", "@"})
_ITEM = re.compile(rf'"(?:[^"\\]|\\.)*"|`[^`]*`|[^,{{}}"`]+|{NAME}')


class MetadataParser(Cursor):
    """The part of the grammar that stands in parentheses."""

    def metadata(self) -> tuple[Meta, ...]:
        """The entries of a metadata block; nothing if there is none here."""
        if not self.accept("("):
            return ()
        entries: list[Meta] = []
        if self.accept(")"):
            return ()
        while True:
            entries.append(self._entry())
            comma = self.accept(",")
            if self.accept(")"):
                return tuple(entries)
            if not comma:
                self.fail("',' or ')' in the metadata")

    def _entry(self) -> Meta:
        key = self.expect("name", "a metadata tag")
        if key in ("enum", "slice") and self.kind != "{":
            self.fail(f"'{{' with the values of '{key}'")
        if key == "note":
            return Meta("note", key, self.string('the note\'s text in "…"'))
        if key in ("enum", "slice"):
            return Meta(key, key, values=split_list(self._braces()))
        start = self.at
        while self._value_part():
            pass
        if self.at == start:
            return Meta("tag", key)
        value = self.text[self.starts[start] : self.ends[self.at - 1]]
        places = tuple(self.source.place(self.starts[start] + offset) for offset in _item_offsets(value))
        if self.at - start == 1 and self.kinds[start] in STRINGS:
            value = unquote(value)
        elif self.at - start == 1 and self.kinds[start] == "backtick":
            value = untick(value)
        return Meta("kv", key, value, places=places)

    def _value_part(self) -> bool:
        """Step over one part of a value; False where the value ends."""
        kind = self.kind
        if kind == "{":
            self._braces()
        elif (kind == "name" and self._continues_value()) or kind in _VALUE_KINDS:
            self.at += 1
        else:
            return False
        return True

    def _continues_value(self) -> bool:
        """Whether the bare word here belongs to the value: on the tag's line, or in a dotted reference."""
        if self.kinds[self.at - 1] in (".", "scope", "@") and self.attached():
            return True
        if self.lexeme() in _NEVER_VALUES:
            return False
        following = self.at + 1
        dotted = self.kinds[following] in (".", "scope") and self.ends[self.at] == self.starts[following]
        return dotted or self.same_line()

    def _braces(self) -> str:
        """Step over `{a, b}` and return it as written."""
        start = self.starts[self.at]
        self.open()
        if self.kind == "}":
            self.fail("a value in the list")
        while self.kind in _VALUE_KINDS or self.kind == "name":
            while self.kind in _VALUE_KINDS or self.kind == "name":
                self.at += 1
            self.accept(",")
        self.close("',' or '}'")
        return self.text[start : self.ends[self.at - 1]]


def split_list(value: str) -> tuple[str, ...]:
    """The items of `{a, "b c"}` without their quotes; a value without braces is one item."""
    text = value.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return (text,) if text else ()
    return tuple(item[1:-1] if item[:1] in ('"', "`") else item for item, _ in _items(text))


def _items(braced: str) -> Iterator[tuple[str, int]]:
    """The items of `{a, "b c"}` as written, each with its offset."""
    for found in _ITEM.finditer(braced, 1, len(braced) - 1):
        item = found.group().strip()
        if item:
            yield item, found.start() + len(found.group()) - len(found.group().lstrip())


def _item_offsets(value: str) -> list[int]:
    if not (value.startswith("{") and value.endswith("}")):
        return [0]
    return [offset for _, offset in _items(value)]


def prose(text: str) -> str:
    """A note as people read it: the indentation of its lines and the escapes of its quotes taken off."""
    return inspect.cleandoc(text.replace('\\"', '"')).strip()


def tags(metadata: tuple[Meta, ...]) -> frozenset[str]:
    """The bare tags: entries without a value."""
    return frozenset(entry.key for entry in metadata if entry.kind == "tag")


def has(metadata: tuple[Meta, ...], key: str) -> bool:
    """Whether an entry with this key is there, with or without a value."""
    return any(entry.key == key for entry in metadata if entry.kind in ("tag", "kv"))


def value_of(metadata: tuple[Meta, ...], key: str) -> str | None:
    """The value of the first entry with this key; None if there is no such entry or it has no value."""
    for entry in metadata:
        if entry.kind == "kv" and entry.key == key:
            return entry.value
    return None


def values_of(metadata: tuple[Meta, ...], key: str) -> tuple[str, ...]:
    """The items of all entries with this key: `{a, b}` gives two, a plain value one."""
    return tuple(
        item for entry in metadata if entry.kind == "kv" and entry.key == key for item in split_list(entry.value)
    )


def note_of(metadata: tuple[Meta, ...]) -> str | None:
    """The text of the notes in the metadata, cleaned; None without one."""
    texts = [prose(entry.value) for entry in metadata if entry.kind == "note"]
    return "\n\n".join(text for text in texts if text) or None
