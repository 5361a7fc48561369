"""Reads events from files, folders and standard input, streaming: memory does not grow with the number of events."""

from __future__ import annotations

import io
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, NoReturn

from lineagelog.errors import InputError
from lineagelog.settings import is_file, is_folder

from .bulk import Delivery
from .documents import SPACE, Document, DocumentTooLargeError, documents, may_be_batch
from .door import MAX_EVENT
from .framing import GZIP_MAGIC, TooManyEventsError, split

STDIN: Final = "-"
STDIN_NAME: Final = "stdin"
MAX_DOCUMENT: Final = 1024 * 1024 * 1024
"""The largest file that is one JSON document, in bytes: it is held in memory as a whole. NDJSON has no limit."""
MAX_DOCUMENT_EVENTS: Final = 1_000_000
"""The most events of such a document."""

_SUFFIXES: Final = (".json", ".ndjson", ".jsonl", ".openlineageevent")
_CHUNK: Final = 1024 * 1024
_BOM: Final = b"\xef\xbb\xbf"
_LOOK: Final = 4096
"""Bytes in which a file's first character shows itself."""


@dataclass(slots=True)
class FileProgress:
    """How far the reading is; kept up to date by `read_paths`."""

    files: int = 0
    """Files opened."""
    skipped: int = 0
    """Files in folders that are passed over because their names are not those of event files."""
    problems: int = 0
    """Files that could not be read, or not to their end."""
    size: int = 0
    """Bytes read from disk (compressed, where the file is)."""


def _raise(problem: InputError) -> NoReturn:
    raise problem


def read_paths(
    paths: Iterable[str],
    *,
    progress: FileProgress | None = None,
    on_problem: Callable[[InputError], None] = _raise,
    max_event: int = MAX_EVENT,
) -> Iterator[Delivery]:
    """The events of files, folders and ``-`` (standard input), in order, each with its position.

    A file is a stream of JSON documents, each an event, an array of events or ``{"events": […]}``: one per line
    (NDJSON), pretty-printed, one after the other; also gzipped. A folder is searched in sorted order for
    ``.json .ndjson .jsonl .openlineageevent`` and ``.gz`` of those. Positions are ``file:line``, ``file:line:column``
    for a further one in a line, with ``[index]`` in a batch; ``file`` for the only document of a file.

    ``on_problem`` is told of each file that cannot be read (to its end); the events before the break are delivered and
    reading goes on with the next file. By default the first problem is raised. An event of more than ``max_event``
    bytes is delivered cut off just beyond that limit, so that the door refuses it.
    """
    progress = progress if progress is not None else FileProgress()
    for path in paths:
        try:
            for file in _files(path, progress):
                try:
                    yield from _read_file(file, progress, max_event)
                except InputError as problem:
                    progress.problems += 1
                    on_problem(problem)
        except InputError as problem:
            progress.problems += 1
            on_problem(problem)


def total_size(paths: Iterable[str]) -> int | None:
    """The bytes that `read_paths` will read from disk; None where that cannot be known, as for standard input."""
    total = 0
    for path in paths:
        try:
            if path == STDIN or not (is_file(Path(path)) or is_folder(Path(path))):
                return None
            total += sum(Path(file).stat().st_size for file in _files(path, FileProgress()))
        except (InputError, OSError):
            return None
    return total


def _files(path: str, progress: FileProgress) -> Iterator[str]:
    """The files of a path: itself, or those of the folder."""
    if path == STDIN or not is_folder(Path(path)):
        yield path
        return

    def refuse(error: OSError) -> NoReturn:
        raise InputError(f"{error.filename}: {_cause(error)}") from error

    for folder, folders, names in os.walk(path, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder) / name
            is_wanted = not name.startswith(".") and name.lower().removesuffix(".gz").endswith(_SUFFIXES)
            if is_wanted and (file.is_file() or not file.exists()):  # not a pipe, which might never end
                yield str(file)
            else:
                progress.skipped += 1


def _read_file(path: str, progress: FileProgress, max_event: int) -> Iterator[Delivery]:
    name = STDIN_NAME if path == STDIN else os.fsencode(path).decode("utf-8", "replace")
    with _problems_named(name), _opened(path) as raw:
        progress.files += 1
        stream = _inflated(io.BufferedReader(_Counted(raw, progress), _CHUNK))
        yield from _read_any(stream, name, max_event)


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    if path == STDIN:
        if sys.stdin is None:
            raise InputError("stdin: is closed")
        yield sys.stdin.buffer
        return
    with Path(path).open("rb", buffering=0) as file:
        yield file


