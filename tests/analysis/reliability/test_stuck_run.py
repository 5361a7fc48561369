"""Stuck runs: hung, orphaned, without an end; streaming jobs and young ones are none."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ..support import answer, day, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore

AS_OF = window(10, 20)


def begun(job: str, at: float, *, parent: tuple[str, float] | None = None, streaming: bool = False) -> list[Any]:
    """A run that sent its START only; the parent is a job and the day that its run began."""
    start, _ = run(job, day(at), [], [])
    if parent is not None:
        name, when = parent
        facet = {"run": {"runId": run_id_of(name, day(when))}, "job": {"namespace": "tests", "name": name}}
        start["run"] = {**start["run"], "facets": {"parent": facet}}
    if streaming:
        facet = {"processingType": "STREAMING", "integration": "FLINK", "jobType": "JOB"}
        start["job"] = {**start["job"], "facets": {"jobType": facet}}
    return [start]


def daily(job: str, days: range) -> list[list]:
    """Runs of ten minutes."""
    return [run(job, day(each), [], []) for each in days]


def test_the_three_verdicts(store: LogStore) -> None:
    """Hung: nothing followed. Orphan: its parent has ended. Lost end: later runs have ended, or none ever does."""
    load(store, *daily("hung", range(19)), begun("hung", 19))
    load(store, *daily("orphan", range(9)), *daily("dag", range(20)), begun("orphan", 19, parent=("dag", 19)))
    load(store, *daily("lost", range(20)), begun("lost", 11.5))
    load(store, *(begun("rdd", 11 + each / 10) for each in range(40)))
    found = {each.subject.name: each for each in answer(store, "stuck_run", AS_OF).findings}
    assert {name: (each.change, each.severity) for name, each in found.items()} == {
        "hung": ("HUNG", "high"),
        "orphan": ("ORPHAN", "medium"),
        "lost": ("LOST_END", "low"),
        "rdd": ("LOST_END", "low"),
    }
    assert (found["hung"].observed, found["hung"].n, found["hung"].upper) == ("open for 1 d", 19, 900.0)
    assert list(found["hung"].run_ids) == [run_id_of("hung", day(19))]
    assert found["rdd"].values["stuck"] == 40
    assert found["rdd"].explanation == (
        "40 runs of tests/rdd have not ended, the last one for 5 d 2 h: no run of the job has ended."
    )


def test_what_is_not_stuck(store: LogStore) -> None:
    """Streaming jobs, the first run of a job, what may still take its time, and what ended later than looked at."""
    load(store, begun("stream", 11, streaming=True), begun("stream", 12, streaming=True))
    load(store, *daily("slow", range(19)), begun("slow", 20 - 0.01))
    load(store, *daily("fine", range(19)))
    told = answer(store, "stuck_run", AS_OF)
    assert (told.findings, told.told.insufficient) == ((), 0)
    load(store, begun("young", 12))
    told = answer(store, "stuck_run", AS_OF)
    assert (told.findings, told.told.insufficient) == ((), 1)
    assert answer(store, "stuck_run", AS_OF, floor="9 days").told.insufficient == 0


def test_the_clock_decides(store: LogStore) -> None:
    """A run that ended after the clock was open by then; nothing that came later counts."""
    start, end = run("job", day(19), [], [])
    late = {**end, "eventTime": (day(19) + timedelta(hours=5)).isoformat()}
    load(store, *daily("job", range(19)), [start, late])
    (found,) = answer(store, "stuck_run", window(10, 19.1)).findings
    assert found.change == "HUNG"
    assert answer(store, "stuck_run", AS_OF).findings == ()
