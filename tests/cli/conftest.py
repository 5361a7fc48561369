"""Settings of the machine stay out, and commands run on a database of the test."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog

from tests.support import Ran, run_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the user's settings file nor variables of ours reach a test."""
    for name in list(os.environ):
        if name.startswith("LINEAGELOG_") and "TEST" not in name and "POSTGRES_BIN" not in name:
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))


@pytest.fixture(autouse=True)
def logs_end_with_the_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command that runs here sends logs to an output that is closed afterwards; no later test writes there."""
    configure = structlog.configure
    monkeypatch.setattr(
        structlog, "configure", lambda **given: configure(**given | {"cache_logger_on_first_use": False})
    )
    handlers = logging.root.handlers[:]
    yield
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers


@pytest.fixture
def run(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs commands on an empty database of this test."""
    monkeypatch.setenv("LINEAGELOG_DATABASE", database_url)
    return run_here


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A folder that the server's account can reach, also when root runs the tests."""
    base = Path(tempfile.mkdtemp(prefix="lineagelog-tests-"))
    base.chmod(0o711)
    try:
        yield base / "data"
    finally:
        shutil.rmtree(base, ignore_errors=True)
