"""Rewrites what sqlglot cannot parse, or takes for an unknown command, into what means the same and can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

QUOTED: Final = frozenset({"STRING", "IDENTIFIER", "HEREDOC_STRING", "RAW_STRING", "NATIONAL_STRING"})


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one statement, the line on which it begins in the whole, and its words."""

    text: str
    line: int
    dialect: str | None
    tokens: Sequence[Any] = ()
    words: Sequence[str] = field(default=())
    """Each token in upper case; a string or quoted name is an empty one, so that it is taken for no keyword."""


def eased(piece: Piece) -> Iterator[Any]:
    """The statement as sqlglot can parse it: as a text, or made."""
    for ease in _EASINGS:
        if piece.words and (made := ease(piece)):
            yield from made
            return
    yield piece.text


def _replaced(piece: Piece, first: int, text: str, last: int | None = None) -> str:
    """The piece with the tokens from `first` up to `last` exchanged for a text."""
    offset = piece.tokens[0].start
    end = piece.tokens[first if last is None else last].end + 1 - offset
    return piece.text[: piece.tokens[first].start - offset] + text + piece.text[end:]


def _replace_into(piece: Piece) -> list[Any]:
    """MySQL's and SQLite's REPLACE is an INSERT."""
    words = piece.words
    if words[0] == "WITH" and piece.dialect in ("mysql", "sqlite"):
        starts = (at for at in range(len(words) - 1) if words[at] == "REPLACE" and words[at + 1] == "INTO")
        at = next(starts, -1)
        return [_replaced(piece, at, "INSERT")] if at > 0 else []
    if words[0] != "REPLACE" or len(words) < 2:
        return []
    last = 1 if words[1] in ("LOW_PRIORITY", "DELAYED") else 0
    into = "" if words[last + 1] == "INTO" else " INTO"
    return [_replaced(piece, 0, f"INSERT{into}", last)]


def _as_pivot(piece: Piece) -> list[Any]:
    """DuckDB's CREATE … AS PIVOT …, which sqlglot reads after FROM only."""
    words = piece.words
    for at in range(1, len(words)):
        if words[at] in ("PIVOT", "UNPIVOT") and words[at - 1] == "AS" and words[0] == "CREATE":
            return [_replaced(piece, at, f"FROM ({words[at]}") + ")"]
    if words[0] in ("PIVOT", "UNPIVOT"):
        return [f"FROM ({piece.text})"]
    return []


def _delete_from_from(piece: Piece) -> list[Any]:
    """SQL Server's DELETE FROM alias FROM table AS alias."""
    if tuple(piece.words[:2]) == ("DELETE", "FROM") and len(piece.words) > 4 and piece.words[3] == "FROM":
        return [_replaced(piece, 1, "")]
    return []


def _output(piece: Piece) -> list[Any]:
    """SQL Server's OUTPUT … INTO table writes a second table with rows of the first."""
    words, tokens = piece.words, piece.tokens
    if words[0] not in ("INSERT", "UPDATE", "DELETE") or "OUTPUT" not in words or piece.dialect != "tsql":
        return []
    at = words.index("OUTPUT")
    end = next((end for end in range(at + 1, len(words)) if words[end] in _AFTER_OUTPUT), len(words))
    if at + 1 >= len(words) or words[at + 1] not in ("INSERTED", "DELETED", "$"):
        return []
    main = _replaced(piece, at, "", end - 1)
    into = next((into for into in range(at, end) if words[into] == "INTO"), 0)
    if not into:
        return [main]
    offset = tokens[0].start
    first = 2 if words[1] in ("FROM", "INTO") else 1
    last = next(last for last in range(first, at + 1) if words[last] in ("SET", "(", "OUTPUT"))
    table = piece.text[tokens[first].start - offset : tokens[last - 1].end + 1 - offset]
    if last == first + 1:
        table = _aliased_in(piece, words[first], end) or table
    values = piece.text[tokens[at + 1].start - offset : tokens[into].start - offset]
    place = piece.text[tokens[into + 1].start - offset : tokens[end - 1].end + 1 - offset]
    rows = [each for each in ("INSERTED", "DELETED") if each in words[at:into]]
    source = " CROSS JOIN ".join(f"{table} AS {each}" for each in rows)
    second = f"INSERT INTO {place} SELECT {values} FROM {source}"
    return [second, main] if "DELETED" in rows else [main, second]


def _aliased_in(piece: Piece, alias: str, start: int) -> str:
    """The table that FROM gives an alias to, "" if it gives it to none."""
    words, offset = piece.words, piece.tokens[0].start
    for at in range(start + 2, len(words)):
        name = at - 2 if words[at - 1] == "AS" else at - 1
        first = name
        while words[first - 1] == ".":
            first -= 2
        if words[at] == alias and words[first - 1] in ("FROM", "JOIN", ","):
            return piece.text[piece.tokens[first].start - offset : piece.tokens[name].end + 1 - offset]
    return ""


