"""Cursors: the key of a listing's last row as opaque text, so that a reader can go on after it."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec

from lineagelog.errors import InputError
from lineagelog.event.times import to_microseconds

type Key = tuple[Any, ...]
"""What a listing is ordered by: times, UUIDs, integers and texts."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_LENGTH: Final = 4096


def encode(listing: str, key: Key) -> str:
    """The cursor of a listing at a key."""
    parts = [_plain(part) for part in key]
    return urlsafe_b64encode(msgspec.json.encode([listing, *parts])).rstrip(b"=").decode()


def decode(listing: str, kinds: tuple[type, ...], cursor: str) -> Key:
    """The key that encode() was given. Raises InputError for text that is no cursor of this listing."""
    try:
        if len(cursor) > _MAX_LENGTH:
            raise ValueError("too long")
        data = b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        name, *parts = msgspec.json.decode(data, type=list[int | str])
        if name != listing:
            raise ValueError(f"made by {name}")
        return tuple([_value(kind, part) for kind, part in zip(kinds, parts, strict=True)])
    except (ValueError, OverflowError, msgspec.DecodeError):
        raise InputError(f"this is no cursor of the list of {listing}: leave it out to begin at the start") from None


def _plain(part: Any) -> int | str:
    if isinstance(part, datetime):
        return to_microseconds(part)
    if isinstance(part, UUID):
        return part.hex
    assert isinstance(part, (int, str))  # noqa: S101  # the kinds of keys there are
    return part


def _value(kind: type, part: int | str) -> Any:
    if kind is datetime and type(part) is int:
        return _EPOCH + timedelta(microseconds=part)
    if kind is UUID and type(part) is str:
        return UUID(hex=part)
    if kind is int and type(part) is int and 0 <= part < 2**63:
        return part
    if kind is str and type(part) is str and "\0" not in part:
        return part
    raise ValueError(f"not of type {kind.__name__}")
