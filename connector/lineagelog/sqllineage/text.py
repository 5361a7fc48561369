"""The statements of a text, each parsed for itself, so that one that is not understood takes no other with it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from .easing import QUOTED, Piece, eased

if TYPE_CHECKING:
    from sqlglot import exp

_MARK: Final = re.compile(r"lineagelog_template_(\d+)_", re.IGNORECASE)
_TEMPLATES: Final = re.compile(
    r"(?P<gone>\{#.*?#\}|\{\{-?\s*config\s*\(.*?\}\}|\{%(?P<word>.*?)%\})|\{\{.*?\}\}|\$\{[^{}]*\}|\{\w+\}", re.DOTALL
)
_BRANCHES: Final = re.compile(r"-?\+?\s*(?:if|elif|else|for)\b")
_NO_BLOCK: Final = frozenset({";", "", "TRAN", "TRANSACTION", "WORK", "ISOLATION", "READ", "DEFERRED", "IMMEDIATE"})
_NO_END: Final = frozenset({"IF", "LOOP", "WHILE", "FOR", "REPEAT"})


class Templates:
    """Placeholders of Jinja, Hive and Python's `format`: each becomes a mark that stands for a name or a value."""

    def __init__(self, text: str) -> None:
        self.texts: list[str] = []
        self.has_branches = False
        self.sql = _TEMPLATES.sub(self._mark, text)

    def _mark(self, found: re.Match[str]) -> str:
        if found["gone"]:
            self.has_branches |= bool(_BRANCHES.match(found["word"] or ""))
            return "\n" * found[0].count("\n") or " "
        self.texts.append(found[0])
        return f"lineagelog_template_{len(self.texts) - 1}_"

    def shown(self, text: str) -> str:
        """A text with the placeholders as they were written."""
        return _MARK.sub(lambda found: self.texts[int(found[1])], text)

    @staticmethod
    def is_in(name: str) -> bool:
        """Whether a placeholder is part of a name."""
        return _MARK.search(name) is not None

    @staticmethod
    def valued(node: exp.Expr) -> exp.Expr:
        """A placeholder that stands alone is a value, not a column of some table."""
        from sqlglot import exp

        alone = isinstance(node, exp.Column) and not node.table and _MARK.fullmatch(node.name)
        return exp.Placeholder(this=node.name) if alone else node


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """One statement of a text: parsed, or the problem with it."""

    number: int
    line: int
    beginning: str = ""
    parsed: exp.Expr | None = None
    problem: Exception | None = None

    def told(self, what: str) -> str:
        """A sentence about this statement."""
        return f"statement {self.number} (line {self.line}): {what}"


def statements(sql: str, dialect: str | None) -> Iterator[SqlStatement]:
    """The statements of a text, in order; never raises for one that cannot be parsed."""
    for number, piece in enumerate(_pieces(sql, dialect), 1):
        try:
            with _quiet():
                parsed = list(_parsed(piece))
        except Exception as problem:
            if piece.words[:1] != ["DECLARE"] or "SELECT" in piece.words:  # variables of Oracle
                yield SqlStatement(number, piece.line, _beginning(piece.text), problem=problem)
            continue
        for each in parsed:
            yield SqlStatement(number, piece.line, _beginning(piece.text), each)


def _beginning(text: str) -> str:
    """The first words of a statement, to name it by."""
    words = text.split()
    return " ".join(words[:4])[:60] + (" …" if len(words) > 4 else "")


def _parsed(piece: Piece) -> Iterator[exp.Expr]:
    import sqlglot

    for text in eased(piece):
        for each in sqlglot.parse(text, dialect=piece.dialect) if isinstance(text, str) else [text]:
            if each is not None:
                yield each


class _Quiet(logging.Filter):
    """Keeps sqlglot from logging what it cannot parse: here that is told, and a statement may hold credentials."""

    asked: ContextVar[bool] = ContextVar("asked", default=False)

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002
        """Whether the record may pass."""
        return not self.asked.get()


@contextmanager
def _quiet() -> Iterator[None]:
    log = logging.getLogger("sqlglot")
    if not any(isinstance(each, _Quiet) for each in log.filters):
        log.addFilter(_Quiet())
    before = _Quiet.asked.set(True)
    try:
        yield
    finally:
        _Quiet.asked.reset(before)


