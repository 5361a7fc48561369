"""How fast events are forwarded, against the receiver's own intake: `python -m benchmarks.forward`.

Both logs lie in one PostgreSQL, the receiving server is a process of its own. The measure is the ratio of the rate of
forwarding (read, shape, HTTP, receive, store) to the rate of loading the same events into the same kind of log by its
own intake; the goal is 0.5.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from benchmarks.__main__ import database, settle
from benchmarks.generator import generate
from lineagelog.forward import Forwarder, open_sender, read_target
from lineagelog.intake import Delivery, Door, load
from lineagelog.store import Database, LogStore, open_engine
from lineagelog.store.ledgers.forwarding import Forwarding

SERVE = """
import sys
from lineagelog.server import create_app, run_server
from lineagelog.store import Database, LogStore, open_engine
store = LogStore(Database(open_engine(sys.argv[1])))
run_server(create_app(store), port=0, on_ready=lambda url: print("ready", url, flush=True))
"""


@contextmanager
def serving(url: str) -> Iterator[str]:
    """A server over a log, in a process of its own; its URL."""
    with subprocess.Popen([sys.executable, "-c", SERVE, url], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield next(line.split()[1] for line in process.stdout if line.startswith("ready "))
        finally:
            process.terminate()
            process.communicate()


def make_log(url: str) -> LogStore:
    """An empty log."""
    store = LogStore(Database(open_engine(url)))
    store.create()
    return store


def timed_load(store: LogStore, bodies: list[bytes]) -> float:
    """Events per second of the log's own intake."""
    begun = time.perf_counter()
    for _ in load(Door(store), (Delivery(body, "") for body in bodies), source="bench"):
        pass
    return len(bodies) / (time.perf_counter() - begun)


def timed_forward(store: LogStore, target_url: str, name: str, *, redact: bool) -> float:
    """Events per second of forwarding the whole log."""
    target = read_target(name, {"url": f"{target_url}/api/v1/lineage", "redact": redact})
    begun = time.perf_counter()
    sent = Forwarder(Forwarding(store.database), target, open_sender).run()
    assert sent.parked == 0
    return sent.delivered / (time.perf_counter() - begun)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forward", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", help="URL of a database to use instead of a fresh embedded one")
    options = parser.parse_args()
    bodies = list(generate(options.events))
    print("| round | intake, events/s | forward | ratio | forward, masking | ratio |\n|--:|--:|--:|--:|--:|--:|")
    with database(options.database) as (url, dsn):
        for number in range(options.rounds):
            rates = one_round(url, dsn, bodies, number)
            intake, plain, masking = rates
            cells = f"{intake:,.0f} | {plain:,.0f} | {plain / intake:.2f} | {masking:,.0f} | {masking / intake:.2f}"
            print(f"| {number + 1} | {cells} |", flush=True)


def one_round(url: str, dsn: str, bodies: list[bytes], number: int) -> tuple[float, float, float]:
    """The three rates, on logs that are new."""
    logs = []
    for purpose in ("source", "plain", "masking"):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE forward_{number}_{purpose} TEMPLATE template0")
        base, _, query = url.partition("?")
        own = f"{base.rsplit('/', 1)[0]}/forward_{number}_{purpose}"
        logs.append(make_log(f"{own}?{query}" if query else own))
    source, plain, masking = logs
    intake = timed_load(source, bodies)
    rates = []
    for log, redact in ((plain, False), (masking, True)):
        settle(dsn)
        with serving(log.engine.url.render_as_string(hide_password=False)) as server:
            rates.append(timed_forward(source, server, f"redact-{redact}", redact=redact))
    for log in logs:
        log.engine.dispose()
    return intake, rates[0], rates[1]


if __name__ == "__main__":
    main()
