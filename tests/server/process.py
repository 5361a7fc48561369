"""Starts tests.server.serving as a process."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support import PATIENCE, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def serving(database_url: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its URL; whatever is left of it is killed."""
    command = [sys.executable, "-m", "tests.server.serving", database_url]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        url = next(line.split()[1] for line in process.stdout if line.startswith("ready "))
        yield process, url
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stdout.close()


def memory(process: subprocess.Popen[str], field: str) -> int:
    """A figure of /proc/PID/status (VmRSS, VmHWM), in bytes."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(field)
