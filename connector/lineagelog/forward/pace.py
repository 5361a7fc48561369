"""When the next attempt may be made: rate limit, back-off with jitter, and what the target asked for (Retry-After)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from lineagelog.backoff import pause_after

from .target import ForwardTarget

_SLICE: Final = 0.25
"""Seconds within which a lane notices that it is called back."""


class StoppedError(Exception):
    """Asked to stop while waiting."""


class Pace:
    """Shared by all lanes of a forwarder. Waiting ends at once, with StoppedError, when ``stop`` is set."""

    def __init__(
        self, target: ForwardTarget, stop: threading.Event, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._target, self._stop, self._clock = target, stop, clock
        self._lock = threading.Lock()
        self._not_before = 0.0
        self._next_slot = clock()
        self.last_success = clock()
        self.abort = threading.Event()
        """Set while lanes are called back because one of them cannot go on."""

    def admit(self, events: int) -> None:
        """Wait until so many events may be sent."""
        self.wait(0)
        while (delay := self._slot(events)) > 0:
            self.wait(delay)

    def _slot(self, events: int) -> float:
        """Seconds to wait; 0 = go, and the slot is taken."""
        with self._lock:
            now = self._clock()
            if now < self._not_before:
                return self._not_before - now
            if self._target.rate is None:
                return 0.0
            if now < self._next_slot:
                return self._next_slot - now
            self._next_slot = max(self._next_slot, now - 1.0) + events / self._target.rate
            return 0.0

    def succeeded(self) -> None:
        """Something was delivered."""
        self.last_success = self._clock()

    @property
    def silence(self) -> float:
        """Seconds since the last success."""
        return self._clock() - self.last_success

    def back_off(self, failures: int, retry_after: float | None) -> None:
        """Wait before the next attempt: longer with each failure in a row, and not before the target asked for."""
        if retry_after is not None:
            with self._lock:
                self._not_before = max(self._not_before, self._clock() + retry_after)
        self.wait(pause_after(failures, first=self._target.retry_first, longest=self._target.retry_last))

    def wait(self, seconds: float) -> None:
        """Sleep unless stopped."""
        ends = self._clock() + seconds
        while True:
            left = ends - self._clock()
            if self._stop.wait(min(max(left, 0.0), _SLICE)) or self.abort.is_set():
                raise StoppedError
            if left <= _SLICE:
                return
