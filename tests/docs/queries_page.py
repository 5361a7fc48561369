"""Writes the answers into docs/queries.md, from the example events: `python -m tests.docs.queries_page`."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lineagelog.event.parse import parse
from lineagelog.read import Window, query_table
from tests.support import ROOT

if TYPE_CHECKING:
    from lineagelog.store import Database, LogStore

PAGE = ROOT / "docs" / "queries.md"
DAY = Window(datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC))
_QUESTION = re.compile(r"(?<=```sql\n)(.*?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL)
QUESTIONS = re.compile(r"^### (\d+)\. (.+)$", re.MULTILINE)


def load_examples(store: LogStore) -> None:
    """The example events, into an empty store."""
    for file in sorted((ROOT / "examples").glob("*.ndjson")):
        store.append([parse(line) for line in file.read_bytes().splitlines()])


def page(text: str, database: Database) -> str:
    """The page with its answers renewed."""
    return _QUESTION.sub(lambda match: f"{match[1]}```\n\n```text\n{answer(match[1], database)}```\n", text)


def answer(query: str, database: Database) -> str:
    """Rows as lines."""
    table = query_table(database, query, DAY)
    lines = [table.column_names, *([_shown(value) for value in row.values()] for row in table.to_pylist())]
    return "".join(f"{' | '.join(line)}\n" for line in lines)


def _shown(value: object) -> str:
    return "" if value is None else str(value)


def _write() -> None:
    from benchmarks.__main__ import database
    from benchmarks.writers import create_store

    from lineagelog.store import Database, LogStore, open_engine

    with database(None) as (url, _):
        create_store(url, "examples")
        store = Database(open_engine(url), "examples")
        load_examples(LogStore(store))
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), store), encoding="utf-8")
        store.dispose()


if __name__ == "__main__":
    _write()
