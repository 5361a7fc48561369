"""The questions of docs/queries.md: asked of the example events, and the Python beside them run as it stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from lineagelog.errors import InputError
from lineagelog.read import Run, query_table, rows_table

from .queries_page import DAY, PAGE, QUESTIONS, answer, load_examples, page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineagelog.store import Database, LogStore
    from tests.databases import NewDatabase


@pytest.fixture(scope="module")
def examples(new_database: NewDatabase) -> Iterator[tuple[Database, str]]:
    """A store of the example events, and its address."""
    from lineagelog.store import Database, LogStore, open_engine

    with new_database() as url:
        database = Database(open_engine(url))
        store: LogStore = LogStore(database)
        store.create()
        load_examples(store)
        yield database, url
        database.dispose()


def test_twenty_questions_have_their_answers(examples: tuple[Database, str]) -> None:
    """As the page has them; run `python -m tests.docs.queries_page`, and read what it changed."""
    database, _ = examples
    text = PAGE.read_text(encoding="utf-8")
    assert [int(number) for number, _ in QUESTIONS.findall(text)] == list(range(1, 21))
    assert text.count("```sql\n") == text.count("```text\n") == 20
    assert page(text, database) == text


def test_answers_are_what_the_examples_tell(examples: tuple[Database, str]) -> None:
    """examples/README.md says it of the day: what failed, what never ended, and which results were bad."""
    database, _ = examples
    queries = dict(
        zip(range(1, 21), re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL), strict=True)
    )
    failed = [line.split(" | ")[1] for line in answer(queries[2], database).splitlines()[1:]]
    assert sorted(failed) == [
        "dbt-run-kestrel_shop",
        "kestrel_shop.mart_daily_revenue.test",
        "shop_ingest.extract_payments",
    ]
    assert [line.split(" | ")[0] for line in answer(queries[5], database).splitlines()[1:]] == ["returns_scoring.score"]
    bad = {line.split(" | ")[2]: line.split(" | ")[3] for line in answer(queries[20], database).splitlines()[1:]}
    assert bad == {"warn": "COMPLETE", "error": "FAIL"}
    for way in ("landing/orders", "dwh.silver.orders"):
        assert any(way in line for line in answer(queries[15], database).splitlines())


def test_the_python_of_the_page_runs(examples: tuple[Database, str]) -> None:
    """Arrow, pandas and polars: what failed, the slowest runs, and the failure that a retry made good."""
    _, url = examples
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {"url": url}
    exec(code, names)
    failed, runs, slowest, retries = (names[name] for name in ("failed", "runs", "slowest", "retries"))
    assert failed.column("n").to_pylist() == [1, 1, 1]  # type: ignore[attr-defined]
    assert len(runs) == 38  # type: ignore[arg-type]
    assert slowest.took.is_monotonic_decreasing  # type: ignore[attr-defined]
    assert retries["subject_name"].to_list() == ["shop_ingest.extract_payments"]  # type: ignore[index]
    names["database"].dispose()  # type: ignore[attr-defined]


def test_tables_of_nothing_and_what_a_query_may_not(examples: tuple[Database, str]) -> None:
    """No rows have their columns still; a variable without a value is named; nothing is written."""
    database, _ = examples
    empty = rows_table(Run, [])
    assert (empty.num_rows, empty.column_names[:3]) == (0, ["run_id", "job_namespace", "job_name"])
    assert str(empty.schema.field("first_event_time").type) == "timestamp[us, tz=UTC]"
    with pytest.raises(InputError, match="variable 'job' without a value"):
        query_table(database, "SELECT :'job'", DAY)
    assert query_table(database, "SELECT :'job'::text AS job", DAY, {"job": "it's"}).to_pylist() == [{"job": "it's"}]
    with pytest.raises(Exception, match="read-only"):
        query_table(database, "DELETE FROM ol_run RETURNING run_id", DAY)
