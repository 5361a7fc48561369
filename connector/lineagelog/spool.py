"""A durable queue of byte records in a folder: many processes append, one at a time drains, in order, at least once.

The records stand one after the other in segment files (``000000000001.seg``, …), each behind a header of magic bytes,
length and checksum. Two locks (``flock``, which the kernel gives back when a process dies) guard them: ``append.lock``
for the time of one write, ``drain.lock`` for as long as a drainer works. ``cursor`` says up to where records are
acknowledged. A record that a crash has torn, or that the disk has spoiled, fails its checksum; it is skipped and
counted, and reading goes on at the next magic bytes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import threading
import time
import weakref
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .errors import SpoolBusy, SpoolError, SpoolFull

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

DEFAULT_MAX_BYTES: Final = 256 * 1024 * 1024
DEFAULT_SEGMENT_BYTES: Final = 4 * 1024 * 1024

_MAGIC: Final = b"\xffLL\xfe"  # 0xff and 0xfe are no bytes of UTF-8: a text never holds it
_HEADER: Final = struct.Struct(">4sII")  # magic, length, CRC-32 of length and record
HEADER_BYTES: Final = _HEADER.size
_STATE: Final = struct.Struct(">QQI")  # two numbers and their CRC-32
_POLL_SECONDS: Final = 0.002
_SUFFIX: Final = ".seg"


@dataclass(frozen=True)
class SpoolStats:
    """How full a spool is."""

    segments: int
    total_bytes: int
    """Bytes on disk, acknowledged ones of a segment in use included."""
    waiting_bytes: int
    """Bytes not yet acknowledged, headers included."""


class Spool:
    """The appending side of a spool, and its metrics; `reader` gives the draining side.

    One object may be used by any number of threads, and after a fork by both processes.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        segment_bytes: int = DEFAULT_SEGMENT_BYTES,
        fsync: bool = False,
        lock_timeout: float = 1.0,
    ) -> None:
        """Open or make the spool in ``folder`` (made with mode 0700).

        ``max_bytes``: more than these on disk are refused. ``segment_bytes``: a segment that has grown to these is
        closed; a quarter of ``max_bytes`` at most. ``fsync``: whether each append and acknowledgement reaches the disk
        before it returns (survives the machine's crash; without it, the process's). ``lock_timeout``: how many seconds
        an append may wait for its turn. Raises SpoolError if the folder cannot be made.
        """
        self.folder = Path(folder)
        self.max_bytes = max_bytes
        self.segment_bytes = max(1, min(segment_bytes, max_bytes // 4))
        self.fsync = fsync
        self.lock_timeout = lock_timeout
        with self._translated():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._process = os.getpid()
        self._thread_lock = threading.Lock()
        self._lock_file: int | None = None
        self._segment: int | None = None
        self._files: dict[int, os.stat_result] = {}
        self._number = self._size = self._closed_bytes = 0
        self.remembered = (0, 0)
        """Up to where records are acknowledged that no disk would note; (0, 0) where the file ``cursor`` is right."""

    def append(self, record: bytes, *, may_exceed: bool = False) -> None:
        """Keep one record; on return it is in the spool. ``may_exceed``: more than ``max_bytes`` are taken, too, as
        a drainer needs that puts a record at the end and acknowledges it at the front.

        Raises SpoolFull if it does not fit, SpoolBusy if the lock is not to be had in time, SpoolError if the disk
        refuses. In each of these cases nothing of the record stays.
        """
        checksum = zlib.crc32(record, zlib.crc32(struct.pack(">I", len(record))))
        framed = _HEADER.pack(_MAGIC, len(record), checksum) + record
        with self.locked():
            segment = self._segment_for(len(framed), is_bounded=not may_exceed)
            try:
                self._write(segment, framed)
            except OSError:
                os.ftruncate(segment, self._size)
                raise
            self._size += len(framed)

    def stats(self) -> SpoolStats:
        """How full the spool is now."""
        with self.locked():
            sizes = segment_sizes(self.folder)
            at = read_state(self.folder / "cursor") or (0, 0)
        total = sum(sizes.values())
        done = sum(size if number < at[0] else min(at[1], size) for number, size in sizes.items() if number <= at[0])
        return SpoolStats(len(sizes), total, total - done)

    def reader(self) -> SpoolReader:
        """The draining side, to be used in a ``with`` block; raises SpoolBusy there if another drains."""
        return SpoolReader(self)

    def close(self) -> None:
        """Give the files back; the spool may be used again afterwards."""
        self._own()
        with self._thread_lock:
            self._leave()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the append lock, in this process and against others. Raises SpoolBusy after `lock_timeout`."""
        self._own()
        deadline = time.monotonic() + self.lock_timeout
        with self._translated():
            if not self._thread_lock.acquire(timeout=self.lock_timeout):
                raise SpoolBusy(f"the spool {self.folder} is held by another thread")
            try:
                self._drop_foreign()
                if self._lock_file is None:
                    self._lock_file = os.open(self.folder / "append.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                    self._files[self._lock_file] = os.fstat(self._lock_file)
                while not try_lock(self._lock_file):
                    if time.monotonic() > deadline:
                        raise SpoolBusy(f"the spool {self.folder} is held by another process")
                    time.sleep(_POLL_SECONDS)
                try:
                    yield
                finally:
                    fcntl.flock(self._lock_file, fcntl.LOCK_UN)
            finally:
                self._thread_lock.release()

    def _own(self) -> None:
        if self._process != os.getpid():  # a fork shares its parent's files, and so its locks: take own ones
            self._process, self._thread_lock = os.getpid(), threading.Lock()
            self._leave()

    def _drop_foreign(self) -> None:
        """Forget numbers of files that are no longer ours: a job that closes all files, as daemons do, uses them again,
        and nothing of ours must get into its files."""
        if self._lock_file is not None and not is_same_file(self._lock_file, self._files.get(self._lock_file)):
            self._lock_file = None
        if self._segment is not None and not is_same_file(self._segment, self._files.get(self._segment)):
            self._segment, self._size = None, 0

    # --- inside the append lock -------------------------------------------------------------------------------------

    def _leave(self) -> None:
        self._drop_foreign()
        for descriptor in (self._lock_file, self._segment):
            if descriptor is not None:
                os.close(descriptor)
        self._lock_file = self._segment = None

    def _segment_for(self, length: int, *, is_bounded: bool) -> int:
        """The open segment that takes ``length`` more bytes; a new one where the last is full or gone."""
        self._find_last_segment()
        if is_bounded and self._closed_bytes + self._size + length > self.max_bytes:
            sizes = segment_sizes(self.folder)  # the drainer may have removed some since
            self._closed_bytes = sum(size for number, size in sizes.items() if number != self._number)
            if self._closed_bytes + self._size + length > self.max_bytes:
                raise SpoolFull(f"the spool {self.folder} is full: {self.max_bytes} bytes")
        if self._segment is None or self._size >= self.segment_bytes:
            self._open_segment(self._number + 1)
        assert self._segment is not None  # noqa: S101 - for the type checker
        return self._segment

    def _find_last_segment(self) -> None:
        """Take up what other processes did since: a later segment, a longer one, or this one removed."""
        assert self._lock_file is not None  # noqa: S101
        state = decode_state(os.pread(self._lock_file, _STATE.size, 0))
        cursor = read_state(self.folder / "cursor") or (0, 0) if self._segment is None else (0, 0)
        last = max(state[0] if state else max(segment_sizes(self.folder), default=0), cursor[0])
        if self._segment is not None:
            status = os.fstat(self._segment)
            if last == self._number and status.st_nlink:
                self._size = status.st_size
                return
            os.close(self._segment)
            self._segment, self._size = None, 0
        self._number = max(last, self._number)
        size = segment_sizes(self.folder).get(self._number)
        lost_by_crash = self._number == cursor[0] and (size or 0) < cursor[1]
        if size is not None and not lost_by_crash:  # else records would stand where the drainer has been already
            self._open_segment(self._number)

    def _open_segment(self, number: int) -> None:
        if self._segment is not None:
            os.close(self._segment)
            self._segment = None
        path = segment_path(self.folder, number)
        self._segment = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._files[self._segment] = status = os.fstat(self._segment)
        self._number, self._size = number, status.st_size
        sizes = segment_sizes(self.folder)
        self._closed_bytes = sum(size for other, size in sizes.items() if other != number)
        assert self._lock_file is not None  # noqa: S101
        os.pwrite(self._lock_file, encode_state(number, 0), 0)
        if self.fsync:
            sync_folder(self.folder)

    def _write(self, segment: int, framed: bytes) -> None:
        written = os.write(segment, framed)
        if written != len(framed):
            raise OSError(errno.ENOSPC, "the record was written in part")
        if self.fsync:
            os.fdatasync(segment)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn the operating system's errors into one that names the spool."""
        try:
            yield
        except OSError as problem:
            raise SpoolError(f"the spool {self.folder} cannot be used: {problem.strerror or problem}") from problem


class SpoolReader:
    """The draining side: look at the oldest records, deliver them, acknowledge them."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._folder = spool.folder
        self._lock_file: int | None = None
        self._file: os.stat_result | None = None
        self._position = (0, 0)
        self._ends: list[tuple[tuple[int, int], int]] = []
        self.skipped_bytes = 0
        """Bytes passed over so far because no valid record stood there."""

    def __enter__(self) -> Self:
        with self._spool._translated():
            descriptor = os.open(self._folder / "drain.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if not try_lock(descriptor):
                os.close(descriptor)
                raise SpoolBusy(f"the spool {self._folder} is being drained by another process")
            self._lock_file, self._file = descriptor, os.fstat(descriptor)
            _draining.add(self)
            self._position = max(read_state(self._folder / "cursor") or (0, 0), self._spool.remembered)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let others drain."""
        _draining.discard(self)
        if self._lock_file is not None:
            if is_same_file(self._lock_file, self._file):
                os.close(self._lock_file)
            self._lock_file = None

    def peek(self, max_records: int = 100, max_bytes: int = 4 * 1024 * 1024) -> list[bytes]:
        """The oldest records that are not acknowledged, at least one if there is one; [] if there is none.

        Without `ack` in between the same ones come again.
        """
        with self._spool._translated():
            records: list[bytes] = []
            self._ends = []
            at, size, skipped = self._position, 0, 0
            while len(records) < max_records and size < max_bytes:
                found = self._next(at)
                if found is None:
                    break
                record, at, passed = found
                skipped += passed
                records.append(record)
                self._ends.append((at, skipped))
                size += len(record)
            return records

    def ack(self, count: int) -> None:
        """The first ``count`` records of the last `peek` are delivered and never come again.

        Where the disk refuses to note it, this process remembers it: they come again only after its end. Raises
        ValueError if that `peek` gave fewer, SpoolBusy if the appenders do not let used segments go.
        """
        if not 0 <= count <= len(self._ends):
            raise ValueError(f"{count} records acknowledged, {len(self._ends)} were read")
        if count:
            position, skipped = self._ends[count - 1]
            with self._spool._translated():
                self._move(position)
            self.skipped_bytes += skipped
            self._ends = [(end, total - skipped) for end, total in self._ends[count:]]

    def _move(self, position: tuple[int, int]) -> None:
        """Remember the position, on disk if it can be, and remove the segments that lie behind it."""
        try:
            self._note(position)
            self._spool.remembered = (0, 0)
        except OSError:  # records that were delivered are not to be delivered again and again meanwhile
            self._spool.remembered = position
        self._position = position
        behind = [number for number in segment_sizes(self._folder) if number < position[0]]
        if behind:
            with self._spool.locked():
                for number in behind:
                    segment_path(self._folder, number).unlink(missing_ok=True)

    def _note(self, position: tuple[int, int]) -> None:
        """Write the cursor: a new file in its place, or into the one that is there, which a full disk allows."""
        cursor, state = self._folder / "cursor", encode_state(*position)
        try:
            write_synced(self._folder / "cursor.new", state, os.O_CREAT | os.O_TRUNC, fsync=self._spool.fsync)
            (self._folder / "cursor.new").replace(cursor)
        except OSError:
            with contextlib.suppress(OSError):
                (self._folder / "cursor.new").unlink()
            write_synced(cursor, state, 0, fsync=self._spool.fsync)  # a torn one is none: records come again
        if self._spool.fsync:
            sync_folder(self._folder)

    def _next(self, position: tuple[int, int]) -> tuple[bytes, tuple[int, int], int] | None:
        """The first valid record at or after the position, where it ends, and the bytes passed over before it."""
        numbers = sorted(number for number in segment_sizes(self._folder) if number >= position[0])
        skipped = 0
        for number in numbers:
            offset = position[1] if number == position[0] else 0
            record, end, passed = self._next_in(number, offset, last=number == numbers[-1])
            skipped += passed
            if record is not None:
                return record, (number, end), skipped
        return None

    def _next_in(self, number: int, offset: int, *, last: bool) -> tuple[bytes | None, int, int]:
        with segment_path(self._folder, number).open("rb") as file:
            segment = file.fileno()
            record = read_record(segment, offset)
            if record is None and last and offset < os.fstat(segment).st_size:
                with self._spool.locked():  # an append may have been under way: look when none is
                    record = read_record(segment, offset)
            start = offset
            if record is None:
                record, start = resume(segment, offset)
            return record, start + _HEADER.size + len(record or b""), start - offset


_draining: weakref.WeakSet[SpoolReader] = weakref.WeakSet()


def _leave_to_parent() -> None:
    """After a fork: a child that kept the lock's file open would hold the lock for as long as it lives."""
    for reader in list(_draining):
        reader.close()


os.register_at_fork(after_in_child=_leave_to_parent)


# --- files ----------------------------------------------------------------------------------------------------------


def read_record(segment: int, offset: int) -> bytes | None:
    """The record at a place of a segment; None if none stands there whole and unspoiled."""
    header = os.pread(segment, _HEADER.size, offset)
    if len(header) < _HEADER.size:
        return None
    magic, length, checksum = _HEADER.unpack(header)
    if magic != _MAGIC or offset + _HEADER.size + length > os.fstat(segment).st_size:
        return None
    record = os.pread(segment, length, offset + _HEADER.size)
    valid = len(record) == length and zlib.crc32(record, zlib.crc32(header[4:8])) == checksum
    return record if valid else None


def resume(segment: int, offset: int) -> tuple[bytes | None, int]:
    """Search behind a spoiled place: the next valid record and where it starts, or None and the segment's end."""
    size = os.fstat(segment).st_size
    data = os.pread(segment, max(0, size - offset), offset)
    start = data.find(_MAGIC, 1)
    while start >= 0:
        record = read_record(segment, offset + start)
        if record is not None:
            return record, offset + start
        start = data.find(_MAGIC, start + 1)
    return None, max(size, offset)


def count_records(folder: Path, weigh: Callable[[bytes], int]) -> int:
    """What the records that are not acknowledged weigh together; reads them all."""
    number, offset = read_state(folder / "cursor") or (0, 0)
    total = 0
    for segment in sorted(each for each in segment_sizes(folder) if each >= number):
        at = offset if segment == number else 0
        with segment_path(folder, segment).open("rb") as file:
            while at < os.fstat(file.fileno()).st_size:
                record = read_record(file.fileno(), at)
                if record is None:
                    record, at = resume(file.fileno(), at)
                if record is not None:
                    total += weigh(record)
                    at += HEADER_BYTES + len(record)
    return total


def segment_path(folder: Path, number: int) -> Path:
    """The file of a segment."""
    return folder / f"{number:012d}{_SUFFIX}"


def segment_sizes(folder: Path) -> dict[int, int]:
    """The numbers of the segments in a folder and their sizes in bytes."""
    sizes = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(_SUFFIX):
                with contextlib.suppress(FileNotFoundError, ValueError):  # removed meanwhile; not one of ours
                    sizes[int(entry.name.removesuffix(_SUFFIX))] = entry.stat().st_size
    return sizes


def encode_state(first: int, second: int) -> bytes:
    """Two numbers with a checksum."""
    numbers = struct.pack(">QQ", first, second)
    return numbers + struct.pack(">I", zlib.crc32(numbers))


def decode_state(data: bytes) -> tuple[int, int] | None:
    """The numbers of `encode_state`; None if they are torn or were never written."""
    if len(data) != _STATE.size:
        return None
    first, second, checksum = _STATE.unpack(data)
    return (first, second) if zlib.crc32(data[:16]) == checksum else None


def read_state(path: Path) -> tuple[int, int] | None:
    """`decode_state` of a file; None if it is missing."""
    try:
        return decode_state(path.read_bytes())
    except FileNotFoundError:
        return None


def write_synced(path: Path, data: bytes, flags: int, *, fsync: bool) -> None:
    """Write the first bytes of a file, all of them or OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600)
    try:
        if os.write(descriptor, data) != len(data):
            raise OSError(errno.ENOSPC, "the file was written in part")
        if fsync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_same_file(descriptor: int, status: os.stat_result | None) -> bool:
    """Whether a number still is the file that it was opened for, and not another one or none."""
    with contextlib.suppress(OSError):
        return status is not None and os.path.samestat(os.fstat(descriptor), status)
    return False


def try_lock(descriptor: int) -> bool:
    """Lock a file if nobody holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
