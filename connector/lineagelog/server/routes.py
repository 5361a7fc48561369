"""All paths but the receiving ones: health, metrics, the OpenAPI document, and reads as JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from lineagelog.errors import LineageLogError, StoreError
from lineagelog.read import Reader
from lineagelog.store import LogStore
from lineagelog.store.ledgers.tokens import Scope

from . import openapi, reads
from .answers import RETRY_UNAVAILABLE, Answer, Refusal, json_answer, not_stored
from .auth import Guard
from .limits import Limits
from .metrics import CONTENT_TYPE
from .query import Query
from .receive import Receiver
from .waits import Waits

_RUN: Final = "/api/v1/runs/"

ANYBODYS: Final = frozenset(("/healthz", "/openapi.json"))
"""Paths for which nobody needs a token; they answer also while the database does not."""

type Handler = Callable[[], Awaitable[Answer]]


class Routes:
    """The paths that are asked with GET."""

    def __init__(
        self,
        store: LogStore,
        reader: Reader | None,
        receiver: Receiver,
        guard: Guard,
        limits: Limits,
        waits: Waits,
    ) -> None:
        self._store = store
        self._reader = reader
        self._receiver = receiver
        self._guard = guard
        self._limits = limits
        self._waits = waits
        self._version: asyncio.Task[int] | None = None
        self._looks = ThreadPoolExecutor(2, thread_name_prefix="lineagelog-look")
        self._reads = ThreadPoolExecutor(4, thread_name_prefix="lineagelog-read")
        self._own: dict[str, Handler] = {
            "/healthz": self._health,
            "/readyz": self._ready,
            "/metrics": self._metrics,
            "/openapi.json": self._openapi,
        }

    def close(self) -> None:
        """End the threads."""
        self._reads.shutdown(wait=False, cancel_futures=True)
        self._looks.shutdown(wait=False, cancel_futures=True)

    async def answer(self, scope: Any, path: str, token: str | None) -> tuple[str, Answer]:
        """The route's name for the metrics, and the answer. Raises Refusal."""
        own = self._own.get(path)
        question = reads.QUESTIONS.get(path)
        is_run = path.startswith(_RUN) and len(path) > len(_RUN)
        if own is None and question is None and not is_run:
            raise Refusal(404, "not_found", "there is nothing at this path; /openapi.json lists what there is")
        if scope["method"] not in ("GET", "HEAD"):
            raise Refusal(405, "method_not_allowed", "this is read", headers=((b"allow", b"GET, HEAD, OPTIONS"),))
        if own is not None:
            if path not in ANYBODYS:
                grant = await self._guard.admit(token, Scope.READ)
                if path == "/metrics":
                    reads.unbound(grant)
            return path, await own()
        grant = await self._guard.admit(token, Scope.READ)
        if self._reader is None:
            raise Refusal(501, "not_available", "this server only receives")
        query = Query(scope["query_string"], self._limits.max_page)
        if is_run:
            query.given["run_id"] = path[len(_RUN) :]
        if is_run or (question is reads.runs and "run_id" in query):
            question, path = reads.run, _RUN
        assert question is not None  # noqa: S101  # by the 404 above
        return path, await self._in_thread(reads.answer, question, self._reader, query, grant)

    async def _in_thread(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        try:
            return await self._waits.ask(self._reads, function, *arguments)
        except StoreError as error:
            raise not_stored(error) from error

    async def _health(self) -> Answer:
        return json_answer(200, {"status": "alive"})

    async def _ready(self) -> Answer:
        waiting, limit = self._receiver.group.waiting, self._limits.max_waiting
        if self._version is None or self._version.done():  # all who ask meanwhile hear the same
            self._version = asyncio.create_task(self._waits.ask(self._looks, self._store.check_version))
        try:
            version = await asyncio.shield(self._version)
        except Refusal as refusal:
            raise Refusal(503, "database", str(refusal), retry_after=refusal.retry_after) from None
        except LineageLogError as error:
            detail = error.plain if isinstance(error, StoreError) else str(error)
            raise Refusal(503, "database", detail, retry_after=RETRY_UNAVAILABLE) from None
        if waiting >= limit:
            raise Refusal(503, "overloaded", f"{waiting} events are waiting to be stored", retry_after=1)
        return json_answer(200, {"status": "ready", "store_version": version, "waiting": waiting, "max_waiting": limit})

    async def _metrics(self) -> Answer:
        text = await self._waits.ask(self._looks, self._receiver.metrics.text)  # figures may be asked of the database
        headers = ((b"content-type", CONTENT_TYPE.encode()), (b"content-length", str(len(text)).encode()))
        return Answer(200, headers, text)

    async def _openapi(self) -> Answer:
        return json_answer(200, openapi.document())
