"""Splits what a transport delivers into the bytes of single events."""

from __future__ import annotations

import re
import threading
import zlib
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Struct

from lineagelog.errors import LineageLogError
from lineagelog.event.model import Reason, Rejected

GZIP_MAGIC: Final = b"\x1f\x8b"
KEPT: Final = 64 * 1024
"""Bytes that are kept of what is too large."""
_CHUNK: Final = 1024 * 1024
MAX_EVENTS: Final = 50_000
"""Default limit of the events of one delivery."""


class _Envelope(Struct):
    """OpenMetadata's form of a batch."""

    events: list[msgspec.Raw] | None = None
    eventTime: msgspec.Raw | None = None  # noqa: N815  # the wire's name
    run: msgspec.Raw | None = None


class _Left(threading.local):
    members = 0


_left: Final = _Left()


class _Member(Struct, gc=False):
    """A member of a batch that is only counted: what is in it is passed over, and makes no object."""

    def __post_init__(self) -> None:
        _left.members -= 1
        if _left.members < 0:
            raise ValueError("too many")


class _CountedEnvelope(Struct, gc=False):
    events: list[_Member] | None = None


_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])
_COUNTED_LIST: Final = msgspec.json.Decoder(list[_Member])
_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_COUNTED_ENVELOPE: Final = msgspec.json.Decoder(_CountedEnvelope)
_STRUCTURE: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\],]', re.DOTALL)
_LINE: Final = re.compile(rb"[^ \t\r\n][^\n]*+")


class Framed(Struct, frozen=True):
    """The events of one delivery, in order."""

    events: tuple[bytes, ...]
    is_batch: bool
    """Whether the sender used one of the batch forms, even for a single event."""
    is_broken: bool = False
    """Whether a batch could not be taken apart: ``events`` holds all of it, and parsing says what is wrong."""


class TooManyEventsError(LineageLogError):
    """More events in one delivery than the limit; ``rejected`` is the refusal of all of it."""

    def __init__(self, body: bytes, most: int) -> None:
        detail = f"more than {most} events in one delivery; the limit is {most}"
        super().__init__(detail)
        self.rejected = Rejected(Reason.TOO_LARGE, "$", detail, body[:KEPT], size=len(body))


def split(body: bytes, most: int = MAX_EVENTS) -> Framed:
    """Take a delivery apart: one object, a bare array, ``{"events": […]}``, or NDJSON.

    Each event keeps its bytes as they were sent. What is none of these comes back as one event, whose parsing says
    what is wrong with it. Raises TooManyEventsError, before an object is made of each, for more than ``most``.
    """
    text = body.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n")
    first = text[:1]
    if first == b"[":
        try:
            _refuse_more(text, _COUNTED_LIST, most)
            return Framed(tuple([bytes(raw) for raw in _LIST.decode(text)]), is_batch=True)
        except (msgspec.DecodeError, RecursionError):
            return Framed((text,), is_batch=True, is_broken=True)
    if first == b"{":
        return _split_object(text, most)
    return Framed((text,), is_batch=False)


def _split_object(text: bytes, most: int) -> Framed:
    if b'"events"' in text[:4096] or b"\n" in text:
        try:
            _refuse_more(text, _COUNTED_ENVELOPE, most)
            envelope = _ENVELOPE.decode(text)
            if envelope.events is not None and envelope.eventTime is None and envelope.run is None:
                return Framed(tuple([bytes(raw) for raw in envelope.events]), is_batch=True)
        except (msgspec.DecodeError, RecursionError):
            lines = [match[0].rstrip(b" \t\r") for match in islice(_LINE.finditer(text), most + 1)]
            if len(lines) > 1 and all(line[:1] in b'{["' for line in lines) and any(map(_is_whole, lines)):
                if len(lines) > most:
                    raise TooManyEventsError(text, most) from None
                return Framed(tuple(lines), is_batch=True)
    return Framed((text,), is_batch=False)


