"""Where the shared Satsuma material lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def shared(shared_dir: Path) -> Path:
    """The folder of the shared Satsuma material; tests that need it are skipped without it."""
    folder = shared_dir / "satsuma"
    if not folder.is_dir():
        pytest.skip(f"no Satsuma material in {shared_dir}")
    return folder
