"""Rows as PostgreSQL's binary format: whole columns as array parameters, whole tables for COPY.

psycopg's own list adaptation goes value by value through its type registry, which costs more than the INSERT itself
for rows of this width; these few encoders know their types beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from struct import Struct
from typing import Any, Final, NamedTuple

from sqlalchemy import Boolean, Integer, LargeBinary, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.types import BigInteger, TypeEngine

from lineagelog.compiled import compiled
from lineagelog.event.times import to_microseconds

_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_EPOCH_2000: Final = 946_684_800_000_000
"""Microseconds from 1970 to 2000, where PostgreSQL's timestamps begin."""

_INT16, _INT32, _INT64 = Struct("!h").pack, Struct("!i").pack, Struct("!q").pack
_ARRAY_HEADER: Final = Struct("!iiiii").pack
_NULL: Final = _INT32(-1)
_COPY_START: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_END: Final = b"\xff\xff"
_COPY_PART: Final = 4 * 1024 * 1024
_MAX_REMEMBERED: Final = 50_000
_MAX_REMEMBERED_TEXT: Final = 256

type Field = Callable[[Any], bytes]
"""A value as the wire has it: its length in four bytes (-1 for NULL), then its data."""


def _text(value: str) -> bytes:
    data = value.encode()
    return _INT32(len(data)) + data


def _time(value: datetime) -> bytes:
    return b"\0\0\0\x08" + _INT64(to_microseconds(value) - _EPOCH_2000)


def _jsonb(value: bytes) -> bytes:
    return b"%b\x01%b" % (_INT32(len(value) + 1), value)


def _binary(value: bytes) -> bytes:
    return _INT32(len(value)) + value


def _boolean(value: bool) -> bytes:
    return b"\0\0\0\x01\x01" if value else b"\0\0\0\x01\x00"


def _bigint(value: int) -> bytes:
    return b"\0\0\0\x08" + _INT64(value)


def _integer(value: int) -> bytes:
    return b"\0\0\0\x04" + _INT32(value)


class _Remembered(dict[Any, bytes]):
    """Fields by value: names, types and times come again and again, and a look-up beats encoding."""

    def __init__(self, field: Field) -> None:
        super().__init__({None: _NULL})
        self._field = field

    def __missing__(self, value: Any) -> bytes:
        data = self._field(value)
        if len(data) <= _MAX_REMEMBERED_TEXT:
            if len(self) > _MAX_REMEMBERED:
                self.clear()
                self[None] = _NULL
            self[value] = data
        return data


def _or_null(field: Field) -> Field:
    return lambda value: _NULL if value is None else field(value)


_FIELDS: Final[dict[int, Field]] = {
    ord("j"): _or_null(_jsonb),
    ord("z"): _Remembered(_time).__getitem__,
    ord("t"): _Remembered(_text).__getitem__,
    ord("x"): _or_null(_binary),
    ord("o"): _or_null(_boolean),
    ord("q"): _or_null(_bigint),
    ord("i"): _or_null(_integer),
}
"""Encoders by the letter that a column type has for them, here and in the compiled form."""


class ColumnType(NamedTuple):
    """How one column's values travel."""

    code: int
    """The encoder of a value."""
    oid: int
    array_oid: int


_TYPES: Final[tuple[tuple[type[TypeEngine[Any]], ColumnType], ...]] = (
    (JSONB, ColumnType(ord("j"), 3802, 3807)),
    (TIMESTAMP, ColumnType(ord("z"), 1184, 1185)),
    (Text, ColumnType(ord("t"), 25, 1009)),
    (Uuid, ColumnType(ord("x"), 2950, 2951)),
    (LargeBinary, ColumnType(ord("x"), 17, 1001)),
    (Boolean, ColumnType(ord("o"), 16, 1000)),
    (BigInteger, ColumnType(ord("q"), 20, 1016)),
    (Integer, ColumnType(ord("i"), 23, 1007)),
)


def column_type(sql_type: TypeEngine[Any]) -> ColumnType:
    """The wire type of a column of our tables."""
    return next(wire for kind, wire in _TYPES if isinstance(sql_type, kind))


TIME_OID: Final = 1184
BIGINT_OID: Final = 20


def time_value(time: datetime) -> bytes:
    """A timestamptz parameter."""
    return _time(time)[4:]


def bigint_value(number: int) -> bytes:
    """A bigint parameter."""
    return _INT64(number)


def bigint_of(value: bytes) -> int:
    """A bigint of a result."""
    return int.from_bytes(value, "big", signed=True)


def time_of(value: bytes | None) -> datetime | None:
    """A timestamptz of a result."""
    if value is None:
        return None
    return _EPOCH + timedelta(microseconds=int.from_bytes(value, "big", signed=True))


@cache
def _header_of_one(oid: int) -> bytes:
    return _ARRAY_HEADER(1, 1, oid, 1, 1)


def array(kind: ColumnType, values: Sequence[Any]) -> bytes:
    """One column of a batch as an array parameter."""
    if len(values) == 1:  # an event alone: most of what is sent are arrays of one
        return _header_of_one(kind.oid) + _FIELDS[kind.code](values[0])
    return encode_array(kind.code, kind.oid, values)


def copy_data(kinds: Sequence[ColumnType], rows: Iterable[tuple[Any, ...]]) -> bytes:
    """The rows as the data of a binary COPY."""
    return encode_rows(bytes([kind.code for kind in kinds]), rows)


def copy_parts(kinds: Sequence[ColumnType], rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    """The same in parts, so that a large batch is not in memory once more as a whole."""
    remaining, start = iter(rows), 0
    while part := _portion(remaining):
        yield copy_data(kinds, part)[start : -len(_COPY_END)]
        start = len(_COPY_START)
    yield copy_data(kinds, ())[start:]


def _portion(rows: Iterator[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    portion: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        portion.append(row)
        size += sum(len(value) for value in row if type(value) is bytes)
        if size >= _COPY_PART:
            break
    return portion


@compiled
def encode_array(code: int, oid: int, values: Sequence[Any]) -> bytes:
    """An array of values that all travel as ``code`` says; ``oid`` is the type of one."""
    count = len(values)
    header = _ARRAY_HEADER(1, 1, oid, count, 1)
    if values.count(None) == count:
        return header + _NULL * count
    return header + b"".join(map(_FIELDS[code], values))


@compiled
def encode_rows(codes: bytes, rows: Iterable[tuple[Any, ...]]) -> bytes:
    """The data of a binary COPY; ``codes`` has a letter per column."""
    fields = [_FIELDS[code] for code in codes]
    width = _INT16(len(codes))
    parts = [_COPY_START]
    for row in rows:
        parts.append(width)
        parts += [field(value) for field, value in zip(fields, row, strict=True)]
    parts.append(_COPY_END)
    return b"".join(parts)
