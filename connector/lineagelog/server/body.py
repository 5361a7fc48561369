"""Reads a request's body within bounds of size, time and memory, inflating it as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import Any, Final, Protocol

from lineagelog.event.model import Reason, Rejected
from lineagelog.intake import BadCompressionError, Inflater, TooLargeError, too_large
from lineagelog.intake.framing import GZIP_MAGIC, KEPT

from .answers import Refusal
from .limits import Limits

INLINE_COMPRESSED: Final = 8 * 1024
"""Compressed bytes that are inflated in the event loop: at gzip's best ratio 8 MiB, some 10 ms."""
_DRAIN: Final = 10.0

type Receive = Callable[[], Awaitable[Any]]


class Disconnected(Exception):
    """The client has gone before its request was complete."""


class UnreadableBodyError(Exception):
    """The body is refused as it is; ``rejected`` goes to the dead letters and into the answer."""

    def __init__(self, rejected: Rejected) -> None:
        super().__init__(rejected.detail)
        self.rejected = rejected


class Budget:
    """The bytes that all requests being read may hold together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.held = 0

    def take(self, size: int) -> None:
        """Raise Refusal (503) if there is no room. One request alone always has room."""
        if self.held and self.held + size > self._limit:
            raise Refusal(503, "overloaded", "too many bytes are being received", retry_after=1)
        self.held += size

    def give_back(self, size: int) -> None:
        """Free what was taken."""
        self.held -= size


class _Sink(Protocol):
    @property
    def size(self) -> int: ...
    def feed(self, data: bytes) -> None: ...
    def finish(self) -> bytes: ...


class _Plain:
    """Collects an uncompressed body up to a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self.size = 0

    def feed(self, data: bytes) -> None:
        self._parts.append(data)
        self.size += len(data)
        if self.size > self._limit:
            raise TooLargeError(self._limit, b"".join(self._parts), self.size)

    def finish(self) -> bytes:
        return b"".join(self._parts)


class BodyReader:
    """Reads bodies for one server."""

    def __init__(self, limits: Limits, pool: Executor) -> None:
        self._limits = limits
        self._pool = pool
        self.budget = Budget(limits.max_receiving_bytes)

    async def read(self, receive: Receive, length: int | None) -> bytes:
        """The inflated body. ``length`` is the request's Content-Length.

        Raises UnreadableError for one that is too large or broken, Refusal (408, 503), Disconnected.
        """
        try:
            async with asyncio.timeout(self._limits.body_timeout) as timeout:
                message = await _next(receive)
                data: bytes = message["body"]
                if not message["more_body"] and len(data) <= self._limits.max_request and data[:2] != GZIP_MAGIC:
                    return data
                while len(data) < 2 and message["more_body"]:
                    message = await _next(receive)
                    data += message["body"]
                return await self._collect(receive, data, message["more_body"], length, timeout)
        except TimeoutError:
            raise Refusal(408, "too_slow", "the body did not arrive in time") from None

    async def _collect(
        self, receive: Receive, data: bytes, more: bool, length: int | None, timeout: asyncio.Timeout
    ) -> bytes:
        limit = self._limits.max_request
        compressed = data[:2] == GZIP_MAGIC
        sink: _Sink = Inflater(limit) if compressed else _Plain(limit)
        begin = timeout.when() or 0.0
        received = held = 0
        start = b""
        try:
            while True:
                received += len(data)
                if compressed and len(start) < KEPT:
                    start = (start + data)[:KEPT]
                if compressed and len(data) > INLINE_COMPRESSED:
                    await asyncio.get_running_loop().run_in_executor(self._pool, sink.feed, data)
                else:
                    sink.feed(data)
                self.budget.take(sink.size - held)
                held = sink.size
                if not more:
                    return sink.finish()
                timeout.reschedule(begin + received / self._limits.min_rate)
                message = await _next(receive)
                data, more = message["body"], message["more_body"]
        except TooLargeError as problem:
            timeout.reschedule(None)
            await drain(receive, more)
            size = problem.size if compressed else max(length or 0, problem.size)
            loop = asyncio.get_running_loop()
            rejected = await loop.run_in_executor(self._pool, too_large, problem.start, size, limit)
            raise UnreadableBodyError(rejected) from None
        except BadCompressionError as problem:
            await drain(receive, more)
            raise UnreadableBodyError(Rejected(Reason.BAD_ENCODING, "$", str(problem), start, size=received)) from None
        finally:
            self.budget.give_back(held)


async def _next(receive: Receive) -> Any:
    message = await receive()
    if message["type"] != "http.request":
        raise Disconnected
    return message


async def drain(receive: Receive, more: bool = True) -> None:
    """Read on for a while and forget: a client that is still sending does not look for its answer."""
    try:
        async with asyncio.timeout(_DRAIN):
            while more:
                more = (await _next(receive))["more_body"]
    except (TimeoutError, Disconnected):
        return
