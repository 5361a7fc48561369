"""The HTTP server under load: one event per request, the real store against a store that does nothing."""

from __future__ import annotations

import multiprocessing
import os
import selectors
import signal
import socket
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlsplit

from benchmarks.cpu import OfPostgres, of_process
from lineagelog.logs import configure_logs
from lineagelog.server import HttpServer, create_app
from lineagelog.store import Appended, Database, LogStore, Verdict, open_engine

CONNECTIONS = (1, 8, 32, 128)


class EmptyStore(LogStore):
    """A store that takes everything and keeps nothing: what is left is the server."""

    def append(self, items: Sequence[Any], **_: Any) -> Appended:  # type: ignore[override]
        """Say that all is stored."""
        return Appended((Verdict.STORED,) * len(items))


@dataclass(frozen=True, slots=True)
class Load:
    """What one client saw."""

    connections: int
    events: int
    seconds: float
    latencies: list[float]
    """Seconds per request, sorted."""
    server_cpu: float
    """Seconds of CPU of the server's process."""
    database_cpu: float
    """Seconds of CPU of PostgreSQL's."""

    @property
    def rate(self) -> float:
        """Events per second."""
        return self.events / self.seconds

    def percentile(self, share: float) -> float:
        """Latency in milliseconds."""
        return self.latencies[min(int(len(self.latencies) * share), len(self.latencies) - 1)] * 1000


def _serve(url: str, schema: str, empty: bool, ready: Connection) -> None:
    configure_logs("warning", "json")
    engine = open_engine(url, pool_size=4)
    store = (EmptyStore if empty else LogStore)(Database(engine, schema))
    HttpServer(create_app(store), host="127.0.0.1", port=0, on_ready=ready.send).run()


def serve_and_load(
    url: str, schema: str, bodies: Sequence[bytes], connections: int, postgres: OfPostgres, *, empty: bool
) -> Load:
    """Start a server, post every event over so many connections, each waiting for its answer, and stop it."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe()
    server = context.Process(target=_serve, args=(url, schema, empty, theirs))
    server.start()
    pid = int(server.pid or 0)
    address = urlsplit(mine.recv())
    try:
        cpu, database = of_process(pid), postgres.seconds()
        clock = time.perf_counter()
        latencies = post_all((str(address.hostname), int(address.port or 0)), bodies, connections)
        seconds = time.perf_counter() - clock
        cpu, database = of_process(pid) - cpu, postgres.seconds() - database
    finally:
        os.kill(pid, signal.SIGTERM)
        server.join(30)
    return Load(connections, len(bodies), seconds, sorted(latencies), cpu, database)


def post_all(address: tuple[str, int], bodies: Sequence[bytes], connections: int) -> list[float]:
    """Post each body once; return the latency of each request in seconds. Raises if an answer is not 201."""
    requests = (_request(body) for body in bodies)
    latencies: list[float] = []
    with selectors.EpollSelector() as selector:
        for _ in range(connections):
            client = _Client(socket.create_connection(address), requests)
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.send()
        while selector.get_map():
            for key, _ in selector.select():
                client = key.data
                if client.receive():
                    latencies.append(time.perf_counter() - client.sent)
                    if not client.send():
                        selector.unregister(client.socket)
                        client.socket.close()
    return latencies


class _Client:
    """One connection: a request, its whole answer, the next request."""

    def __init__(self, connected: socket.socket, requests: Iterator[bytes]) -> None:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket, self.sent = connected, 0.0
        self._requests, self._answer = requests, b""

    def send(self) -> bool:
        """Send the next request; false if there is none."""
        request = next(self._requests, None)
        if request is None:
            return False
        self.sent = time.perf_counter()
        self.socket.sendall(request)
        return True

    def receive(self) -> bool:
        """Read; whether the answer is complete."""
        self._answer += self.socket.recv(65536)
        head, found, body = self._answer.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.partition(b"content-length: ")[2].split(b"\r\n", 1)[0]):
            return False
        if not head.startswith(b"HTTP/1.1 201"):
            raise RuntimeError(f"not 201: {self._answer[:200]!r}")
        self._answer = b""
        return True


def _request(body: bytes) -> bytes:
    return (
        b"POST /api/v1/lineage HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )


def report(loads: dict[tuple[int, bool], list[Load]], batched_rate: float | None) -> str:
    """A table of medians over the rounds, by connections; ratios to the empty store and to batched append."""
    heads: tuple[str, ...] = (
        "connections",
        "events/s",
        "p50 ms",
        "p90 ms",
        "p99 ms",
        "server CPU µs/event",
        "PostgreSQL CPU",
    )
    heads += ("empty store events/s", "its CPU", "÷ empty", "÷ append")
    lines = [f"| {' | '.join(heads)} |", "|" + "--:|" * len(heads)]
    for connections in CONNECTIONS:
        real, empty = loads[connections, False], loads[connections, True]

        def median(values: Sequence[float]) -> float:
            return statistics.median(values)

        rate, empty_rate = median([load.rate for load in real]), median([load.rate for load in empty])
        cells = [f"{connections}", f"{rate:,.0f}"]
        cells += [f"{median([load.percentile(share) for load in real]):.1f}" for share in (0.5, 0.9, 0.99)]
        for cpu in ([load.server_cpu for load in real], [load.database_cpu for load in real]):
            cells.append(f"{median(cpu) / real[0].events * 1e6:.0f}")
        cells.append(f"{empty_rate:,.0f}")
        cells.append(f"{median([load.server_cpu for load in empty]) / empty[0].events * 1e6:.0f}")
        ratios = [mine.rate / theirs.rate for mine, theirs in zip(real, empty, strict=True)]
        cells.append(f"{median(ratios):.2f}")
        cells.append("–" if batched_rate is None else f"{rate / batched_rate:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
