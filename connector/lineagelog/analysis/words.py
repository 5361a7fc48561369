"""Figures for people: spans of time and counts."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def span(seconds: float) -> str:
    """A length of time in one unit or two, such as 2 h 5 min; below a minute in seconds."""
    if seconds < 0:
        return f"-{span(-seconds)}"
    if seconds < 59.5:
        return f"{seconds:.0f} s" if seconds >= 9.95 else f"{seconds:.1f} s"
    for (size, unit), below in zip(_UNITS, (3600.0, 60.0, 1.0), strict=True):
        if seconds >= size - below / 2:
            whole, rest = divmod(round(seconds / below), round(size / below))
            lower = {3600.0: "h", 60.0: "min", 1.0: "s"}[below]
            return f"{whole:,} {unit}" + (f" {rest} {lower}" if rest and whole < 100 else "")
    return f"{seconds:.0f} s"


def count(value: float) -> str:
    """A count with separators."""
    return f"{value:,.0f}"
