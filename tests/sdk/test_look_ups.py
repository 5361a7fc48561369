"""A look-up never costs the job its transaction, its settings or its time, whatever stands around its connection."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import threading
import weakref
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import sqlalchemy
from psycopg.rows import dict_row

from lineagelog import sdk
from lineagelog.sdk import lineage_run
from lineagelog.sdk.lookups.unwrapping import LeftAloneError, find_connection
from tests.support import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .conftest import Memory

TITANIC = [("id", "integer"), ("name", "character varying(40)")]


# --- proxies, as tracing, pools and frameworks make them -------------------------------------------------------------


class Forwarding:
    """Composition with `__getattr__`."""

    def __init__(self, connection: Any) -> None:
        self._conn = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conn, name)


class Explicit:
    """Composition method by method, under a private name."""

    def __init__(self, connection: Any) -> None:
        self.__inner = connection

    def cursor(self) -> Any:
        return self.__inner.cursor()

    def commit(self) -> None:
        self.__inner.commit()

    def rollback(self) -> None:
        self.__inner.rollback()


class Slotted(Explicit):
    """Without a `__dict__` of its own for the connection; two layers."""

    __slots__ = ("held",)

    def __init__(self, connection: Any) -> None:
        super().__init__(Forwarding(connection))
        self.held = Forwarding(connection)


class ObjectProxy:
    """As wrapt's: it claims the class of what it wraps."""

    __slots__ = ("__wrapped__",)

    def __init__(self, connection: Any) -> None:
        object.__setattr__(self, "__wrapped__", connection)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(object.__getattribute__(self, "__wrapped__"))

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "__wrapped__"), name)


class Pooled:
    """As a pool's: the connection by a property."""

    def __init__(self, connection: Any) -> None:
        self._entry = [connection]

    @property
    def dbapi_connection(self) -> Any:
        return self._entry[0]

    def cursor(self) -> Any:
        return self._entry[0].cursor()

    def commit(self) -> None:
        self._entry[0].commit()

    def rollback(self) -> None:
        self._entry[0].rollback()


class Opaque:
    """Nobody can see what is behind it."""

    def __init__(self, connection: Any) -> None:
        self.cursor = lambda: connection.cursor()
        self.commit = lambda: connection.commit()
        self.rollback = lambda: connection.rollback()


PROXIES: list[Callable[[Any], Any]] = [Forwarding, Explicit, Slotted, ObjectProxy, Pooled, weakref.proxy]


def names(proxy: Callable[[Any], Any]) -> str:
    return getattr(proxy, "__name__", str(proxy))


@pytest.fixture
def dsn(database_url: str) -> str:
    return database_url.replace("postgresql+psycopg://", "postgresql://")


@pytest.fixture
def connection(dsn: str) -> Iterator[Any]:
    with contextlib.closing(psycopg.connect(dsn)) as made:
        made.execute("CREATE TABLE titanic (id INTEGER, name VARCHAR(40))")
        made.commit()
        yield made


def schema_of(memory: Memory, name: str = "db/titanic") -> list[tuple[str, str]] | None:
    found = [one for one in memory.events[-1]["outputs"] if one["name"] == name]
    fields = found[0]["facets"].get("schema", {}).get("fields")
    return [(field["name"], field.get("type")) for field in fields] if fields else None


def settings(connection: Any) -> dict[str, str]:
    rows = connection.execute("SELECT name, setting FROM pg_settings WHERE source = 'session' OR name ~ 'timeout'")
    found = dict(rows.fetchall())
    connection.rollback()
    return found


