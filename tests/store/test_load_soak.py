"""A million events: nothing lost, the digest right, and the loader's memory flat."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from benchmarks.generator import generate

from lineagelog.intake import Delivery, Door, load
from lineagelog.postgres.embedded import EmbeddedPostgres
from lineagelog.store import Database, LogStore, Verifier, open_engine

pytestmark = pytest.mark.long

PAGE = 4096


def resident_memory() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def load_and_watch(events: int) -> tuple[int, list[int]]:
    """Load generated events into a fresh store; return how many were stored, and the memory along the way."""
    base = Path(tempfile.mkdtemp(prefix="lineagelog-tests-"))
    base.chmod(0o711)
    try:
        with EmbeddedPostgres(base / "data") as server:
            engine = open_engine(server.url)
            store = LogStore(Database(engine))
            store.create()
            deliveries = (Delivery(body, "") for body in generate(events))
            stored, memory = 0, []
            for outcomes in load(Door(store), deliveries, source="test"):
                stored += sum(outcome.verdict == "stored" for outcome in outcomes)
                memory.append(resident_memory())
            assert list(Verifier(store).verify()) == []
            engine.dispose()
            return stored, memory
    finally:
        shutil.rmtree(base, ignore_errors=True)


@pytest.mark.parametrize(
    "events", [15_000, pytest.param(1_000_000, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_memory_is_flat_while_loading(events: int) -> None:
    """After a warm-up of a fifth, memory grows by no more than 48 MB, however many events follow."""
    stored, memory = load_and_watch(events)

    assert stored == events
    warm = max(memory[: len(memory) // 5])
    assert max(memory) - warm < 48 * 1024 * 1024
