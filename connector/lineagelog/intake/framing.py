"""Splits what a transport delivers into the bytes of single events."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Struct

from lineagelog.errors import LineageLogError
from lineagelog.event.model import Reason, Rejected

GZIP_MAGIC: Final = b"\x1f\x8b"
_CHUNK: Final = 1024 * 1024
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])


class _Envelope(Struct):
    """OpenMetadata's form of a batch."""

    events: list[msgspec.Raw] | None = None
    eventTime: msgspec.Raw | None = None  # noqa: N815  # the wire's name
    run: msgspec.Raw | None = None


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)


class Framed(Struct, frozen=True):
    """The events of one delivery, in order."""

    events: tuple[bytes, ...]
    is_batch: bool
    """Whether the sender used one of the batch forms, even for a single event."""
    is_broken: bool = False
    """Whether a batch could not be taken apart: ``events`` holds all of it, and parsing says what is wrong."""


def split(body: bytes) -> Framed:
    """Take a delivery apart: one object, a bare array, ``{"events": […]}``, or NDJSON.

    Each event keeps its bytes as they were sent. What is none of these comes back as one event, whose parsing says
    what is wrong with it.
    """
    text = body.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n")
    first = text[:1]
    if first == b"[":
        try:
            return Framed(tuple([bytes(raw) for raw in _LIST.decode(text)]), is_batch=True)
        except (msgspec.DecodeError, RecursionError):
            return Framed((text,), is_batch=True, is_broken=True)
    if first == b"{":
        return _split_object(text)
    return Framed((text,), is_batch=False)


def _split_object(text: bytes) -> Framed:
    if b'"events"' in text[:4096] or b"\n" in text:
        try:
            envelope = _ENVELOPE.decode(text)
            if envelope.events is not None and envelope.eventTime is None and envelope.run is None:
                return Framed(tuple([bytes(raw) for raw in envelope.events]), is_batch=True)
        except (msgspec.DecodeError, RecursionError):
            lines = tuple(split_lines(text))
            if len(lines) > 1 and all(line[:1] in b'{["' for line in lines) and lines[0][-1:] == b"}":
                return Framed(lines, is_batch=True)
    return Framed((text,), is_batch=False)


def split_lines(text: bytes) -> Iterator[bytes]:
    """The lines of NDJSON that are not blank."""
    for line in text.split(b"\n"):
        stripped = line.strip(b" \t\r")
        if stripped:
            yield stripped


class TooLargeError(LineageLogError):
    """More bytes than the limit; ``head`` is their start and ``limit`` the limit."""

    def __init__(self, limit: int, head: bytes, size: int) -> None:
        super().__init__(f"larger than the limit of {limit} bytes")
        self.limit, self.head, self.size = limit, head, size


class BadCompressionError(LineageLogError):
    """The compressed bytes cannot be read to their end."""


class Inflater:
    """Inflates gzip as it comes in, and stops at a limit: a bomb costs no more memory than the limit.

    Raises TooLargeError when the inflated bytes exceed ``limit``, BadCompressionError for broken ones.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._stream = zlib.decompressobj(wbits=31)
        self._parts: list[bytes] = []
        self.size = 0
        """Inflated bytes so far."""

    def feed(self, data: bytes) -> None:
        """Take more compressed bytes."""
        while data:
            if self._stream.eof:  # gzip members may follow each other
                data = data.lstrip(b"\0")
                if not data:
                    return
                self._stream = zlib.decompressobj(wbits=31)
            try:
                part = self._stream.decompress(data, min(_CHUNK, self._limit - self.size + 1))
            except zlib.error as problem:
                raise BadCompressionError(f"the gzip data is broken: {problem}") from problem
            self._parts.append(part)
            self.size += len(part)
            if self.size > self._limit:
                raise TooLargeError(self._limit, b"".join(self._parts)[:65536], self.size)
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail

    def finish(self) -> bytes:
        """The inflated bytes."""
        if not self._stream.eof:
            raise BadCompressionError("the gzip data ends too early")
        return b"".join(self._parts)


def inflate(data: bytes, limit: int) -> bytes:
    """Inflate gzip data as a whole; see Inflater."""
    inflater = Inflater(limit)
    inflater.feed(data)
    return inflater.finish()


def too_large(head: bytes, size: int, limit: int) -> Rejected:
    """The refusal of an event beyond the limit: whatever identity its start shows, and the first 64 KiB."""
    return Rejected(
        Reason.TOO_LARGE,
        "$",
        f"{size} bytes or more; the limit is {limit}",
        head[:65536],
        **identity_in(head[:65536]),
        size=size,
    )


def identity_in(head: bytes) -> dict[str, str | None]:
    """The identity that the start of an event shows, found by its member names."""
    text = head.decode("utf-8", "replace")

    def after(name: str, start: str = "") -> str | None:
        place = text.find(f'"{start}"') if start else 0
        key = text.find(f'"{name}"', max(place, 0))
        if place < 0 or key < 0:
            return None
        rest = text[key + len(name) + 2 :].lstrip()
        if not rest.startswith(":"):
            return None
        rest = rest[1:].lstrip()
        end = rest.find('"', 1)
        return rest[1:end][:512] if rest.startswith('"') and end > 0 else None

    return {
        "run_id": after("runId", "run"),
        "job_namespace": after("namespace", "job"),
        "job_name": after("name", "job"),
        "event_type": after("eventType"),
        "event_time": after("eventTime"),
    }
