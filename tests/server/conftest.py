"""A real server on a real port over a real store, for each test that asks."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.read import Reader
from lineagelog.server import App, HttpServer, create_app
from lineagelog.store import LogStore
from tests.support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    type Serve = Callable[..., str]


@contextlib.contextmanager
def served(app: App, **options: Any) -> Iterator[HttpServer]:
    """Run the application in a thread, on a port of its own."""
    ready = threading.Event()
    server = HttpServer(app, port=0, stop_seconds=10, on_ready=lambda _: ready.set(), **options)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        yield server
    finally:
        server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture
def serve(store: LogStore) -> Iterator[Serve]:
    """Start a server over the store with some options of create_app; gives its URL."""
    with contextlib.ExitStack() as stack:

        def start(**options: Any) -> str:
            app = create_app(store, reader=Reader(store.database), **options)
            return stack.enter_context(served(app)).url

        yield start


@pytest.fixture
def url(serve: Serve) -> str:
    """The URL of a server with the usual options."""
    return serve()
