"""Analyses over what no producer should send, and some do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .support import ask, between, dataset, day, execution, load, run, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore

HUGE = "varchar(" + "9" * 5000 + ")"
"""Python refuses to read an integer of so many digits."""
NOTHING: list[Any] = [None, 0, "x", True, [], {}, [1], [None], [[]], [{}], [{"name": None}], {"c": None}, {"c": []}]
SCHEMAS: list[Any] = [
    [{"name": "c", "type": kind, "fields": fields}]
    for kind in ({"a": 1}, [], 5, HUGE)
    for fields in ("x", [None], [{"name": "d", "type": HUGE}])
]
FEEDS: list[Any] = [
    {"c": {"inputFields": inputs}}
    for inputs in (None, {}, 1, [None], [1], ["x"], [[]], [{}], [{"name": "t"}], [{"namespace": {}, "name": [1]}])
]


def test_facets_of_any_shape_are_read(store: LogStore) -> None:
    """No shape of schema and columnLineage breaks an analysis, for jobs and for pipelines."""
    for number, value in enumerate([*NOTHING, *SCHEMAS, *FEEDS, *NOTHING]):
        for each in range(3):
            at = day(number / 10 + each / 100)
            facets = {"schema": {"fields": value}, "columnLineage": {"fields": value, "dataset": value}}
            table, flowing = dataset("t") | {"facets": facets}, dataset(between("S")) | {"facets": facets}
            load(store, run("j", at, [table], [table]))
            load(store, execution("p", at, [("S", [dataset("source")], [flowing]), ("I", [flowing], [table])]))
    for name in ("schema_drift", "column_lineage_drift", "lineage_drift"):
        found = ask(store, name, window(0, 50))
        assert bool(found) is (name != "lineage_drift")
        assert len({each.finding_id for each in found}) == len(found)


def test_jobs_that_feed_the_same_column_have_findings_of_their_own(store: LogStore) -> None:
    """Column lineage is a job's: the ids of what is said of two jobs differ."""
    for each in range(10):
        feeds = {"c": [("a" if each < 5 else "b", "x")]}
        for job in ("one", "two"):
            load(store, run(job, day(each), [], [dataset("t", feeds=feeds)]))
    found = ask(store, "column_lineage_drift", window(3, 10))
    assert len({each.finding_id for each in found}) == len(found) == 4
