"""Streaks, shifts and stuck runs that were planted are found, and nothing else, among 200 jobs over 70 days."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from lineagelog.read import Window

from ..planted import DAYS, END, Accuracy, Effect, PlantedRun, accuracy, clean, fill, plant
from ..support import ask

if TYPE_CHECKING:
    import random

    from lineagelog.store import Database, LogStore

    type Runs = list[PlantedRun]

WEEKS = 21
PERIOD = Window(END - timedelta(days=WEEKS), END)
NAMES = ("failure_streak", "failure_rate_shift", "stuck_run")


def failed(run: PlantedRun) -> PlantedRun:
    """The same, but that it failed; with an id of its own, where a retry failed, too."""
    return replace(run, outcome="FAIL", slot=run.slot + 0.5)


def streak(chance: random.Random, runs: Runs, place: int) -> tuple[Runs, Effect]:
    """Three to six failures in a row, also those of the very last runs."""
    length = chance.randint(3, 6)
    first = max(place - length + 3, 0)
    planted = [failed(run) if first <= number < first + length else run for number, run in enumerate(runs)]
    return planted, Effect("failure_streak", "streak", runs[0].job.name, runs[first].slot, planted[first].run_id)


def unreliable(_chance: random.Random, runs: Runs, _place: int) -> tuple[Runs, Effect]:
    """From the window's start on every other run fails."""
    since = (DAYS - WEEKS) * 86400
    planted = [failed(run) if run.slot >= since and number % 2 else run for number, run in enumerate(runs)]
    return planted, Effect("failure_rate_shift", "shift", runs[0].job.name, since)


def open_at_the_end(_chance: random.Random, runs: Runs, _place: int) -> tuple[Runs, Effect]:
    """One of the last runs, of at least a day before the end, never ends."""
    place = max(number for number, run in enumerate(runs) if run.slot < (DAYS - 1) * 86400)
    stuck = replace(runs[place], outcome="START")
    return [*runs[:place], stuck, *runs[place + 1 :]], Effect(
        "stuck_run", "stuck", stuck.job.name, stuck.slot, stuck.run_id
    )


def open_runs(database: Database) -> None:
    """What has only a START has no end."""
    with database.engine.begin() as connection:
        connection.exec_driver_sql(
            f"UPDATE {database.schema}.ol_run SET end_time = NULL, last_event_time = start_time WHERE status = 'START'"
        )


@pytest.mark.long
def test_nothing_is_told_of_a_history_without_effects(store: LogStore) -> None:
    """Single failures and their retries, weekends, month ends, growth: nothing is wrong."""
    fill(store.database, clean(11))
    for name in NAMES:
        assert [each.explanation for each in ask(store, name, PERIOD)] == [], name
    assert {each.severity for each in ask(store, "failed_then_succeeded", PERIOD)} == {"low"}


@pytest.mark.long
def test_what_was_planted_is_found_and_nothing_else(store: LogStore) -> None:
    """Twelve of each kind; precision and recall are 0.95 or better."""
    kinds = {"streak": streak, "shift": unreliable, "stuck": open_at_the_end}
    history = plant(clean(12), 13, WEEKS, times=12, kinds=kinds)
    fill(store.database, history)
    open_runs(store.database)
    told: dict[str, Accuracy] = {}
    for name in NAMES:
        effects = [each for each in history.effects if each.analysis == name]
        told[name] = accuracy(effects, ask(store, name, PERIOD))
    assert {name: each for name, each in told.items() if each.recall < 0.95 or each.precision < 0.95} == {}
