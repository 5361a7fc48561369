"""Instants as people write them on a command line or in a URL: ISO 8601, or a distance from now."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from lineagelog.errors import InputError
from lineagelog.event.times import BadTimeError, parse_time

_DISTANCE: Final = re.compile(r"-(\d{1,6})(s|m|h|d|w)")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
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
        if match := _DISTANCE.fullmatch(text):
            return now - timedelta(**{_UNITS[match[2]]: int(match[1])})
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
        if "T" in text.upper() and (match := _LOST_PLUS.fullmatch(text)):
            text = f"{match[1]}+{match[2]}"
        return parse_time(text)[0]
    except (BadTimeError, ValueError, OverflowError):
        raise InputError(
            f"{text[:60]!r} is no time: write 2026-03-01, 2026-03-01T08:00:00Z, -7d (s, m, h, d, w) or now"
        ) from None
