"""Takes a stream of JSON documents apart: one per line, pretty-printed, one after the other with nothing in between.

What opens and closes outside of texts tells where a document ends; whether it is JSON, parsing says. A broken document
ends where it cannot go on, so that it takes no whole one with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from lineagelog.errors import LineageLogError

SPACE: Final = b" \t\r\n"
_BOM: Final = b"\xef\xbb\xbf"
_JSON: Final = msgspec.json.Decoder(msgspec.Raw)
_FIRST: Final = re.compile(rb"[ \t\r\n]*+(.?)", re.DOTALL)
_MARK: Final = re.compile(rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+(["{}\[\]]?)', re.DOTALL)
"""What opens or closes next; texts are passed over, and a quotation mark is that of one that does not end here."""
_MARKED: Final = re.compile(rb"[{}\[\]\\]")
_REST_OF_TEXT: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
_LINE: Final = re.compile(rb"[^\n]*+\n?")
_OPENERS: Final = (b"{", b"[")
_CLOSES: Final = {ord("}"): ord("{"), ord("]"): ord("[")}
_MAX_DEPTH: Final = 1000
"""More arrays and objects within each other than any reader of JSON takes."""
_HEAD: Final = 4096
"""Bytes in which a batch of the form {"events": […]} shows itself."""


class Document(Struct, frozen=True, gc=False):
    """One document, or what was to be one; without the white space around it."""

    text: bytes
    line: int
    """Of its first byte, from 1."""
    column: int = 1
    """Of that byte in its line, in bytes from 1; 1 as well where only white space is before it."""


class DocumentTooLargeError(LineageLogError):
    """A batch that is one document, and larger than may be held in memory."""


class Lines(Protocol):
    """A file, or whatever else hands out lines."""

    def readline(self, size: int, /) -> bytes:
        """A line with its end, or the first so many bytes of what is left of it."""


def is_json(text: bytes) -> bool:
    """Whether it is one JSON value."""
    try:
        _JSON.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def may_be_batch(text: bytes | bytearray) -> bool:
    """Whether a document looks like many events: an array, or an object with ``events``."""
    return text[:1] == b"[" or b'"events"' in text[:_HEAD]


def documents(stream: Lines, max_event: int, max_batch: int) -> Iterator[Document]:
    """The documents of a stream, in order, each when it is complete; memory does not grow with their number.

    One of more than ``max_event`` bytes is cut off just beyond, so that the door refuses it; what may be a batch has
    ``max_batch`` bytes instead, and beyond them DocumentTooLargeError is raised. What begins like neither an object nor
    an array goes line by line.
    """
    splitter = _Splitter(max_event, max_batch)
    number, starts_line = 0, True
    while piece := stream.readline(max_event + 1):
        number += starts_line
        if starts_line and splitter.takes(piece):
            continue
        if number == 1 and starts_line:
            piece = piece.removeprefix(_BOM)
        yield from splitter.push(piece, number, starts_line=starts_line)
        starts_line = piece.endswith(b"\n")
    yield from splitter.finish()


class _State(Enum):
    BETWEEN = "between documents"
    INSIDE = "inside of one"
    BROKEN = "in what is left of a broken one: up to the next line that begins with an object or an array"
    REST = "in the rest of a line that is too long"


class _End(Enum):
    NOT_YET = "the document goes on"
    BROKEN = "it cannot go on"


class _Splitter:
    """Takes lines, or parts of lines, and gives the documents that end in them."""

    def __init__(self, max_event: int, max_batch: int) -> None:
        self._max_event, self._max_batch = max_event, max_batch
        self._state = _State.BETWEEN
        self._kept = bytearray()
        """Of the document that has begun, what came before the present piece."""
        self._is_cut = False
        """Whether that was too large, and is told already."""
        self._line, self._column, self._offset = 1, 1, 0
        self._last = b""
        """The last byte before the present piece that is no white space."""
        self._marks = Marks()

    def takes(self, line: bytes) -> bool:
        """Whether it is a whole line inside of a document in which nothing opens or closes; then it is kept."""
        if (
            self._state is not _State.INSIDE
            or _MARKED.search(line)
            or line.count(b'"') % 2
            or line[-1:] != b"\n"
            or len(self._kept) + len(line) > self._max_event
        ):
            return False
        self._kept += line
        self._last = line.rstrip(SPACE)[-1:] or self._last
        return True

    def push(self, piece: bytes, number: int, *, starts_line: bool) -> Iterator[Document]:
        """Take what comes next: a line, or a part of the line of that number."""
        self._offset = 0 if starts_line else self._offset
        if starts_line and self._state is not _State.BETWEEN:
            yield from self._look_at_line(piece)
        start = 0
        while start < len(piece):
            if self._state in (_State.BROKEN, _State.REST):
                yield from self._keep(piece[start:])
                break
            if self._state is _State.BETWEEN:
                first = _FIRST.match(piece, start)
                if first is None or not first[1]:
                    break
                column = self._offset + first.start(1) + 1 if self._offset + start else 1
                is_event = first[1] in _OPENERS
                if not is_event or (column == 1 and is_json(piece.strip(SPACE))):
                    self._state = _State.BETWEEN if is_event or piece.endswith(b"\n") else _State.REST
                    yield Document(piece[start:].strip(SPACE), number, column)
                    break
                self._begin(number, column)
                start = first.start(1)
            end = self._end_in(piece, start)
            if isinstance(end, _End):
                yield from self._keep(piece[start:])
                if end is _End.BROKEN:
                    yield from self._break()
                break
            yield from self._complete(piece[start:end])
            start = end
        if self._state is _State.INSIDE:
            self._last = piece.rstrip(SPACE)[-1:] or self._last
        self._offset += len(piece)

    def finish(self) -> Iterator[Document]:
        """At the end of all: what has begun and is not complete."""
        if self._state is _State.INSIDE:
            yield from self._break()
        if self._state is _State.BROKEN:
            yield from self._complete(b"")

    def _look_at_line(self, line: bytes) -> Iterator[Document]:
        """End what a new line shows to be over: a rest, a broken document, one in which no value may begin now."""
        if self._state is _State.REST:
            self._state = _State.BETWEEN
        if self._state is _State.INSIDE and not self._may_begin_with(line):
            yield from self._break()
        if self._state is _State.BROKEN and line[:1] in _OPENERS:
            yield from self._complete(b"")

    def _may_begin_with(self, line: bytes) -> bool:
        first = _FIRST.match(line)
        if first is None or first[1] not in _OPENERS:
            return True
        return self._last == b":" or (self._last in (b"[", b",") and self._marks.is_in_array)

    def _begin(self, line: int, column: int) -> None:
        self._state = _State.INSIDE
        self._line, self._column = line, column
        self._marks = Marks()

    def _end_in(self, piece: bytes, start: int) -> int | _End:
        """Where the document ends in the piece; what follows it in its line must be another one."""
        end = self._marks.end_in(piece, start)
        if end is None:
            return _End.BROKEN if self._marks.in_text and piece.endswith(b"\n") else _End.NOT_YET
        first = _FIRST.match(piece, end) if end >= 0 else None
        return end if first is not None and first[1] in (b"", *_OPENERS) else _End.BROKEN

    def _keep(self, part: bytes) -> Iterator[Document]:
        """Hold a part of the document; of one that is too large no more than tells what it was."""
        if self._is_cut or self._state is _State.REST:
            return
        self._kept += part
        if len(self._kept) <= self._max_event:
            return
        if self._state is _State.INSIDE and may_be_batch(self._kept):
            if len(self._kept) > self._max_batch:
                raise DocumentTooLargeError(f"one document of more than {self._max_batch >> 20} MiB")
            return
        yield self._document(bytes(self._kept[: self._max_event + 1]))
        self._kept.clear()
        self._is_cut = True

    def _complete(self, part: bytes) -> Iterator[Document]:
        """The document ends with this part."""
        if self._kept:
            yield from self._keep(part)
            part = bytes(self._kept)
        if not self._is_cut:
            yield self._document(part if self._may_be_held(part) else part[: self._max_event + 1])
        self._kept.clear()
        self._is_cut, self._state = False, _State.BETWEEN

    def _may_be_held(self, text: bytes) -> bool:
        return len(text) <= self._max_event or may_be_batch(text)

    def _break(self) -> Iterator[Document]:
        """The document cannot go on: a line that is an event of its own is not taken with it."""
        is_one_line = self._kept.find(b"\n", 0, -1) < 0
        if is_one_line or self._is_cut:
            self._state = _State.BROKEN
            if is_one_line:
                yield from self._complete(b"")
            return
        self._state, line = _State.BROKEN, self._line
        if self._kept.find(b"\n{") < 0:
            return
        broken, kept = bytearray(), bytes(self._kept)
        for match in _LINE.finditer(kept):
            text = match[0].rstrip(SPACE)
            if text[:1] == b"{" and b'"eventTime"' in text and is_json(text):
                if broken:
                    yield self._document(bytes(broken))
                yield Document(text, line)
                self._state = _State.BETWEEN
                broken.clear()
                self._line, self._column = line + 1, 1
            else:
                broken += match[0]
            line += 1
        self._kept = broken
        if self._state is _State.BETWEEN and broken:
            yield from self._complete(b"")

    def _document(self, text: bytes) -> Document:
        return Document(text.strip(SPACE), self._line, self._column)


class Marks:
    """What opens and closes in a JSON value that comes in parts, outside of its texts."""

    __slots__ = ("_is_escaped", "_open", "in_text")

    def __init__(self) -> None:
        self._open = bytearray()
        self.in_text = False
        """Whether the last part ended inside of a text."""
        self._is_escaped = False

    @property
    def is_in_array(self) -> bool:
        """Whether the innermost that is open is an array."""
        return self._open[-1:] == b"["

    def end_in(self, part: bytes, start: int = 0) -> int | None:
        """Where the value ends; None if not in this part, -1 where it cannot go on."""
        at = start
        if self.in_text:
            at = self._pass_text(part, at + self._is_escaped)
        while not self.in_text:
            match = _MARK.match(part, at)
            if match is None or not match[1]:
                return None
            at = match.end()
            mark = part[at - 1]
            if mark == ord('"'):
                self._pass_text(part, at)
            elif mark not in _CLOSES:
                self._open.append(mark)
                if len(self._open) > _MAX_DEPTH:
                    return -1
            elif self._open[-1:] != bytes((_CLOSES[mark],)):
                return -1
            else:
                del self._open[-1]
                if not self._open:
                    return at
        return None

    def _pass_text(self, part: bytes, at: int) -> int:
        """Where the text ends that ``at`` is inside of; or that it does not end in this part."""
        match = _REST_OF_TEXT.match(part, at)
        end = len(part) if match is None else match.end()
        self.in_text = match is None or not match[1]
        self._is_escaped = self.in_text and end < len(part)
        return end
