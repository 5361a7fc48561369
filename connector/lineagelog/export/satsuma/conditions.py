"""The fields that decide which rows a mapping takes: those that its joins and filters name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineagelog.export.satsuma.lexer import NAME
from lineagelog.export.satsuma.metadata import prose
from lineagelog.export.satsuma.transforms import AtReference, located_references

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineagelog.export.satsuma.columns import Table
    from lineagelog.export.satsuma.tree import Condition, Mapping

_MARKS = (
    ("JOIN", r"join(?:s|ed|ing)?|on"),
    ("FILTER", r"filter(?:s|ed|ing)?|where|only|exclud(?:es?|ed|ing)|having"),
    ("GROUP_BY", r"group(?:s|ed|ing)?\s+by"),
    ("SORT", r"(?:order|sort)(?:s|ed|ing)?\s+by"),
)
_MARK = re.compile(rf"(?<![\w.@])(?:{'|'.join(f'(?P<{name}>{words})' for name, words in _MARKS)})(?!\w)", re.IGNORECASE)
_QUALIFIED = re.compile(rf"(?<![\w.@:`])(?:({NAME})::)?({NAME}(?:\.{NAME})+)(?![\w(])")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_BARE = re.compile(rf"(?<![\w.@:]){NAME}(?:\.{NAME})*(?![\w(:])")


@dataclass(frozen=True, slots=True)
class Named:
    """What a condition names: a reference and how it is used (JOIN, FILTER, …); `sure` if it must be a field."""

    reference: AtReference
    use: str
    sure: bool


def named_in(condition: Condition, mapping: Mapping) -> Iterator[Named]:
    """The references of a condition's text: `@a.b`, and `a.b` where `a` is a source of the mapping."""
    text = condition.text
    usual = "FILTER" if condition.schema is not None or len(mapping.sources) < 2 else "JOIN"
    for offset, reference in located_references(text):
        yield Named(reference, _use(text, offset, usual), sure=True)
    known = {key.rpartition("::")[2] for key in mapping.sources}
    for found in _QUALIFIED.finditer(text):
        names = tuple(found[2].split("."))
        if names[0] in known:
            yield Named(AtReference(names, found[1]), _use(text, found.start(), usual), sure=False)


def bare_fields(text: str, table: Table, inside: str = "") -> Iterator[str]:
    """The paths of the bare fields that a filter names; `inside` is the list that it stands on, if it does."""
    plain = _QUOTED.sub(lambda found: " " * len(found.group()), text)
    for found in _BARE.finditer(plain):
        nested = f"{inside}.{found.group()}" if inside else found.group()
        if nested in table.fields:
            yield nested


def description(condition: Condition) -> str:
    """The text as people read it."""
    return prose(condition.text)


def _use(text: str, offset: int, usual: str) -> str:
    """The use that the last mark before an offset announces."""
    marks = [mark.lastgroup for mark in _MARK.finditer(text, 0, offset)]
    return marks[-1] or usual if marks else usual
