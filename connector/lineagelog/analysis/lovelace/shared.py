"""What the three services share: the parameter of their history, and the properties that all of them stamp."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from lineagelog.analysis.declaration import Choice, Given

from .formulas import days_of, instant, millis

HISTORY: Final = Choice(
    name="history",
    meaning="Of what it is made: digest (each run as a whole, in the window where it began), or events (the raw events "
    "of the window, as Egeria reads them).",
    words=("digest", "events"),
    default="digest",
    metavar="digest|events",
)


def start_of(given: Given) -> int | None:
    """Of the window; None where it has no start."""
    return None if given.start == datetime.min.replace(tzinfo=UTC) else millis(given.start)


def stamps(given: Given, service: str) -> dict[str, str]:
    """When, of which window and by whom it was analysed."""
    return {
        "analysisTime": instant(millis(given.end)),
        "analysisWindowStart": instant(start_of(given)),
        "analysisWindowEnd": instant(millis(given.end)),
        "analysisService": service,
    }


def days_in(given: Given, earliest: int | None) -> float:
    """Length of the window in days, from its first event on."""
    return days_of(start_of(given), millis(given.end), earliest)