def _pieces(sql: str, dialect: str | None) -> list[Piece]:
    from sqlglot.errors import TokenError

    try:
        tokens = _tokenized(sql, dialect)
    except TokenError:
        return _pieces_by_lines(sql, dialect)
    return list(_cut(sql, tokens, 1, dialect))


def _tokenized(sql: str, dialect: str | None) -> Sequence[Any]:
    """All tokens; sqlglot's own tokenizer takes the rest of a command it does not know for one string."""
    tokens: Sequence[Any] = _tokenizer(dialect).tokenize(sql)
    return tokens


@cache
def _tokenizer_class(dialect: str | None) -> Any:
    from sqlglot.dialects.dialect import Dialect

    known = Dialect.get_or_raise("trino" if dialect == "athena" else dialect)  # Athena's is two in one
    return known, type("_Plain", (known.tokenizer_class,), {"COMMANDS": set()})


def _tokenizer(dialect: str | None) -> Any:
    known, made = _tokenizer_class(dialect)
    return made(known)


def _pieces_by_lines(sql: str, dialect: str | None) -> list[Piece]:
    """Where a quote is open: semicolons at the end of a line end a statement."""
    from sqlglot.errors import TokenError

    found: list[Piece] = []
    line = 1
    for text in re.split(r"(?<=;)(?=[ \t]*(?:\n|\Z))", sql):
        try:
            found += _cut(text, _tokenized(text, dialect), line, dialect)
        except TokenError:
            found.append(Piece(text, line + text[: len(text) - len(text.lstrip())].count("\n"), dialect))
        line += text.count("\n")
    return found


def _cut(sql: str, tokens: Sequence[Any], line: int, dialect: str | None) -> Iterator[Piece]:
    """Cut at semicolons (and SQL Server's GO), but not within BEGIN … END."""
    words = ["" if token.token_type.name in QUOTED else token.text.upper() for token in tokens]
    for blocks in (True, False):
        ends, depth = _ends(tokens, words, blocks=blocks)
        if depth == 0:
            break
    start = 0
    for end in [*ends, len(tokens)]:
        if tokens[start:end]:
            text = sql[tokens[start].start : tokens[end - 1].end + 1]
            first = line + tokens[start].line - 1
            yield from _unwrapped(Piece(text, first, dialect, tokens[start:end], words[start:end]), line)
        start = end + 1


def _ends(tokens: Sequence[Any], words: Sequence[str], *, blocks: bool) -> tuple[list[int], int]:
    """Where statements end, and how many blocks are still open after the last."""
    ends: list[int] = []
    depth = 0
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        alone = (at == 0 or tokens[at - 1].line < tokens[at].line) and (
            at + 1 == len(words) or tokens[at + 1].line > tokens[at].line
        )
        if (word == ";" and depth == 0) or (word == "GO" and alone):
            ends.append(at)
        elif blocks and (word == "CASE" or (word == "BEGIN" and after not in _NO_BLOCK)):
            depth += 1
        elif blocks and word == "END" and depth and after not in _NO_END:
            depth -= 1
    return ends, depth


def _unwrapped(piece: Piece, line: int) -> Iterator[Piece]:
    """The statements within an anonymous block."""
    inside = len(piece.words) > 2 and piece.words[0] == "BEGIN" and piece.words[1] not in _NO_BLOCK
    if not inside or "END" not in piece.words:
        yield piece
        return
    last = len(piece.words) - 1 - list(reversed(piece.words)).index("END")
    offset = piece.tokens[0].start
    first = 2 if piece.words[1] in ("TRY", "CATCH", "ATOMIC") else 1
    inner, words = piece.tokens[first:last], piece.words[first:last]
    ends, _ = _ends(inner, words, blocks=True)
    start = 0
    for end in [*ends, len(inner)]:
        if inner[start:end]:
            text = piece.text[inner[start].start - offset : inner[end - 1].end + 1 - offset]
            first_line = line + inner[start].line - 1
            yield from _unwrapped(Piece(text, first_line, piece.dialect, inner[start:end], words[start:end]), line)
        start = end + 1
