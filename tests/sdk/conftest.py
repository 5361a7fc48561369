"""Fixtures of the SDK's tests: a clean environment, a client that remembers, the specification's schemas, a backend."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.serde import Serde
from openlineage.client.transport import Transport

from lineagelog import sdk
from lineagelog.sdk import guard
from lineagelog.sdk.delivery import emitter
from tests.support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No configuration from outside, an empty working directory and home, nothing logged yet."""
    for name in [name for name in os.environ if name.startswith(("OPENLINEAGE", "AIRFLOW", "XDG_"))]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(emitter, "_emitter", None)
    guard.forget_warnings()
    yield
    if (left := emitter._emitter) is not None and left.client is not None:
        left.client.transport.close(0)  # no thread goes on trying
    for name in [name for name in os.environ if name.startswith("OPENLINEAGE__TRANSPORT")]:
        del os.environ[name]  # the client writes aliases there


class Memory(Transport):
    """Remember events as a backend would read them."""

    kind = "memory"
    local = True

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def emit(self, event: Any) -> None:
        self.events.append(json.loads(Serde.to_json(event)))

    def of(self, run_id: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["run"]["runId"] == run_id]

    def types(self) -> list[str]:
        return [event["eventType"] for event in self.events]

    def clear(self) -> None:
        self.events.clear()


@pytest.fixture
def memory() -> Memory:
    """What was emitted."""
    transport = Memory()
    sdk.configure(OpenLineageClient(transport=transport))
    return transport


class Backend:
    """A lineage backend on loopback: what it got, and how it behaves."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.requests: list[tuple[str, int]] = []
        self.headers: list[dict[str, str]] = []
        self.status: Callable[[str, Any], tuple[int, Any]] = lambda path, body: (201, None)
        self.delay = 0.0
        self.goes_on = threading.Event()
        self.goes_on.set()
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm: ClassVar[bool] = True

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    data = gzip.decompress(data)
                body = json.loads(data)
                time.sleep(backend.delay)
                backend.goes_on.wait(PATIENCE)
                status, answer = backend.status(self.path, body)
                backend.requests.append((self.path, status))
                backend.headers.append(dict(self.headers))
                if 200 <= status < 300:
                    backend.events += body if isinstance(body, list) else [body]
                payload = b"" if answer is None else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in (answer or {}).get("_headers", {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.goes_on.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def names(self) -> list[tuple[str, str]]:
        return [(event["job"]["name"], event["eventType"]) for event in self.events]


@pytest.fixture
def backend() -> Iterator[Backend]:
    """A backend that accepts everything, but has no batch endpoint unless told so."""
    made = Backend()
    made.status = lambda path, body: (404, None) if path.endswith("/batch") else (201, None)
    yield made
    made.close()


@pytest.fixture
def dead_url(closed_port: int) -> str:
    """An address on which nobody listens."""
    return f"http://127.0.0.1:{closed_port}"
