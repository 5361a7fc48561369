"""The long form: 100,000 events into a second lineagelog, while everything goes wrong that can."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.generator import generate

from lineagelog.intake import Delivery, Door, load
from lineagelog.store import LogStore
from lineagelog.store.ledgers.forwarding import Forwarding
from tests.support import PATIENCE, wait_until

from .conftest import count, fingerprints, following

if TYPE_CHECKING:
    from lineagelog.forward import Forwarder

ROOT = Path(__file__).parents[2]
SERVE = """
import sys
from lineagelog.server import create_app, run_server
from lineagelog.store import Database, LogStore, open_engine
store = LogStore(Database(open_engine(sys.argv[1])))
run_server(create_app(store), port=int(sys.argv[2]), on_ready=lambda url: print(url, flush=True))
"""


@contextlib.contextmanager
def killed_now_and_then(url: str, port: int, stop: threading.Event) -> Iterator[list[int]]:
    """A receiving lineagelog that is killed every few seconds and comes back; the list counts the kills."""
    kills: list[int] = []

    def run() -> None:
        chance = random.Random(5)
        while not stop.is_set():
            process = subprocess.Popen([sys.executable, "-c", SERVE, url, str(port)], stdout=subprocess.DEVNULL)
            stop.wait(chance.uniform(4, 9))
            process.send_signal(signal.SIGTERM if stop.is_set() else signal.SIGKILL)
            process.wait()
            kills.append(process.returncode)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield kills
    finally:
        stop.set()
        thread.join(PATIENCE)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_hundred_thousand_events(
    log: LogStore, other: LogStore, other_url: str, forwarding: Forwarding, forwarder: Callable[..., Forwarder]
) -> None:
    """20 writers load them while they are forwarded to a server that is killed again and again: identical logs."""
    from tests.kafka_broker import free_port

    bodies = list(generate(100_000, disorder=0.1))
    port = free_port()
    target = forwarder(f"http://127.0.0.1:{port}/api/v1/lineage", redact=False, retry_last=1.0)
    with killed_now_and_then(other_url, port, threading.Event()) as kills, following(target):
        writers = [threading.Thread(target=write, args=(log, bodies[number::20])) for number in range(20)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        wait_until(lambda: target.sent.delivered + target.sent.parked >= len(bodies), seconds=1500)
    assert len(kills) > 2
    assert count(log) == count(other) == 100_000
    assert list(forwarding.letters(None, None)) == []
    assert fingerprints(log) == fingerprints(other)


def write(log: LogStore, bodies: list[bytes]) -> None:
    """One writer's share."""
    deliveries = (Delivery(body, "") for body in bodies)
    for _ in load(Door(log), deliveries, source="test", batch=100, connections=1):
        time.sleep(0.01)