# --- the job's transaction -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("proxy", [*PROXIES, Opaque], ids=names)
def test_what_the_job_wrote_is_committed(
    memory: Memory, connection: Any, proxy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A table that is not there yet is looked up in the job's open transaction: what it wrote before is not lost."""
    caplog.set_level(logging.DEBUG, "lineagelog.sdk")
    given = proxy(connection)
    with lineage_run("job", outputs=["x/not_there_yet", "x/titanic"], connector=given):
        given.cursor().execute("INSERT INTO titanic VALUES (1, 'x')")
    assert connection.info.transaction_status.name == "INTRANS"
    given.commit()
    assert connection.execute("SELECT count(*) FROM titanic").fetchone() == (1,)
    assert schema_of(memory, "x/not_there_yet") is None
    if proxy is Opaque:
        assert schema_of(memory, "x/titanic") is None
        assert "of Opaque it is not known whether a transaction is open" in caplog.text
        assert not [record for record in caplog.records if record.levelname == "WARNING"]
    else:
        assert schema_of(memory, "x/titanic") == TITANIC


@pytest.mark.parametrize("proxy", PROXIES, ids=names)
@pytest.mark.parametrize("autocommit", [True, False])
def test_an_idle_connection_stays_idle(memory: Memory, connection: Any, proxy: Any, autocommit: bool) -> None:
    """No transaction is left open, and the session's settings are what they were."""
    connection.autocommit = autocommit
    connection.execute("SET statement_timeout = '77s'")
    connection.commit()
    before = settings(connection)
    with lineage_run("job", outputs=["db/titanic"], connector=proxy(connection)):
        pass
    assert schema_of(memory) == TITANIC
    assert connection.info.transaction_status.name == "IDLE"
    assert settings(connection) == before


def test_settings_and_savepoints_of_an_open_transaction_stay(memory: Memory, connection: Any) -> None:
    """Also what was set for the transaction alone; the job's own savepoints and cursors go on."""
    connection.execute("SET LOCAL lock_timeout = '33s'")
    connection.execute("INSERT INTO titanic SELECT n, 'x' FROM generate_series(1, 1000) n")
    connection.execute("SAVEPOINT mine")
    with connection.cursor(name="slow") as cursor:
        cursor.execute("SELECT id FROM titanic ORDER BY id")
        assert cursor.fetchmany(10)[-1] == (10,)
        with lineage_run(
            "job", outputs=["db/titanic", "db/no", "db/a.b.c.d.e", 'db/"', "db/", "db/."], connector=connection
        ):
            pass
        assert schema_of(memory) == TITANIC
        assert cursor.fetchmany(1) == [(11,)]
    assert connection.execute("SHOW lock_timeout").fetchone() == ("33s",)
    assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
    connection.execute("ROLLBACK TO SAVEPOINT mine")
    connection.commit()
    assert connection.execute("SELECT count(*) FROM titanic").fetchone() == (1000,)


def test_an_explicit_transaction_on_an_autocommit_connection(memory: Memory, connection: Any) -> None:
    """`autocommit` says nothing of a BEGIN."""
    connection.autocommit = True
    with connection.transaction():
        connection.execute("INSERT INTO titanic VALUES (1, 'x')")
        with lineage_run("job", outputs=["db/titanic", "db/no"], connector=Forwarding(connection)):
            pass
    assert schema_of(memory) == TITANIC
    assert connection.execute("SELECT count(*) FROM titanic").fetchone() == (1,)


def test_rows_and_search_paths_of_the_job(memory: Memory, dsn: str) -> None:
    """Rows as dicts, a search path with functions of the same names: the same columns."""
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        connection.execute("CREATE SCHEMA s")
        connection.execute("CREATE TABLE s.titanic (id INTEGER, name VARCHAR(40))")
        connection.execute(
            "CREATE FUNCTION s.to_regclass(text) RETURNS regclass LANGUAGE sql AS 'SELECT NULL::regclass'"
        )
        connection.execute("CREATE FUNCTION s.format_type(oid, integer) RETURNS text LANGUAGE sql AS $$SELECT 'evil'$$")
        connection.execute("SET search_path = s, pg_catalog")
        with lineage_run("job", outputs=["db/titanic"], connector=connection):
            pass
    assert schema_of(memory) == TITANIC


# --- connections that are not free -----------------------------------------------------------------------------------


def test_an_aborted_transaction_is_left(memory: Memory, connection: Any, caplog: pytest.LogCaptureFixture) -> None:
    """No statement is sent, and no warning given."""
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT * FROM missing")
    with lineage_run("job", outputs=["db/titanic"], connector=Forwarding(connection)):
        pass
    assert schema_of(memory) is None
    assert connection.info.transaction_status.name == "INERROR"
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def test_pipelines_streams_and_other_threads_are_left(memory: Memory, connection: Any) -> None:
    """What is under way on a connection goes on undisturbed."""
    connection.execute("INSERT INTO titanic VALUES (1, 'x'), (2, 'y')")
    connection.commit()
    with connection.pipeline():
        cursor = connection.execute("SELECT id FROM titanic")
        with lineage_run("job", outputs=["db/titanic"], connector=connection):
            pass
        assert cursor.fetchall() == [(1,), (2,)]
    assert schema_of(memory) is None
    stream = connection.cursor().stream("SELECT id FROM titanic ORDER BY id")
    assert next(stream) == (1,)
    with lineage_run("job", outputs=["db/titanic"], connector=connection):
        pass
    assert list(stream) == [(2,)]
    assert schema_of(memory) is None
    connection.rollback()
    with connection.lock, lineage_run("job", outputs=["db/titanic"], connector=connection):
        pass  # as a thread that executes holds it
    assert schema_of(memory) is None
    with lineage_run("job", outputs=["db/titanic"], connector=connection):
        pass
    assert schema_of(memory) == TITANIC


@pytest.mark.filterwarnings("error")
def test_an_asynchronous_connection_is_left(memory: Memory, dsn: str) -> None:
    """No coroutine is made that nobody waits for."""

    async def job() -> None:
        async with await psycopg.AsyncConnection.connect(dsn) as connection:
            await connection.execute("CREATE TABLE titanic (id INTEGER)")
            for given in (connection, Forwarding(connection)):
                async with lineage_run("job", outputs=["db/titanic"], connector=given):
                    pass
                assert schema_of(memory) is None

    asyncio.run(job())


def test_two_connections_behind_one_proxy(connection: Any, dsn: str) -> None:
    """Which of them is meant is not guessed, unless the proxy itself says so."""
    with psycopg.connect(dsn) as other:
        both = Explicit(connection)
        both.replica = other  # type: ignore[attr-defined]
        assert find_connection(both) is None
        forwarding = Forwarding(connection)
        forwarding.replica = other
        assert find_connection(forwarding) is connection


# --- psycopg2 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "proxy", [lambda given: given, ObjectProxy, Forwarding], ids=["bare", "ObjectProxy", "Forwarding"]
)
@pytest.mark.parametrize("autocommit", [True, False])
def test_psycopg2(memory: Memory, dsn: str, proxy: Any, autocommit: bool) -> None:
    """The other driver, with rows as dicts: idle, in a transaction, in one that has failed."""
    psycopg2 = pytest.importorskip("psycopg2")
    extras = pytest.importorskip("psycopg2.extras")
    job = psycopg2.connect(dsn, connection_factory=extras.RealDictConnection)
    job.autocommit = autocommit
    cursor = job.cursor()
    cursor.execute("CREATE TABLE titanic (id INTEGER, name VARCHAR(40))")
    job.commit()
    for begin, state in (("", 0), ("BEGIN; INSERT INTO titanic VALUES (1, 'x')", 2)):
        if begin:
            cursor.execute(begin if autocommit else begin.removeprefix("BEGIN; "))
        with lineage_run("job", outputs=["db/no", "db/titanic", "db/a.b.c.d.e"], connector=proxy(job)):
            pass
        assert schema_of(memory) == TITANIC
        assert job.get_transaction_status() == state
    cursor.execute("SHOW statement_timeout")
    assert cursor.fetchone()["statement_timeout"] == "0"
    cursor.execute("COMMIT")
    cursor.execute("SELECT count(*) AS n FROM titanic")
    assert cursor.fetchone()["n"] == 1
    job.close()


