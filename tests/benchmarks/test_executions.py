"""The benchmark of views and analyses: its queries by hand give the views' rows, and its planted changes are found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import psycopg
import pytest
from benchmarks.executions import BY_HAND, Pair, as_by_hand, compare, main, pairs
from benchmarks.filled import fill, forget_statistics
from benchmarks.writers import create_store

from benchmarks import executions
from tests.support import ROOT, connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.databases import NewDatabase


@pytest.fixture(scope="module")
def filled(new_database: NewDatabase) -> Iterator[psycopg.Connection]:
    """400 runs of 8 jobs."""
    with new_database() as url:
        create_store(url, executions.SCHEMA)
        with connect(url, autocommit=True) as connection:
            connection.execute(f"SET search_path TO pg_catalog, {executions.SCHEMA}, pg_temp")
            fill(connection, 400)
            yield connection


def test_every_function_and_view_for_people_is_measured() -> None:
    """Whoever adds one to views.sql adds the query that it is held against."""
    text = (ROOT / "sql" / "views.sql").read_text(encoding="utf-8")
    functions = set(re.findall(r"FUNCTION (ol_\w+)\(window_start", text)) - {"ol_pipeline_run", "ol_pipeline_dataset"}
    views = set(re.findall(r"VIEW (v_ol_\w+) AS", text)) - {"v_ol_lineage_content"}
    assert set(BY_HAND) == functions | {view for view in views if view.removeprefix("v_") not in functions}


@pytest.mark.parametrize("pair", list(pairs()), ids=lambda pair: f"{pair.name}-{pair.span}")
def test_query_by_hand_gives_the_same_rows(filled: psycopg.Connection, pair: Pair) -> None:
    """What is compared is two ways to one answer, which is not empty."""
    pair = as_by_hand(filled, pair)
    for one, other in ((pair.view, pair.by_hand), (pair.by_hand, pair.view)):
        more = filled.execute(f"SELECT count(*) FROM (({one}) EXCEPT ALL ({other})) more").fetchone()
        assert more == (0,)
    compared = compare(filled, pair, 2)
    assert compared.rows > 0
    assert compared.ratio > 0
    assert "ol_" in compared.plan


def test_other_rows_by_hand_are_an_error(filled: psycopg.Connection) -> None:
    """A ratio between different answers is none."""
    with pytest.raises(ValueError, match=r"v_ol_dataset, all: .*, by hand"):
        compare(filled, Pair("v_ol_dataset", "all", "SELECT * FROM v_ol_dataset", "SELECT 1"), 1)


def test_statistics_are_forgotten_and_nothing_brings_them_back(filled: psycopg.Connection) -> None:
    """As after a load that a moment ago filled the store."""
    known = "SELECT count(*) FROM pg_stats WHERE schemaname = %s"
    assert filled.execute(known, [executions.SCHEMA]).fetchone() != (0,)
    forget_statistics(filled)
    assert filled.execute(known, [executions.SCHEMA]).fetchone() == (0,)


@pytest.mark.long
def test_it_prints_both_tables_and_finds_what_was_planted(
    database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for each, and findings for each analysis; a store that is kept is not filled again."""
    command = ["--runs", "400", "--rounds", "1", "--keep", "--database", database_url]
    main(command)
    printed = capsys.readouterr().out
    for name in BY_HAND:
        assert f"| `{name}` | {'all' if name.startswith('v_') else 'a week'} |" in printed
    for name in ("blast_radius", "column_lineage_drift", "lineage_drift", "schema_drift"):
        (line,) = [line for line in printed.splitlines() if line.startswith(f"| `{name}`")]
        assert int(line.split("|")[2]) > 0
    assert "400 runs filled" in printed
    main(command)
    assert "filled" not in capsys.readouterr().out
