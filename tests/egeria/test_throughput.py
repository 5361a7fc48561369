"""What the way through the JVM costs, and that memory stays flat: the short form of benchmarks/daemon.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.daemon import append_singly, compile_deliverer, deliver, write_events
from benchmarks.generator import generate

from tests.support import connect


def stored(url: str) -> int:
    with connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM bench.ol_event").fetchone()
    return int(row[0]) if row is not None else -1


@pytest.mark.parametrize(
    ("count", "least"), [(2_500, 0.5), pytest.param(100_000, 0.8, marks=pytest.mark.soak)], ids=["short", "long"]
)
def test_memory_is_flat_and_the_way_is_short(
    platforms: Path, tmp_path: Path, database_url: str, count: int, least: float
) -> None:
    """One thread, one event a transaction: the best of three runs against `append` with one event at a time. A callback
    from Java into Python would leak 1.5 KB an event."""
    jar = compile_deliverer(tmp_path)
    bodies = list(generate(count))
    events = write_events(tmp_path, bodies)
    ratios = []
    for _ in range(3):
        direct = append_singly(database_url, bodies[:2_500])
        run = deliver(database_url, tmp_path, jar, events, threads=1)
        assert (run.events, stored(database_url)) == (count, count)
        assert run.growth(after=0.4) < 10 + count * 0.6 * 300 / 2**20, run.memory
        ratios.append(run.rate / direct)
        if ratios[-1] >= least:
            break
    assert max(ratios) >= least, ratios


def test_batches_make_many_threads_faster(platforms: Path, tmp_path: Path, database_url: str) -> None:
    """Eight threads that wait at the same time share transactions: more than one event in each on average."""
    jar = compile_deliverer(tmp_path)
    events = write_events(tmp_path, generate(2_000))
    run = deliver(database_url, tmp_path, jar, events, threads=8)
    with connect(database_url) as connection:
        row = connection.execute("SELECT count(*), count(DISTINCT arrival_xid) FROM bench.ol_event").fetchone()
    assert row is not None
    assert (run.events, row[0], row[1] < 1_000) == (2_000, 2_000, True), row
