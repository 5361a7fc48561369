"""Takes a record of a topic apart into events, each with its place ``topic/partition/offset``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lineagelog.event.model import Event, Reason, Rejected
from lineagelog.intake import (
    MAX_REQUEST,
    BadCompressionError,
    TooLargeError,
    TooManyEventsError,
    inflate,
    split,
    too_large,
)
from lineagelog.intake.framing import GZIP_MAGIC, KEPT

SOURCE: Final = "kafka"
_PLAIN: Final = frozenset((b"", b"identity", b"gzip", b"x-gzip"))
_ENCODING: Final = "content-encoding"

type Item = Event | Rejected
type Parse = Callable[[bytes], Item]
type Headers = Mapping[str, Any] | Sequence[tuple[str, Any]] | None


def items_of(value: bytes, headers: Headers, parse: Parse) -> list[Item]:
    """The events of a record: one object, an array, ``{"events": […]}`` or NDJSON, any of them gzipped.

    What the bytes are decides whether they are inflated: some clients and proxies set the header ``content-encoding``
    and have inflated already. Other headers are not looked at.
    """
    if value[:2] == GZIP_MAGIC:
        try:
            value = inflate(value, MAX_REQUEST)
        except TooLargeError as problem:
            return [too_large(problem.start, problem.size, problem.limit)]
        except BadCompressionError as problem:
            return [Rejected(Reason.BAD_ENCODING, "$", str(problem), value[:KEPT], size=len(value))]
    elif headers and (encoding := _encoding(headers)) not in _PLAIN and value[:1] not in (b"{", b"["):
        detail = f"the header content-encoding is {encoding.decode('utf-8', 'replace')[:80]}; gzip and plain are known"
        return [Rejected(Reason.BAD_ENCODING, "$", detail, value[:KEPT], size=len(value))]
    try:
        return [parse(body) for body in split(value).events]
    except TooManyEventsError as problem:
        return [problem.rejected]


def _encoding(headers: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> bytes:
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        if name.lower() == _ENCODING and value is not None:
            return (value if isinstance(value, bytes) else str(value).encode()).strip().lower()
    return b""


def positions_of(topic: str, partition: int, offset: int, count: int) -> list[str]:
    """The places of a record's events, for dead letters."""
    place = f"{topic}/{partition}/{offset}"
    return [place] if count == 1 else [f"{place}[{index}]" for index in range(count)]