@contextmanager
def _problems_named(name: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error) as error:
        raise InputError(f"{name}: the gzip data is broken: {_cause(error)}") from error
    except OSError as error:
        raise InputError(f"{name}: {_cause(error)}") from error


def _cause(error: Exception) -> str:
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return text[:1].lower() + text[1:]


class _Counted(io.RawIOBase):
    """Counts what is read into the progress."""

    def __init__(self, raw: Any, progress: FileProgress) -> None:
        # a pipe's events are handed on as they come, not when a buffer is full
        self._fill = getattr(raw, "readinto1", None) or raw.readinto
        self._progress = progress

    def readable(self) -> bool:
        """Yes: `io` asks before it reads."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer from the file."""
        count = self._fill(buffer) or 0
        self._progress.size += count
        return count


class _Inflated(io.RawIOBase):
    """Inflates gzip, and hands out what could be read before it complains (the gzip module loses a buffer of that)."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._gzip = zlib.decompressobj(wbits=31)
        self._rest = b""

    def readable(self) -> bool:
        """Yes: `io` asks before it reads."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer; 0 at the end. Raises EOFError and zlib.error for broken data."""
        while True:
            if self._gzip.eof:  # gzip members may follow each other, and zeros may fill up the end
                self._rest = (self._gzip.unused_data or self._stream.read1(_CHUNK)).lstrip(b"\0")
                if not self._rest:
                    return 0
                self._gzip = zlib.decompressobj(wbits=31)
            data = self._rest or self._stream.read1(_CHUNK)
            if not data:
                raise EOFError("it ends too early")
            part = self._gzip.decompress(data, len(buffer))
            self._rest = self._gzip.unconsumed_tail
            if part:
                buffer[: len(part)] = part
                return len(part)


def _inflated(stream: io.BufferedReader) -> io.BufferedReader:
    if stream.peek(2)[:2] != GZIP_MAGIC:
        return stream
    return io.BufferedReader(_Inflated(stream), _CHUNK)


def _read_any(stream: io.BufferedReader, name: str, max_event: int) -> Iterator[Delivery]:
    """The events of the documents of a file; of the only one of a file its name is position enough."""
    if name != STDIN_NAME and _begins_with_array(stream):
        yield from _read_array(stream, name)
        return
    found = documents(stream, max_event, MAX_DOCUMENT)
    try:
        first = next(found, None)
        if first is None:
            return
        if name == STDIN_NAME:  # a pipe's events do not wait for the next ones
            found = chain((first,), found)
        else:
            yield from _first_of(first, found, name)
        for document in found:
            yield from _events(document.text, _place(document, name))
    except DocumentTooLargeError as problem:
        raise InputError(f"{name}: {problem}: use NDJSON, one event per line") from None


def _first_of(first: Document, found: Iterator[Document], name: str) -> Iterator[Delivery]:
    """The first document of a file, and the second, if there is one; the first in any case."""
    try:
        second = next(found, None)
    except (OSError, EOFError, zlib.error, DocumentTooLargeError):
        yield from _events(first.text, _place(first, name))
        raise
    yield from _events(first.text, name if second is None else _place(first, name))
    if second is not None:
        yield from _events(second.text, _place(second, name))


def _begins_with_array(stream: io.BufferedReader) -> bool:
    return stream.peek(1)[:_LOOK].removeprefix(_BOM).lstrip(SPACE)[:1] == b"["


def _read_array(stream: io.BufferedReader, name: str) -> Iterator[Delivery]:
    """A file that is an array is read as a whole: looking for its end would cost more than the rest."""
    document = stream.read(MAX_DOCUMENT + 1)
    if len(document) > MAX_DOCUMENT:
        raise InputError(f"{name}: one document of more than {MAX_DOCUMENT >> 20} MiB: use NDJSON, one event per line")
    yield from _events(document.removeprefix(_BOM).strip(SPACE), name)


def _events(text: bytes, place: str) -> Iterator[Delivery]:
    """A document's events: itself, or those of a batch."""
    if not may_be_batch(text):
        yield Delivery(text, place)
        return
    try:
        framed = split(text, MAX_DOCUMENT_EVENTS)
    except TooManyEventsError as problem:
        raise InputError(f"{place}: {problem}: use NDJSON, one event per line") from None
    if framed.is_batch:
        yield from (Delivery(body, f"{place}[{index}]") for index, body in enumerate(framed.events))
    else:
        yield Delivery(text, place)


def _place(document: Document, name: str) -> str:
    return f"{name}:{document.line}" if document.column == 1 else f"{name}:{document.line}:{document.column}"
