"""The stand-in platforms, a PostgreSQL that may be stopped, and a daemon on a database of the test."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineagelog.postgres.embedded import EmbeddedPostgres

from . import standin

_FAST = "fsync = off\nfull_page_writes = off\nshared_buffers = 16MB\n"


@pytest.fixture(scope="session")
def platforms() -> Path:
    """The folder of the stand-in platforms: {4.3,6.0}/{lib,platform.jar}."""
    standin.build()
    return standin.PLATFORMS


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the user's settings file nor variables of ours reach a test."""
    for name in list(os.environ):
        if (
            name.startswith("LINEAGELOG_")
            and "TEST" not in name
            and "POSTGRES_BIN" not in name
            and "EGERIA" not in name
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A folder for a server, which its account can reach also when root runs the tests."""
    base = Path(tempfile.mkdtemp(prefix="lineagelog-tests-"))
    base.chmod(0o711)
    (base / "data").mkdir(mode=0o711)
    (base / "data" / "local.conf").write_text(_FAST)
    try:
        yield base / "data"
    finally:
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def own_postgres(data_dir: Path) -> Iterator[EmbeddedPostgres]:
    """A server of this test alone, which may be stopped (`release`) and started."""
    server = EmbeddedPostgres(data_dir)
    try:
        server.start()
        yield server
    finally:
        server.release()
