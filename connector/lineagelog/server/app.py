"""The ASGI application: receiving paths go straight to the receiver, all others to the framework."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import structlog

from lineagelog.event.parse import Check
from lineagelog.intake import Door
from lineagelog.intake.group import place_of
from lineagelog.metrics import Samples
from lineagelog.postgres.pulse import pulse_of
from lineagelog.read import Reader
from lineagelog.store import LogStore
from lineagelog.store.ledgers.tokens import Tokens

from .answers import Headers, Refusal, Reply
from .auth import Guard, credential
from .body import Disconnected, Receive, drain
from .limits import Limits
from .page import WebPage
from .page.signing import SIGNING, from_cookie
from .paths import RECEIVING
from .reading import ANYBODYS, Reading, path_to_match
from .receive import Receiver
from .visitors import Visitors, check_host
from .waits import Waits

_TOKEN_PREFIX: Final = "/t/"  # noqa: S105  # the start of a path
_LAST_SECONDS: Final = 1.0
"""What a stop leaves for storing when waiting for answers has used up its time."""
_SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")
_log = structlog.get_logger(__name__)


class App:
    """An ASGI application over one log store; made by create_app()."""

    def __init__(
        self, receiver: Receiver, reading: Reading, guard: Guard, visitors: Visitors, waits: Waits, page: WebPage | None
    ) -> None:
        self.receiver = receiver
        self._page = page
        if page is not None:
            page.is_stopping = lambda: self.stop_by is not None
        self.reading = reading
        self.guard = guard
        self._visitors, self._waits = visitors, waits
        self.drain_seconds = 30.0
        """How long the stop waits for events to be stored."""
        self.stop_by: float | None = None
        """When (monotonic) the whole stop is to be over, where a server has waited for answers before."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one connection's request, or the life of the server."""
        kind = scope["type"]
        if kind == "http":
            await self._serve(scope, receive, send)
        elif kind == "lifespan":
            await self._live(receive, send)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        token, path = _without_token(scope["path"])
        headers = dict(scope["headers"])
        route = "other"
        is_batch = RECEIVING.get(path)
        try:
            await self._check_visitor(scope, path, headers, receive)
            if scope["method"] == "OPTIONS":
                answer = Reply(204, self._visitors.preflight(headers))
            elif is_batch is not None:
                route = "batch" if is_batch else "single"
                answer = await self._receive(scope["method"], token, headers, receive, is_batch)
            else:
                await self._read(scope, receive, send, token, headers)
                return
        except Refusal as refusal:
            answer = refusal.answer
        except Disconnected:
            return
        except Exception as error:  # a defect: the client may try again, the log says where it was
            _log.error("request failed", action="request", route=route, error=place_of(error))
            answer = Refusal(500, "internal_error", "this is a defect of the server").answer
        self.receiver.metrics.answered(route, answer.status)
        cors = self._visitors.cors(headers, is_open=self.guard.is_open, receiving=is_batch is not None)
        await _send(send, answer, cors)

    async def _read(self, scope: Any, receive: Any, send: Any, token: str | None, headers: dict[bytes, bytes]) -> None:
        _, path = _without_token(path_to_match(scope))
        token = token or credential(headers)
        if self._page is not None:
            token = self._of_page(scope["method"], path, token, headers)
        state = {"token": token, "label": "other"}
        cors = self._visitors.cors(headers, is_open=self.guard.is_open, receiving=False)
        passing = _Passing(send, cors)
        try:
            await self.reading({**scope, "path": path, "state": state}, receive, passing)
        except Exception as error:  # a defect, and answered
            _log.error("request failed", action="request", route=state["label"], error=place_of(error))
        self.receiver.metrics.answered(str(state["label"]), passing.status)

    @staticmethod
    def _of_page(method: str, path: str, token: str | None, headers: dict[bytes, bytes]) -> str | None:
        """The token of who has signed in on the page; what such a browser says must come from our own page.

        Raises Refusal: 403.
        """
        kept = from_cookie(headers) if token is None else None
        if method not in _SAFE_METHODS and (kept is not None or path in SIGNING):
            Visitors.check_own_page(headers)
        return token or kept

    async def _check_visitor(self, scope: Any, path: str, headers: dict[bytes, bytes], receive: Receive) -> None:
        """Refuse foreign names and pages before anything is done for them."""
        try:
            check_host(scope)
            if path not in ANYBODYS and scope["method"] != "OPTIONS":
                await self.guard.learn()
            if self.guard.is_open:
                self._visitors.check(headers)
        except Refusal:
            if scope["method"] == "POST" and b"expect" not in headers:
                await drain(receive)
            raise

    async def _receive(
        self, method: str, token: str | None, headers: dict[bytes, bytes], receive: Receive, is_batch: bool
    ) -> Reply:
        if method != "POST":
            raise Refusal(405, "method_not_allowed", "events are posted", headers=((b"allow", b"POST, OPTIONS"),))
        return await self.receiver.answer(token, headers, receive, is_batch)

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()
        self.receiver.start()
        self._waits.start()
        await self.guard.prepare()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        seconds = self.drain_seconds if self.stop_by is None else max(_LAST_SECONDS, self.stop_by - time.monotonic())
        stopped = await asyncio.get_running_loop().run_in_executor(None, self.receiver.group.stop, seconds)
        if not stopped:
            _log.warning("events were left unwritten", action="stop", waiting=self.receiver.group.waiting)
        self._waits.close()
        self.reading.close()
        if self._page is not None:
            self._page.close()
        self.guard.close()
        self.receiver.close()
        await send({"type": "lifespan.shutdown.complete"})


