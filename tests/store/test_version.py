"""New code on an older store says so, through every door, and goes on once the store is migrated."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.analysis import analyses
from lineagelog.errors import StoreTooOld
from lineagelog.event.parse import parse
from lineagelog.read import Reader, Window
from lineagelog.read.script import run_script
from lineagelog.store import (
    Database,
    DeadLetters,
    LogStore,
    Scope,
    Tokens,
    Verifier,
    gather_statistics,
    open_engine,
    purge,
)
from lineagelog.store.definition import tables
from lineagelog.store.ledgers.forwarding import Forwarding
from lineagelog.store.ledgers.kafka_offsets import KafkaOffsets
from tests.support import connect, encode, event, run_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSION_2 = (Path(__file__).parent / "version_2.sql").read_text(encoding="utf-8")
OLD = f"the store has version 2 and this lineagelog needs {tables.VERSION}: run `lineagelog store init` as its owner"
MARCH = Window(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC))


@pytest.fixture
def old_url(database_url: str) -> str:
    """A database with an empty store of version 2: nothing that most doors look at has changed since."""
    with connect(database_url) as connection:
        connection.execute(VERSION_2.encode())
    return database_url


@pytest.fixture
def database(old_url: str) -> Iterator[Database]:
    database = Database(open_engine(old_url, pool_size=2))
    yield database
    database.dispose()


DOORS: dict[str, Callable[[Database], Any]] = {
    "append": lambda database: LogStore(database).append([parse(encode(event("r")))]),
    "append nothing": lambda database: LogStore(database).append([parse(b"{")]),
    "version": lambda database: LogStore(database).check_version(),
    "runs": lambda database: list(Reader(database).runs(MARCH)),
    "one run": lambda database: Reader(database).run("r"),
    "summary": lambda database: Reader(database).event_summary(MARCH),
    "status": lambda database: Reader(database).status(),
    "analysis": lambda database: run_script(database, "SELECT 1", {}).__enter__(),
    "dead letters": lambda database: DeadLetters(LogStore(database)).list(),
    "tokens": lambda database: Tokens(database).list(),
    "new token": lambda database: Tokens(database).create("t", [Scope.READ]),
    "offsets": lambda database: KafkaOffsets(database, "g", "o").claim([]),
    "verify": lambda database: list(Verifier(LogStore(database)).verify()),
    "rebuild": lambda database: list(Verifier(LogStore(database)).rebuild()),
    "purge": lambda database: purge(LogStore(database), datetime(2020, 1, 1, tzinfo=UTC)),
    "statistics": lambda database: gather_statistics(LogStore(database).database),
    "forward": lambda database: Forwarding(database).cursors(),
}


@pytest.mark.long
@pytest.mark.parametrize("door", DOORS)
def test_every_door_of_the_library(database: Database, door: str) -> None:
    """Each call says what to do, changes nothing, and works once the store is migrated, in the same process."""
    for _ in range(2):
        with pytest.raises(StoreTooOld) as caught:
            DOORS[door](database)
        assert str(caught.value) == caught.value.plain == OLD
    LogStore(database).create()
    DOORS[door](database)


COMMANDS = (
    ("status",),
    ("list", "runs"),
    ("show", "r"),
    ("analyse", next(iter(analyses()))),
    ("tokens", "list"),
    ("dead-letters", "list"),
    ("store", "verify"),
    ("store", "rebuild"),
    ("store", "purge", "--older-than", "9999d"),
    ("forward", "status"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command(old_url: str, command: tuple[str, ...]) -> None:
    """One line, exit code 2."""
    ran = run_here(*command, "--database", old_url)
    assert (ran.code, ran.err) == (2, f"lineagelog: {OLD}\n")


def test_doctor_advises(old_url: str) -> None:
    """It does not end with the error: the version is one of its findings."""
    checks = {check["subject"]: check for check in run_here("doctor", "--json", "--database", old_url).json["checks"]}
    assert checks["store"]["observed"] == OLD.partition(":")[0]
    assert checks["store"]["advice"] == "run `lineagelog store init` as the owner"
