"""Where the handed Satsuma material lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .support import ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of the handed Satsuma material; tests that need it are skipped without it."""
    folder = Path(os.environ.get("LINEAGELOG_SHARED") or ROOT.parent / "shared") / "satsuma"
    if not folder.is_dir():
        pytest.skip("the handed material is not here (set LINEAGELOG_SHARED)")
    return folder
