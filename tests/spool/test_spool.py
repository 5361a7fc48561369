"""The disk spool: nothing appended is lost, nothing acknowledged comes again, whatever dies in between."""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import PATIENCE, wait_until

from lineagelog.errors import SpoolBusy, SpoolError, SpoolFull
from lineagelog.spool import Spool

if TYPE_CHECKING:
    from pathlib import Path


def drain(spool: Spool, *, at_once: int = 7) -> list[bytes]:
    """Everything that is waiting, acknowledged."""
    found: list[bytes] = []
    with spool.reader() as reader:
        while batch := reader.peek(at_once):
            found += batch
            reader.ack(len(batch))
    return found


def test_records_come_in_order_once(tmp_path: Path) -> None:
    """What was appended comes out in order, over several segments, and never again; used segments go."""
    spool = Spool(tmp_path / "spool", max_bytes=40_000, segment_bytes=1000)
    records = [b"%d" % number * (number % 50) for number in range(300)]
    for record in records:
        spool.append(record)
    assert spool.stats().segments > 5
    assert drain(spool) == records
    assert drain(spool) == []
    assert spool.stats().segments == 1
    assert spool.stats().waiting_bytes == 0


def test_the_folder_is_private(tmp_path: Path) -> None:
    """Events may tell secrets: folder and files are for their owner alone."""
    spool = Spool(tmp_path / "a" / "spool")
    spool.append(b"x")
    assert (tmp_path / "a" / "spool").stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "a" / "spool").iterdir())


def test_what_is_not_acknowledged_comes_again(tmp_path: Path) -> None:
    """A peek changes nothing; an ack of two of three leaves the third, for another drainer too."""
    spool = Spool(tmp_path)
    for record in (b"1", b"2", b"3"):
        spool.append(record)
    with spool.reader() as reader:
        assert reader.peek() == reader.peek() == [b"1", b"2", b"3"]
        reader.ack(2)
        with pytest.raises(ValueError, match="2 records acknowledged, 1 were read"):
            reader.ack(2)
    assert drain(Spool(tmp_path)) == [b"3"]


def test_peek_is_bounded_but_gives_one(tmp_path: Path) -> None:
    """At most so many records, at most so many bytes, but never nothing if there is something."""
    spool = Spool(tmp_path)
    for _ in range(10):
        spool.append(b"x" * 1000)
    with spool.reader() as reader:
        assert len(reader.peek(3)) == 3
        assert len(reader.peek(10, max_bytes=2500)) == 3
        assert len(reader.peek(10, max_bytes=1)) == 1


def test_the_limit_holds_and_room_comes_back(tmp_path: Path) -> None:
    """A full spool refuses and keeps what it has; after draining there is room again, for other processes' view too."""
    spool = Spool(tmp_path, max_bytes=10_000)
    kept = 0
    with pytest.raises(SpoolFull, match="10000 bytes"):
        while True:
            spool.append(b"x" * 500)
            kept += 1
    assert 15 <= kept <= 20
    assert sum(path.stat().st_size for path in tmp_path.glob("*.seg")) <= 10_000
    assert len(drain(Spool(tmp_path, max_bytes=10_000))) == kept
    for _ in range(10):
        spool.append(b"y" * 500)
    assert len(drain(spool)) == 10


def test_one_drains_at_a_time(tmp_path: Path) -> None:
    """A second drainer is told so at once, and may drain after the first."""
    spool = Spool(tmp_path)
    with spool.reader(), pytest.raises(SpoolBusy, match="being drained"), Spool(tmp_path).reader():
        pass
    with Spool(tmp_path).reader() as reader:
        assert reader.peek() == []


@pytest.mark.parametrize("cut", [1, 5, 12, 13, 60])
def test_a_torn_record_is_skipped(tmp_path: Path, cut: int) -> None:
    """A crash in the middle of a write loses that record alone, whatever was appended before and after."""
    spool = Spool(tmp_path)
    spool.append(b"before")
    spool.append(b"torn" * 20)
    spool.close()
    segment = next(tmp_path.glob("*.seg"))
    os.truncate(segment, segment.stat().st_size - cut)
    with Spool(tmp_path).reader() as reader:
        assert reader.peek() == [b"before"]  # the torn one at the very end
    spool.append(b"after")
    with spool.reader() as reader:
        assert reader.peek() == [b"before", b"after"]
        assert reader.skipped_bytes == 0  # counted when it is passed for good
        reader.ack(2)
        assert reader.skipped_bytes == 12 + 80 - cut
    assert drain(spool) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    records=st.lists(st.binary(max_size=60), min_size=1, max_size=12),
    spoil=st.integers(0, 10_000),
    byte=st.integers(1, 255),
)
def test_a_spoiled_byte_costs_one_record(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], spoil: int, byte: int
) -> None:
    """Whichever byte the disk changes, all records come out in order but the one it belongs to."""
    folder = tmp_path_factory.mktemp("spool")
    spool = Spool(folder)
    ends = []
    for record in records:
        spool.append(record)
        ends.append(next(folder.glob("*.seg")).stat().st_size)
    segment = next(folder.glob("*.seg"))
    data = bytearray(segment.read_bytes())
    place = spoil % len(data)
    data[place] ^= byte
    segment.write_bytes(data)
    hit = next(index for index, end in enumerate(ends) if place < end)
    assert drain(spool) == records[:hit] + records[hit + 1 :]


def test_a_record_that_looks_like_records(tmp_path: Path) -> None:
    """Magic bytes and whole frames inside a record do not confuse the reader."""
    inner = Spool(tmp_path / "inner")
    inner.append(b"inner")
    frame = next((tmp_path / "inner").glob("*.seg")).read_bytes()
    spool = Spool(tmp_path / "outer")
    records = [frame, frame * 3, b"\xffLL\xfe", struct.pack(">4sII", b"\xffLL\xfe", 5, 0) + b"short"]
    for record in records:
        spool.append(record)
    assert drain(spool) == records


