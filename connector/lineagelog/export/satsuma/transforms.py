"""What the text of a transform says: its description, the fields that it refers to, whether it is prose."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from lineagelog.export.satsuma.arrows import TransformReader
from lineagelog.export.satsuma.cursor import STRINGS, untick
from lineagelog.export.satsuma.lexer import NAME
from lineagelog.export.satsuma.metadata import prose
from lineagelog.export.satsuma.text import SatsumaError

DIRECT_COPY = "direct copy"
_PART = rf"(?:`(?:[^`\\]|\\.)+`|{NAME})"
# An `@` counts at the start, after white space or an opening mark: `user@host` and `%@x` are no references
# (the rule of the reference implementation).
_REFERENCE = re.compile(
    rf"""(?<![^\s(\[{{,;"'=:|])@(?P<first>{_PART})(?:::(?P<scoped>{_PART}))?(?P<rest>(?:\.{_PART})*)"""
)
_NAME_PART = re.compile(_PART)


@dataclass(frozen=True, slots=True)
class AtReference:
    """`@namespace::a.b` in a transform's text, its names without backticks."""

    names: tuple[str, ...]
    namespace: str | None

    def __str__(self) -> str:
        return "@" + (f"{self.namespace}::" if self.namespace else "") + ".".join(self.names)


@dataclass(frozen=True, slots=True)
class Transform:
    """What one transform's text says."""

    description: str
    references: tuple[AtReference, ...]
    is_prose: bool  # written in natural language, at least one step of it


@lru_cache(maxsize=16384)
def read_transform(body: str) -> Transform:
    """Read the text between the braces of an arrow.

    One quoted text is given without its quotes; one value map as `value map: R→retail, B→business`;
    everything else as written, without comments and with white space folded.
    """
    return Transform(_description(body), references(body), _is_prose(body))


def _is_prose(body: str) -> bool:
    """Whether a quoted text is a step of its own: arguments of functions and value maps are none."""
    reader = TransformReader(body)
    depth = 0
    for kind in reader.kinds:
        if kind in STRINGS and not depth:
            return True
        depth += (kind in ("(", "{")) - (kind in (")", "}"))
    return False


def _description(body: str) -> str:
    try:
        reader = TransformReader(body)
        entries = reader.map_entries()
        if entries is not None:
            return "value map: " + ", ".join(f"{_bare(key)}→{_bare(value)}" for key, value in entries)
        reader = TransformReader(body)
        text = reader.only_string()
        return prose(text) if text is not None else reader.without_comments()
    except SatsumaError:  # a text that another engine understood and this grammar does not
        return " ".join(body.split())


def _bare(text: str) -> str:
    quoted = len(text) >= 2 and text[0] == text[-1] == '"'
    return prose(text.strip('"') if text.startswith('"""') else text[1:-1]) if quoted else " ".join(text.split())


def references(text: str) -> tuple[AtReference, ...]:
    """The `@` references of a text in their order, each once."""
    return tuple(dict.fromkeys(reference for _, reference in located_references(text)))


def located_references(text: str) -> list[tuple[int, AtReference]]:
    """The `@` references of a text with their offsets."""
    return [(match.start(), _reference(match)) for match in _REFERENCE.finditer(text)] if "@" in text else []


def _reference(match: re.Match[str]) -> AtReference:
    first = _plain(match["first"])
    rest = tuple(_plain(part) for part in _NAME_PART.findall(match["rest"]))
    if match["scoped"] is not None:
        return AtReference((_plain(match["scoped"]), *rest), first)
    return AtReference((first, *rest), None)


def _plain(part: str) -> str:
    return untick(part) if part.startswith("`") else part
