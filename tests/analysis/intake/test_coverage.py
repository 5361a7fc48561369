"""Coverage: the share of things with a facet, by producer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from lineagelog.event.parse import parse

from ..support import answer, dataset, day, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def test_shares_and_what_is_lacking(store: LogStore) -> None:
    """Of the events that end a run; a deleted facet and one that is null are none; other producers stand apart."""
    table, bare = dataset("t", columns={"a": "int"}), dataset("u")
    bare["facets"]["schema"] = {"_deleted": True}
    bare["outputFacets"] = {"outputStatistics": {"rowCount": 1}}
    for each in range(4):
        facets = (
            {"parent": {"run": {"runId": "p"}, "job": {"namespace": "", "name": "p"}}} if each else {"parent": None}
        )
        load(store, run("j", day(each), [table], [bare], run={"runId": run_id_of("j", day(each)), "facets": facets}))
    other = {"eventTime": day(1).isoformat(), "producer": "other", "dataset": table}
    store.append([parse(orjson.dumps(other))])
    results = {each.subject.name: each.properties for each in answer(store, "coverage", window(0, 9)).told.results}
    assert results["https://example.invalid/tests"] == {
        "inputs": "4", "jobs": "4", "outputs": "4", "runs": "4",
        "input.schema": "100.0", "output.outputStatistics": "100.0", "run.parent": "75.0",
        "lacks": "run.nominalTime, job.jobType, output.schema, output.columnLineage",
    }  # fmt: skip
    assert results["other"] == {"datasets": "1", "dataset.schema": "100.0"}


def test_facets_of_any_shape_are_passed_over(store: LogStore) -> None:
    """Where an object should be and is none."""
    for number, shape in enumerate([None, 1, "x", [], [1], {"schema": 3}, {"schema": None}]):
        table = {**dataset("t"), "facets": shape, "inputFacets": shape, "outputFacets": shape}
        load(store, run(f"j{number}", day(number), [table], [table]))
    (result,) = answer(store, "coverage", window(0, 9)).told.results
    assert result.properties["inputs"] == "7"
    assert "input.schema" not in result.properties
