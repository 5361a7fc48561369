"""SQL laid out to be read: the same tokens, on lines that fit a page."""

from __future__ import annotations

import pytest

from lineagelog.store import LogStoreSchema
from lineagelog.store.definition.layout import WIDTH, laid_out
from lineagelog.store.definition.schema import sql_named
from tests.support import ROOT


@pytest.mark.parametrize("name", ["upsert_run", "upsert_run_dataset", "insert_event", "runs_in_window"])
def test_only_white_space_is_changed(name: str) -> None:
    """Of our longest statements; and no line is longer than a page is wide."""
    statement = sql_named(getattr(LogStoreSchema("openlineage"), name)())
    text = laid_out(statement)
    assert "".join(text.split()) == "".join(statement.split())
    assert max(map(len, text.splitlines())) <= WIDTH


def test_quotes_are_left_alone() -> None:
    """White space, commas, parentheses and words in texts and names are theirs."""
    long = ", ".join(f"'a  ( FROM {number}, b'  || \"c  AND\"" for number in range(20))
    text = laid_out(f"SELECT {long} FROM t")
    assert text.count("'a  ( FROM ") == 20
    assert text.count('"c  AND"') == 20


def test_files_are_to_be_read() -> None:
    """No line of sql/ is longer than 160 characters."""
    for file in (ROOT / "sql").rglob("*.sql"):
        assert all(len(line) <= 160 for line in file.read_text(encoding="utf-8").splitlines()), file
