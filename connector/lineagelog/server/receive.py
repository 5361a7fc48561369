"""The receiving endpoint: raw ASGI from the request to the answer after COMMIT, with nothing in between."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any, Final

from msgspec import Struct

from lineagelog.errors import LineageLogError
from lineagelog.event.model import Event, Rejected
from lineagelog.intake import Door, GroupCommit, Lanes, Outcome, Submission, TooManyEventsError, split
from lineagelog.intake.group import HEAVY_BYTES, QueueLimits
from lineagelog.store.ledgers.tokens import Grant, Scope

from . import answers
from .answers import Member, Refusal, Reply
from .auth import Guard, credential
from .body import BodyReader, Receive, UnreadableBodyError, drain
from .limits import Limits
from .metrics import Metrics
from .waits import Waits

SOURCE: Final = "http"
INLINE: Final = 256 * 1024
"""Bodies up to this size are parsed in the event loop: a thread would cost more than it gains."""
_LIGHT: Final = 1024 * 1024
_HEAVY_VALUES: Final = 250_000
"""JSON values that take some 50 MB; bodies below _LIGHT take no more, and four are parsed at once."""

_ENCODINGS: Final = frozenset((b"", b"identity", b"gzip", b"x-gzip"))
_REFUSED_TYPES: Final = (
    "multipart/",
    "image/",
    "audio/",
    "video/",
    "text/html",
    "text/csv",
    "application/xml",
    "text/xml",
)
_JSON_CHARSETS: Final = frozenset(("utf-8", "utf8", "us-ascii", "ascii"))

type Result = list[Outcome] | LineageLogError


class ReceivedBody(Struct, frozen=True):
    """The events of one request, ready to be stored."""

    items: list[Event | Rejected]
    is_batch: bool


class Receiver:
    """Reads a request, hands its events to the group commit, waits for the COMMIT, answers."""

    def __init__(self, door: Door, limits: Limits, guard: Guard, pool: Executor, writers: int, waits: Waits) -> None:
        self._door = door
        self.limits = limits
        self._guard, self._waits = guard, waits
        self._pool = pool
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reader = BodyReader(limits, pool)
        self.metrics = Metrics(SOURCE, lambda: self.group.waiting, lambda: self._reader.budget.held)
        self.group = Lanes(self._lane(writers), self._lane(1))
        self._heavy = asyncio.Semaphore(1)
        """One heavy request at a time is parsed and stored: what it takes in memory is not multiplied."""

    def _lane(self, writers: int) -> GroupCommit:
        return GroupCommit(
            self.metrics.counted(self._door.store.append),
            self._done,
            source=SOURCE,
            writers=writers,
            limits=QueueLimits(self.limits.max_batch, self.limits.max_waiting, self.limits.max_waiting_bytes),
        )

    def start(self) -> None:
        """Start the writers; called in the event loop."""
        self._loop = asyncio.get_running_loop()
        self.group.start()

    def close(self) -> None:
        """End the threads that parse; the writers end with ``group.stop``."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    # --- one request ------------------------------------------------------------------------------------------------

    async def answer(
        self, token: str | None, headers: Mapping[bytes, bytes], receive: Receive, is_batch: bool
    ) -> Reply:
        """Everything of one request. Raises Refusal and Disconnected."""
        try:
            token = token or credential(headers)
            grant = self._guard.admit_known(token, Scope.INGEST) or await self._guard.admit(token, Scope.INGEST)
            check_headers(headers)
        except Refusal:
            if b"expect" not in headers:  # else the body is not sent before we ask for it
                await drain(receive)
            raise
        try:
            body = await self._reader.read(receive, _length(headers))
        except UnreadableBodyError as problem:
            return await self._stored(
                ReceivedBody([problem.rejected], False), grant, len(problem.rejected.payload), is_batch
            )
        size = len(body)
        if size <= INLINE:
            return await self._stored(self._parse([body]), grant, size, is_batch)
        held = [body]
        del body  # whoever parses has the only one, and lets go of it
        if not _is_heavy(held[0]):
            return await self._parse_and_store(held, grant, size, is_batch)
        self._reader.budget.take(size)
        try:
            await self._waits.wait(asyncio.ensure_future(self._heavy.acquire()))
            try:
                return await self._parse_and_store(held, grant, size, is_batch)
            finally:
                self._heavy.release()
        finally:
            self._reader.budget.give_back(size)

    async def _parse_and_store(self, held: list[bytes], grant: Grant, size: int, is_batch: bool) -> Reply:
        delivery = await asyncio.get_running_loop().run_in_executor(self._pool, self._parse, held)
        return await self._stored(delivery, grant, size, is_batch)

    async def _stored(self, delivery: ReceivedBody, grant: Grant, size: int, is_batch: bool) -> Reply:
        if delivery.is_batch or (is_batch and not _is_unusable(delivery)):
            return answers.batch(await self._store_batch(delivery, grant, size))
        return answers.single(await self._store_single(delivery, grant, size))

    def _parse(self, held: list[bytes]) -> ReceivedBody:
        try:
            framed = split(held.pop(), self.limits.max_events)
        except TooManyEventsError as problem:
            return ReceivedBody([problem.rejected], False)
        return ReceivedBody(
            [self._door.parse(event) for event in framed.events], framed.is_batch and not framed.is_broken
        )

    async def _store_single(self, delivery: ReceivedBody, grant: Grant, size: int) -> Outcome:
        if grant.namespaces is not None and (refusal := _outside(delivery.items[0], grant)) is not None:
            raise refusal
        return (await self._store(delivery.items, size))[0]

    async def _store_batch(self, delivery: ReceivedBody, grant: Grant, size: int) -> list[Member]:
        items = delivery.items
        if not items:
            return []
        if grant.namespaces is None:
            return list(await self._store(items, size))
        members: list[Member | None] = [_outside(item, grant) for item in items]
        allowed = [item for item, refusal in zip(items, members, strict=True) if refusal is None]
        outcomes = iter(await self._store(allowed, size) if allowed else ())
        return [next(outcomes) if member is None else member for member in members]

    async def _store(self, items: list[Event | Rejected], size: int) -> list[Outcome]:
        """Hand in and wait for the COMMIT."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        try:
            self.group.submit(Submission(items, future, size))
        except LineageLogError as error:
            raise answers.not_stored(error) from error
        result = await self._waits.wait(future)
        if isinstance(result, LineageLogError):
            raise answers.not_stored(result) from result
        return result

    # --- back from the writers --------------------------------------------------------------------------------------

    def _done(self, shares: list[tuple[Submission, Result]]) -> None:
        """On a writer's thread: wake all that wait for this transaction at once."""
        if self._loop is None:
            return
        try:
            self._loop.call_soon_threadsafe(_deliver, shares)
        except RuntimeError:
            return  # the loop has ended: nobody waits any more


