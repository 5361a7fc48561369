"""Incomplete lifecycles: each rule, told once per job, and what breaks none."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ..support import ask, day, execution, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore

ERROR = {"errorMessage": {"message": "out of memory", "programmingLanguage": "JAVA"}}


def event(job: str, kind: str, at: float, *, of: str = "", **facets: Any) -> dict[str, Any]:
    """One event of the run of ``job``, or of a run with the id of another job's."""
    start, _ = run(job, day(0), [], [])
    run_id = run_id_of(of or job, day(0))
    return {**start, "eventType": kind, "eventTime": day(at).isoformat(), "run": {"runId": run_id, "facets": facets}}


def child_of(job: str) -> dict[str, Any]:
    """A parent facet."""
    return {"parent": {"run": {"runId": run_id_of(job, day(0))}, "job": {"namespace": "tests", "name": job}}}


def lifecycle(job: str, *kinds: str, **facets: Any) -> list[dict[str, Any]]:
    """Events one after the other, facets on the last."""
    return [event(job, kind, at / 100, **(facets if kind is kinds[-1] else {})) for at, kind in enumerate(kinds)]


def test_each_rule(store: LogStore) -> None:
    """With its severity."""
    load(store, lifecycle("error", "START", "COMPLETE", **ERROR))
    load(store, lifecycle("both", "START", "FAIL", "COMPLETE"), lifecycle("both too", "START", "COMPLETE", "FAIL"))
    load(store, lifecycle("headless", "RUNNING", "COMPLETE"), lifecycle("backwards", "COMPLETE", "START"))
    load(store, [event("one", "START", 0), event("one", "COMPLETE", 1)])
    load(store, [event("other", "START", 0, of="one"), event("other", "COMPLETE", 1, of="one")])
    load(store, [event("dag", "START", 0), event("dag", "COMPLETE", 1)])
    load(store, lifecycle("task", "START", "FAIL", **child_of("dag")))
    found = {(each.subject.name, each.change): each for each in ask(store, "incomplete_lifecycle", window(0, 9))}
    assert {key: each.severity.value for key, each in found.items()} == {
        ("error", "error_in_complete"): "high",
        ("both", "fail_and_complete"): "high",
        ("both too", "fail_and_complete"): "high",
        ("headless", "no_start"): "low",
        ("backwards", "ends_before_start"): "medium",
        ("one", "shared_run_id"): "medium",
        ("dag", "failed_child"): "medium",
    }
    shared = found["one", "shared_run_id"]
    assert shared.values["jobs"] == ["tests/one", "tests/other"]
    assert shared.explanation == "tests/one and tests/other have one run id, in 1 run."
    assert found["error", "error_in_complete"].explanation == "tests/error: 1 run of 1 completed with an error."


def test_what_contradicts_nothing(store: LogStore) -> None:
    """A run that failed and was started again, also with an error; a task that succeeded later; Snaps; open runs."""
    load(store, lifecycle("again", "START", "FAIL", "START", "COMPLETE"))
    load(store, [event("cleared", "START", 0), event("cleared", "FAIL", 0.1, **ERROR)])
    load(store, [event("cleared", "START", 0.2), event("cleared", "COMPLETE", 0.3)])
    load(store, [event("dag", "START", 0), event("dag", "COMPLETE", 1)])
    load(store, lifecycle("task", "START", "FAIL", **child_of("dag")))
    retry = run("task", day(0.5), [], [])[1]
    retry["run"]["facets"] = child_of("dag")
    load(store, [{**retry, "eventType": "START", "eventTime": (day(0.5) - timedelta(minutes=1)).isoformat()}, retry])
    load(store, execution("pipeline", day(0), [("Select", [], []), ("Insert", [], [])]), lifecycle("open", "START"))
    assert ask(store, "incomplete_lifecycle", window(0, 9)) == []


def test_a_rule_is_told_once_per_job(store: LogStore) -> None:
    """With up to ten runs, the newest first; what began outside of the window is not looked at."""
    load(store, *([run("load", day(each), [], [])[1]] for each in range(14)))
    (found,) = ask(store, "incomplete_lifecycle", window(0, 9))
    assert (found.observed, found.n) == ("9 runs of 9", 9)
    assert list(found.run_ids) == [run_id_of("load", day(each)) for each in range(8, -1, -1)]
