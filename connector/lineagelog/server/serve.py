"""Runs the application: binds the socket, guards slow connections, stops without losing what was accepted."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import httptools
import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lineagelog.errors import SettingsError
from lineagelog.loopback import is_loopback

from .app import App
from .limits import HEAD_BYTES

STOP_SECONDS: Final = 30
_PIECE: Final = 16 * 1024
"""Bytes that are parsed at a time."""
_SWITCH_INTERVAL: Final = 0.0005
"""Seconds after which a thread that computes hands over to the event loop; Python's own 5 ms are an eternity here."""

_log = structlog.get_logger(__name__)


class _Protocol(HttpToolsProtocol):
    """uvicorn's protocol, with what it has not: bounds on the time and size of request heads and trailers, and on the
    requests that wait on one connection; trailers that are no headers; and the body of a request that offers another
    protocol (Java's own client offers h2c in every request)."""

    receiving_since: float | None = None
    in_head = True
    _bare_bytes = 0
    """Since a message began, or brought a part of its body: of a head or of trailers, which the parser collects."""
    _waiting = b""
    """What came after a request that waits for the answer to the one before."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.receiving_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self._feed(self._waiting + data if self._waiting else data)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._waiting:
            self._feed(self._waiting)

    def _feed(self, data: bytes) -> None:
        """Parse up to the first request that has to wait; in pieces, since a read may hold many heads."""
        start = 0
        while start < len(data) and not self.pipeline and not self.transport.is_closing():
            piece = data[start : start + _PIECE]
            start += len(piece)
            self._bare_bytes += len(piece)
            self._waiting = data[start:]
            try:
                self.parser.feed_data(piece)
            except httptools.HttpParserUpgrade as offer:
                self._decline_upgrade(piece[offer.args[0] :] + self._waiting)
                return
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
                return
            if self._bare_bytes > HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The request's headers are too large.")
        self._waiting = data[start:]
        if self._waiting:
            self.flow.pause_reading()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.receiving_since = self.loop.time()
        self.in_head, self._bare_bytes = True, 0

    def on_body(self, body: bytes) -> None:
        self._bare_bytes = 0
        super().on_body(body)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.in_head:  # else a trailer, which must not pass for a header
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self.in_head, self._bare_bytes = False, 0
        if not self.parser.should_upgrade():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        self.receiving_since, self._bare_bytes = None, 0
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def _decline_upgrade(self, rest: bytes) -> None:
        """Read the request again as if it had not offered another protocol: the parser would pass over its body."""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        if method == b"CONNECT":
            self.send_400_response("This is no proxy.")
            return
        head = [b"%s %s HTTP/%s" % (method, self.url, version)]
        head += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._waiting = b""
        self.data_received(b"\r\n".join(head) + b"\r\n\r\n" + rest)

    def is_stuck(self, before: float) -> bool:
        """Whether a head, or a body that nobody reads any more, has been coming in since before that time."""
        if self.receiving_since is None or self.receiving_since > before or self.pipeline:
            return False
        return self.in_head or self.cycle is None or self.cycle.response_complete


class _Server(uvicorn.Server):
    """uvicorn's server; ends by returning, not by a signal, and closes connections that are stuck."""

    def __init__(self, config: uvicorn.Config, app: App, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # what is loaded by now stays: collections need not go through it
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.stop_by = time.monotonic() + self._app.drain_seconds  # answers and stores share the time
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            before = asyncio.get_running_loop().time() - self._app.receiver.limits.head_timeout
            for connection in list(self.server_state.connections):
                if isinstance(connection, _Protocol) and connection.is_stuck(before):
                    connection.transport.abort()
        return await super().on_tick(counter)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class HttpServer:
    """An application on a socket. ``run`` serves until SIGINT, SIGTERM or ``stop``.

    Raises SettingsError for an address that cannot be bound, TLS files that cannot be read, and an address beyond
    loopback while no token exists.
    """

    def __init__(
        self,
        app: App,
        *,
        host: str = "127.0.0.1",
        port: int = 5000,
        tls_certificate: Path | None = None,
        tls_key: Path | None = None,
        stop_seconds: int = STOP_SECONDS,
        reuse_port: bool = False,
        on_ready: Callable[[str], None] = lambda _: None,
    ) -> None:
        check_tls(tls_certificate, tls_key)
        app.drain_seconds = float(stop_seconds)
        self._socket = _bind(app, host, port, reuse_port, is_safe=tls_certificate is not None)
        scheme = "http" if tls_certificate is None else "https"
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{scheme}://{shown}:{self._socket.getsockname()[1]}"
        """Where it listens."""
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http=_Protocol,
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="critical",
            access_log=False,  # a path may hold a token
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=app.receiver.limits.keep_alive,
            timeout_graceful_shutdown=stop_seconds,
            ssl_certfile=tls_certificate,
            ssl_keyfile=tls_key,
        )
        _load(config, self._socket)
        self._server = _Server(config, app, lambda: self._ready(on_ready))

    def run(self) -> None:
        """Serve until told to stop; then stop accepting, answer what was accepted, and return."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_INTERVAL)
        try:
            self._server.run(sockets=[self._socket])
        finally:
            sys.setswitchinterval(before)
            gc.unfreeze()
            self._socket.close()
            _log.info("stopped", action="stop", url=self.url)

    def stop(self) -> None:
        """Make ``run`` return; from any thread."""
        self._server.should_exit = True

    def close(self) -> None:
        """Give the address back without having served."""
        self._socket.close()

    def _ready(self, on_ready: Callable[[str], None]) -> None:
        _log.info("listening", action="serve", url=self.url)
        on_ready(self.url)


def check_tls(certificate: Path | None, key: Path | None) -> None:
    """Raise SettingsError for a key without its certificate."""
    if key is not None and certificate is None:
        raise SettingsError(f"the TLS key {key} has no certificate: give tls_cert (--tls-cert), too")


def run_server(app: App, **options: Any) -> None:
    """Serve until SIGINT or SIGTERM; the options are those of HttpServer."""
    HttpServer(app, **options).run()


def _bind(app: App, host: str, port: int, reuse_port: bool, *, is_safe: bool) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, ValueError, OverflowError) as error:
        raise SettingsError(f"host {host!r} and port {port!r} are no address: {error}") from error
    family, kind, protocol, _, address = found[0]
    if not is_loopback(str(address[0])):
        app.guard.require_tokens(host)
        if not is_safe:
            _log.warning(
                "tokens and events travel unencrypted: set server.tls_cert and server.tls_key, or put a proxy in front",
                action="serve",
                host=host,
            )
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
    except (OSError, OverflowError) as error:
        listener.close()
        cause = getattr(error, "strerror", None) or error
        raise SettingsError(f"cannot listen on {host}:{port}: {cause}") from error
    return listener


def _load(config: uvicorn.Config, listener: socket.socket) -> None:
    """Read the TLS files now, when there is somebody to tell."""
    try:
        config.load()
    except OSError as error:  # ssl.SSLError is one
        listener.close()
        name = error.filename or config.ssl_certfile
        raise SettingsError(f"the TLS certificate or key cannot be used: {name}: {error.strerror or error}") from error
