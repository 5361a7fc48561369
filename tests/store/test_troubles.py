"""What the database refuses is said in plain words: each kind as the real server says it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import errors as pg
from sqlalchemy import make_url, text

from lineagelog.errors import StoreError, StoreReadOnly, StoreUnavailable
from lineagelog.event import parse
from lineagelog.postgres.engine import driver_connection, translate, translated_errors
from lineagelog.store import LogStore, open_engine
from tests.support import PATIENCE, encode, event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def ask(url: str, *statements: str) -> StoreError:
    """The error of the last of some statements, as ours."""
    engine = open_engine(url, pool_size=1, connect_timeout=3)
    try:
        with pytest.raises(StoreError) as caught, translated_errors(), driver_connection(engine) as connection:
            for statement in statements:
                connection.execute(statement)
        return caught.value
    finally:
        engine.dispose()


@pytest.mark.parametrize(
    ("statements", "kind", "words"),
    [
        (("SET statement_timeout = 20", "SELECT pg_sleep(60)"), StoreUnavailable, "took too long and gave up"),
        (("SET TRANSACTION READ ONLY", "CREATE TABLE public.t ()"), StoreReadOnly, "is read-only"),
        (("SET ROLE pg_monitor", "CREATE SCHEMA s"), StoreReadOnly, "the database role may not do this"),
        (("SELECT pg_terminate_backend(pg_backend_pid())",), StoreUnavailable, "has ended the connection"),
        (("SELECT * FROM nowhere",), StoreError, "the log store is not there"),
    ],
)
def test_the_words_of_a_refusal(
    database_url: str, statements: tuple[str, ...], kind: type[StoreError], words: str
) -> None:
    """The kind, the words, then the server's own; a stranger hears the words alone."""
    error = ask(database_url, *statements)
    assert isinstance(error, kind)
    assert words in str(error)
    assert words in error.plain
    assert "cannot be reached" not in str(error)
    assert len(error.plain) < len(str(error))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"database": "no_such_database"}, "there is no such database on the server"),
        ({"username": "no_such_role"}, "the database does not let us in"),
    ],
)
def test_the_words_of_a_refused_connection(database_url: str, change: dict[str, str], words: str) -> None:
    """The server is there, and says no; the path of its socket is not for strangers."""
    url = make_url(database_url)
    error = ask(url.set(**change).render_as_string(hide_password=False), "SELECT 1")  # type: ignore[arg-type]
    assert str(error).startswith(f"{words}: ")
    assert str(url.query["host"]) not in error.plain


def test_no_connection_left(database_url: str, postgres_admin: psycopg.Connection) -> None:
    """The limit of the database, or of the server: not a network that is down."""
    url = make_url(database_url)
    postgres_admin.execute("DROP ROLE IF EXISTS crowded")
    postgres_admin.execute("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0")
    try:
        error = ask(url.set(username="crowded").render_as_string(), "SELECT 1")
        assert str(error).startswith("the database has no connection left for us: ")
    finally:
        postgres_admin.execute("DROP ROLE crowded")


def test_a_socket_that_nobody_has(tmp_path: Path) -> None:
    """That is what cannot be reached means; the folder is told to the operator, and to nobody else."""
    error = ask(f"postgresql://me@/x?host={tmp_path}", "SELECT 1")
    assert str(error).startswith("the database cannot be reached: ")
    assert str(tmp_path) in str(error)
    assert error.plain == "the database cannot be reached"


@pytest.fixture
def rows(database_url: str) -> Iterator[str]:
    """A database with two rows to fight over."""
    with psycopg.connect(database_url.replace("+psycopg", "")) as owner:
        owner.execute("CREATE TABLE fight (n int PRIMARY KEY, v int DEFAULT 0)")
        owner.execute("INSERT INTO fight VALUES (1), (2)")
    return database_url


def test_a_lock_and_a_deadlock(rows: str) -> None:
    """Somebody else has it: said so, and told apart."""
    update = "UPDATE public.fight SET v = v + 1 WHERE n = {}"
    with psycopg.connect(rows.replace("+psycopg", "")) as other:
        other.execute(update.format(1))
        error = ask(rows, "SET lock_timeout = 50", update.format(1))
        assert str(error).startswith("somebody else holds a lock for too long: ")
        begun = threading.Event()

        def cross() -> None:
            begun.wait(PATIENCE)
            other.execute("SET deadlock_timeout = '60s'")
            other.execute(update.format(2))

        crossing = threading.Thread(target=cross)
        crossing.start()
        engine = open_engine(rows)
        with pytest.raises(StoreUnavailable) as caught, translated_errors(), driver_connection(engine) as connection:
            connection.execute("SET deadlock_timeout = '100ms'")
            connection.execute(update.format(2))
            begun.set()
            connection.execute(update.format(1))
        engine.dispose()
        crossing.join(PATIENCE)
    assert str(caught.value).startswith("others changed the same rows at the same time: deadlock detected")


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (pg.DiskFull("could not extend file"), StoreReadOnly, "the database's disk is full"),
        (pg.OutOfMemory("failed on request of size 7"), StoreUnavailable, "the database is out of memory"),
        (pg.TooManyConnections("sorry"), StoreUnavailable, "has no connection left for us"),
        (pg.CannotConnectNow("please wait"), StoreUnavailable, "starting up or shutting down"),
        (pg.SerializationFailure("could not serialize"), StoreUnavailable, "others changed the same rows"),
        (pg.ConnectionTimeout("connection timeout expired"), StoreUnavailable, "does not answer"),
        (pg.ConnectionFailure("gone"), StoreUnavailable, "the connection to the database was lost"),
        (pg.SystemError("io"), StoreUnavailable, "the database cannot do this now"),
        (psycopg.OperationalError("server closed the connection unexpectedly"), StoreUnavailable, "was lost"),
        (
            psycopg.OperationalError("connection failed: FATAL:  sorry, too many clients already"),
            StoreUnavailable,
            "has no connection left for us",
        ),
        (psycopg.DataError("the secret of a sender"), StoreError, "the secret of a sender"),
    ],
)
def test_what_is_hard_to_bring_about(error: Exception, kind: type[StoreError], words: str) -> None:
    """By the driver's classes and words; what may quote an event is not for strangers."""
    ours = translate(error)
    assert (type(ours), words in str(ours)) == (kind, True)
    assert str(error) not in ours.plain


def test_a_store_on_a_read_only_database_says_so(store: LogStore) -> None:
    """The whole way: an append."""
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        name = connection.execute(text("SELECT current_database()")).scalar_one()
        connection.execute(text(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'))
    store.engine.dispose()
    with pytest.raises(StoreReadOnly) as caught:
        store.append([parse(encode(event()))])
    assert caught.value.plain == "the database refuses writes, it is read-only"
