"""Blast radius: bad data followed from run to run in the order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineagelog.errors import InputError

from .support import DATABASE, ask, between, dataset, day, execution, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.analysis import Finding
    from lineagelog.store import LogStore


def step(job: str, at: float, inputs: str, outputs: str) -> list:
    """A run; datasets are single letters."""
    return run(job, day(at), [*map(dataset, inputs)], [*map(dataset, outputs)])


def steps(found: list[Finding]) -> list[tuple]:
    """Depth, job, from, to."""
    return [
        (each.values["depth"], each.values["job_name"], each.values["from_name"],
         each.subject.name if each.subject.kind == "dataset" else None)
        for each in found
    ]  # fmt: skip


def test_readers_after_the_bad_write_and_what_they_wrote(store: LogStore) -> None:
    """Reads before it are untouched; a job that only reads is named; a circle ends."""
    load(
        store,
        step("early", 0, "a", "e"),
        step("bad", 1, "s", "a"),
        step("copy", 2, "a", "b"),
        step("join", 3, "bz", "c"),
        step("join", 4, "bz", "c"),
        step("report", 5, "c", ""),
        step("back", 6, "c", "a"),
        step("other", 6, "z", "y"),
        step("late", 99, "c", "l"),
    )
    by_dataset = ask(store, "blast_radius", window(1, 90), dataset="a", dataset_namespace=DATABASE)
    expected = [(1, "copy", "a", "b"), (2, "join", "b", "c"), (3, "report", "c", None), (3, "back", "c", None)]
    assert steps(by_dataset) == expected
    by_run = ask(store, "blast_radius", window(1, 90), run_id=run_id_of("bad", day(1)).upper())
    assert steps(by_run) == expected
    (_, join, *_) = by_run
    assert (join.n, set(join.run_ids)) == (2, {run_id_of("join", day(3)), run_id_of("join", day(4))})
    assert steps(ask(store, "blast_radius", window(1, 90), dataset="a", dataset_namespace=DATABASE, depth="1")) == [
        (1, "copy", "a", "b")
    ]


def test_time_is_followed_along_the_way(store: LogStore) -> None:
    """What was read before it became bad does not count, although the dataset is bad later."""
    load(
        store,
        step("second", 1, "b", "c"),
        step("first", 2, "a", "b"),
    )
    assert steps(ask(store, "blast_radius", window(0, 9), dataset="a", dataset_namespace=DATABASE)) == [
        (1, "first", "a", "b")
    ]


@pytest.mark.parametrize("long", [False, True], ids=["as sent", "as documented"])
def test_a_pipeline_is_passed_from_table_to_table(store: LogStore, long: bool) -> None:
    """Virtual datasets are no steps, and lead only to the same execution's Snaps."""

    def nightly(at: float, source: str) -> list:
        select, mapper = between("Select", long=long), between("Mapper", long=long)
        return execution(
            "nightly",
            day(at),
            [
                ("Select", [dataset(source)], [dataset(select)]),
                ("Mapper", [dataset(select)], [dataset(mapper)]),
                ("Insert", [dataset(mapper)], [dataset(f"mart_{source}")]),
            ],
        )

    load(store, nightly(2, "a"), nightly(3, "z"), run("report", day(4), [dataset("mart_a")], []))
    found = ask(store, "blast_radius", window(1, 9), dataset="a", dataset_namespace=DATABASE)
    assert steps(found) == [(1, "nightly", "a", "mart_a"), (2, "report", "mart_a", None)]


def test_many_runs_of_a_long_chain_stay_cheap(store: LogStore) -> None:
    """Ten jobs of 60 runs each, ten steps deep: every job and dataset once."""
    load(store, *(step(f"j{n}", run + n / 100, chr(97 + n), chr(98 + n)) for n in range(10) for run in range(60)))
    found = ask(store, "blast_radius", window(0, 90), dataset="a", dataset_namespace=DATABASE, depth="20")
    assert [(each.values["depth"], each.n) for each in found] == [(n + 1, 60) for n in range(10)]


def test_a_start_is_needed_and_one_only(store: LogStore) -> None:
    """A dataset or a run."""
    for values in ({}, {"dataset": "a", "run_id": "r"}):
        with pytest.raises(InputError, match="give one of them"):
            ask(store, "blast_radius", window(0, 9), **values)
    assert ask(store, "blast_radius", window(0, 9), dataset="nobody's") == []
