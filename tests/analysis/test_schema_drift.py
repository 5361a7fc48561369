"""Schema drift: what counts as a change of columns, and which changes break readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineagelog.analysis import Severity
from lineagelog.analysis.lineage.schema_drift import column_changes
from lineagelog.analysis.lineage.types import keeps_values, normal_type

from .support import ask, between, dataset, day, execution, load, run, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def test_a_removed_and_an_added_column_are_one_finding_of_all_who_saw_it(store: LogStore) -> None:
    """Writer and reader say the same in other words; the reader that sees fewer columns has no drift."""
    old, new = {"id": "INTEGER", "name": "VARCHAR"}, {"id": "INTEGER", "mail": "VARCHAR"}
    for each in range(6):
        columns = old if each < 3 else new
        spelled = {name: {"INTEGER": "int4", "VARCHAR": "text"}[kind] for name, kind in columns.items()}
        load(
            store,
            run("writer", day(each), [], [dataset("users", columns=columns)]),
            run("reader", day(each + 0.1), [dataset("users", columns=spelled)], []),
            run("narrow", day(each + 0.2), [dataset("users", columns={"id": "INTEGER"})], []),
        )
    (found,) = ask(store, "schema_drift", window(3, 6))
    assert (found.detail, found.severity, found.values["jobs"]) == (
        "+mail, -name",
        Severity.HIGH,
        ["tests/reader", "tests/writer"],
    )
    assert found.first_seen == day(3)
    assert "breaks readers: name" in found.explanation
    assert ask(store, "schema_drift", window(4, 6)) == []


def test_snaplogics_columns_without_types_do_not_drift(store: LogStore) -> None:
    """VARCHAR for every column means that no type is known; virtual datasets are not looked at."""
    for each, kind in enumerate(["VARCHAR", "VARCHAR", "INTEGER"]):
        table = dataset("mart", columns={"id": kind})
        for field in table["facets"]["schema"]["fields"]:
            field["description"] = ""
        flowing = dataset(between("Select"), columns={f"c{each}": "VARCHAR"})
        load(store, execution("nightly", day(each), [("Insert", [flowing], [table])]))
    assert ask(store, "schema_drift", window(0, 5)) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([("a", "int")], [("a", "INTEGER")], []),
        ([("a", "int"), ("b", "text")], [("b", "string"), ("a", "int4")], []),
        ([("a", "int")], [("a", "bigint")], ["a: int → bigint"]),
        ([("a", "int")], [("a", None)], []),
        ([("a", "varchar(20)")], [("a", "character varying(30)")], ["a: varchar(20) → character varying(30)"]),
        ([], [("a", "int")], ["+a"]),
    ],
)
def test_what_is_a_change(before: list, after: list, expected: list[str]) -> None:
    """Names and meanings count; order and spelling do not; an unknown type is no other type."""
    fields = [[{"name": name, "type": kind} for name, kind in side] for side in (before, after)]
    assert [str(change) for change in column_changes(*fields)] == expected


def test_nested_columns_have_dotted_names() -> None:
    """The struct's own type text, which repeats its inner columns, is not compared."""
    before = [{"name": "a", "type": "struct<x:int>", "fields": [{"name": "x", "type": "int"}]}]
    after = [{"name": "a", "type": "struct<x:int,y:int>", "fields": [*before[0]["fields"], {"name": "y"}]}]
    assert [str(change) for change in column_changes(before, after)] == ["+a.y"]


def test_what_is_no_schema_has_no_columns() -> None:
    """Producers send all sorts of things."""
    assert column_changes(None, [1, {"name": 2}, {"type": "int"}]) == []


@pytest.mark.parametrize(
    ("before", "after", "keeps"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("varchar(20)", "varchar(30)", True),
        ("varchar(30)", "varchar(20)", False),
        ("varchar(30)", "text", True),
        ("text", "varchar(30)", False),
        ("decimal(10,2)", "decimal(12,2)", True),
        ("decimal(10,2)", "decimal(10,4)", False),
        ("int", "string", False),
        ("date", "timestamp", True),
    ],
)
def test_which_types_keep_all_values(before: str, after: str, keeps: bool) -> None:
    """Wider is safe, narrower or other is not."""
    assert keeps_values(before, after) is keeps


@pytest.mark.parametrize("text", ["", "(", "array<struct<a:int>>", "int(((", "varchar(max)", "é"])
def test_odd_types_stay_as_they_are(text: str) -> None:
    """What is not understood is compared by its text."""
    assert normal_type(text) == (text.replace(" ", ""), ())
