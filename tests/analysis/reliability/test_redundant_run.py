"""Redundant runs: the same versions, or the same again out of turn; steady jobs with steady figures are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..support import ask, dataset, day, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def table(name: str, rows: int | None = None, version: str | None = None) -> Any:
    """A dataset with a row count and a version."""
    entry = dataset(name)
    if rows is not None:
        entry["facets"]["dataQualityMetrics"] = {"rowCount": rows}
    if version is not None:
        entry["facets"]["version"] = {"datasetVersion": version}
    return entry


def test_equal_versions_of_all_inputs(store: LogStore) -> None:
    """Whenever it runs: what it reads has not changed since, and it wrote as much."""
    for each, version in enumerate("aabbbc"):
        load(store, run("job", day(each), [table("in", 5, version)], [table("out", 5)]))
        load(store, run("half", day(each), [table("in", 5, version), table("other", 5)], [table("out", 5)]))
    (found,) = ask(store, "redundant_run", window(0, 9))
    assert (found.subject.name, found.observed, found.severity) == ("job", "3 of 6 runs", "low")
    assert found.values["lost_seconds"] == 1800
    assert list(found.run_ids) == [run_id_of("job", day(each)) for each in (4, 3, 1)]


def test_the_same_again_out_of_turn(store: LogStore) -> None:
    """Soon after the one before; with other rows, without statistics, or on its turn it is no rerun."""
    for each in range(6):
        load(store, run("steady", day(each), [table("in", 50)], [table("out", 50)]))
        load(store, run("again", day(each), [table("in", each)], [table("out", each)]))
        load(store, run("more", day(each), [table("in", each)], [table("out", each)]))
        load(store, run("blind", day(each), [table("in")], [table("out")]))
    load(store, run("again", day(5.1), [table("in", 5)], [table("out", 5)]))
    load(store, run("more", day(5.1), [table("in", 5)], [table("out", 6)]))
    load(store, run("blind", day(5.1), [table("in")], [table("out")]))
    (found,) = ask(store, "redundant_run", window(0, 9))
    assert (found.subject.name, list(found.run_ids)) == ("again", [run_id_of("again", day(5.1))])
