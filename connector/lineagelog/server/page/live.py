"""Server-sent events: browsers are told that something was stored, not what; each then asks for what it shows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from lineagelog.errors import LineageLogError

_EVERY: Final = 2.0
"""Seconds between two looks at the store, one for all browsers together."""
_LIFE: Final = 300.0
"""Seconds of a stream; the browser opens the next one, and a token that has ended shows."""
MOST: Final = 200
"""Streams at once."""


class Live:
    """Tells all who listen when the newest event is another one."""

    def __init__(self, newest: Callable[[], Awaitable[int | None]]) -> None:
        self._newest = newest
        self._seen: int | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_over = False
        self.listening = 0

    def close(self) -> None:
        """End all streams."""
        self._is_over = True
        self._changed.set()
        if self._task is not None:
            self._task.cancel()

    async def stream(self, is_stopping: Callable[[], bool]) -> AsyncIterator[bytes]:
        """The events for one browser."""
        self.listening += 1
        end = time.monotonic() + _LIFE
        try:
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._look())
            yield b"retry: 3000\n" + self._told()
            last = self._seen
            while not (self._is_over or is_stopping()) and time.monotonic() < end:
                changed = self._changed
                try:
                    await asyncio.wait_for(changed.wait(), 1.0)
                except TimeoutError:
                    continue
                if self._seen != last:
                    last = self._seen
                    yield self._told()
        finally:
            self.listening -= 1

    def _told(self) -> bytes:
        return b"event: stored\ndata: %d\n\n" % (self._seen or 0)

    async def _look(self) -> None:
        while self.listening:
            try:
                newest = await self._newest()
            except LineageLogError:
                newest = self._seen
            if newest != self._seen:
                self._seen = newest
                changed, self._changed = self._changed, asyncio.Event()
                changed.set()
            await asyncio.sleep(_EVERY)


class Streamed:
    """An ASGI answer of server-sent events."""

    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        self._parts = parts

    async def __call__(self, _scope: Any, receive: Any, send: Any) -> None:
        """Send until the stream or the browser ends."""
        headers = ((b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        leaving = asyncio.ensure_future(_has_left(receive))
        try:
            async for part in self._parts:
                if leaving.done():
                    break
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            leaving.cancel()
            await self._parts.aclose()  # type: ignore[attr-defined]


async def _has_left(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
