"""Writes to a file: one event a line, plain, ``.gz`` or ``.zst``; nothing half-written stays in it after a crash."""

from __future__ import annotations

import fcntl
import gzip
import os
from collections.abc import Sequence
from typing import IO, Any, Final

from lineagelog.errors import SettingsError, TargetBusy
from lineagelog.store.ledgers.forwarding import Learnt

from .sending import DELIVERED, Item, TargetAnswer, TargetVerdict
from .target import ForwardTarget

_LEVEL: Final = {".gz": 6, ".zst": 3}


class FileSender:
    """Appends each page as whole lines, in one gzip member or Zstandard frame of its own, and syncs it to the disk.

    ``complete`` is the size up to which the file is known to be whole: what lies behind it is the page that a crash
    interrupted; it is moved to ``NAME.torn`` (its events are written again). Raises SettingsError if the file cannot
    be opened, TargetBusy if another process writes to it.
    """

    lanes = 1
    max_bytes: int | None = None
    learnt: Learnt = {}  # noqa: RUF012  # nothing is ever learnt of a file

    def __init__(self, target: ForwardTarget, complete: int | None) -> None:
        self._path = target.path
        self._compress = compressor(self._path.suffix)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self._path.open("ab", buffering=0)
        except OSError as error:
            raise SettingsError(f"{self._path} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise TargetBusy(f"another process writes to {self._path}") from error
        if complete is not None:
            self._cut(complete)
        self.file_size: int | None = os.fstat(self._file.fileno()).st_size

    def _cut(self, complete: int) -> None:
        size = os.fstat(self._file.fileno()).st_size
        if size <= complete:
            return
        with self._path.open("rb") as whole, self._path.with_name(f"{self._path.name}.torn").open("ab") as torn:
            whole.seek(complete)
            torn.write(whole.read())
        self._file.truncate(complete)

    def send(self, items: Sequence[Item]) -> list[TargetAnswer]:
        """Append, in order."""
        descriptor = self._file.fileno()
        before = os.fstat(descriptor).st_size
        rest = memoryview(self._compress(b"".join(_line(item.body) for item in items)))
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, before)
            return [TargetAnswer(TargetVerdict.AGAIN, detail=f"{self._path}: {error.strerror}")] * len(items)
        self.file_size = os.fstat(descriptor).st_size
        return [DELIVERED] * len(items)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def compressor(suffix: str) -> Any:
    """What makes a page the bytes of a file with that suffix. Raises SettingsError if its library is missing."""
    if suffix == ".gz":
        return lambda data: gzip.compress(data, _LEVEL[suffix])
    if suffix == ".zst":
        try:
            import zstandard
        except ImportError as error:
            raise SettingsError("a .zst file needs the extra: pip install 'lineagelog[forward]'") from error
        return zstandard.ZstdCompressor(level=_LEVEL[suffix]).compress
    return lambda data: data


def _line(body: bytes) -> bytes:
    """The event on one line. Line breaks in JSON text lie between its tokens only, where a space is as good."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    if b"\n" in body or b"\r" in body:
        body = body.replace(b"\r", b" ").replace(b"\n", b" ")
    return body + b"\n"
