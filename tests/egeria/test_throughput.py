"""What the way through the JVM costs, and that memory stays flat: the short form of benchmarks/daemon.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.daemon import compile_deliverer, memory, rates, write_events
from benchmarks.generator import generate

from tests.support import connect

pytestmark = pytest.mark.long

LEAK = 1.5 / 1024
"""MiB that a callback from Java into Python would leak for each event."""


@pytest.mark.soak
def test_one_thread_is_nearly_as_fast_as_append(platforms: Path, tmp_path: Path, database_url: str) -> None:
    """One event a transaction, as Egeria's dispatch has it, in turns with `append`."""
    jar = compile_deliverer(tmp_path)
    direct, daemon = rates(database_url, tmp_path, jar, list(generate(10_000)), (1,)).values()
    assert daemon / direct >= 0.8, (direct, daemon)


def stays_flat(url: str, folder: Path, events: Path | int, count: int, share: float) -> None:
    """After the first half, in which the JVM compiles and caches fill, there is less than a share of the leak."""
    points, _ = memory(url, folder, compile_deliverer(folder), events, count)
    first, last = points[len(points) // 2], points[-1]
    assert last[0] == count
    assert last[1] - first[1] < (last[0] - first[0]) * LEAK * share, points
    with connect(url) as connection:
        assert connection.execute('SELECT count(*) FROM "bench 1".ol_event').fetchone() == (count,)


def test_memory_is_flat(platforms: Path, tmp_path: Path, database_url: str) -> None:
    """Small events of one job: little but the way itself could grow."""
    stays_flat(database_url, tmp_path, 16_000, 16_000, 0.5)


@pytest.mark.soak
def test_memory_is_flat_for_long(platforms: Path, tmp_path: Path, database_url: str) -> None:
    """A hundred thousand events as large as real ones, of two hundred jobs."""
    stays_flat(database_url, tmp_path, write_events(tmp_path, generate(100_000)), 100_000, 0.25)


def test_batches_form_by_themselves(platforms: Path, tmp_path: Path, database_url: str) -> None:
    """Eight threads that wait at the same time share transactions."""
    rates(database_url, tmp_path, compile_deliverer(tmp_path), list(generate(2_000)), (8,))
    with connect(database_url) as connection:
        row = connection.execute('SELECT count(*), count(DISTINCT arrival_xid) FROM "bench 8".ol_event').fetchone()
    assert row is not None
    assert (row[0], row[1] < 1_000) == (2_000, True), row
