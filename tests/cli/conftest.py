"""Settings of the machine stay out, and commands run on a database of the test."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support import Ran, run_here

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the user's settings file nor variables of ours reach a test."""
    for name in list(os.environ):
        if name.startswith("LINEAGELOG_") and "TEST" not in name and "POSTGRES_BIN" not in name:
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))


@pytest.fixture
def run(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs commands on an empty database of this test."""
    monkeypatch.setenv("LINEAGELOG_DATABASE", database_url)
    return run_here