def _directory(piece: Piece) -> list[Any]:
    """Spark's INSERT OVERWRITE DIRECTORY '/place' USING format OPTIONS (…) SELECT …"""
    words = list(piece.words)
    if words[:2] != ["INSERT", "OVERWRITE"] or "DIRECTORY" not in words[2:4] or "USING" not in words[4:6]:
        return []
    using = words.index("USING")
    query = next((at for at in range(using, len(words)) if words[at] in ("SELECT", "WITH", "FROM", "VALUES")), 0)
    return [_replaced(piece, using, "", query - 1)] if query else []


def _unload(piece: Piece) -> list[Any]:
    """UNLOAD ('SELECT …') TO 'place' of Redshift and Athena is a COPY of a query to a file."""
    import sqlglot
    from sqlglot import exp

    words, tokens = piece.words, piece.tokens
    if words[0] != "UNLOAD":
        return []
    close = next((at for at in range(2, len(words) - 2) if (words[at], words[at + 1]) == (")", "TO")), 0)
    if not close or tokens[close + 2].token_type.name != "STRING":
        return []
    offset = tokens[0].start
    is_text = close == 3 and tokens[2].token_type.name in QUOTED
    inner = tokens[2].text if is_text else piece.text[tokens[2].start - offset : tokens[close].start - offset]
    query = sqlglot.parse_one(inner, dialect=piece.dialect)
    place = exp.Literal.string(tokens[close + 2].text)
    return [exp.Copy(this=exp.Subquery(this=query), kind=False, files=[place])]


def _append_from(piece: Piece) -> list[Any]:
    """Redshift's ALTER TABLE a APPEND FROM b moves the rows of b."""
    words, tokens = piece.words, piece.tokens
    at = next((at for at in range(3, len(words) - 2) if tuple(words[at : at + 2]) == ("APPEND", "FROM")), 0)
    if tuple(words[:2]) != ("ALTER", "TABLE") or not at:
        return []
    offset = tokens[0].start
    ends = next((end for end in range(at + 2, len(words)) if words[end] in ("IGNOREEXTRA", "FILLTARGET")), len(words))
    to = piece.text[tokens[2].start - offset : tokens[at].start - offset]
    source = piece.text[tokens[at + 2].start - offset : tokens[ends - 1].end + 1 - offset]
    return [f"INSERT INTO {to} SELECT * FROM {source}", f"TRUNCATE TABLE {source}"]


def _infile(piece: Piece) -> list[Any]:
    """MySQL's LOAD DATA INFILE 'file' INTO TABLE t."""
    from sqlglot import exp

    words, tokens = list(piece.words), piece.tokens
    if words[:1] != ["LOAD"] or "INFILE" not in words or "TABLE" not in words:
        return []
    at, table = words.index("INFILE") + 1, words.index("TABLE") + 1
    end = table + 1
    while end + 1 < len(words) and words[end] == ".":
        end += 2
    offset = tokens[0].start
    name = piece.text[tokens[table].start - offset : tokens[end - 1].end + 1 - offset]
    return [exp.LoadData(this=exp.to_table(name, dialect=piece.dialect), inpath=exp.Literal.string(tokens[at].text))]


def _outfile(piece: Piece) -> list[Any]:
    """MySQL's SELECT … INTO OUTFILE 'file' …"""
    import sqlglot
    from sqlglot import exp

    words, tokens = list(piece.words), piece.tokens
    at = next((at for at in range(len(words) - 2) if words[at] == "INTO" and words[at + 1] in _TO_FILE), 0)
    if not at:
        return []
    offset = tokens[0].start
    go_on = words.index("FROM", at) if "FROM" in words[at:] else len(words)
    rest = piece.text[tokens[go_on].start - offset :] if go_on < len(words) else ""
    query = sqlglot.parse_one(piece.text[: tokens[at].start - offset] + rest, dialect=piece.dialect)
    place = exp.Literal.string(tokens[at + 2].text)
    return [exp.Copy(this=exp.Subquery(this=query), kind=False, files=[place])]


_AFTER_OUTPUT: Final = ("VALUES", "SELECT", "WHERE", "FROM", "WITH", "DEFAULT", "EXEC", "EXECUTE")
_TO_FILE: Final = ("OUTFILE", "DUMPFILE")
_EASINGS: Final[tuple[Callable[[Piece], list[Any]], ...]] = (
    _replace_into,
    _as_pivot,
    _delete_from_from,
    _output,
    _directory,
    _unload,
    _append_from,
    _infile,
    _outfile,
)
