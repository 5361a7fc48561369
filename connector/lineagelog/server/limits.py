"""The bounds of the server: sizes, waiting, times."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from lineagelog.intake import MAX_EVENT, MAX_REQUEST
from lineagelog.intake.door import MAX_VALUES
from lineagelog.intake.framing import MAX_EVENTS
from lineagelog.intake.group import MAX_BATCH, MAX_WAITING, MAX_WAITING_BYTES
from lineagelog.read.analyses import Terms

HEAD_BYTES: Final = 64 * 1024
"""Most bytes of a request's line and headers."""


class Limits(Struct, frozen=True):
    """What the server takes before it says no. Sizes in bytes, times in seconds."""

    max_request: int = MAX_REQUEST
    """One request, inflated (413)."""
    max_event: int = MAX_EVENT
    """One event (413)."""
    max_values: int = MAX_VALUES
    """JSON values of one event (413)."""
    max_events: int = MAX_EVENTS
    """Events of one request (413)."""
    max_waiting: int = MAX_WAITING
    """Events that wait to be stored (503)."""
    max_waiting_bytes: int = MAX_WAITING_BYTES
    """Bytes of those (503)."""
    max_receiving_bytes: int = 2 * MAX_REQUEST
    """Bytes of all requests that are being read, or wait to be parsed (503)."""
    max_batch: int = MAX_BATCH
    """Events of one transaction, unless one request brings more."""
    head_timeout: float = 20.0
    """For the request line and headers; a slower connection is closed."""
    body_timeout: float = 30.0
    """For the body (408), and more time the more arrives: a second for each ``min_rate`` bytes."""
    min_rate: int = 16 * 1024
    patience: float = 3.0
    """How long a request waits for the database before that is asked whether it lives; if not, it gets 503."""
    answer_timeout: float = 120.0
    """How long it waits for one that lives (503)."""
    analyses: Terms = Terms()
    """On which terms analyses are asked: how long one may take (503), and what the settings say of single jobs."""
    keep_alive: int = 75
    """How long an idle connection stays open."""
    max_page: int = 1000
    """Rows of one page of a read."""

    @property
    def analysis_seconds(self) -> float:
        """How long an analysis is waited for at all."""
        return self.analyses.time_limit.total_seconds() + self.answer_timeout
