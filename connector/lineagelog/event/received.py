"""Gives the JSON text that PostgreSQL has of an event the value it was received with.

PostgreSQL's jsonb keeps every number exactly but not its spelling: ``1e30`` comes back as an integer of 31 digits. For
a reader that tells integers from floating point (ours does; the event's hash depends on it) that is another value.
"""

from __future__ import annotations

import re
from itertools import islice, product
from typing import Final

from .model import Event
from .parse import parse

_LONG: Final = re.compile(rb"\d{16}")
"""Integers below this many digits are the same value as an integer and as floating point."""
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?')
_MAX_TRIES: Final = 256


def as_received(text: bytes, event_hash: bytes) -> bytes:
    """The text in which long integers are spelt so that the event has its hash again.

    ``text`` is what ``event::text`` gives. Where no spelling fits, it is returned as it is.
    """
    if _LONG.search(text) is None or _hash(text) == event_hash:
        return text
    places = [
        match.end()
        for match in _TOKEN.finditer(text)
        if match[0][:1] != b'"' and b"." not in match[0] and len(match[0]) >= 16
    ]
    choices = product((True, False), repeat=len(places))
    for choice in islice(choices, _MAX_TRIES):
        spelt = _spell(text, [place for place, is_float in zip(places, choice, strict=True) if is_float])
        if _hash(spelt) == event_hash:
            return spelt
    return text


def _spell(text: bytes, ends: list[int]) -> bytes:
    parts, start = [], 0
    for end in ends:
        parts += [text[start:end], b"e0"]
        start = end
    parts.append(text[start:])
    return b"".join(parts)


def _hash(text: bytes) -> bytes | None:
    event = parse(text)
    return event.event_hash if isinstance(event, Event) else None
