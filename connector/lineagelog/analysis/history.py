"""The past that the robust analyses learn from: its parameter, and times as they are computed with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from .declaration import Span

TRAINING: Final = Span(
    name="training",
    meaning="How far before the window is looked for what is usual; the last five weeks teach it, months before are "
    "precedents.",
    default="100 days",
)


def moment(seconds: float) -> datetime:
    """Seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
