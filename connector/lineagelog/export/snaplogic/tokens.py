"""The words of SnapLogic's expression language (JavaScript's, with `$` paths), read in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

_PUNCTUATION = (  # longest first
    *">>>= ... === !== **= <<= >>= >>> => == != <= >= && || ?? ?. ** ++ -- += -= *= /= %= << >>".split(),  # noqa: SIM905
    *"{}()[];,<>+-*/%&|^!~?:=.@",
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}

GAP = "\ufffb"
"""Where an expression stands in the text of a template."""


class TokenKind(Enum):
    """What a token is."""

    ROOT = "root"  # `$`; the name directly behind it is a token of its own, NAME
    NAME = "name"
    TEXT = "text"
    TEMPLATE = "template"
    NUMBER = "number"
    REGEX = "regex"
    MARK = "mark"
    END = "end"


@dataclass(frozen=True, slots=True)
class ExpressionToken:
    """One token: `text` is the value (of a string without quotes), `at` the offset; `parts` are a template's
    expressions."""

    kind: TokenKind
    text: str
    at: int
    parts: tuple[str, ...] = ()


class ExpressionError(ValueError):
    """The text is no expression; the message says where (offset) and what."""


def tokenize(text: str) -> tuple[list[ExpressionToken], ExpressionError | None]:
    """All tokens up to the end, or up to the first place that is no token (then with the error)."""
    tokens: list[ExpressionToken] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            at = len(text) if end < 0 else end + 2
        else:
            try:
                token, at = _token(text, at, tokens[-1] if tokens else None)
            except ExpressionError as error:
                return tokens, error
            tokens.append(token)
    tokens.append(ExpressionToken(TokenKind.END, "", len(text)))
    return tokens, None


def _token(text: str, at: int, before: ExpressionToken | None) -> tuple[ExpressionToken, int]:
    char = text[at]
    if char == "$":
        return ExpressionToken(TokenKind.ROOT, "$", at), at + 1
    if _starts_name(char):
        end = at + 1
        while end < len(text) and _in_name(text[end]):
            end += 1
        return ExpressionToken(TokenKind.NAME, text[at:end], at), end
    if char.isdecimal() or (char == "." and text[at + 1 : at + 2].isdecimal()):
        return _number(text, at)
    if char in "\"'":
        return _string(text, at)
    if char == "`":
        return _template(text, at)
    if char == "/" and _regex_may_start(before):
        return _regex(text, at)
    for mark in _PUNCTUATION:
        if text.startswith(mark, at):
            return ExpressionToken(TokenKind.MARK, mark, at), at + len(mark)
    raise ExpressionError(f"offset {at}: unexpected character {char!r}")


def _starts_name(char: str) -> bool:
    return char.isalpha() or char == "_"


def _in_name(char: str) -> bool:
    return char.isalnum() or char in "_$"


def _number(text: str, at: int) -> tuple[ExpressionToken, int]:
    end = at
    while end < len(text) and (
        text[end].isalnum() or text[end] == "." or (text[end] in "+-" and text[end - 1] in "eE")
    ):
        end += 1
    return ExpressionToken(TokenKind.NUMBER, text[at:end], at), end


def _string(text: str, at: int) -> tuple[ExpressionToken, int]:
    quote, end = text[at], at + 1
    value: list[str] = []
    while end < len(text):
        char = text[end]
        if char == quote:
            return ExpressionToken(TokenKind.TEXT, "".join(value), at), end + 1
        if char == "\\" and end + 1 < len(text):
            following = text[end + 1]
            value.append(_ESCAPES.get(following, following))
            end += 2
        else:
            value.append(char)
            end += 1
    raise ExpressionError(f"offset {at}: text without closing {quote}")


def _template(text: str, at: int) -> tuple[ExpressionToken, int]:
    """A template string: literal text, each `${...}` in it a `GAP`, its expression in `parts`."""
    end = at + 1
    literal: list[str] = []
    parts: list[str] = []
    while end < len(text):
        if text[end] == "`":
            return ExpressionToken(TokenKind.TEMPLATE, "".join(literal), at, tuple(parts)), end + 1
        if text.startswith("${", end):
            close = _closing_brace(text, end + 2)
            parts.append(text[end + 2 : close])
            literal.append(GAP)
            end = close + 1
        else:
            end += 1 if text[end] != "\\" else 2
            literal.append(text[end - 1 : end])
    raise ExpressionError(f"offset {at}: template without closing `")


def _closing_brace(text: str, at: int) -> int:
    depth = 1
    for end in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return end
    raise ExpressionError(f"offset {at}: ${{ without closing brace")


def _regex_may_start(before: ExpressionToken | None) -> bool:
    """A `/` is a division after a value, else the start of a regular expression."""
    if before is None:
        return True
    return before.kind is TokenKind.MARK and before.text not in (")", "]", "}")


def _regex(text: str, at: int) -> tuple[ExpressionToken, int]:
    end, in_class = at + 1, False
    while end < len(text) and text[end] != "\n":
        char = text[end]
        if char == "\\":
            end += 1
        elif char == "[":
            in_class = True
        elif char == "]":
            in_class = False
        elif char == "/" and not in_class:
            end += 1
            while end < len(text) and text[end].isalpha():
                end += 1
            return ExpressionToken(TokenKind.REGEX, text[at:end], at), end
        end += 1
    raise ExpressionError(f"offset {at}: regular expression without closing /")
