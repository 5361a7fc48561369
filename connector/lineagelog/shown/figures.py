"""Figures and names as people read them: spans of time, bytes, how many there are of something, and where it is."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

_SMALL: Final = ((1.0, "s", 1.0), (1e-3, "ms", 1e3), (0.0, "µs", 1e6))
"""From how many seconds on, the unit, and how many of it are a second."""


def duration(span: timedelta) -> str:
    """A span of time: ``80 µs``, ``12.5 ms``, ``1.4 s``, ``3 min 20 s``, ``2 h 5 min``, ``4 d 2 h``."""
    seconds = span.total_seconds()
    if seconds < 0:
        return f"-{duration(-span)}"
    if seconds == 0:
        return "0 s"
    if seconds < 59.95:
        unit, factor = next((unit, factor) for least, unit, factor in _SMALL if seconds >= least)
        return f"{float(f'{seconds * factor:.3g}'):g} {unit}"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [f"{count} {unit}" for count, unit in ((days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")) if count]
    return " ".join(parts[:2])


def size(count: float) -> str:
    """A number of bytes: ``1 byte``, ``812 bytes``, ``1.5 KiB``, ``3.2 GiB``."""
    if count < 1024:
        return counted(round(count), "bytes")
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if count < 1023.5 or unit == "TiB":
            break
    return f"{count:.4g} {unit}" if count < 10_000 else f"{count:,.0f} {unit}"


def counted(count: int, plural: str) -> str:
    """How many of something: ``0 runs``, ``1 run``, ``12,400 runs``; ``plural`` ends with the s that one has not."""
    noun = plural.removesuffix("s") if count == 1 else plural
    return f"{count:,} {noun}"


def place(namespace: str | None, name: str) -> str:
    """Namespace and name as one: ``shop/orders``, ``s3://bucket/a``; a name that is a path goes on where it stands
    (``hdfs://host:8020/a``), or after a colon (``file:/srv/a``)."""
    if not namespace:
        return name
    if name.startswith("/"):
        return f"{namespace}{name}" if "://" in namespace else f"{namespace}:{name}"
    return f"{namespace}/{name}"
