"""Fixtures of the whole suite: one PostgreSQL for the session, a database for each test that asks."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from pytest_postgresql.executors import NoopExecutor
from sqlalchemy import make_url

from lineagelog.errors import EmbeddedError
from lineagelog.postgres.binaries import BINARIES_VARIABLE
from lineagelog.postgres.cluster import PORT, USER
from lineagelog.postgres.embedded import EmbeddedPostgres
from lineagelog.store import Database, LogStore, open_engine

from .databases import Janitor
from .support import EXAMPLES, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .databases import NewDatabase

TEST_BINARIES_VARIABLE = "LINEAGELOG_TEST_POSTGRES_BIN"
_FAST = """\
fsync = off
full_page_writes = off
shared_buffers = 128MB
log_min_messages = error
"""
_PREFIX = "lineagelog-tests-"

# No deadlines on a machine that has other work. LINEAGELOG_EXAMPLES asks for more examples than a quick run has.
settings.register_profile(
    "suite",
    deadline=None,
    max_examples=EXAMPLES,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
        HealthCheck.function_scoped_fixture,
    ],
)
settings.load_profile("suite")


def pytest_configure() -> None:
    """Run the suite on the PostgreSQL whose bin folder LINEAGELOG_TEST_POSTGRES_BIN names."""
    if chosen := os.environ.get(TEST_BINARIES_VARIABLE):
        os.environ[BINARIES_VARIABLE] = chosen
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell's background has it; programs would inherit that
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_orphans() -> None:
    """End the servers of earlier sessions that were killed: whoever joins and leaves alone stops them."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/data"):
        lock_file = left / "cluster" / "postmaster.pid"
        with contextlib.suppress(OSError, EmbeddedError):  # another session may be removing it
            if left.stat().st_uid == os.geteuid() and lock_file.exists():
                with EmbeddedPostgres(left):
                    pass
                if not lock_file.exists():
                    shutil.rmtree(left.parent, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """The server of the session, started by the product's own code, without durability."""
    _end_orphans()
    base = Path(tempfile.mkdtemp(prefix=_PREFIX))
    base.chmod(0o711)  # under root the server's account must come through; pytest's own tmp_path keeps it out
    data_dir = base / "data"
    data_dir.mkdir(mode=0o711)
    (data_dir / "local.conf").write_text(_FAST)
    try:
        with EmbeddedPostgres(data_dir) as server:
            yield server
    finally:
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_admin(postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection]:
    """A connection that makes and drops databases."""
    with psycopg.connect(postgres.dsn_of("postgres"), autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def postgresql_noproc(postgres: EmbeddedPostgres) -> NoopExecutor:
    """What pytest-postgresql knows a server by: the session's, at its socket's folder."""
    return NoopExecutor(host=str(postgres.socket_dir), port=PORT, user=USER, options="", dbname="test")


@pytest.fixture(scope="session")
def new_database(
    postgres: EmbeddedPostgres, postgresql_noproc: NoopExecutor, postgres_admin: psycopg.Connection
) -> NewDatabase:
    """Makes databases on the session's server: for what many tests share; others ask for `database_url` or `store`."""
    numbers = itertools.count()

    @contextlib.contextmanager
    def new(template: str = "template0") -> Iterator[str]:
        with Janitor(postgresql_noproc, postgres_admin, f"test_{next(numbers)}", template) as janitor:
            yield postgres.url_of(janitor.dbname)

    return new


@pytest.fixture
def database_url(new_database: NewDatabase) -> Iterator[str]:
    """A database that is empty and this test's alone."""
    with new_database() as url:
        yield url


@pytest.fixture(scope="session")
def store_template(new_database: NewDatabase) -> Iterator[str]:
    """The name of a database with empty stores in two schemas. To copy it is five times faster than to make a store."""
    with new_database() as url:
        engine = open_engine(url)
        for name in ("openlineage", "a store"):
            LogStore(Database(engine, name)).create()
        engine.dispose()
        yield str(make_url(url).database)


@pytest.fixture
def store_url(new_database: NewDatabase, store_template: str) -> Iterator[str]:
    """The database of `store`."""
    with new_database(store_template) as url:
        yield url


@pytest.fixture
def schema_name() -> str:
    """The schema of `store`; "a store" shows that names are quoted."""
    return "openlineage"


@pytest.fixture
def store(store_url: str, schema_name: str) -> Iterator[LogStore]:
    """An empty store of this test's own."""
    engine = open_engine(store_url, pool_size=6, connect_timeout=30)
    yield LogStore(Database(engine, schema_name))
    engine.dispose()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of loopback at which nobody listens, and which is given to nobody else meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of real producers' events and specifications; it is not part of the repository."""
    folder = Path(os.environ.get("LINEAGELOG_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        pytest.skip("no folder of shared data: set LINEAGELOG_SHARED to it")
    return folder
