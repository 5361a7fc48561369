"""What goes wrong around an append: it is told in one line, and nothing that was acknowledged is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

import psycopg
import pytest
from msgspec.structs import replace
from sqlalchemy import text, update

from lineagelog.errors import SettingsError, StoreNotCreated, StoreReadOnly, StoreTooNew, StoreUnavailable
from lineagelog.event.parse import parse
from lineagelog.postgres.embedded import EmbeddedPostgres
from lineagelog.read import Reader
from lineagelog.store import Database, LogStore, LogStoreSchema, Verdict, Verifier, open_engine
from lineagelog.store.ledgers.dead_letters import DeadLetters, Retried
from lineagelog.store.upkeep.purge import purge
from tests.support import ROOT

from .writer import event

if TYPE_CHECKING:
    pass


def stored_runs(store: LogStore) -> list[str]:
    with store.engine.connect() as connection:
        return list(connection.execute(text("SELECT run_id FROM openlineage.ol_event ORDER BY event_time")).scalars())


def test_event_that_postgresql_refuses_becomes_a_dead_letter(store: LogStore) -> None:
    """One event that only the database refuses is found by halving; the rest of its batch is stored."""
    poison = event(4).replace(b'"rowCount": 4', b'"rowCount": 1e-200000')
    items = [parse(event(number)) for number in range(6)]
    items[4] = replace(items[4], body=poison)  # the parser would have mended it

    appended = store.append(items, source="test", positions=[f"line {number}" for number in range(6)])

    assert appended.verdicts == (*[Verdict.STORED] * 4, Verdict.DEAD, Verdict.STORED)
    assert appended.refusals[4].reason == "refused_by_database"
    assert len(stored_runs(store)) == 5
    with store.engine.connect() as connection:
        letters = connection.execute(text("SELECT reason, source, position, payload FROM openlineage.ol_dead_letter"))
        assert [tuple(row) for row in letters] == [("refused_by_database", "test", "line 4", poison)]


def test_dead_letters_are_kept_once_and_counted(store: LogStore) -> None:
    """The same bad bytes again raise the count of their dead letter."""
    for _ in range(3):
        assert store.append([parse(b"{"), parse(b"{")]).dead == 2
    with store.engine.connect() as connection:
        letters = connection.execute(text("SELECT reason, count, payload FROM openlineage.ol_dead_letter")).all()
    assert [tuple(row) for row in letters] == [("not_json", 6, b"{")]


def test_schema_name_with_placeholders(database_url: str) -> None:
    """A schema may be called what a driver takes for a parameter: every part of the store works."""
    engine = open_engine(database_url)
    store = LogStore(Database(engine, "100% %s %(a)s :x; it's {0}"))
    store.create()
    poison = event(2).replace(b'"rowCount": 2', b'"rowCount": 1e-200000')
    items = [parse(event(0)), parse(event(1)), parse(b"{"), replace(parse(event(2)), body=poison)]
    appended = store.append(items)
    assert (appended.stored, appended.dead) == (2, 2)
    letters = DeadLetters(store)
    assert letters.retry(parse) == Retried(1, 0, 1, 0)
    assert letters.retry(lambda _: parse(event(3))) == Retried(1, 0, 0, 0)
    with engine.begin() as connection:
        connection.execute(update(store.schema.t("ol_run")).values(status="broken"))
    assert len(list(Verifier(store).rebuild())) == 4
    assert list(Verifier(store).verify()) == []
    assert Reader(store.database).status().partitions
    purged = purge(store, datetime(2026, 3, 2, tzinfo=UTC))
    assert (purged.events, purged.runs, purged.run_datasets) == (4, 4, 4)
    assert store.append([parse(event(0))]).expired == 1
    engine.dispose()


def test_an_error_is_told_once(store: LogStore, caplog: pytest.LogCaptureFixture) -> None:
    """What a failed batch leaves behind in the driver adds no line of its own to the log."""
    with store.engine.begin() as connection:
        connection.execute(text("DROP TABLE openlineage.ol_run CASCADE"))
    with pytest.raises(StoreNotCreated):
        store.append([parse(event(1))])
    assert caplog.records == []


def test_read_only_database_says_so(store: LogStore) -> None:
    """A standby or read-only database is an error of its own, in one line."""
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        database = connection.execute(text("SELECT current_database()")).scalar_one()
        connection.execute(text(f'ALTER DATABASE "{database}" SET default_transaction_read_only = on'))
    store.engine.dispose()
    with pytest.raises(StoreReadOnly, match="refuses writes") as caught:
        store.append([parse(event(1))])
    assert "\n" not in str(caught.value)


def test_missing_tables_say_what_to_do(database_url: str) -> None:
    """Without tables the error names the command that makes them."""
    engine = open_engine(database_url)
    with pytest.raises(StoreNotCreated, match="lineagelog store init"):
        LogStore(Database(engine)).append([parse(event(1))])
    engine.dispose()


def test_store_of_a_later_version_is_left_alone(store: LogStore) -> None:
    """Tables of a newer lineagelog are not touched."""
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE openlineage.ol_store SET version = 99"))
    with pytest.raises(StoreTooNew, match="99"):
        store.create()


def test_unreachable_database_is_unavailable_and_hides_the_password() -> None:
    """Nobody listens: one line, without the password."""
    engine = open_engine("postgresql://me:s3cret@127.0.0.1:1/none", connect_timeout=2)
    with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
        LogStore(Database(engine)).append([parse(event(1))])
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("name", ["", 'a"b', "a\0b", "x" * 64, "ü" * 32, "\ud800"])
def test_invalid_schema_names(name: str) -> None:
    """A name that PostgreSQL would cut or that ends the identifier is refused."""
    assert not LogStoreSchema.is_valid_schema_name(name)
    with pytest.raises(SettingsError, match="schema name"):
        LogStoreSchema(name)


@pytest.mark.parametrize(
    "name", ["open lineage", "x" * 63, "ü" * 31, "a'b; --", "%s", ":x", "public", "$$", "a$migrate$ $lz4$"]
)
def test_unusual_schema_names_work(database_url: str, name: str) -> None:
    """Every valid name makes a store of its own, twice over."""
    engine = open_engine(database_url, pool_size=2)
    store = LogStore(Database(engine, name))
    store.create()
    store.create()
    assert store.append([parse(event(1)), parse(event(2))]).stored == 2
    assert list(Verifier(store).verify()) == []
    engine.dispose()


@pytest.mark.long
def test_several_stores_share_a_database(database_url: str) -> None:
    """Two stores in one database know nothing of each other."""
    engine = open_engine(database_url, pool_size=2)
    stores = [LogStore(Database(engine, name)) for name in ("one", "two")]
    for store in stores:
        store.create()
    assert stores[0].append([parse(event(1))]).stored == 1
    assert stores[1].append([parse(event(1))]).stored == 1
    engine.dispose()


def kill_round(url: str, server: EmbeddedPostgres, start: int, chance: random.Random) -> int:
    """Let a writer run for a moment, kill it and sometimes PostgreSQL; return the last acknowledged number."""
    command = [sys.executable, "-m", "tests.store.writer", url, str(start)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = int(writer.stdout.readline())
        time.sleep(chance.uniform(0.0, 0.4))
        if chance.random() < 0.5:
            pid = int((server.data_dir / "cluster" / "postmaster.pid").read_text().split()[0])
            os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
        writer.kill()
        for line in writer.stdout:
            if line.endswith("\n"):
                acknowledged = int(line)
    server.start()
    return acknowledged


@pytest.mark.long
@pytest.mark.parametrize("rounds", [3, pytest.param(60, marks=pytest.mark.soak)])
def test_kill_9_loses_nothing_acknowledged(rounds: int) -> None:
    """Writer and PostgreSQL are killed at random moments: what was acknowledged is there once, the digest is right."""
    base = Path(tempfile.mkdtemp(prefix="lineagelog-tests-"))
    base.chmod(0o711)
    chance = random.Random(rounds)
    try:
        with EmbeddedPostgres(base / "data") as server:
            engine = open_engine(server.url)
            LogStore(Database(engine)).create()
            engine.dispose()
            acknowledged = 0
            for _ in range(rounds):
                acknowledged = kill_round(server.url, server, acknowledged, chance)
            engine = open_engine(server.url, pool_size=1)
            store = LogStore(Database(engine))
            with psycopg.connect(server.dsn) as connection:
                found = connection.execute(
                    "SELECT count(*), count(DISTINCT event_hash) FROM openlineage.ol_event WHERE event_time <= %s",
                    (json.loads(event(acknowledged - 1))["eventTime"],),
                ).fetchone()
            assert found == (acknowledged, acknowledged)
            again = store.append([parse(event(number)) for number in range(acknowledged)])
            assert again.duplicate == acknowledged
            assert list(Verifier(store).verify()) == []
            engine.dispose()
    finally:
        rmtree(base, ignore_errors=True)
