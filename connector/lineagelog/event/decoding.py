"""From the bytes of an event to its tree, its canonical bytes, and a text that PostgreSQL takes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

import msgspec
import orjson
from msgspec import Struct

from .canonical import (
    UnsettledError,
    canonical_of_settled,
    fold_any_float,
    fold_float,
    settle,
)
from .reason import Reason

_DECODER: Final = msgspec.json.Decoder(float_hook=fold_float)
_BOM: Final = b"\xef\xbb\xbf"
_TELLTALE_ESCAPE: Final = re.compile(rb"\\u00(?:00|3[aA])")
"""An escaped NUL, or an escaped colon, which would spoil the counting of colons."""
_NUL: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
_REPLACEMENT: Final = rb"\1\\ufffd"
_SURROGATES: Final = re.compile(
    rb"(?<!\\)((?:\\\\)*)(?:(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
"""A character that is written as two escapes (kept), or half of one."""
_LARGE: Final = 4 * 1024 * 1024
"""Bytes from which on memory counts: repaired before decoding, and not searched for names if in another encoding."""
_LONG_INTEGER: Final = 400
"""Digits; no double has so many, and reading more takes quadratic time."""


class RefusedError(Exception):
    """The bytes are no event; ``tree`` is what could be decoded of them."""

    def __init__(self, reason: Reason, path: str, detail: str, tree: Any = None) -> None:
        super().__init__(detail)
        self.reason, self.path, self.detail, self.tree = reason, path, detail, tree


class Decoded(Struct, frozen=True):
    """A JSON text that the log can keep."""

    tree: Any
    event_hash: bytes
    """SHA-256 of the canonical text."""
    body: bytes
    """The text for the event column: as received, or rewritten where PostgreSQL would refuse or change it."""
    raw: bytes | None
    """The bytes as received, only where ``body`` cannot give them back."""
    notice: str | None
    """Why ``raw`` is kept."""
    places: tuple[tuple[str | int, ...], ...] = ((),)
    """Where that is in the event, as steps of JSON paths; without any: the whole."""


def decode(text: bytes) -> Any:
    """A JSON text as Python values, numbers folded as the canonical form wants them."""
    return _DECODER.decode(text)


def decode_event(data: bytes) -> Decoded:
    """Decode the bytes of one event. Raises RefusedError."""
    body = data.removeprefix(_BOM)
    telltale = b"\\" in body and _TELLTALE_ESCAPE.search(body) is not None
    if len(body) > _LARGE and b"\\" in body and (repaired := _repaired(body)) != body:
        return _rewritten(_decode_anyhow(repaired), data)
    try:
        tree = _DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return _rewritten(_decode_leniently(body), data)
    if telltale and (settled := _settled(tree)) != tree:
        return _rewritten(settled, data)
    try:
        canonical_bytes = orjson.dumps(tree, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        tree = _settled(tree)
        canonical_bytes = canonical_of_settled(tree)
    # jsonb keeps the last of several equal keys; a dropped key takes its colon along
    if (telltale or body.count(b":") != canonical_bytes.count(b":")) and (places := _duplicate_keys(body)):
        # a dropped value may hold what jsonb refuses, so that the received text cannot go there
        return Decoded(tree, sha256(canonical_bytes).digest(), canonical_bytes, data, "duplicate_keys", places)
    return Decoded(tree, sha256(canonical_bytes).digest(), body, None, None)


def _repaired(body: bytes) -> bytes:
    """The text with U+FFFD for escapes of NUL and of half a character.

    As bytes, because a long text as Python has it may take four times as much, and once more when it is mended.
    """
    body = _NUL.sub(_REPLACEMENT, body)
    return _SURROGATES.sub(lambda match: match[0] if match[2] else match[1] + b"\\ufffd", body)


def _decode_anyhow(body: bytes) -> Any:
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return _decode_leniently(body)


def _rewritten(tree: Any, data: bytes) -> Decoded:
    tree = _settled(tree)
    canonical_bytes = canonical_of_settled(tree)
    return Decoded(tree, sha256(canonical_bytes).digest(), canonical_bytes, data, "repaired_text")


def _settled(tree: Any) -> Any:
    try:
        return settle(tree)
    except UnsettledError as problem:
        raise RefusedError(problem.reason, f"${problem.path}"[:512], str(problem), tree) from None


def _decode_leniently(body: bytes) -> Any:
    """Decode what the fast decoder refuses: lone surrogates pass, numbers of any size, and NaN, to be found later."""
    try:
        text = body.decode()
    except UnicodeDecodeError as bad:
        detail = f"the text is not UTF-8 at byte {bad.start}"
        raise RefusedError(Reason.NOT_UTF8, "$", detail, _salvage(body)) from None
    try:
        return json.loads(text, parse_float=fold_any_float, parse_int=_read_integer, parse_constant=_not_a_number)
    except RecursionError:
        raise RefusedError(Reason.TOO_DEEP, "$", "nested far too deep") from None
    except ValueError as problem:
        detail = str(problem) if text.strip() else "the text is empty"
        raise RefusedError(Reason.NOT_JSON, "$", detail) from None


def _salvage(body: bytes) -> Any:
    """Whatever can be read of a text in another encoding: its ASCII names are right, the rest is for nobody."""
    if len(body) > _LARGE:
        return None
    try:
        return json.loads(body.decode(errors="replace"), parse_float=float, parse_int=_read_integer)
    except (RecursionError, ValueError):
        return None


def _not_a_number(_name: str) -> float:
    return math.nan


def _read_integer(text: str) -> int | float:
    return int(text) if len(text) < _LONG_INTEGER else float(text)


_TOLD: Final = 50
"""Places of one object that are named: each is carried up through all that is around it."""


class _Doubled(list[tuple[str | int, ...]]):
    """The places of the keys that an object, with all that is in it, has twice, seen from that object."""


def _duplicate_keys(body: bytes) -> tuple[tuple[str | int, ...], ...]:
    """The places of the keys that objects of the text have twice, each once, in the order of the text."""
    return tuple(dict.fromkeys(_doubled(json.loads(body.decode(), object_pairs_hook=_look_for_doubled))))


def _look_for_doubled(pairs: list[tuple[str, Any]]) -> _Doubled | None:
    """What stands for an object: nothing, unless there is something to tell; so that the text makes no tree."""
    seen: set[str] = set()
    found: dict[tuple[str | int, ...], None] = {}
    for key, value in pairs:
        if key in seen:
            found[(key,)] = None
        seen.add(key)
        for place in _doubled(value):
            found[(key, *place)] = None
        if len(found) >= _TOLD:
            break
    return _Doubled(found) if found else None


def _doubled(value: Any) -> Iterator[tuple[str | int, ...]]:
    if type(value) is _Doubled:
        yield from value
    elif type(value) is list:
        for index, member in enumerate(value):
            yield from ((index, *place) for place in _doubled(member))
