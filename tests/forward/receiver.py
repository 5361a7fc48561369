"""A small OpenLineage receiver that stores what it takes, and misbehaves as a test tells it to."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from lineagelog.intake import Door, split
from lineagelog.store import LogStore, Verdict


@dataclass(frozen=True)
class Request:
    """What came in."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def events(self) -> list[bytes]:
        return list(split(self.body).events)


@dataclass(frozen=True)
class Reply:
    """What is answered."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


type Script = Callable[[Request], Reply | None]
"""A reply of the test's own; None = store and answer as an OpenLineage backend does."""


def nothing_special(_: Request) -> Reply | None:
    return None


class Receiver:
    """Its requests, in the order they came, and what it stored."""

    def __init__(self, store: LogStore | None, script: Script = nothing_special) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.stored: list[bytes] = []
        self.duplicates = 0
        self._door = Door(store) if store is not None else None
        self._lock = threading.Lock()
        self.url = ""

    def answer(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
        reply = self.script(request)
        return reply if reply is not None else self._take(request)

    def _take(self, request: Request) -> Reply:
        framed = split(request.body)
        if framed.is_broken:
            return Reply(400, b"not JSON")
        bodies = list(framed.events)
        if self._door is not None:
            outcomes = self._door.take(bodies, source="test")
            refused = [index for index, outcome in enumerate(outcomes) if outcome.rejected]
            with self._lock:
                self.duplicates += sum(outcome.verdict is Verdict.DUPLICATE for outcome in outcomes)
            if refused:
                failed = [{"index": index, "reason": "refused", "retriable": False} for index in refused]
                return Reply(200, json.dumps({"status": "partial_success", "failed_events": failed}).encode())
        with self._lock:
            self.stored += bodies
        return Reply(204 if request.path.endswith("/batch") else 201)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    receiver: Receiver

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:  # the sender was killed in between
            self.close_connection = True
            return
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        reply = self.receiver.answer(Request(self.path, dict(self.headers.items()), body))
        if reply.status == 0:  # as if the network were cut
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != 204:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if reply.status != 204:
            self.wfile.write(reply.body)

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connections: list[socket.socket] = []

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.connections.append(connection)
        return connection, address

    def cut(self) -> None:
        """As if the process had been killed."""
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_: Any) -> None:
        """A connection that the test cut."""


@contextmanager
def receiving(store: LogStore | None = None, script: Script = nothing_special, port: int = 0) -> Iterator[Receiver]:
    """Run a receiver on a port of its own."""
    receiver = Receiver(store, script)
    server = _Server(("127.0.0.1", port), type("Handler", (_Handler,), {"receiver": receiver}))
    receiver.url = f"http://127.0.0.1:{server.server_port}/api/v1/lineage"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.cut()
        thread.join()
        server.server_close()