def _deliver(shares: list[tuple[Submission, Result]]) -> None:
    for submission, result in shares:
        future: Any = submission.ticket
        if not future.done():
            future.set_result(result)


def _is_heavy(body: bytes) -> bool:
    """Whether it takes much memory: by its bytes, or by the objects that they may become."""
    if len(body) >= HEAVY_BYTES or len(body) < _LIGHT:
        return len(body) >= HEAVY_BYTES
    return body.count(b",") + body.count(b"{") + body.count(b"[") > _HEAVY_VALUES


def _is_unusable(delivery: ReceivedBody) -> bool:
    """Whether a request as a whole could not be read, so that there are no members to speak of."""
    return len(delivery.items) == 1 and isinstance(delivery.items[0], Rejected)


def _outside(item: Event | Rejected, grant: Grant) -> Refusal | None:
    """The refusal of an event whose job is not in the namespaces that the token is bound to."""
    if isinstance(item, Rejected) or grant.allows(Scope.INGEST, item.job_namespace):
        return None
    return Refusal(403, "forbidden", "the token is bound to other job namespaces", path="$.job.namespace")


def check_headers(headers: Mapping[bytes, bytes]) -> None:
    """Refuse (415) what cannot be JSON in UTF-8, plain or gzip.

    Most content types are let pass: plain curl says application/x-www-form-urlencoded.
    """
    encoding = headers.get(b"content-encoding")
    if encoding is not None and encoding.strip().lower() not in _ENCODINGS:
        raise Refusal(
            415,
            "unsupported_encoding",
            "Content-Encoding must be gzip or identity",
            headers=((b"accept-encoding", b"gzip, identity"),),
        )
    content_type = headers.get(b"content-type")
    if content_type is not None and content_type != b"application/json":
        _check_type(content_type.decode("latin-1"))


def _check_type(content_type: str) -> None:
    kind, *parameters = [part.strip().lower() for part in content_type.split(";")]
    if kind.startswith(_REFUSED_TYPES):
        raise Refusal(415, "unsupported_media_type", f"{kind[:80]} is not application/json")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "charset" and value.strip("\"'") not in _JSON_CHARSETS:
            raise Refusal(415, "unsupported_charset", "the charset must be utf-8")


def _length(headers: Mapping[bytes, bytes]) -> int | None:
    value = headers.get(b"content-length", b"")
    return int(value) if value.isdigit() else None
