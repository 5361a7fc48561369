"""For what may go on for ever: a question that is perhaps never answered, and a word that is said once in a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Question:
    """Asked on a thread of its own, one at a time, so that nobody who wants to know hangs with it."""

    def __init__(self, ask: Callable[[], str | None], name: str) -> None:
        """``ask`` must not raise."""
        self._ask, self._name = ask, name
        self._lock = threading.Lock()
        self._answered: threading.Event | None = None
        self._answer: str | None = None

    def answer(self, seconds: float, otherwise: str) -> str | None:
        """What the question gives; ``otherwise`` if that takes longer than so many seconds."""
        with self._lock:
            answered = self._answered
            if answered is None or answered.is_set():
                answered = self._answered = threading.Event()
                threading.Thread(target=self._run, args=(answered,), name=self._name, daemon=True).start()
        return self._answer if answered.wait(seconds) else otherwise

    def _run(self, answered: threading.Event) -> None:
        try:
            self._answer = self._ask()
        finally:
            answered.set()


class Seldom:
    """Lets the first of many through, then one in a while."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._lock = threading.Lock()
        self._last: float | None = None
        self._held_back = 0

    def admit(self, count: int) -> int | None:
        """So many more: how many there are since the last that went through, or None if they are held back."""
        with self._lock:
            self._held_back += count
            now = self._clock()
            if self._last is not None and now - self._last < self._seconds:
                return None
            self._last, count = now, self._held_back
            self._held_back = 0
            return count