def _refuse_more(text: bytes, counted: msgspec.json.Decoder[Any], most: int) -> None:
    """Raise TooManyEventsError for a batch of more members, and msgspec's error for what is no JSON."""
    if text.count(b",") < most:
        return
    _left.members = most
    try:
        counted.decode(text)
    except msgspec.ValidationError:  # too many; or some member is no object, and somebody has to count them
        if _left.members < 0 or _has_more_members(text, most):
            raise TooManyEventsError(text, most) from None


def _has_more_members(text: bytes, most: int) -> bool:
    """Whether arrays at the top, or in an object at the top, have more than ``most`` members together."""
    path, left = bytearray(), most
    for match in _STRUCTURE.finditer(text):
        mark = text[match.start()]
        if mark in b"{[":
            path.append(mark)
        elif mark in b"}]":
            del path[-1:]
        elif mark == ord(",") and bytes(path) in (b"[", b"{["):
            left -= 1
            if left <= 0:
                return True
    return False


def has_more_values(body: bytes, most: int) -> bool:
    """Whether a JSON text has more than ``most`` values, or keys: looked at without an object for each."""
    if len(body) <= most or body.count(b",") + body.count(b"{") + body.count(b"[") <= most:
        return False
    marks = (1 for match in _STRUCTURE.finditer(body) if body[match.start()] in b",{[")  # texts may hold any of these
    return next(islice(marks, most, None), None) is not None


def _is_whole(line: bytes) -> bool:
    """Whether the line looks like an event of its own, not like a part of one that is broken over several lines."""
    return line[:1] == b"{" and line[-1:] == b"}" and b'"eventTime"' in line


class TooLargeError(LineageLogError):
    """More bytes than the limit; ``start`` is what was taken of them, ``size`` how many that is or more."""

    def __init__(self, limit: int, start: bytes, size: int) -> None:
        super().__init__(f"larger than the limit of {limit} bytes")
        self.limit, self.start, self.size = limit, start, size


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
                raise TooLargeError(self._limit, b"".join(self._parts), self.size)
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


def too_many_values(body: bytes, most: int) -> Rejected:
    """The refusal of an event whose tree would take too much memory."""
    detail = f"more than {most} JSON values; the limit is {most}"
    return Rejected(Reason.TOO_LARGE, "$", detail, body[:KEPT], **identity_in(body), size=len(body))


def too_large(start: bytes, size: int, limit: int) -> Rejected:
    """The refusal of an event beyond the limit: whatever identity its start shows, and the first 64 KiB."""
    return Rejected(
        Reason.TOO_LARGE,
        "$",
        f"{size} bytes or more; the limit is {limit}",
        start[:KEPT],
        **identity_in(start),
        size=size,
    )


_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\],]', re.DOTALL)
"""A text, also one that is cut off, or what opens, closes or separates."""
_MAX_TOKENS: Final = 200_000
"""Some 50 ms; what identifies an event seldom comes after more."""
_IDENTITY: Final[dict[tuple[bytes | None, ...], str]] = {
    (b"run", b"runId"): "run_id",
    (b"job", b"namespace"): "job_namespace",
    (b"job", b"name"): "job_name",
    (b"eventType",): "event_type",
    (b"eventTime",): "event_time",
}


def identity_in(start: bytes) -> dict[str, str | None]:
    """The identity that the start of an event shows: looked for where it belongs, not in a parent's facet."""
    found: dict[str, str | None] = dict.fromkeys(_IDENTITY.values())
    path: list[bytes | None] = []  # the current key of each open object, None for an array
    is_key = False
    for match in islice(_TOKEN.finditer(start), _MAX_TOKENS):
        token = start[match.start() : match.start() + 1]
        if token == b'"' and is_key:
            path[-1], is_key = match[0][1:-1], False
        elif token == b'"':
            name = _IDENTITY.get(tuple(path)) if len(path) <= 2 else None
            if name is not None:
                found[name] = _text(match[0])
        elif token in b"{[":
            is_key = token == b"{"
            path.append(b"" if is_key else None)
        elif token == b",":
            is_key = bool(path) and path[-1] is not None
        else:
            del path[-1:]
            is_key = False
    return found


def _text(token: bytes) -> str | None:
    try:
        return msgspec.json.decode(token, type=str)[:512]
    except msgspec.DecodeError:
        return None
