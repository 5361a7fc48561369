"""The routes of the page: who may see it, one handler for all views, sign-in, files, the stream of what is new."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.routing import Route

from lineagelog.errors import LineageLogError, StoreError
from lineagelog.read import Reader
from lineagelog.server.answers import Refusal, Reply, not_stored
from lineagelog.server.auth import Guard
from lineagelog.server.waits import Waits
from lineagelog.store.ledgers.tokens import Grant, Scope

from . import address, datasets, jobs, now, others, runs, signing
from .asked import Asked
from .live import MOST, Live, Streamed
from .render import Assets, Renderer

_MAX_FORM: Final = 8192
_MAX_QUERY: Final = 50

type View = Callable[[Asked], dict[str, Any]]

VIEWS: Final[tuple[tuple[str, View, str, str], ...]] = (
    ("/", now.view, "now.html", "now"),
    ("/jobs", jobs.listed, "jobs.html", "jobs"),
    ("/job/{namespace:name}/{name:name}", jobs.one, "job.html", "jobs"),
    ("/run", runs.view, "run.html", "jobs"),
    ("/run/{run_id:rest}", runs.view, "run.html", "jobs"),
    ("/datasets", datasets.listed, "datasets.html", "datasets"),
    ("/dataset/{namespace:name}/{name:name}", datasets.one, "dataset.html", "datasets"),
    ("/lineage", others.lineage, "lineage_start.html", "lineage"),
    ("/lineage/{kind:name}/{namespace:name}/{name:name}", others.lineage, "lineage.html", "lineage"),
    ("/findings", others.findings, "findings.html", "findings"),
    ("/search", others.search, "search.html", "search"),
)
"""Path, what it shows, its template, and the entry of the navigation that it is of."""


class WebPage:
    """The web page over one store; made by `create_app`. Reads run on threads of its own."""

    def __init__(self, reader: Reader, guard: Guard, waits: Waits, egeria_url: str | None = None) -> None:
        self._reader, self._guard, self._waits, self._egeria_url = reader, guard, waits, egeria_url
        self._threads = ThreadPoolExecutor(3, thread_name_prefix="lineagelog-page")
        self._assets = Assets()
        self._renderer = Renderer(self._assets)
        self._live = Live(self._newest)
        self.is_stopping: Callable[[], bool] = lambda: False
        """Whether the server is about to stop: streams end then."""

    def close(self) -> None:
        """End the threads and the streams."""
        self._live.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def routes(self) -> list[Route]:
        """What Starlette is to route to."""
        views = [
            Route(path, self._view(path, view, template, place), methods=["GET"])
            for path, view, template, place in VIEWS
        ]
        return [
            *views,
            Route("/static/{version:name}/{file:name}", self._file, methods=["GET"]),
            Route("/favicon.ico", self._icon, methods=["GET"]),
            Route("/live", self._stream, methods=["GET"]),
            Route("/sign-in", self._sign_in, methods=["POST"]),
            Route("/sign-out", self._sign_out, methods=["POST"]),
        ]

    # --- views ------------------------------------------------------------------------------------------------------

    def _view(self, path: str, view: View, template: str, place: str) -> Callable[[Request], Awaitable[Reply]]:
        label = f"page {path.partition('/{')[0] or '/'}"

        async def handle(request: Request) -> Reply:
            request.state.label = label
            try:
                grant = await self._guard.admit(request.state.token, Scope.READ)
                return await self._answer(request, grant, view, template, place)
            except Refusal as refusal:
                return self._refused(request, refusal)

        return handle

    async def _answer(self, request: Request, grant: Grant, view: View, template: str, place: str) -> Reply:
        asked = self._asked(request, grant)

        def make() -> Reply:
            context = view(asked)
            return self._renderer.page(template, {**context, **self._frame(asked, place)})

        try:
            return await self._waits.ask(self._threads, make)
        except StoreError as error:
            raise not_stored(error) from error

    def _asked(self, request: Request, grant: Grant) -> Asked:
        raw = request.scope["query_string"]
        try:
            pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_QUERY, errors="strict")
        except (ValueError, UnicodeDecodeError):
            raise Refusal(400, "bad_parameter", "the query string cannot be read") from None
        parts = {name: str(value) for name, value in request.path_params.items()}
        if any("\0" in value for _, value in pairs) or any("\0" in value for value in parts.values()):
            raise Refusal(400, "bad_parameter", "the address must not hold NUL")
        return Asked(
            reader=self._reader,
            explorer=self._reader.explore(grant.namespaces),
            grant=grant,
            query=dict(pairs),
            parts=parts,
            now=datetime.now(UTC),
            path=request.scope["path"] + (f"?{raw.decode('ascii')}" if raw else ""),
            egeria_url=self._egeria_url,
        )

    def _frame(self, asked: Asked, place: str) -> dict[str, Any]:
        """What every page has."""
        return {
            "place": place,
            "now": asked.now,
            "open_findings": len(asked.findings()),
            "who": None if self._guard.is_open else asked.grant.name,
            "path": asked.path,
        }

    def _refused(self, request: Request, refusal: Refusal) -> Reply:
        """The page that says so; where a token is needed, the one that asks for it."""
        frame = {"place": "", "open_findings": 0, "who": None, "path": request.scope["path"]}
        if refusal.status == 401:
            query = request.scope["query_string"].decode("latin-1")
            path = request.scope["path"] + (f"?{query}" if query else "")
            return self._renderer.page("sign_in.html", {**frame, "next": path, "wrong": None}, 401)
        headers = refusal.answer.headers if refusal.retry_after is not None else ()
        retry = tuple(each for each in headers if each[0] == b"retry-after")
        return self._renderer.page("error.html", {**frame, "refusal": refusal}, refusal.status, retry)

    # --- signing in -------------------------------------------------------------------------------------------------

    async def _sign_in(self, request: Request) -> Reply:
        request.state.label = "page /sign-in"
        form = await _form(request)
        token, onwards = form.get("token", "").strip(), address.local(form.get("next", "/"))
        try:
            await self._guard.admit(token, Scope.READ)
        except Refusal as refusal:
            frame = {"place": "", "open_findings": 0, "who": None, "path": "/"}
            context = {**frame, "next": onwards, "wrong": str(refusal)}
            return self._renderer.page("sign_in.html", context, refusal.status)
        cookie = signing.remember(token, is_secure=request.scope["scheme"] == "https")
        return _onwards(onwards, *cookie)

    async def _sign_out(self, request: Request) -> Reply:
        request.state.label = "page /sign-out"
        return _onwards("/", *signing.forget(is_secure=request.scope["scheme"] == "https"))

    # --- files and the stream ---------------------------------------------------------------------------------------

    async def _file(self, request: Request) -> Reply:
        request.state.label = "page /static"
        return self._assets.get(request.path_params["version"], request.path_params["file"])

    async def _icon(self, request: Request) -> Reply:
        request.state.label = "page /static"
        return self._assets.get(self._assets.version, "favicon.svg")

    async def _stream(self, request: Request) -> Any:
        request.state.label = "page /live"
        await self._guard.admit(request.state.token, Scope.READ)
        if self._live.listening >= MOST:
            raise Refusal(503, "overloaded", "too many listen already", retry_after=30)
        return Streamed(self._live.stream(self.is_stopping))

    async def _newest(self) -> int | None:
        loop = asyncio.get_running_loop()
        try:
            newest = await loop.run_in_executor(self._threads, self._reader.explore().newest)
        except RuntimeError as error:  # the threads of a stopping server are ended
            raise LineageLogError("stopping") from error
        return newest.arrival


async def _form(request: Request) -> dict[str, str]:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MAX_FORM:
            raise Refusal(413, "too_large", f"the form is longer than {_MAX_FORM} bytes")
    return dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=10))


def _onwards(path: str, *headers: tuple[bytes, bytes]) -> Reply:
    place = path.encode("ascii", "ignore")
    return Reply(303, ((b"location", place), (b"content-length", b"0"), (b"cache-control", b"no-store"), *headers))
