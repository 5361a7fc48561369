"""Lengths of time in words."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def lasting(seconds: float) -> str:
    """In the two largest units that it has: ``3 d 4 h``, ``12 min``, ``0 s``."""
    left, words = int(seconds), []
    for size, unit in _UNITS:
        if left >= size:
            words.append(f"{left // size} {unit}")
            left %= size
    return " ".join(words[:2]) or "0 s"