class _Passing:
    """Passes a response on with headers that it gets besides, and knows its status."""

    def __init__(self, send: Any, headers: Headers) -> None:
        self._send, self._headers = send, headers
        self.status = 500

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self._headers:
                message = {**message, "headers": (*message["headers"], *self._headers)}
        await self._send(message)


def _without_token(path: str) -> tuple[str | None, str]:
    """The token that a path begins with, and the rest of the path."""
    if not path.startswith(_TOKEN_PREFIX):
        return None, path
    token, _, rest = path[len(_TOKEN_PREFIX) :].partition("/")
    return token, f"/{rest}"


async def _send(send: Any, answer: Reply, cors: tuple[tuple[bytes, bytes], ...]) -> None:
    headers = answer.headers + cors if cors else answer.headers
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def create_app(
    store: LogStore,
    *,
    reader: Reader | None = None,
    tokens: Tokens | None = None,
    check: Check | None = None,
    limits: Limits = Limits(),  # noqa: B008  # frozen
    writers: int = 2,
    cors_origins: Sequence[str] = (),
    host_names: Sequence[str] = (),
    samples: Samples | None = None,
    page: bool = False,
    engine_action_url: str | None = None,
) -> App:
    """An application that receives into ``store`` and answers reads from ``reader``.

    Give the reader an engine of its own: reads must not take the connections of the ``writers``, which are one more.
    Without ``tokens`` everything is open to this machine: to loopback's names and ``host_names``, and to pages of
    ``cors_origins`` only.
    ``check`` is strict mode's check of a decoded event. ``samples`` are shown with the server's own metrics.
    With ``page`` the web page is at ``/``; ``engine_action_url`` is where it links to engine actions of Egeria, with
    ``{guid}`` in it.
    """
    pool = ThreadPoolExecutor(4, thread_name_prefix="lineagelog-http")
    waits = Waits(pulse_of(store.engine).beats, limits.patience, limits.answer_timeout)
    guard = Guard(tokens, waits)
    door = Door(store, check=check, max_event=limits.max_event, max_values=limits.max_values)
    receiver = Receiver(door, limits, guard, pool, writers, waits)
    if samples is not None:
        receiver.metrics.show(samples)
    pages = WebPage(reader, guard, waits, engine_action_url) if page and reader is not None else None
    reading = Reading(store, reader, receiver, guard, limits, waits)
    pages = WebPage(reader, guard, waits, engine_action_url) if page and reader is not None else None
    if pages is not None:
        reading.add(pages.routes())
    return App(receiver, reading, guard, Visitors(cors_origins, host_names), waits, pages)
