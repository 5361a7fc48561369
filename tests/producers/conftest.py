"""A store for each recording, filled in an order that was drawn, and the page of what really happened."""

from __future__ import annotations

import random
import tomllib
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct, convert

from lineagelog.event.parse import parse
from lineagelog.store import Database, LogStore, open_engine
from tests.cli.conftest import logs_end_with_the_test, no_settings_of_the_machine
from tests.support import ROOT, Ran, connect, run_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.databases import NewDatabase

__all__ = ["logs_end_with_the_test", "no_settings_of_the_machine"]

type Json = dict[str, Any]

HERE = ROOT / "tests" / "producers"


class RecordedRun(Struct, frozen=True, forbid_unknown_fields=True):
    """A run as the page has it; the page says what its members mean."""

    job: str
    outcome: str
    status: str = ""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    rows: dict[str, int] = {}
    error: str | None = None
    results: tuple[str, ...] = ()
    truth: str | None = None


class Recording(Struct, frozen=True, forbid_unknown_fields=True):
    """A recording as the page has it."""

    what: str
    runs: tuple[RecordedRun, ...]
    quiet_runs: int = 0


PAGE: dict[str, Recording] = convert(
    tomllib.loads((HERE / "what_happened.toml").read_text()), type=dict[str, Recording]
)


class Told(Struct, frozen=True):
    """A store that holds one recording, what `list runs` says of it, and the page's word on it."""

    name: str
    happened: Recording
    store: LogStore
    url: str
    listed: list[Json]

    @property
    def runs(self) -> list[tuple[str, RecordedRun]]:
        """Run ids with what the page says; both have the runs of a job in the order in which they began."""
        by_job: dict[str, list[str]] = {}
        for row in self.listed:
            by_job.setdefault(row["job_name"], []).append(row["run_id"])
        return [(by_job[run.job].pop(0), run) for run in self.happened.runs]

    def command(self, *words: str) -> Ran:
        """Run a command on the store, with --json."""
        return run_here(*words, "--json", "--database", self.url)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement over the tables and views."""
        with connect(self.url) as connection:
            connection.execute("SET search_path TO openlineage")
            return connection.execute(statement).fetchall()  # type: ignore[call-overload, no-any-return]


def lines_of(name: str) -> list[bytes]:
    """The events of a recording, in the order in which they were sent."""
    return (HERE / "recordings" / f"{name}.jsonl").read_bytes().splitlines()


def append_shuffled(store: LogStore, name: str, seed: int) -> None:
    """Append the events in an order that the seed draws, in batches of a few."""
    lines, chance = lines_of(name), random.Random(seed)
    chance.shuffle(lines)
    while lines:
        size = chance.randint(1, 8)
        store.append([parse(line) for line in lines[:size]])
        del lines[:size]


@pytest.fixture(scope="session")
def told_of(new_database: NewDatabase, store_template: str) -> Iterator[Callable[[str], Told]]:
    """Gives the store of a recording, which is filled once: tests only read it."""
    with ExitStack() as stack:

        @cache
        def of(name: str) -> Told:
            url = stack.enter_context(new_database(store_template))
            engine = open_engine(url)
            stack.callback(engine.dispose)
            store = LogStore(Database(engine))
            append_shuffled(store, name, seed=1)
            listed = run_here("list", "runs", "--json", "--database", url).rows
            return Told(name, PAGE[name], store, url, listed)

        yield of


@pytest.fixture(params=sorted(PAGE))
def told(request: Any, told_of: Callable[[str], Told]) -> Told:
    """Each recording."""
    return told_of(request.param)
