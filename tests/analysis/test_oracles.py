"""The SQL against the same rules written plainly in Python, on logs that hypothesis makes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import EXAMPLES

from .support import DATABASE, ask, between, dataset, day, execution, load, run, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore

names = st.sets(st.sampled_from("abcd"), max_size=3)


def empty(store: LogStore) -> None:
    """All examples use one database."""
    with store.engine.begin() as connection:
        connection.exec_driver_sql("SET LOCAL search_path TO openlineage")
        connection.exec_driver_sql("TRUNCATE ol_event, ol_run, ol_run_dataset")
    store.forget()


def expected_drift(days: list[set[str]], first: int, patience: int) -> set[tuple[str, str]]:
    """What is new or has vanished in the days from ``first`` on, of what each day had."""
    found = set()
    for thing in set().union(*days):
        seen = [number for number, had in enumerate(days, 1) if thing in had]
        if seen[0] > patience and seen[0] > first:
            found.add(("new", thing))
        longest = max([patience, *(later - sooner for sooner, later in pairwise(seen))])
        proof = seen[-1] + longest
        if proof <= len(days) and len(seen) >= patience and proof > first:
            found.add(("vanished", thing))
    return found


@settings(max_examples=EXAMPLES * 2)
@given(
    days=st.lists(names, min_size=1, max_size=12),
    first=st.integers(0, 11),
    patience=st.integers(1, 4),
    as_pipeline=st.booleans(),
)
def test_lineage_drift_keeps_its_rules(
    store: LogStore, days: list[set[str]], first: int, patience: int, as_pipeline: bool
) -> None:
    """The same findings, whether one run reads everything or a pipeline has a Snap for each input."""
    empty(store)
    for number, inputs in enumerate(days):
        if as_pipeline:
            snaps = [(f"S{name}", [dataset(name)], [dataset(between(name))]) for name in sorted(inputs)]
            end = ("End", [dataset(between(name)) for name in sorted(inputs)], [dataset("out")])
            load(store, execution("job", day(number), [*snaps, end]))
        else:
            load(store, run("job", day(number), [dataset(name) for name in inputs], [dataset("out")]))
    found = ask(store, "lineage_drift", window(first, 99), runs=str(patience))
    kinds = {(*finding.change.split(), finding.values["dataset_name"]) for finding in found}
    assert {(change, name) for change, kind, name in kinds if kind == "input"} == expected_drift(days, first, patience)
    assert {kind for _, kind, _ in kinds} <= {"input"}


def expected_depths(runs: list[tuple[int, set[str], set[str]]], start: int) -> dict[str, int]:
    """How deep each dataset lies, all ways tried: reads of bad data at or after its write, in steps."""
    bad, depths = {("a", start)}, {"a": 0}
    for depth in range(1, 12):
        written = {
            (name, max(since, at))
            for at, inputs, outputs in runs
            for source, since in bad
            if source in inputs and at >= since
            for name in outputs
        }
        for name, _ in written:
            depths.setdefault(name, depth)
        bad = written
    return depths


@settings(max_examples=EXAMPLES * 2)
@given(
    runs=st.lists(st.tuples(st.integers(0, 8), names, names), min_size=1, max_size=10),
    start=st.integers(0, 5),
)
def test_blast_radius_reaches_what_all_ways_reach(
    store: LogStore, runs: list[tuple[int, set[str], set[str]]], start: int
) -> None:
    """Going on from the earliest way only loses no dataset and no step."""
    empty(store)
    for number, (at, inputs, outputs) in enumerate(runs):
        started, ended = run(f"job{number}", day(at), [*map(dataset, inputs)], [*map(dataset, outputs)])
        load(store, [{**ended, "eventTime": started["eventTime"]}])
    found = ask(store, "blast_radius", window(start, 99), dataset="a", dataset_namespace=DATABASE)
    depths = {"a": 0}
    for finding in found:
        if finding.subject.kind == "dataset":
            depths[finding.subject.name] = min(finding.values["depth"], depths.get(finding.subject.name, 99))
    assert depths == expected_depths(runs, start)
