"""Planted effects are found, and clean histories are silent: a few jobs always, all of them in the long tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineagelog.store import Database, LogStore, open_engine

from .accuracy import ANALYSES, Tally, histories, look

if TYPE_CHECKING:
    from tests.databases import NewDatabase


def found_in(new_database: NewDatabase, seeds: tuple[int, ...], jobs: int, times: int) -> dict[str, Tally]:
    """Each history in a store of its own."""
    tallies = {name: Tally() for name in ANALYSES}
    for history in histories(seeds, jobs, times):
        with new_database() as url:
            database = Database(open_engine(url))
            LogStore(database).create()
            look(database, history, tallies)
            database.dispose()
    return tallies


@pytest.mark.long
def test_a_few_planted_effects_are_found(new_database: NewDatabase) -> None:
    """Each kind twice among forty jobs: at most one of them is missed, and at most one finding is wrong."""
    for name, tally in found_in(new_database, (5,), 40, 2).items():
        assert tally.whole.planted >= 2, name
        assert tally.whole.found >= tally.whole.planted - 1, (name, tally)
        assert tally.whole.right >= tally.whole.findings - 1, (name, tally)
        assert tally.alarms <= 1, (name, tally)


@pytest.mark.long
def test_precision_and_recall_of_the_standard_mix(new_database: NewDatabase) -> None:
    """At least 0.95 of each, over three histories of 200 jobs, and hardly a word of the clean ones."""
    for name, tally in found_in(new_database, (1, 2, 3), 200, 10).items():
        assert tally.whole.recall >= 0.95, (name, tally)
        assert tally.whole.precision >= 0.95, (name, tally)
        assert tally.alarms <= 5, (name, tally)
