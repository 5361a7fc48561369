"""The canonical form of a JSON value, its hash, and the 16-byte keys built from names.

Two spellings of one value (key order, white space, ``1`` or ``1.0`` or ``1e0``, escapes) have one canonical form:
compact UTF-8 JSON, keys sorted by code point, integral floats folded to integers.
"""

from __future__ import annotations

import json
from decimal import Decimal
from hashlib import sha256
from typing import Any

import orjson

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_EXACT_FLOAT = 2.0**53


def fold_float(text: str) -> int | float:
    """Read a JSON number that has a fraction or an exponent; an integral one within int64 becomes an int.

    Raises ValueError for a number beyond the range of a double.
    """
    value = float(text)
    if not value.is_integer():
        if value in (float("inf"), float("-inf")):
            raise ValueError("number out of range")
        return value
    if -_EXACT_FLOAT < value < _EXACT_FLOAT:
        return int(value)
    exact = Decimal(text)
    if _INT64_MIN <= exact <= _INT64_MAX and exact == exact.to_integral_value():
        return int(exact)
    return value


def canonical(value: Any) -> bytes:
    """The canonical bytes of a JSON value whose floats went through fold_float and whose text is valid Unicode."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer beyond 64 bits, or nested deeper than orjson goes
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def content_key(canonical_bytes: bytes) -> bytes:
    """The first 16 bytes of the SHA-256: the key of a content-addressed row, stored as uuid."""
    return sha256(canonical_bytes).digest()[:16]


def name_key(*parts: str | None) -> bytes:
    """The 16-byte key of a tuple of names, over length-prefixed UTF-8 parts; None differs from every text.

    PostgreSQL's B-tree entries are limited to 2,704 bytes and names are not, so keys are hashes of the names.
    """
    prefixed = []
    for part in parts:
        if part is None:
            prefixed.append(b"-")
        else:
            data = part.encode()
            prefixed.append(b"%d:%b" % (len(data), data))
    return sha256(b"".join(prefixed)).digest()[:16]
