"""Rows as PostgreSQL's binary format: whole columns as array parameters, whole tables for COPY.

psycopg's own list adaptation goes value by value through its type registry, which costs more than the INSERT itself
for rows of this width; these few encoders know their types beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from struct import Struct
from typing import Any, Final

from psycopg.abc import AdaptContext
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy import Boolean, Integer, LargeBinary, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.types import BigInteger, TypeEngine

from lineagelog.event.times import to_microseconds

_EPOCH_2000: Final = 946_684_800_000_000
"""Microseconds from 1970 to 2000, where PostgreSQL's timestamps begin."""

_INT16, _INT32, _INT64 = Struct("!h").pack, Struct("!i").pack, Struct("!q").pack
_ARRAY_HEADER: Final = Struct("!iiiii").pack
_NULL: Final = _INT32(-1)

type Encode = Callable[[Any], bytes]


def _time(value: datetime) -> bytes:
    return _INT64(to_microseconds(value) - _EPOCH_2000)


def _jsonb(value: bytes) -> bytes:
    return b"\x01" + value


def _boolean(value: bool) -> bytes:
    return b"\x01" if value else b"\x00"


class ColumnType:
    """How one column's values travel: OIDs of the type and of its array, and the encoder of a value."""

    __slots__ = ("array_oid", "encode", "oid")

    def __init__(self, oid: int, array_oid: int, encode: Encode) -> None:
        self.oid, self.array_oid, self.encode = oid, array_oid, encode


_TYPES: Final[tuple[tuple[type[TypeEngine[Any]], ColumnType], ...]] = (
    (JSONB, ColumnType(3802, 3807, _jsonb)),
    (TIMESTAMP, ColumnType(1184, 1185, _time)),
    (Text, ColumnType(25, 1009, str.encode)),
    (Uuid, ColumnType(2950, 2951, bytes)),
    (LargeBinary, ColumnType(17, 1001, bytes)),
    (Boolean, ColumnType(16, 1000, _boolean)),
    (BigInteger, ColumnType(20, 1016, _INT64)),
    (Integer, ColumnType(23, 1007, _INT32)),
)


def column_type(sql_type: TypeEngine[Any]) -> ColumnType:
    """The wire type of a column of our tables."""
    return next(wire for kind, wire in _TYPES if isinstance(sql_type, kind))


class Array:
    """One column of a batch, encoded as a binary array parameter."""

    __slots__ = ("data", "oid")

    def __init__(self, kind: ColumnType, values: Sequence[Any]) -> None:
        self.oid = kind.array_oid
        encode = kind.encode
        parts = [_ARRAY_HEADER(1, 1, kind.oid, len(values), 1)]
        for value in values:
            if value is None:
                parts.append(_NULL)
            else:
                data = encode(value)
                parts += (_INT32(len(data)), data)
        self.data = b"".join(parts)


class ArrayDumper(Dumper):
    """Hands an Array to psycopg as it is, with its own OID."""

    format = Format.BINARY

    def __init__(self, cls: type, context: AdaptContext | None = None) -> None:
        super().__init__(cls, context)

    def get_key(self, obj: Array, format: Any) -> Any:  # noqa: A002, ARG002  # psycopg's name
        """One dumper per element type."""
        return (Array, obj.oid)

    def upgrade(self, obj: Array, format: Any) -> ArrayDumper:  # noqa: A002, ARG002
        """The dumper that names the array's own OID."""
        dumper = ArrayDumper(Array)
        dumper.oid = obj.oid
        return dumper

    def dump(self, obj: Array) -> bytes:
        """The bytes as they were encoded."""
        return obj.data


def copy_data(kinds: Sequence[ColumnType], rows: Iterable[Sequence[Any]]) -> bytes:
    """The rows as the data of a binary COPY."""
    parts = [b"PGCOPY\n\xff\r\n\0" + bytes(8)]
    width = _INT16(len(kinds))
    encoders = [kind.encode for kind in kinds]
    for row in rows:
        parts.append(width)
        for encode, value in zip(encoders, row, strict=True):
            if value is None:
                parts.append(_NULL)
            else:
                data = encode(value)
                parts += (_INT32(len(data)), data)
    parts.append(b"\xff\xff")
    return b"".join(parts)
