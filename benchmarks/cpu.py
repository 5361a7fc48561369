"""CPU of processes beside this one, read from /proc: unlike a rate it hardly depends on what else the machine does."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psycopg

_TICKS = os.sysconf("SC_CLK_TCK")


def _stat(pid: int | str) -> list[str]:
    """The fields of /proc/PID/stat from the state on; none for a process that has gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def of_process(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS


class OfPostgres:
    """All processes of a PostgreSQL on this machine, those that have ended too."""

    def __init__(self, dsn: str) -> None:
        with psycopg.connect(dsn) as connection:
            self._postmaster = int(_stat(connection.info.backend_pid)[1])

    def seconds(self) -> float:
        """Seconds of CPU that they have used. Waits until a process that just ended is counted by its parent."""
        time.sleep(0.3)
        total = sum(map(int, _stat(self._postmaster)[11:15]))
        for folder in Path("/proc").glob("[0-9]*"):
            fields = _stat(folder.name)
            if fields and int(fields[1]) == self._postmaster:
                total += int(fields[11]) + int(fields[12])
        return total / _TICKS