# --- time ------------------------------------------------------------------------------------------------------------


def left_alone(engine: sqlalchemy.Engine) -> None:
    """Dispose of an engine once no look-up uses it: what a late one gives back to its pool would stay open."""
    wait_until(lambda: all(each.name != "lineagelog-look-up" for each in threading.enumerate()))
    engine.dispose()


@pytest.mark.parametrize("how", ["driver", "proxy", "Connection", "idle Connection", "Engine"])
def test_a_locked_table_and_catalogue_do_not_hold_the_job(
    memory: Memory, connection: Any, dsn: str, database_url: str, how: str
) -> None:
    """Another session holds ACCESS EXCLUSIVE locks for ever; the look-up ends, and the job's transaction goes on."""
    sdk.configure(sdk.delivery.emitter.emitter().client, lookup_timeout=0.3)
    engine = sqlalchemy.create_engine(database_url)
    with psycopg.connect(dsn) as other, engine.connect() as bind:
        if how == "Connection":
            bind.execute(sqlalchemy.text("INSERT INTO titanic VALUES (1, 'x')"))
            bind.execute(sqlalchemy.text("SET LOCAL lock_timeout = '44s'"))
        elif how in ("driver", "proxy"):
            connection.execute("INSERT INTO titanic VALUES (1, 'x')")
        other.execute("LOCK TABLE pg_catalog.pg_attribute IN ACCESS EXCLUSIVE MODE")
        given = {"driver": connection, "proxy": Forwarding(connection), "Engine": engine}.get(how, bind)
        with lineage_run("job", outputs=["db/titanic"], connector=given):
            pass
        other.rollback()
        assert schema_of(memory) is None
        if how == "Connection":
            assert bind.execute(sqlalchemy.text("SHOW lock_timeout")).scalar() == "44s"
            bind.commit()
        elif how in ("driver", "proxy"):
            connection.commit()
        assert not bind.in_transaction()
        rows = connection.execute("SELECT count(*) FROM titanic").fetchone()
        assert rows == ((1,) if how in ("driver", "proxy", "Connection") else (0,))
    left_alone(engine)