def _append_many(folder: str, name: int, count: int) -> None:
    spool = Spool(folder, segment_bytes=2000, lock_timeout=PATIENCE)
    for number in range(count):
        spool.append(b"%d:%d" % (name, number))


def test_many_processes_append_while_one_drains(tmp_path: Path) -> None:
    """Four processes append 300 records each while a drainer works: each comes once, each process's in order."""
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_append_many, args=(str(tmp_path), name, 300)) for name in range(4)]
    for writer in writers:
        writer.start()
    spool, found = Spool(tmp_path), []

    def all_came() -> bool:
        found.extend(drain(spool))
        return len(found) >= 1200

    wait_until(all_came)
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    for name in range(4):
        assert [item for item in found if item.startswith(b"%d:" % name)] == [b"%d:%d" % (name, n) for n in range(300)]


def test_threads_share_one_spool(tmp_path: Path) -> None:
    """Eight threads on one object lose nothing."""
    spool = Spool(tmp_path, segment_bytes=500, lock_timeout=PATIENCE)
    threads = [
        threading.Thread(target=lambda name=name: [spool.append(b"%d:%d" % (name, n)) for n in range(50)])
        for name in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(drain(spool)) == sorted(b"%d:%d" % (name, n) for name in range(8) for n in range(50))


_KILLED = """
import sys
from lineagelog.spool import Spool
spool, number = Spool(sys.argv[1], segment_bytes=4000), 0
while True:
    spool.append(b"%d " % number * 20)
    number += 1
    print(number, flush=True)
"""


@pytest.mark.parametrize("after", [1, 50, 400])
def test_kill_nine_loses_nothing_appended(tmp_path: Path, after: int) -> None:
    """All that a killed process had appended is there for the next, and its locks are free."""
    process = subprocess.Popen([sys.executable, "-c", _KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while int(process.stdout.readline()) < after:
        pass
    process.send_signal(signal.SIGKILL)
    told = [int(line) for line in process.stdout.read().splitlines() if line.strip()]
    process.wait()
    process.stdout.close()
    spool = Spool(tmp_path)
    spool.append(b"next")
    found = drain(spool)
    appended = max([after, *told])
    assert found[:appended] == [b"%d " % number * 20 for number in range(appended)]
    assert found[-1] == b"next"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_keeps_no_lock(tmp_path: Path) -> None:
    """A child made by fork while its parent drains does not keep the drain lock, and appends on its own."""
    spool = Spool(tmp_path)
    spool.append(b"parent")
    reader = spool.reader().__enter__()
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        spool.append(b"child")
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    reader.close()
    try:
        assert drain(Spool(tmp_path)) == [b"parent", b"child"]
    finally:
        os.write(go[1], b"x")
        os.waitpid(child, 0)
        for descriptor in (*ready, *go):
            os.close(descriptor)


def test_a_stopped_appender_does_not_stop_others_for_long(tmp_path: Path) -> None:
    """Where a process holds the append lock, an append gives up after its time-out and keeps nothing."""
    holder = Spool(tmp_path)
    spool = Spool(tmp_path, lock_timeout=0.05)
    with holder.locked(), pytest.raises(SpoolBusy, match="another process"):
        spool.append(b"x")
    assert drain(spool) == []


@pytest.mark.parametrize("lost", ["append.lock", "cursor"])
def test_a_lost_file_loses_no_record(tmp_path: Path, lost: str) -> None:
    """Without its state the spool still takes and gives records; without the cursor, old ones come again."""
    spool = Spool(tmp_path, segment_bytes=30)
    for number in range(10):
        spool.append(b"%d" % number)
    assert len(drain(spool)) == 10
    spool.close()
    (tmp_path / lost).unlink()
    for segment in tmp_path.glob("*.seg"):
        if lost == "append.lock":
            segment.unlink()
    Spool(tmp_path).append(b"new")
    assert drain(Spool(tmp_path))[-1] == b"new"


def test_records_after_a_cut_segment_are_read(tmp_path: Path) -> None:
    """A machine's crash may keep the cursor and lose the segment's end: new records still come."""
    spool = Spool(tmp_path)
    for number in range(10):
        spool.append(b"%d" % number)
    drain(spool)
    spool.close()
    os.truncate(next(tmp_path.glob("*.seg")), 0)
    again = Spool(tmp_path)
    for number in range(3):
        again.append(b"new %d" % number)
    assert drain(again) == [b"new 0", b"new 1", b"new 2"]


def test_a_full_disk_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the folder; a part that was written is taken back, and the next append works."""
    spool = Spool(tmp_path)
    spool.append(b"first")
    real = os.write

    def short(descriptor: int, data: bytes) -> int:
        return real(descriptor, data[:7])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", short)
        with pytest.raises(SpoolError, match=f"{tmp_path} cannot be used: the record was written in part"):
            spool.append(b"second")
    spool.append(b"third")
    assert drain(spool) == [b"first", b"third"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file where the folder should be: one error that names it."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SpoolError, match=r"file.* cannot be used"):
        Spool(tmp_path / "file")


def test_fsync_reaches_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `fsync` each append waits for the disk, without it none does."""
    calls: list[int] = []
    real = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: (calls.append(descriptor), real(descriptor))[1])
    Spool(tmp_path / "fast").append(b"x")
    assert calls == []
    Spool(tmp_path / "safe", fsync=True).append(b"x")
    assert len(calls) == 1
