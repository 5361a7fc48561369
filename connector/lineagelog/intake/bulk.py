"""Loads many events as fast as the database takes them: batches in flight on several connections at once."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from .door import Door, Outcome

BATCH: Final = 500
BATCH_SIZE: Final = 32 * 1024 * 1024
"""Bytes after which a batch is full, however few its events: memory stays flat for large ones too."""
CONNECTIONS: Final = 2
"""Two connections keep both the database and the parsing busy; more gain nothing where cores are few."""


class Delivery(Struct, frozen=True):
    """One event with the place it comes from."""

    body: bytes
    position: str


def load(
    door: Door, deliveries: Iterable[Delivery], *, source: str, batch: int = BATCH, connections: int = CONNECTIONS
) -> Iterator[list[Outcome]]:
    """Store events in batches; yields the outcomes of each batch, in order, after its COMMIT.

    At most ``connections + 1`` batches are in memory. An error of the store ends the load; what was yielded is stored.
    """

    def store(chunk: list[Delivery]) -> list[Outcome]:
        bodies, positions = [delivery.body for delivery in chunk], [delivery.position for delivery in chunk]
        return door.take(bodies, source=source, positions=positions)

    with rare_collections(), ThreadPoolExecutor(connections, thread_name_prefix="lineagelog-load") as pool:
        running: deque[Future[list[Outcome]]] = deque()
        try:
            for chunk in _batches(deliveries, batch):
                running.append(pool.submit(store, chunk))
                if len(running) > connections:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def _batches(deliveries: Iterable[Delivery], count: int) -> Iterator[list[Delivery]]:
    chunk: list[Delivery] = []
    size = 0
    for delivery in deliveries:
        chunk.append(delivery)
        size += len(delivery.body)
        if len(chunk) == count or size >= BATCH_SIZE:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python's cycle collector run rarely: events are trees without cycles, and it took an eighth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
