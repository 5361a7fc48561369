"""Whether a transform masks what flows through it: said by whole words and function names, never by names of fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lineagelog.export.satsuma.arrows import TransformReader
from lineagelog.export.satsuma.cursor import STRINGS
from lineagelog.export.satsuma.lexer import END

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WORD = (
    r"mask(?:s|ed|ing)?|redact(?:s|ed|ing|ion)?|hash(?:es|ed|ing)?|md5|sha-?\d*|hmac|"
    r"encrypt(?:s|ed|ing|ion)?|tokeni[sz](?:es?|ed|ing|ation)|anonymi[sz](?:es?|ed|ing|ation)|"
    r"pseudonymi[sz](?:es?|ed|ing|ation)"
)
_WHOLE = re.compile(rf"(?<![\w.@])(?:{_WORD})(?![\w-]|\.\w)", re.IGNORECASE)
_PART = re.compile(_WORD, re.IGNORECASE)
_APART = re.compile(r"`[^`]*`|@[\w:.-]+")
# The last word of what is a name, as in `mask_id`; `mask_email` and `hash_sha256` are functions.
_NOUNS = frozenset(
    ["id", "ids", "key", "keys", "code", "codes", "flag", "flags", "type", "types", "name", "names", "value", "date"]
)


def masks(body: str, names: frozenset[str], spread: Callable[[str], str | None]) -> bool:
    """Whether the text between the braces of an arrow masks.

    `names` are the fields that the text may name; `spread` gives the text of a named transform.
    """
    seen: set[str] = set()
    waiting = [body]
    while waiting:
        reader = _Reader(waiting.pop())
        for word in reader.words():
            if word.kind == "spread":
                if word.text not in seen:
                    seen.add(word.text)
                    waiting.append(spread(word.text) or "")
            elif word.text in names and not word.calls:
                continue
            elif (word.kind == "prose" and _in_prose(word.text, names)) or (word.kind == "name" and _names_it(word)):
                return True
    return False


def _in_prose(text: str, names: frozenset[str]) -> bool:
    """Whether a quoted text has one of the words, apart from references and names of fields."""
    plain = _APART.sub(" ", text)
    return any(found.group() not in names for found in _WHOLE.finditer(plain))


class _Word:
    """A piece of a transform: `prose`, a `name` (and whether it is called, or begins its step), or a `spread`."""

    __slots__ = ("calls", "first", "kind", "text")

    def __init__(self, kind: str, text: str, *, first: bool = False, calls: bool = False) -> None:
        self.kind, self.text, self.first, self.calls = kind, text, first, calls


def _names_it(word: _Word) -> bool:
    if _PART.fullmatch(word.text):
        return True
    parts = word.text.split("_")
    is_function = word.calls or (word.first and parts[-1].lower() not in _NOUNS)
    return is_function and any(_PART.fullmatch(part) for part in parts)


class _Reader(TransformReader):
    """Walks over a transform; value maps and the quoted arguments of functions are data and say nothing."""

    def words(self) -> Iterator[_Word]:
        """The pieces that may say that it masks."""
        depth, first = 0, True
        while self.kind != END:
            kind, at = self.kind, self.at
            self.at += 1
            if kind == "{":
                self._skip_braces()
            elif kind == "spread":
                yield _Word("spread", self._spread_name())
            elif kind in STRINGS and not depth:
                yield _Word("prose", self.lexeme(at))
            elif kind == "name" and not self._is_part_of_path(at):
                calls = self.kind == "(" and self.attached()
                if calls or not depth:
                    yield _Word("name", self.lexeme(at), first=first, calls=calls)
            depth += (kind == "(") - (kind == ")")
            first = kind == "|"

    def _skip_braces(self) -> None:
        open_braces = 1
        while open_braces and self.kind != END:
            open_braces += (self.kind == "{") - (self.kind == "}")
            self.at += 1

    def _spread_name(self) -> str:
        if self.kind == "backtick":
            return self.name("a name after '...'")
        words: list[str] = []
        while self.kind in ("name", "scope") and (not words or self.same_line()):
            words.append(self.take())
        return " ".join(words).replace(" :: ", "::")

    def _is_part_of_path(self, at: int) -> bool:
        """Whether the name belongs to `@a.b`, `a.b` or `a::b`."""
        joined = (".", "scope", "@")
        before = at and self.kinds[at - 1] in joined and self.ends[at - 1] == self.starts[at]
        after = self.kinds[at + 1] in joined and self.ends[at] == self.starts[at + 1]
        return bool(before or after)
