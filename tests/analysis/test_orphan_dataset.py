"""Orphans: written and not read, read and not written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .support import ask, dataset, day, load, run, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def test_datasets_of_one_side_only(store: LogStore) -> None:
    """A job that reads what it writes is no reader; a use before the history is none, what is unused no orphan."""
    load(store, run("load", day(2), [dataset("source")], [dataset("middle")]))
    load(store, run("mart", day(3), [dataset("middle"), dataset("own")], [dataset("end"), dataset("own")]))
    load(store, run("old", day(0), [dataset("end")], [dataset("past")]))
    found = {each.subject.name: each for each in ask(store, "orphan_dataset", window(2, 9), history="1 day")}
    assert {name: each.change for name, each in found.items()} == {
        "source": "never_written",
        "end": "never_read",
        "own": "never_read",
    }
    assert found["end"].explanation == ("postgres://db:5432/end was written once by one job, and nobody else reads it.")
    assert "end" not in {each.subject.name for each in ask(store, "orphan_dataset", window(2, 9))}


def test_names_of_one_dataset_are_one(store: LogStore) -> None:
    """It is written by its path, and read by the name that a symlink gives it."""
    path = dataset("/warehouse/orders")
    name = {"namespace": "hive://metastore", "name": "shop.orders", "type": "TABLE"}
    path["facets"]["symlinks"] = {"identifiers": [name]}
    load(store, run("load", day(2), [], [path]))
    load(store, run("report", day(3), [{**dataset("shop.orders"), "namespace": "hive://metastore"}], []))
    assert ask(store, "orphan_dataset", window(0, 9)) == []
