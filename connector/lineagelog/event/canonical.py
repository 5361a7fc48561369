"""The canonical form of a JSON value, its hash, and the 16-byte keys built from names.

Two spellings of one value (key order, white space, ``1`` or ``1.0`` or ``1e0``, escapes) have one canonical form:
compact UTF-8 JSON, keys sorted by code point. Numbers go by value: an integral one from -2**63 to 2**64 - 1 is an
integer, however it is written, and every other one is the nearest double. NUL and lone surrogates, which neither
jsonb nor UTF-8 hold, are U+FFFD. The same holds for the text that jsonb gives back.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final

import orjson

from lineagelog.compiled import compiled
from lineagelog.spec.paths import path_step

from .reason import Reason

MAX_DEPTH: Final = 256
"""Arrays and objects within each other."""

_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**64 - 1
"""What the serializer writes as an integer."""
_EXACT_FLOAT = 2.0**53
_SMALL, _LONG = 1e-300, 1000  # a number that is no smaller and no longer has a scale that PostgreSQL holds
_REPLACED = re.compile("[\x00\ud800-\udfff]")


class UnsettledError(ValueError):
    """A value that has no canonical form."""

    def __init__(self, reason: Reason, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason
        self.path = ""
        """JSON path below the value that was looked at, without ``$``."""


class AwkwardNumberError(ValueError):
    """A number that a double does not hold, or with more digits than PostgreSQL holds after the point (16,383)."""


def fold_float(text: str) -> int | float:
    """Read a JSON number that has a fraction or an exponent; an integral one within 64 bits becomes an int.

    Raises AwkwardNumberError for one that is out of range or has to be rewritten before PostgreSQL takes it.
    """
    value = float(text)
    if (-_SMALL < value < _SMALL or len(text) > _LONG or math.isinf(value)) and _is_awkward(text, value):
        raise AwkwardNumberError(text[:40])
    return _folded(value, text)


def _is_awkward(text: str, value: float) -> bool:
    """Without an exponent, a number may be as long as jsonb writes one that came with an exponent."""
    exponent = text.lower().partition("e")[2].lstrip("+-0")
    return math.isinf(value) or len(exponent) > 3 or len(text) > (_LONG if exponent else 3 * _LONG)


def fold_any_float(text: str) -> int | float:
    """Like fold_float, for text that is going to be rewritten: no number is awkward, one out of range is infinite."""
    return _folded(float(text), text)


def _folded(value: float, text: str) -> int | float:
    if not value.is_integer():
        return value
    if -_EXACT_FLOAT < value < _EXACT_FLOAT:
        return int(value)
    if _MIN_INTEGER <= value <= 2.0**64:  # to which the greatest integer rounds
        exact = Decimal(text)
        if _MIN_INTEGER <= exact <= _MAX_INTEGER and exact == exact.to_integral_value():
            return int(exact)
    return value


def mended(text: str) -> str:
    """The text with U+FFFD for NUL and lone surrogates."""
    return _REPLACED.sub("\ufffd", text)


def settle(value: Any, depth: int = 1) -> Any:
    """The decoded value as the canonical form wants it: text mended, integers beyond 64 bits as doubles.

    Raises UnsettledError, with the path of the place, for deep nesting and for what is no finite number.
    """
    kind = type(value)
    if kind is str:
        return mended(value)
    if kind is dict:
        if depth > MAX_DEPTH:
            raise UnsettledError(Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels")
        members = {}
        for key, member in value.items():
            try:
                members[mended(key)] = settle(member, depth + 1)
            except UnsettledError as problem:
                problem.path = path_step(key) + problem.path
                raise
        return members
    if kind is list:
        if depth > MAX_DEPTH:
            raise UnsettledError(Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels")
        elements = []
        for index, element in enumerate(value):
            try:
                elements.append(settle(element, depth + 1))
            except UnsettledError as problem:
                problem.path = path_step(index) + problem.path
                raise
        return elements
    return _settle_number(value)


def _settle_number(value: Any) -> Any:
    if type(value) is int and not _MIN_INTEGER <= value <= _MAX_INTEGER:
        try:
            return float(value)
        except OverflowError:
            value = math.inf
    if type(value) is float and not math.isfinite(value):
        if math.isnan(value):
            raise UnsettledError(Reason.NOT_JSON, "NaN and Infinity are not JSON")
        raise UnsettledError(Reason.NUMBER_OUT_OF_RANGE, "the number is out of range")
    return value


def canonical(value: Any) -> bytes:
    """The canonical bytes of a JSON value whose floats went through fold_float and whose text is valid Unicode.

    Raises UnsettledError for a value that has none.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer beyond 64 bits, or nested deeper than the serializer goes
        return canonical_of_settled(settle(value))


def canonical_of_settled(value: Any) -> bytes:
    """The canonical bytes of what settle gave; orjson does not go down to MAX_DEPTH."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def content_key(canonical_bytes: bytes) -> bytes:
    """The first 16 bytes of the SHA-256: the key of a content-addressed row, stored as uuid."""
    return sha256(canonical_bytes).digest()[:16]


@compiled
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
