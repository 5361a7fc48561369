"""The tables of a SQL statement found by its words, not its grammar: for what `statement` cannot read; and SOQL.

Enough for SELECT, INSERT, UPDATE, DELETE, MERGE, TRUNCATE, COPY and CREATE TABLE AS, with joins, subqueries
and WITH names. Names stay as written (quotes included) for `names.table_parts`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = r'(?:"(?:[^"]|"")+"|`[^`]+`|\[[^\]]+\]|[^\s"`\[\]().,;=<>+*/|\'-]+)'
_WORDS = re.compile(rf"'(?:[^']|'')*'|--[^\n]*|/\*.*?(?:\*/|\Z)|{_NAME}(?:\s*\.\s*{_NAME})*|[(),;]", re.DOTALL)
_NO_TABLE = frozenset({"SELECT", "VALUES", "SET", "LATERAL", "UNNEST", "TABLE", "ONLY", "DUAL", "WHERE", "ON"})
_MODIFIERS = frozenset({"TABLE", "ONLY", "IF", "NOT", "EXISTS", "OVERWRITE", "IGNORE", "LOW_PRIORITY"})
_SOQL = re.compile(r"\s*SELECT\s+(?P<columns>.*?)\s+FROM\s+(?P<object>\w+)", re.IGNORECASE | re.DOTALL)
_FIELD = re.compile(r"\w+(?:\.\w+)*")


@dataclass(frozen=True, slots=True)
class Tables:
    """Table names of a statement, as written, each once, in order of appearance."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


def tables(statement: str) -> Tables:
    """The tables of a statement (or several); a text that is no SQL has none."""
    words = [word for word in _WORDS.findall(statement) if word[0] != "'" and word[:2] not in ("--", "/*")]
    common = _with_names(words)
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    for at, word in enumerate(words):
        found, is_write = _after(words, at, word.upper())
        if found and found.lower() not in common and found.upper() not in _NO_TABLE:
            (writes if is_write else reads)[found] = None
    return Tables(tuple(reads), tuple(writes))


def soql(statement: str) -> tuple[str, tuple[str, ...]]:
    """The object and the fields of a SOQL query; ("", ()) when it is none, no fields when one is more than a
    name."""
    match = _SOQL.match(statement)
    if match is None:
        return "", ()
    columns = [column.strip() for column in match["columns"].split(",")]
    plain = all(_FIELD.fullmatch(column) for column in columns)
    return match["object"], tuple(columns) if plain else ()


def _after(words: list[str], at: int, word: str) -> tuple[str, bool]:
    """The table that the keyword at `at` introduces, and whether it is written."""
    before = words[at - 1].upper() if at else ""
    if word in ("FROM", "JOIN"):
        return _table(words, at + 1), word == "FROM" and before == "DELETE"
    if word == "USING" and "MERGE" in (item.upper() for item in words[max(0, at - 6) : at]):
        return _table(words, at + 1), False
    if word in ("INTO", "UPDATE", "TRUNCATE", "COPY") and before not in ("FOR", "THEN", "KEY", "DO", "ON"):
        return _table(words, at + 1), True
    if word == "CREATE":
        upcoming = [item.upper() for item in words[at + 1 : at + 5]]
        return (_table(words, at + 2 + upcoming.index("TABLE")), True) if "TABLE" in upcoming else ("", False)
    return "", False


def _table(words: list[str], at: int) -> str:
    while at < len(words) and words[at].upper() in _MODIFIERS:
        at += 1
    if at >= len(words) or words[at] in "(),;":
        return ""
    is_call = at + 1 < len(words) and words[at + 1] == "(" and words[at - 1].upper() in ("FROM", "JOIN")
    return "" if is_call else words[at]


def _with_names(words: list[str]) -> frozenset[str]:
    """Names that WITH defines: `name AS (` and `name (columns) AS (`."""
    if not any(word.upper() == "WITH" for word in words):
        return frozenset()
    starts = {at + 1 for at, word in enumerate(words) if word == "," or word.upper() in ("WITH", "RECURSIVE")}
    return frozenset(words[at].lower() for at in starts if at + 1 < len(words) and words[at + 1].upper() in ("AS", "("))
