"""The Starlette application of all that is read, and the step before it: names are matched as they are encoded."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import quote, unquote

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from lineagelog.errors import LineageLogError, StoreError
from lineagelog.read import Reader
from lineagelog.server.answers import RETRY_UNAVAILABLE, Refusal, Reply, json_answer, not_stored
from lineagelog.server.auth import Guard
from lineagelog.server.limits import Limits
from lineagelog.server.metrics import CONTENT_TYPE
from lineagelog.server.receive import Receiver
from lineagelog.server.waits import Waits
from lineagelog.shown import counted
from lineagelog.store import LogStore
from lineagelog.store.ledgers.findings import Findings
from lineagelog.store.ledgers.tokens import Grant, Scope

from . import analyses, explore, findings, openapi, reads
from .query import Query
from .reads import Read

ANYBODYS: Final = frozenset(("/healthz", "/openapi.json"))
"""Paths for which nobody needs a token; they answer also while the database does not."""
_ANALYSES_AT_ONCE: Final = 2
"""Of the four threads that read: lists are answered while analyses take their minutes."""
_UNRESERVED: Final = re.compile(
    r"(?<!%)(?<!%[0-9A-Fa-f])%(2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])", re.IGNORECASE
)
"""Encoded letters, digits, ``-._~``: RFC 3986 takes them for themselves."""

_NOBODY: Final = Reply(499, (), b"")
"""Goes nowhere, and into the metrics: the client has closed the connection."""

type Handler = Callable[[Request], Awaitable[Reply]]


class _Name(Convertor[str]):
    """One segment of a path: any name, percent-encoded; slashes too."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return unquote(value)

    def to_string(self, value: str) -> str:
        return quote(value, safe="")


class _Rest(_Name):
    """All the rest of a path; slashes may stand in it as they are."""

    regex = ".+"


register_url_convertor("name", _Name())
register_url_convertor("rest", _Rest())


def path_to_match(scope: Any) -> str:
    """The path as it was sent: frameworks route on the decoded one, where ``s3%3A%2F%2Fb`` is three segments."""
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    return _UNRESERVED.sub(lambda found: chr(int(found[1], 16)), raw.decode("latin-1"))


