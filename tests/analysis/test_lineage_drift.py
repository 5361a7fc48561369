"""Lineage drift: inputs and outputs that are new or gone, patience, and pipelines seen from table to table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .support import ask, between, dataset, day, execution, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def daily(job: str, days: range, inputs: list[str], outputs: list[str]) -> list[list]:
    """A run each day."""
    return [run(job, day(each), [*map(dataset, inputs)], [*map(dataset, outputs)]) for each in days]


def test_a_new_input_and_a_vanished_output_are_found_with_their_runs(store: LogStore) -> None:
    """Compared with the runs before the window; the evidence is the first run with it, or the last."""
    load(
        store,
        *daily("load", range(10), ["a"], ["x", "y"]),
        *daily("load", range(10, 14), ["a", "b"], ["x"]),
    )
    found = {finding.change: finding for finding in ask(store, "lineage_drift", window(10, 14))}
    assert set(found) == {"new input", "vanished output"}
    new, gone = found["new input"], found["vanished output"]
    assert (new.detail, new.run_ids, new.first_seen) == (
        "postgres://db:5432/b",
        (run_id_of("load", day(10)),),
        day(10),
    )
    assert gone.run_ids == (run_id_of("load", day(9)), run_id_of("load", day(12)))
    assert (gone.n, gone.values["runs_without"], str(gone.subject)) == (14, 4, "tests/load")
    assert gone.explanation.startswith("tests/load no longer has the output postgres://db:5432/y: 4 runs since run ")


def test_nothing_is_found_where_nothing_changed_or_too_little_is_known(store: LogStore) -> None:
    """A stable job, one with two runs of history, one that misses its output twice."""
    load(
        store,
        *daily("stable", range(14), ["a"], ["x"]),
        *daily("young", range(9, 11), ["a"], ["x"]),
        *daily("young", range(11, 13), ["a", "b"], ["x"]),
        *daily("twice", range(12), ["a"], ["x"]),
        *daily("twice", range(12, 14), ["a"], []),
    )
    assert ask(store, "lineage_drift", window(10, 14)) == []


def test_what_always_comes_now_and_then_has_not_vanished(store: LogStore) -> None:
    """A dataset of every fifth run is missed after more than five runs, not after three."""
    weekly = [
        run("report", day(each), [dataset("a"), *([dataset("calendar")] if each % 5 == 0 else [])], [dataset("x")])
        for each in range(20)
    ]
    load(store, *weekly)
    assert ask(store, "lineage_drift", window(10, 20)) == []
    load(store, *daily("report", range(20, 22), ["a"], ["x"]))
    (found,) = ask(store, "lineage_drift", window(10, 22))
    assert (found.change, found.detail) == ("vanished input", "postgres://db:5432/calendar")


def test_failed_and_open_runs_are_not_compared(store: LogStore) -> None:
    """A run that failed before it wrote says nothing about outputs."""
    load(
        store,
        *daily("load", range(10), ["a"], ["x"]),
        *(run("load", day(each), [dataset("a")], [], eventType="FAIL") for each in range(10, 15)),
    )
    assert ask(store, "lineage_drift", window(10, 15)) == []


def test_a_change_is_told_once_in_the_window_in_which_it_shows(store: LogStore) -> None:
    """The third run without it proves it: windows before and after that say nothing."""
    load(store, *daily("load", range(10), ["a"], ["x", "y"]), *daily("load", range(10, 20), ["a"], ["x"]))
    assert ask(store, "lineage_drift", window(9, 12)) == []
    assert len(ask(store, "lineage_drift", window(12, 13))) == 1
    assert ask(store, "lineage_drift", window(13, 20)) == []
    assert len(ask(store, "lineage_drift", window(12, 13), runs="2")) == 0
    assert len(ask(store, "lineage_drift", window(11, 12), runs="2")) == 1


def snaps(source: str, target: str, *, long: bool = False) -> list:
    """Select → Mapper → Insert, with virtual datasets between them."""
    select, mapper = between("Select", long=long), between("Mapper", long=long)
    return [
        ("Select", [dataset(source)], [dataset(select)]),
        ("Mapper", [dataset(select)], [dataset(mapper)]),
        ("Insert", [dataset(mapper)], [dataset(target)]),
    ]


@pytest.mark.parametrize("long", [False, True], ids=["as sent", "as documented"])
def test_a_pipeline_is_one_job_from_table_to_table(store: LogStore, long: bool) -> None:
    """Its Snaps' runs are one run, and virtual datasets are no inputs or outputs of it."""
    load(
        store,
        *(execution("nightly", day(each), snaps("orders", "mart", long=long)) for each in range(10)),
        *(execution("nightly", day(each), snaps("orders_v2", "mart", long=long)) for each in range(10, 14)),
    )
    found = ask(store, "lineage_drift", window(10, 14))
    assert [(finding.change, finding.detail, str(finding.subject)) for finding in found] == [
        ("new input", "postgres://db:5432/orders_v2", "SnapLogic/nightly"),
        ("vanished input", "postgres://db:5432/orders", "SnapLogic/nightly"),
    ]


def test_a_pipeline_that_is_rewired_has_other_flows(store: LogStore) -> None:
    """The tables stay, but which goes where changes: only the single Snaps tell."""

    def both(*pairs: tuple[str, str]) -> list:
        return [
            step
            for source, target in pairs
            for step in (
                (f"Select {source}", [dataset(source)], [dataset(between(source))]),
                (f"Insert {source}", [dataset(between(source))], [dataset(target)]),
            )
        ]

    load(
        store,
        *(execution("two", day(each), both(("a", "x"), ("b", "y"))) for each in range(10)),
        *(execution("two", day(each), both(("a", "y"), ("b", "x"))) for each in range(10, 14)),
    )
    found = {
        (finding.change, finding.detail.replace("postgres://db:5432/", ""))
        for finding in ask(store, "lineage_drift", window(10, 14))
    }
    assert found == {
        ("new flow", "a → y"),
        ("new flow", "b → x"),
        ("vanished flow", "a → x"),
        ("vanished flow", "b → y"),
    }
