"""A place in the tokens of one file: look, step on, and say what was expected there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from lineagelog.export.satsuma.lexer import END, lex

if TYPE_CHECKING:
    from lineagelog.export.satsuma.text import SatsumaError, SourceText

_ESCAPED_TICK = re.compile(r"\\(.)", re.DOTALL)
STRINGS = frozenset({"string", "triple"})
NAMES = frozenset({"name", "backtick"})


class Cursor:
    """Walks over the tokens of a file; every failure names the place and what was expected."""

    def __init__(self, source: SourceText) -> None:
        tokens = lex(source)
        self.source, self.text = source, source.text
        self.kinds, self.starts, self.ends = tokens.kinds, tokens.starts, tokens.ends
        self.remarks = tokens.remarks
        self.at = 0
        self._open: list[int] = []

    @property
    def kind(self) -> str:
        """The kind of the token here."""
        return self.kinds[self.at]

    def peek(self, ahead: int = 1) -> str:
        """The kind of a token further on."""
        return self.kinds[min(self.at + ahead, len(self.kinds) - 1)]

    def lexeme(self, index: int | None = None) -> str:
        """The text of a token, by default the one here."""
        at = self.at if index is None else index
        return self.text[self.starts[at] : self.ends[at]]

    def is_word(self, word: str) -> bool:
        """Whether the token here is this bare word."""
        return self.kind == "name" and self.lexeme() == word

    def same_line(self) -> bool:
        """Whether the token here stands on the line where the one before it ends."""
        return self.at > 0 and self.text.find("\n", self.ends[self.at - 1], self.starts[self.at]) < 0

    def attached(self) -> bool:
        """Whether nothing stands between the token before and the one here."""
        return self.at > 0 and self.ends[self.at - 1] == self.starts[self.at]

    def take(self) -> str:
        """Step over the token here and return its text."""
        text = self.lexeme()
        self.at += 1
        return text

    def accept(self, kind: str) -> bool:
        """Step over the token here if it is of this kind."""
        if self.kinds[self.at] != kind:
            return False
        self.at += 1
        return True

    def expect(self, kind: str, what: str) -> str:
        """Step over a token of this kind, or fail."""
        if self.kinds[self.at] != kind:
            self.fail(what)
        return self.take()

    def open(self) -> None:
        """Step over `{` and remember it, so that a missing `}` can be told."""
        self.expect("{", "'{'")
        self._open.append(self.starts[self.at - 1])

    def close(self, what: str = "'}'") -> None:
        """Step over the `}` that belongs to the last open()."""
        self.expect("}", what)
        self._open.pop()

    def name(self, what: str) -> str:
        """Step over a bare or backticked name; the backticks are taken off."""
        if self.kind not in NAMES:
            self.fail(what)
        return untick(self.take()) if self.kind == "backtick" else self.take()

    def string(self, what: str) -> str:
        """Step over a quoted text and return what stands between its quotes."""
        if self.kind not in STRINGS:
            self.fail(what)
        return unquote(self.take())

    def place(self, index: int | None = None) -> tuple[int, int]:
        """Line and column of a token, by default of the one here."""
        return self.source.place(self.starts[self.at if index is None else index])

    def fail(self, what: str) -> NoReturn:
        """Raise the error that says what was expected here and what stands here instead."""
        raise self.error(f"expected {what}, found {self._found()}{self._hint()}")

    def fail_reserved(self) -> NoReturn:
        """Raise the error about a field whose name is the word that begins a block here."""
        word = self.lexeme()
        raise self.error(f"'{word}' begins a {word} block here; a field of that name stands in backticks: `{word}`")

    def error(self, message: str) -> SatsumaError:
        """An error at the token here."""
        if self.kind == END and self._open:
            return self.source.error(self._open[-1], f"this '{{' is never closed: {message}")
        return self.source.error(self.starts[self.at], message)

    def _found(self) -> str:
        if self.kind == END:
            return "the end of the file"
        if self.kind == "open":
            return "a quote that is never closed"
        if self.kind == "bad":
            return f"'{self.lexeme()}', which stands in quotes or backticks only"
        shown = self.lexeme()
        shown = shown if len(shown) <= 40 and "\n" not in shown else shown.split("\n")[0][:40] + "…"
        return f"'{shown}'"

    def _hint(self) -> str:
        if not self._open or self.kind == END:
            return ""
        return f" (the '{{' of line {self.source.place(self._open[-1])[0]} is still open)"


def untick(text: str) -> str:
    """A backticked name without its backticks and escapes."""
    return _ESCAPED_TICK.sub(r"\1", text[1:-1])


def unquote(text: str) -> str:
    """A quoted text without its quotes; escapes stay as they are."""
    return text[3:-3].strip() if text.startswith('"""') and len(text) >= 6 else text[1:-1]
