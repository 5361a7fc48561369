"""Fixtures of the whole suite: one PostgreSQL for the session, an empty database for each test that asks."""

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

from lineagelog.errors import EmbeddedError
from lineagelog.store.embedded import EmbeddedPostgres
from lineagelog.store.embedded_binaries import BINARIES_VARIABLE

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
_numbers = itertools.count()

# No deadlines on a machine that has other work. LINEAGELOG_EXAMPLES asks for more examples than a quick run has.
settings.register_profile(
    "suite",
    deadline=None,
    max_examples=int(os.environ.get("LINEAGELOG_EXAMPLES", "50")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
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


@pytest.fixture
def database_url(postgres: EmbeddedPostgres, postgres_admin: psycopg.Connection) -> Iterator[str]:
    """The SQLAlchemy URL of a database that is empty and this test's alone (17 ms to make, 8 ms to drop)."""
    name = f"test_{next(_numbers)}"
    postgres_admin.execute(f'CREATE DATABASE "{name}" TEMPLATE template0 STRATEGY file_copy')
    yield postgres.url_of(name)
    postgres_admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of real producers' events and specifications; it is not part of the repository."""
    default = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("LINEAGELOG_SHARED", default))
    if not folder.is_dir():
        pytest.skip("no folder of shared data: set LINEAGELOG_SHARED to it")
    return folder
