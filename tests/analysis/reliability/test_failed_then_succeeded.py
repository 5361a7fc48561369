"""Retries: of the same turn, within the same parent, or sooner than usual; the next turn is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..support import ask, day, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def attempt(job: str, at: float, outcome: str, **facets: Any) -> list[Any]:
    """A run with facets."""
    run_id = run_id_of(job, day(at))
    return run(job, day(at), [], [], eventType=outcome, run={"runId": run_id, "facets": facets})


def nominal(at: float) -> dict[str, str]:
    """A nominal time facet."""
    return {"nominalStartTime": day(at).isoformat()}


def parent(run_id: str) -> dict[str, Any]:
    """A parent facet."""
    return {"run": {"runId": run_id}, "job": {"namespace": "tests", "name": "dag"}}


def test_the_ways_a_retry_is_known(store: LogStore) -> None:
    """By nominal time, by parent, by distance; all failures before it count."""
    load(
        store,
        attempt("nominal", 1, "FAIL", nominalTime=nominal(0)),
        attempt("nominal", 2, "COMPLETE", nominalTime=nominal(0)),
    )
    load(store, attempt("parent", 1, "FAIL", parent=parent("p")), attempt("parent", 2, "COMPLETE", parent=parent("p")))
    load(store, *(attempt("soon", each, "COMPLETE") for each in range(8)))
    load(store, attempt("soon", 8, "FAIL"), attempt("soon", 8.1, "FAIL"), attempt("soon", 8.2, "COMPLETE"))
    found = {each.subject.name: each for each in ask(store, "failed_then_succeeded", window(0, 10))}
    assert set(found) == {"nominal", "parent", "soon"}
    soon = found["soon"]
    assert (soon.observed, soon.n, soon.severity) == ("2 failures, and success on retry once", 11, "low")
    assert soon.values["lost_seconds"] == 1200
    assert list(soon.run_ids) == [run_id_of("soon", day(each)) for each in (8.2, 8.1, 8)]


def test_a_run_that_began_again(store: LogStore) -> None:
    """It failed, was started once more under its id, and completed; one that failed and completed at once did not."""
    for job, kinds in {"again": ("START", "FAIL", "START", "COMPLETE"), "both": ("START", "FAIL", "COMPLETE")}.items():
        start, _ = attempt(job, 1, "COMPLETE")
        load(
            store,
            [{**start, "eventType": kind, "eventTime": day(1 + at / 24).isoformat()} for at, kind in enumerate(kinds)],
        )
    (found,) = ask(store, "failed_then_succeeded", window(0, 10))
    assert (found.subject.name, found.values["lost_seconds"], found.n) == ("again", 3600, 1)
    assert found.explanation == "tests/again failed and succeeded on retry once in 1 run; the failures took 1 h."


def test_the_next_turn_is_no_retry(store: LogStore) -> None:
    """A daily job that fails on one day and succeeds on the next; a nominal time of another day."""
    letters = ["COMPLETE"] * 5 + ["FAIL"] + ["COMPLETE"] * 5
    load(store, *(attempt("daily", each, outcome, nominalTime=nominal(each)) for each, outcome in enumerate(letters)))
    load(store, attempt("never", 3, "FAIL"), attempt("never", 3.1, "FAIL"))
    assert ask(store, "failed_then_succeeded", window(0, 12)) == []


def test_what_happens_often_matters_more(store: LogStore) -> None:
    """Three retries in few runs."""
    for each in range(6):
        load(store, attempt("job", each, "FAIL" if each % 2 else "COMPLETE"))
        if each % 2:
            load(store, attempt("job", each + 0.1, "COMPLETE"))
    (found,) = ask(store, "failed_then_succeeded", window(0, 12))
    assert (found.severity, found.values["retried"], found.n) == ("medium", 3, 9)
