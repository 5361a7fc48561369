"""A TCP proxy before a PostgreSQL that can stop forwarding: its sockets stay open and nothing comes any more."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from typing import TYPE_CHECKING

from sqlalchemy import make_url

if TYPE_CHECKING:
    from collections.abc import Iterator


class Proxy:
    """Forwards connections on a port of its own to a Unix socket, while it is not told to swallow."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._flows = threading.Event()
        self._flows.set()
        self._ended = threading.Event()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def swallow(self) -> None:
        """From now on forward nothing; connections, old and new, stay open."""
        self._flows.clear()

    def flow(self) -> None:
        """Forward again: new connections work, what was swallowed is lost."""
        self._flows.set()

    def close(self) -> None:
        """End everything."""
        self._ended.set()
        for each in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(client)
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            server = socket.socket(socket.AF_UNIX)
            self._sockets.append(server)
            server.connect(self._target)
            other = {client: server, server: client}
            while not self._ended.is_set():
                for ready in select.select((client, server), (), ())[0]:
                    data = ready.recv(65536)
                    if not data:
                        client.close()
                        server.close()
                        return
                    if self._flows.is_set():
                        other[ready].sendall(data)


@contextlib.contextmanager
def proxied(database_url: str) -> Iterator[tuple[Proxy, str]]:
    """A proxy before the database, and the URL through it."""
    url = make_url(database_url)
    port = url.query["port"]
    proxy = Proxy(f"{url.query['host']}/.s.PGSQL.{port}")
    try:
        through = url.set(host="127.0.0.1", port=proxy.port, query={"sslmode": "disable"})
        yield proxy, through.render_as_string(hide_password=False)
    finally:
        proxy.close()