def test_a_pool_without_a_free_connection_does_not_hold_the_job(memory: Memory, database_url: str) -> None:
    """The job holds the only connection of the engine: the pool would wait for thirty seconds."""
    sdk.configure(sdk.delivery.emitter.emitter().client, lookup_timeout=0.2)
    engine = sqlalchemy.create_engine(database_url, pool_size=1, max_overflow=0, pool_timeout=1000)
    with engine.connect(), lineage_run("job", outputs=["db/titanic"], connector=engine):
        pass
    assert schema_of(memory) is None
    left_alone(engine)


def test_a_locked_sqlite_file_does_not_hold_the_job(memory: Memory, tmp_path: Path) -> None:
    """The job's own patience with locks is as it was afterwards."""
    sdk.configure(sdk.delivery.emitter.emitter().client, lookup_timeout=0.2)
    with contextlib.closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as other:
        other.execute("CREATE TABLE titanic (id INTEGER)")
        with contextlib.closing(sqlite3.connect(tmp_path / "x.db", timeout=1000)) as mine:
            other.execute("BEGIN EXCLUSIVE")
            with lineage_run("job", outputs=["db/titanic"], connector=Forwarding(mine)):
                pass
            assert schema_of(memory) is None
            assert mine.execute("PRAGMA busy_timeout").fetchone() == (1_000_000,)
            other.execute("COMMIT")
            with lineage_run("job", outputs=["db/titanic"], connector=Forwarding(mine)):
                pass
            assert schema_of(memory) == [("id", "INTEGER")]


# --- SQLAlchemy and SQLite -------------------------------------------------------------------------------------------


def test_a_pool_s_proxy_of_sqlalchemy(memory: Memory, connection: Any, database_url: str) -> None:
    """`engine.raw_connection()` is no object that SQLAlchemy can inspect."""
    engine = sqlalchemy.create_engine(database_url)
    raw = engine.raw_connection()
    raw.cursor().execute("INSERT INTO titanic VALUES (1, 'x')")
    with lineage_run("job", outputs=["db/titanic", "db/no"], connector=raw):
        pass
    raw.commit()
    raw.close()
    assert schema_of(memory) == TITANIC
    assert connection.execute("SELECT count(*) FROM titanic").fetchone() == (1,)
    engine.dispose()


def test_a_proxy_of_an_engine(memory: Memory, connection: Any, database_url: str) -> None:
    """What is wrapped as wrapt does it is seen through."""
    engine = sqlalchemy.create_engine(database_url)
    with lineage_run("job", outputs=["db/titanic"], connector=ObjectProxy(engine)):
        pass
    assert schema_of(memory) == [("id", "INTEGER"), ("name", "VARCHAR(40)")]
    engine.dispose()


