"""Cuts Satsuma text into tokens; comments are set aside, so that the grammar never meets them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lineagelog.export.satsuma.text import SourceText

# A bare name may hold hyphens but not end in one, so that `a->b` is an arrow and never the name `a-`.
NAME = r"[A-Za-z_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
END = "end"
_TOKEN = re.compile(
    rf"""
    (?P<space>[ \t\f\n]+)
  | (?P<name>{NAME})
  | (?P<bracket>[{{}}(),|])
  | (?P<comment>//[^\n]*)
  | (?P<triple>\"\"\"(?:[^"]|"[^"]|""[^"])*+"?"?\"\"\")
  | (?P<string>"(?!"")(?:[^"\\]|\\.)*+"|""(?!"))
  | (?P<backtick>`(?:[^`\\\n]|\\[^\n])++`)
  | (?P<open>["`].*)
  | (?P<arrow>->)
  | (?P<spread>\.\.\.)
  | (?P<scope>::)
  | (?P<number>[0-9]+(?:\.[0-9]+)?)
  | (?P<op>>=|<=|!=|==|[<>=*/+%-])
  | (?P<mark>[:.@])
  | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Remark:
    """A `//!` warning or `//?` question of the author: its text and the offset where it begins."""

    kind: str
    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class TokenLists:
    """Parallel lists: the kind, start and end of each token; the last is `end`. A mark's kind is the mark."""

    kinds: list[str]
    starts: list[int]
    ends: list[int]
    remarks: tuple[Remark, ...]


def lex(source: SourceText) -> TokenLists:
    """Cut a text into tokens. Never fails: what is no token gets the kind `bad`, for the parser to report.

    A quote that is never closed takes the rest of the text as one token `open`; the time stays linear.
    """
    text = source.text
    kinds: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    remarks: list[Remark] = []
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind == "space":
            continue
        start, end = found.span()
        if kind == "comment":
            remark = _remark(found.group(), start)
            if remark is not None:
                remarks.append(remark)
            continue
        kinds.append(text[start] if kind == "bracket" or kind == "mark" else kind or "bad")
        starts.append(start)
        ends.append(end)
    kinds.append(END)
    starts.append(len(text))
    ends.append(len(text))
    return TokenLists(kinds, starts, ends, tuple(remarks))


def _remark(comment: str, offset: int) -> Remark | None:
    if comment.startswith("//!"):
        return Remark("warning", comment[3:].strip(), offset)
    if comment.startswith("//?"):
        return Remark("question", comment[3:].strip(), offset)
    return None
