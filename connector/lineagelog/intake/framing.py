"""Splits what a transport delivers into the bytes of single events."""

from __future__ import annotations

import re
import threading
import zlib
from io import BytesIO
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from lineagelog.errors import LineageLogError
from lineagelog.event.model import Reason, Rejected

from .documents import SPACE, documents, is_json, may_be_batch

GZIP_MAGIC: Final = b"\x1f\x8b"
KEPT: Final = 64 * 1024
"""Bytes that are kept of what is too large."""
_CHUNK: Final = 1024 * 1024
MAX_EVENTS: Final = 50_000
"""Default limit of the events of one delivery."""


class _Envelope(Struct):
    """OpenMetadata's form of a batch."""

    events: list[msgspec.Raw] | UnsetType = UNSET
    eventTime: msgspec.Raw | UnsetType = UNSET  # noqa: N815  # the wire's name
    run: msgspec.Raw | UnsetType = UNSET


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
    """Take a delivery apart: JSON documents, each an event, an array of events, or ``{"events": […]}``.

    Several stand one after the other, on lines of their own or not. Each event keeps its bytes as they were sent. What
    is none of these comes back as one event, whose parsing says what is wrong with it. Raises TooManyEventsError,
    before an object is made of each, for more than ``most``.
    """
    text = body.removeprefix(b"\xef\xbb\xbf").strip(SPACE)
    is_array = text[:1] == b"["
    if not is_array and (text[:1] != b"{" or not _may_be_several(text)):
        return Framed((text,), is_batch=False)
    try:
        return _split_document(text, most)
    except (msgspec.DecodeError, RecursionError):
        found = list(islice(documents(BytesIO(text), len(text), len(text)), most + 1))
    if len(found) < 2 or not any(is_json(each.text) for each in found):
        return Framed((text,), is_batch=is_array, is_broken=is_array)
    events: list[bytes] = []
    try:
        for document in found:
            events += _members(document.text, most - len(events))
    except TooManyEventsError:
        raise TooManyEventsError(text, most) from None
    return Framed(tuple(events), is_batch=True)


def _may_be_several(text: bytes) -> bool:
    """Whether an object is worth a second look; most deliveries are one event on one line."""
    return may_be_batch(text) or b"\n" in text or text.count(b'"eventTime"') > 1


def _split_document(text: bytes, most: int) -> Framed:
    """The events of one JSON document. Raises msgspec's errors for what is no JSON, or more than that."""
    if text[:1] == b"[":
        _refuse_more(text, _COUNTED_LIST, most)
        return Framed(tuple([bytes(raw) for raw in _LIST.decode(text)]), is_batch=True)
    _refuse_more(text, _COUNTED_ENVELOPE, most)
    try:
        envelope = _ENVELOPE.decode(text)
    except msgspec.ValidationError:  # its ``events`` is no array, whatever it is
        return Framed((text,), is_batch=False)
    if envelope.events is UNSET or envelope.eventTime is not UNSET or envelope.run is not UNSET:
        return Framed((text,), is_batch=False)
    return Framed(tuple([bytes(raw) for raw in envelope.events]), is_batch=True)


def _members(text: bytes, most: int) -> tuple[bytes, ...]:
    """The events of one document of several; of what is no JSON, itself. Raises TooManyEventsError."""
    if most < 1 and not may_be_batch(text):
        raise TooManyEventsError(text, most)
    try:
        return _split_document(text, most).events if may_be_batch(text) else (text,)
    except (msgspec.DecodeError, RecursionError):
        return (text,)


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
