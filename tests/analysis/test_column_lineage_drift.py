"""Column lineage drift: sources of columns that are new or lost, also through SnapLogic's Snaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineagelog.analysis import Severity

from .support import ask, between, dataset, day, execution, load, run, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def daily(days: range, feeds: dict) -> list[list]:
    """A run each day that writes the table mart."""
    return [run("load", day(each), [dataset("orders")], [dataset("mart", feeds=feeds)]) for each in days]


def test_a_column_that_nothing_feeds_any_more_is_high(store: LogStore) -> None:
    """The column is named with its former source."""
    whole = {"id": [("orders", "id")], "total": [("orders", "amount"), ("orders", "tax")]}
    load(
        store,
        *daily(range(10), whole),
        *daily(range(10, 14), {"id": [("orders", "id")], "total": [("orders", "amount")]}),
    )
    (lost,) = ask(store, "column_lineage_drift", window(10, 14))
    assert (lost.change, str(lost.subject), lost.detail, lost.severity, lost.values["still_fed"]) == (
        "lost source",
        "postgres://db:5432/mart#total",
        "postgres://db:5432/orders#tax by tests/load",
        Severity.MEDIUM,
        True,
    )
    load(store, *daily(range(14, 18), {"id": [("orders", "id")]}))
    (gone,) = ask(store, "column_lineage_drift", window(14, 18))
    assert (gone.detail, gone.severity) == ("postgres://db:5432/orders#amount by tests/load", Severity.HIGH)
    assert gone.explanation.endswith("; nothing feeds it any more.")


def test_a_new_source_and_a_constant(store: LogStore) -> None:
    """A column without input fields is fed by a constant."""
    load(store, *daily(range(5), {"id": [("orders", "id")]}), *daily(range(5, 9), {"id": []}))
    found = {finding.change: finding for finding in ask(store, "column_lineage_drift", window(5, 9))}
    assert found["new source"].detail == "no source by tests/load"
    assert "by a constant" in found["new source"].explanation
    assert found["lost source"].severity is Severity.HIGH


def test_runs_without_column_lineage_say_nothing(store: LogStore) -> None:
    """A producer that does not send the facet has not lost its columns."""
    load(
        store,
        *daily(range(10), {"id": [("orders", "id")]}),
        *(run("load", day(each), [dataset("orders")], [dataset("mart")]) for each in range(10, 15)),
    )
    assert ask(store, "column_lineage_drift", window(10, 15)) == []


def pipeline(day_number: int, source_column: str) -> list:
    """orders → Select → Mapper (renames) → mart."""
    select, mapper = between("Select"), between("Mapper", long=True)
    return execution(
        "nightly",
        day(day_number),
        [
            ("Select", [dataset("orders")], [dataset(select, feeds={"$a": [("orders", source_column)]})]),
            ("Mapper", [dataset(select)], [dataset(mapper, feeds={"b": [(select, "$a")], "fix": []})]),
            ("Insert", [dataset(mapper)], [dataset("mart", feeds={"c": [(mapper, "b")], "f": [(mapper, "fix")]})]),
        ],
    )


def test_columns_are_followed_through_a_pipeline(store: LogStore) -> None:
    """The table's column is said to come from the table's column, not from what flows between Snaps."""
    load(store, *(pipeline(each, "amount") for each in range(8)), *(pipeline(each, "net") for each in range(8, 12)))
    found = ask(store, "column_lineage_drift", window(8, 12))
    assert sorted((finding.change, str(finding.subject), finding.detail.split(" by ")[0]) for finding in found) == [
        ("lost source", "postgres://db:5432/mart#c", "postgres://db:5432/orders#amount"),
        ("new source", "postgres://db:5432/mart#c", "postgres://db:5432/orders#net"),
    ]