@pytest.mark.parametrize("pool", ["SingletonThreadPool", "StaticPool"])
@pytest.mark.parametrize("given", ["Engine", "second Connection"])
def test_an_engine_whose_connections_are_one(memory: Memory, pool: str, given: str) -> None:
    """SQLite in memory: the look-up shares the job's connection, and must not roll its transaction back."""
    engine = sqlalchemy.create_engine("sqlite://", poolclass=getattr(sqlalchemy, pool))
    with engine.connect() as job, engine.connect() as second:
        job.execute(sqlalchemy.text("CREATE TABLE titanic (id INTEGER)"))
        job.commit()
        job.execute(sqlalchemy.text("INSERT INTO titanic VALUES (1)"))
        with lineage_run("job", outputs=["db/titanic"], connector=engine if given == "Engine" else second):
            pass
        job.commit()
        assert schema_of(memory) == [("id", "INTEGER")]
        assert job.execute(sqlalchemy.text("SELECT count(*) FROM titanic")).scalar() == 1
    engine.dispose()


def test_sqlite_rows_and_texts_of_the_job(memory: Memory) -> None:
    """A row factory that makes dicts, texts as bytes."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE titanic (id INTEGER)")
        connection.row_factory = lambda cursor, row: dict(zip((one[0] for one in cursor.description), row, strict=True))
        connection.text_factory = bytes
        with lineage_run("job", outputs=["db/titanic"], connector=connection):
            pass
    assert schema_of(memory) == [("id", "INTEGER")]


def test_sqlite_without_autocommit_keeps_no_lock(memory: Memory, tmp_path: Path) -> None:
    """A connection that is always in a transaction: after the look-up others can write."""
    sdk.configure(sdk.delivery.emitter.emitter().client, lookup_timeout=PATIENCE)
    with contextlib.closing(sqlite3.connect(tmp_path / "x.db", autocommit=False)) as connection:
        connection.execute("CREATE TABLE titanic (id INTEGER)")
        connection.commit()
        with lineage_run("job", outputs=["db/titanic"], connector=connection):
            pass
        assert schema_of(memory) == [("id", "INTEGER")]
        with contextlib.closing(sqlite3.connect(tmp_path / "x.db", timeout=0.1)) as other:
            other.execute("INSERT INTO titanic VALUES (1)")
            other.commit()


# --- drivers that are not known --------------------------------------------------------------------------------------


class Strange:
    """A driver of a database without information_schema, with types as numbers and as names."""

    def __init__(self, **state: Any) -> None:
        self.__dict__.update(state)
        self.statements: list[str] = []
        self.ended = 0

    def cursor(self) -> Any:
        statements = self.statements

        class Cursor:
            description = (("id", 23), ("name", str), ("day", "DATE"))

            def execute(self, statement: str) -> None:
                statements.append(statement)
                if "information_schema" in statement:
                    raise RuntimeError("no such table")

            def close(self) -> None:
                pass

        return Cursor()

    def commit(self) -> None:
        raise AssertionError

    def rollback(self) -> None:
        self.ended += 1


@pytest.mark.parametrize(
    ("state", "asked", "ended"),
    [
        ({}, False, 0),
        ({"autocommit": False}, False, 0),
        ({"in_transaction": True}, False, 0),
        ({"in_transaction": False}, True, 1),
        ({"in_transaction": False, "autocommit": True}, True, 0),
        ({"autocommit": True}, True, 0),
    ],
)
def test_an_unknown_driver_is_asked_outside_of_transactions(
    memory: Memory, state: dict[str, Any], asked: bool, ended: int
) -> None:
    """Only where it says so; a transaction that the query began is ended. Types are names, numbers are left out."""
    strange = Strange(**state)
    with lineage_run("job", outputs=["db/titanic"], connector=strange):
        pass
    assert bool(strange.statements) == asked
    assert strange.ended == ended
    assert schema_of(memory) == ([("id", None), ("name", "str"), ("day", "DATE")] if asked else None)


def test_left_alone_is_an_error_of_its_own() -> None:
    """Whoever calls the ready connectors himself is told."""
    with pytest.raises(LeftAloneError, match="not known whether a transaction is open"):
        sdk.connectors.DbApiSchemas(Strange()).get_table_schema("t")
