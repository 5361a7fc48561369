"""Root cause: what went wrong first, upstream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.errors import InputError

from .support import DATABASE, ask, dataset, day, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.analysis import Finding
    from lineagelog.store import LogStore

MART = {"dataset": "mart", "dataset_namespace": DATABASE}


def written(name: str, rows: int | None = 100, **more: Any) -> dict[str, Any]:
    """An output with its rows."""
    statistics = {} if rows is None else {"outputStatistics": {"rowCount": rows}}
    return {**dataset(name, **more), "outputFacets": statistics}


def chain(number: int, *, rows: int = 100, mart_rows: int = 100, extract: str = "COMPLETE") -> list[list]:
    """A night: extract writes raw, clean makes middle of it, build makes mart; other writes what nobody here reads."""
    landed = [written("raw")] if extract == "COMPLETE" else []
    return [
        run("extract", day(number), [dataset("source")], landed, eventType=extract),
        run("clean", day(number + 0.1), [dataset("raw")], [written("middle", rows)]),
        run("build", day(number + 0.2), [dataset("middle")], [written("mart", mart_rows)]),
        run("other", day(number + 0.05), [dataset("raw")], [written("elsewhere")], eventType="FAIL"),
    ]


def told(found: list[Finding]) -> list[tuple]:
    """Job, what happened, steps."""
    return [(each.values["job_name"], each.change, each.values["depth"]) for each in found]


def test_the_failure_that_came_first_is_the_cause(store: LogStore) -> None:
    """What follows from it comes after it, though it is nearer; what fails beside the way is none."""
    load(store, *(each for number in range(8) for each in chain(number)))
    load(store, *chain(8, rows=0, mart_rows=10, extract="FAIL"))
    found = ask(store, "root_cause", window(8, 9), **MART)
    assert told(found) == [("extract", "failed", 3), ("clean", "no rows", 2), ("build", "few rows", 1)]
    extract, clean, build = found
    # 9 x 0.9^2; 9 / 2 x 0.9; 3 / 3
    assert [each.score for each in found] == [7.29, 4.05, 1.0]
    assert extract.explanation == (
        "tests/extract failed once, 3 steps upstream, first at 2026-03-09 00:00 UTC, and nothing upstream of it went "
        "wrong before."
    )
    assert clean.explanation == (
        "tests/clean wrote no rows to postgres://db:5432/middle, once, 2 steps upstream, first at 2026-03-09 02:24 "
        "UTC, after tests/extract, upstream of it, failed once."
    )
    assert build.values["after"] == ["tests/extract", "tests/clean"]
    assert [(each.subject.kind, each.subject.name, each.severity) for each in found] == [
        ("job", "extract", "high"),
        ("dataset", "middle", "high"),
        ("dataset", "mart", "medium"),
    ]
    assert list(extract.run_ids) == [run_id_of("extract", day(8))]
    assert [each.values["rank"] for each in found] == [1, 2, 3]
    assert told(ask(store, "root_cause", window(8, 9), depth="2", **MART)) == [
        ("clean", "no rows", 2),
        ("build", "few rows", 1),
    ]
    by_run = ask(store, "root_cause", window(8, 9), run_id=run_id_of("build", day(8.2)).upper())
    assert told(by_run) == [("extract", "failed", 2), ("clean", "no rows", 1)]


def test_what_came_later_than_the_bad_run_is_no_cause(store: LogStore) -> None:
    """A job is asked for its last failure; a retry in time heals a failure, and is told as such."""
    load(store, *(each for number in range(8) for each in chain(number)))
    load(store, run("extract", day(8), [], [], eventType="FAIL"), run("extract", day(8.05), [], [written("raw")]))
    load(store, run("clean", day(8.1), [dataset("raw")], [written("middle")]))
    load(store, run("build", day(8.2), [dataset("middle")], [], eventType="FAIL"))
    load(store, run("extract", day(8.5), [], [], eventType="FAIL"), run("build", day(8.6), [], [written("mart")]))
    (healed,) = ask(store, "root_cause", window(8, 9), job="build", job_namespace="tests")
    assert (healed.severity, healed.values["is_healed"], healed.values["times"]) == ("low", True, 1)
    assert healed.explanation == (
        "tests/extract failed once, 2 steps upstream, first at 2026-03-09 00:00 UTC, but completed in time."
    )


def test_missing_late_tested_and_changed(store: LogStore) -> None:
    """The other things that go wrong, each from its hand-worked history."""
    for number in range(9):
        schema = {"a": "int"} if number < 8 else {"a": "text"}
        feeds = {"a": [("daily", "x" if number < 8 else "y")]}
        results = [{"assertion": "not_null", "column": "a", "success": number != 8}]
        checked = {**dataset("daily"), "inputFacets": {"dataQualityAssertions": {"assertions": results}}}
        late = 0.9 if number == 8 else 0.0
        inputs = [checked] if number < 8 else [checked, dataset("new")]
        load(store, run("build", day(number + late), inputs, [written("mart", columns=schema, feeds=feeds)]))
        if number < 6:
            load(store, run("early", day(number), [], [written("daily")]))
    found = {each.change: each for each in ask(store, "root_cause", window(6, 9), **MART)}
    assert set(found) == {"missing", "late", "test failed", "schema", "column lineage", "inputs"}
    assert found["missing"].subject.name == "early"
    assert found["missing"].first_seen == day(6)
    assert found["late"].first_seen == day(8.9)
    assert (found["test failed"].subject.kind, found["test failed"].subject.test) == ("test", "not_null")
    assert found["schema"].subject.name == "mart"
    assert ask(store, "root_cause", window(0, 6), **MART) == []


def test_names_of_one_dataset_are_one_and_circles_end(store: LogStore) -> None:
    """Written by a path, read by the name that a symlink gives it; a job that reads what comes of it is no riddle."""
    path = dataset("/warehouse/orders")
    path["facets"]["symlinks"] = {"identifiers": [{"namespace": "hive", "name": "shop.orders", "type": "TABLE"}]}
    table = {**dataset("shop.orders"), "namespace": "hive"}
    load(store, run("load", day(1), [dataset("mart")], [path]), run("load", day(2), [], [], eventType="ABORT"))
    load(store, run("build", day(2.5), [table], [dataset("mart")]))
    assert told(ask(store, "root_cause", window(1, 9), **MART)) == [("load", "aborted", 2)]
    assert told(ask(store, "root_cause", window(1, 9), dataset="shop.orders", dataset_namespace="hive")) == [
        ("load", "aborted", 1)
    ]


def test_it_starts_with_one_thing(store: LogStore) -> None:
    """A dataset, a job or a run; of what is not known there is nothing to say."""
    for values in ({}, {"dataset": "a", "job": "b"}):
        with pytest.raises(InputError, match="give one of them"):
            ask(store, "root_cause", window(0, 9), **values)
    assert ask(store, "root_cause", window(0, 9), job="nobody's") == []
