"""Every benchmark of the README starts: what one takes from another is there."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support import PATIENCE, ROOT

README = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
NAMED = [*sorted(set(re.findall(r"python -m (benchmarks\.\w+)", README))), "benchmarks.__main__"]


@pytest.mark.long
@pytest.mark.parametrize("module", NAMED)
def test_it_imports_all_that_it_needs(module: str) -> None:
    """In a process of its own, as it is run."""
    command = [sys.executable, "-c", f"import {module}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