class Reading:
    """Everything but receiving. The scope's ``state`` has the request's ``token``, and gets the route's ``label``."""

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
        self._analysing = asyncio.Semaphore(_ANALYSES_AT_ONCE)
        handlers: dict[Any, Any] = {Refusal: _refused, HTTPException: _not_routed, Exception: _failed}
        self._app = Starlette(routes=self._routes(), exception_handlers=handlers)
        self._app.router.redirect_slashes = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request. Raises what is a defect, after it was answered."""
        await self._app(scope, receive, send)

    def add(self, routes: Sequence[Route]) -> None:
        """Answer these, too."""
        self._app.router.routes.extend(routes)

    def close(self) -> None:
        """End the threads."""
        self._reads.shutdown(wait=False, cancel_futures=True)
        self._looks.shutdown(wait=False, cancel_futures=True)

    def _routes(self) -> list[Route]:
        own: dict[str, Handler] = {
            "/healthz": self._health,
            "/readyz": self._ready,
            "/metrics": self._metrics,
            "/openapi.json": self._openapi,
        }
        declared = (*reads.READS, *explore.READS, *findings.READS, analyses.LIST)
        return [
            *(Route(path, _labelled(path, handler), methods=["GET"]) for path, handler in own.items()),
            *(Route(read.path, self._handler(read), methods=["GET"]) for read in declared),
            Route(f"{analyses.PATH}/{{name:name}}", self._analysis, methods=["GET"]),
            *(Route(write.path, self._writer(write), methods=["POST"]) for write in findings.WRITES),
        ]

    # --- reads ------------------------------------------------------------------------------------------------------

    def _handler(self, read: Read) -> Handler:
        async def handle(request: Request) -> Reply:
            return await self._answer(read, request)

        return handle

    async def _analysis(self, request: Request) -> Reply:
        read = analyses.read_named(request.path_params.pop("name"))
        return await self._answer(read, request)

    async def _answer(self, read: Read, request: Request) -> Reply:
        request.state.label = read.route
        grant = await self._admit(request)
        if self._reader is None:
            raise Refusal(501, "not_available", "this server only receives")
        query = Query(request.scope["query_string"], self._limits)
        if read.instead is not None and read.instead[0] in query:
            read = read.instead[1]
            request.state.label = read.route
        query.given |= request.path_params
        query.only(*read.accepted)
        if not read.is_analysis:
            return _unless_known(await self._in_thread(read, query, grant), request)
        answering = asyncio.ensure_future(self._analyse(read, query, grant))
        leaving = asyncio.ensure_future(_has_left(request))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            return answering.result() if answering.done() else _NOBODY
        finally:
            answering.cancel()
            leaving.cancel()

    async def _analyse(self, read: Read, query: Query, grant: Grant) -> Reply:
        """The answer; where nobody waits for it any more, the database is told to stop."""
        await self._waits.wait(asyncio.ensure_future(self._analysing.acquire()))
        try:
            return await self._in_thread(read, query, grant, self._limits.analysis_seconds)
        except (asyncio.CancelledError, Refusal):
            with contextlib.suppress(RuntimeError):  # the threads of a stopping server are ended
                self._looks.submit(query.stop.now)
            raise
        finally:
            self._analysing.release()

    async def _in_thread(self, read: Read, query: Query, grant: Grant, seconds: float | None = None) -> Reply:
        def ask() -> Reply:
            assert self._reader is not None  # noqa: S101  # by the 501 above
            return json_answer(200, read.ask(self._reader, query, grant))

        try:
            return await self._waits.ask(self._reads, ask, seconds=seconds)
        except StoreError as error:
            raise not_stored(error) from error

    def _writer(self, write: findings.Write) -> Handler:
        label = write.path.replace(":name}", "}")

        async def handle(request: Request) -> Reply:
            request.state.label = label
            body = await _body(request)
            grant = await self._guard.admit(request.state.token, Scope.ADMIN)
            reader, text = self._reader, request.path_params["finding_id"]
            if reader is None:
                raise Refusal(501, "not_available", "this server only receives")

            def say() -> Reply:
                ledger = Findings(self._store.database)
                return json_answer(200, findings.said(write, reader, ledger, text, body, grant))

            try:
                return await self._waits.ask(self._reads, say)
            except StoreError as error:
                raise not_stored(error) from error

        return handle

    async def _admit(self, request: Request) -> Grant:
        return await self._guard.admit(request.state.token, Scope.READ)

    # --- the server itself ------------------------------------------------------------------------------------------

    async def _health(self, _: Request) -> Reply:
        return json_answer(200, {"status": "alive"})

    async def _ready(self, request: Request) -> Reply:
        await self._admit(request)
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
            raise Refusal(503, "overloaded", f"{counted(waiting, 'events')} waiting to be stored", retry_after=1)
        return json_answer(200, {"status": "ready", "store_version": version, "waiting": waiting, "max_waiting": limit})

    async def _metrics(self, request: Request) -> Reply:
        reads.unbound(await self._admit(request))
        text = await self._waits.ask(self._looks, self._receiver.metrics.text)  # some may be asked of the database
        headers = ((b"content-type", CONTENT_TYPE.encode()), (b"content-length", str(len(text)).encode()))
        return Reply(200, headers, text)

    async def _openapi(self, _: Request) -> Reply:
        return json_answer(200, openapi.document())


def _unless_known(reply: Reply, request: Request) -> Reply:
    """The answer with its ETag; 304 where the client has it already (RFC 9110, weak comparison)."""
    tag = f'"{blake2b(reply.body, digest_size=16).hexdigest()}"'
    headers = ((b"etag", tag.encode()), (b"cache-control", b"private, no-cache"))
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    if tag in known or "*" in known:
        return Reply(304, headers)
    return Reply(reply.status, (*reply.headers, *headers), reply.body)


async def _body(request: Request) -> bytes:
    """What a person says; it is short. Raises Refusal: 413."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > findings.MAX_BODY:
            raise Refusal(413, "too_large", f"the body is longer than {findings.MAX_BODY} bytes")
    return bytes(body)


async def _has_left(request: Request) -> None:
    """Returns when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _labelled(label: str, handler: Handler) -> Handler:
    async def handle(request: Request) -> Reply:
        request.state.label = label
        return await handler(request)

    return handle


# --- what is refused --------------------------------------------------------------------------------------------------


async def _refused(_: Request, refusal: Refusal) -> Reply:
    return refusal.answer


async def _not_routed(_: Request, error: HTTPException) -> Reply:
    """The router's own refusals, in our words."""
    if error.status_code == 405:
        allowed = {*(error.headers or {}).get("Allow", "").split(", "), "OPTIONS"}
        allow = (b"allow", ", ".join(sorted(allowed)).encode())
        return Refusal(405, "method_not_allowed", "this is read", headers=(allow,)).answer
    return Refusal(404, "not_found", "there is nothing at this path; /openapi.json lists what there is").answer


async def _failed(_: Request, __: Exception) -> Reply:
    """Of a defect; Starlette raises it again, for the log."""
    return Refusal(500, "internal_error", "this is a defect of the server").answer
