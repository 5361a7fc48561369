"""Bounds how long a request waits for the database: no longer than it takes to see that nobody answers there."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from .answers import RETRY_UNAVAILABLE, Refusal

_LOOK: Final = 0.25
"""Seconds between two looks at what waits."""

type Beats = Callable[[], bool]
"""Asks the database for a sign of life, on a thread; false if there is none."""


class Waits:
    """Everything that requests wait for in threads, given up (503) when the database is silent.

    A wait that is given up is cancelled: what no thread has begun will not be done, and what a thread is at ends by the
    engine's own patience. What is being stored may be stored all the same; it was not acknowledged.
    """

    def __init__(self, beats: Beats, patience: float, limit: float) -> None:
        """Ask after ``patience`` seconds; give up after ``limit`` seconds though the database lives."""
        self._beats, self._patience, self._limit = beats, patience, limit
        self._waiting: dict[asyncio.Future[Any], tuple[float, float]] = {}
        """Since when, and for how long at most."""
        self._refusals: dict[asyncio.Future[Any], Refusal] = {}
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="lineagelog-pulse")
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look; called in the event loop."""
        self._task = asyncio.get_running_loop().create_task(self._look())

    def close(self) -> None:
        """Look no more, and leave whoever is being asked alone."""
        if self._task is not None:
            self._task.cancel()
        self._asking.shutdown(wait=False, cancel_futures=True)

    async def wait[T](self, future: asyncio.Future[T], seconds: float | None = None) -> T:
        """The result, waited for as long as a request waits, or so many seconds. Raises Refusal if it was given up."""
        self._waiting[future] = time.monotonic(), self._limit if seconds is None else seconds
        try:
            return await future
        except asyncio.CancelledError:
            refusal = self._refusals.pop(future, None)
            if refusal is None:
                raise
            raise refusal from None
        finally:
            self._waiting.pop(future, None)
            self._refusals.pop(future, None)

    async def ask[T](
        self, pool: ThreadPoolExecutor, question: Callable[..., T], *arguments: Any, seconds: float | None = None
    ) -> T:
        """The answer of a thread of the pool."""
        return await self.wait(asyncio.get_running_loop().run_in_executor(pool, question, *arguments), seconds)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            self._give_up(None, "the database took too long")
            if self._oldest() < self._patience:
                continue
            with contextlib.suppress(RuntimeError):  # the threads of a stopping server are ended
                if not await asyncio.get_running_loop().run_in_executor(self._asking, self._beats):
                    self._give_up(self._patience, "the database does not answer")

    def _oldest(self) -> float:
        """Seconds of the longest wait: the first that began."""
        return time.monotonic() - next(iter(self._waiting.values()))[0] if self._waiting else 0.0

    def _give_up(self, seconds: float | None, why: str) -> None:
        """All that have waited for so long, or for as long as each may."""
        now = time.monotonic()
        late = [
            future
            for future, (since, most) in self._waiting.items()
            if now - since > (most if seconds is None else seconds) and not future.done()
        ]
        for future in late:
            self._refusals[future] = Refusal(503, "database_unavailable", why, retry_after=RETRY_UNAVAILABLE)
            future.cancel()
