"""Instants as people write them on a command line or in a URL: ISO 8601, or a distance from now."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from lineagelog.errors import InputError
from lineagelog.event.times import BadTimeError, parse_time

_DISTANCE: Final = re.compile(r"0{0,5}([1-9][0-9]{0,5})([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
ALWAYS: Final = "all"
"""In place of the start of a window: from the first event on."""
_LOST_PLUS: Final = re.compile(r"(.*\d) (\d\d:?\d\d)")
"""A ``+`` before an offset that a URL turned into a space."""


def parse_instant(text: str, now: datetime) -> datetime:
    """Read ``now``, ``-7d`` (also s, m, h, w), a date (its midnight, UTC) or an RFC 3339 date-time; in UTC.

    A date-time without a zone is UTC. Raises InputError, whose text says what would be valid.
    """
    text = text.strip()
    if text.lower() == "now":
        return now
    try:
        if text.startswith("-"):
            return now - _distance(text[1:])
        return _time(text)
    except (BadTimeError, ValueError, OverflowError):
        raise InputError(
            f"{text[:60]!r} is no time: write 2026-03-01, 2026-03-01T08:00:00Z, -7d (s, m, h, d, w) or now"
        ) from None


def parse_start(text: str, now: datetime) -> datetime:
    """Read a point in time as in parse_instant, or ``all``: before everything."""
    return datetime.min.replace(tzinfo=UTC) if text.strip().lower() == ALWAYS else parse_instant(text, now)


def parse_age(text: str, now: datetime) -> datetime:
    """Read ``90d`` (also s, m, h, w), so long before ``now``, or a time before it, as in parse_instant; in UTC.

    Without a sign: what is deleted is never guessed. Raises InputError, whose text says what would be valid.
    """
    found = _distance_or_time(text, now, -1)
    if found is None:
        raise InputError(f"{text[:60]!r} is no time and no age: write 90d (s, m, h, d, w) or 2026-03-01")
    if found > now:
        raise InputError(f"{text[:60]!r} lies in the future")
    return found


def parse_end(text: str, now: datetime) -> datetime:
    """Read ``90d`` (also s, m, h, w), so long after ``now``, or a time after it, as in parse_instant; in UTC.

    Raises InputError, whose text says what would be valid.
    """
    found = _distance_or_time(text, now, 1)
    if found is None:
        raise InputError(f"{text[:60]!r} is no time and no span: write 90d (s, m, h, d, w) or 2027-03-01")
    if found <= now:
        raise InputError(f"{text[:60]!r} lies in the past")
    return found


def _distance_or_time(text: str, now: datetime, direction: int) -> datetime | None:
    try:
        if _DISTANCE.fullmatch(text.strip()):
            return now + direction * _distance(text.strip())
        return _time(text.strip())
    except (BadTimeError, ValueError, OverflowError):
        return None


def _distance(text: str) -> timedelta:
    match = _DISTANCE.fullmatch(text)
    if match is None:
        raise ValueError("no distance")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _time(text: str) -> datetime:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    if "T" in text.upper() and (match := _LOST_PLUS.fullmatch(text)):
        text = f"{match[1]}+{match[2]}"
    return parse_time(text)[0]
