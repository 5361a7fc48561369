"""Fixtures of the whole suite: one PostgreSQL for the session, a database for each test that asks."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import make_url

from lineagelog.errors import EmbeddedError
from lineagelog.postgres.binaries import BINARIES_VARIABLE
from lineagelog.postgres.embedded import EmbeddedPostgres
from lineagelog.store import LogStore, open_engine

from .support import EXAMPLES, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

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


class Databases:
    """Makes databases on the session's server: 17 ms each, and 8 ms to drop."""

    def __init__(self, server: EmbeddedPostgres, admin: psycopg.Connection) -> None:
        self._server, self._admin = server, admin
        self._numbers = itertools.count()

    @contextlib.contextmanager
    def new(self, template: str = "template0") -> Iterator[str]:
        """The SQLAlchemy URL of a database that is there until the block ends: empty, or a copy."""
        name = f"test_{next(self._numbers)}"
        self._admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
        yield self._server.url_of(name)
        self._admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def databases(postgres: EmbeddedPostgres, postgres_admin: psycopg.Connection) -> Databases:
    """For fixtures that are shared by many tests; a test asks for `database_url` or `store`."""
    return Databases(postgres, postgres_admin)


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """A database that is empty and this test's alone."""
    with databases.new() as url:
        yield url


@pytest.fixture(scope="session")
def store_template(databases: Databases) -> Iterator[str]:
    """The name of a database with empty stores in two schemas. To copy it is five times faster than to make a store."""
    with databases.new() as url:
        engine = open_engine(url)
        for name in ("openlineage", "a store"):
            LogStore(engine, name).create()
        engine.dispose()
        yield str(make_url(url).database)


@pytest.fixture
def store_url(databases: Databases, store_template: str) -> Iterator[str]:
    """The database of `store`."""
    with databases.new(store_template) as url:
        yield url


@pytest.fixture
def schema_name() -> str:
    """The schema of `store`; "a store" shows that names are quoted."""
    return "openlineage"


@pytest.fixture
def store(store_url: str, schema_name: str) -> Iterator[LogStore]:
    """An empty store of this test's own."""
    engine = open_engine(store_url, pool_size=6, connect_timeout=3)
    yield LogStore(engine, schema_name)
    engine.dispose()


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of real producers' events and specifications; it is not part of the repository."""
    folder = Path(os.environ.get("LINEAGELOG_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        pytest.skip("no folder of shared data: set LINEAGELOG_SHARED to it")
    return folder
