"""The benchmarks: every figure of a round on one PostgreSQL, one after the other, and the ratios between them.

    python -m benchmarks [--events 30000] [--rounds 3] [--only writers,http,reads] [--database URL]

Machines differ and are noisy: compare ratios of one run, and take the median of the rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg

from benchmarks import reads, serving
from benchmarks.cpu import OfPostgres
from benchmarks.generator import generate
from benchmarks.writers import (
    Appending,
    Figure,
    Limit,
    Naive,
    append_in_processes,
    create_store,
    timed,
)
from lineagelog import compiled
from lineagelog.postgres.embedded import EmbeddedPostgres

type Round = dict[str, Figure]

APPEND = "c  append, one process, 2 connections"
"""What the HTTP server is held against."""


@contextlib.contextmanager
def database(given: str | None) -> Iterator[tuple[str, str]]:
    """URL and DSN of the database: the given one, or a fresh durable one in a temporary folder."""
    if given:
        yield given, given.replace("postgresql+psycopg://", "postgresql://")
        return
    folder = Path(tempfile.mkdtemp(prefix="lineagelog-bench-"))
    folder.chmod(0o711)
    try:
        with EmbeddedPostgres(folder / "data") as server:
            yield server.url, server.dsn
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def settle(dsn: str) -> None:
    """A checkpoint, so that one writer does not pay for another's."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CHECKPOINT")


def writers_round(url: str, dsn: str, bodies: list[bytes]) -> Round:
    """Each writer once, on an empty table or store."""
    postgres, limit, appending = OfPostgres(dsn), Limit(dsn), partial(Appending, url, "bench")
    few = bodies[: max(len(bodies) // 15, 500)]
    figures: list[Figure] = []
    for name, binary in (("a  COPY of raw JSON", False), ("a' the same, binary", True)):
        chunks = limit.prepare(bodies, binary=binary)
        limit.create()
        settle(dsn)
        figures.append(timed(name, bodies, partial(limit.write, chunks, binary=binary), postgres))
    create_store(url, "bench")
    settle(dsn)
    figures.append(timed("b  naive, one transaction per event", few, partial(Naive(dsn, "bench").write, few), postgres))
    for name, given, batch, connections in (
        ("c1 append, batch 1", few, 1, 1),
        ("c  append, one process, 1 connection", bodies, 500, 1),
        (APPEND, bodies, 500, 2),
    ):
        create_store(url, "bench")
        settle(dsn)
        write = appending(batch=batch, connections=connections).write
        figures.append(timed(name, given, partial(write, given), postgres))
    create_store(url, "bench")
    settle(dsn)
    figures.append(append_in_processes("c2 append, two processes", url, "bench", bodies, 2, postgres))
    return {figure.name: figure for figure in figures}


def report(rounds: list[Round]) -> str:
    """A table of medians, with the ratio to the limit and to the naive writer."""
    names = list(rounds[0])
    limit, naive = (next(name for name in names if name.startswith(mark)) for mark in ("a  ", "b  "))

    def median(name: str, value: str) -> float:
        return statistics.median(getattr(one[name], value) for one in rounds)

    def ratio(name: str, to: str) -> float:
        return statistics.median(one[name].rate / one[to].rate for one in rounds)

    lines = [
        "| writer | events/s | MB/s | client CPU µs/event | PostgreSQL CPU µs/event | ÷ limit (a) | ÷ naive (b) |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name in names:
        first = rounds[0][name]
        megabytes = median(name, "rate") * first.size / first.events / 1e6
        cpu = [median(name, side) / first.events * 1e6 for side in ("client_cpu", "database_cpu")]
        cells = [f"{median(name, 'rate'):,.0f}", f"{megabytes:.1f}", *[f"{side:.0f}" for side in cpu]]
        cells.append(f"{ratio(name, limit):.2f}")
        lines.append(f"| {name} | {' | '.join(cells)} | {ratio(name, naive):.1f} |")
    return "\n".join(lines)


def http_rounds(url: str, dsn: str, bodies: list[bytes], rounds: int, batched_rate: float | None) -> str:
    """The server at each number of connections, the real store and the empty one in turn."""
    loads: dict[tuple[int, bool], list[serving.Load]] = {}
    postgres = OfPostgres(dsn)
    for _ in range(rounds):
        for connections in serving.CONNECTIONS:
            given = bodies[: 2_000 if connections == 1 else 15_000]
            for empty in (False, True):
                create_store(url, "bench")
                load = serving.serve_and_load(url, "bench", given, connections, postgres, empty=empty)
                loads.setdefault((connections, empty), []).append(load)
    return serving.report(loads, batched_rate)


def main() -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="writers,http,reads", help="parts, separated by commas")
    parser.add_argument("--database", help="URL of a database to use instead of a fresh embedded one")
    options = parser.parse_args()
    parts = set(options.only.split(","))
    bodies = list(generate(options.events))
    form = "compiled" if compiled.IN_USE else "pure Python"
    size = sum(map(len, bodies)) / len(bodies)
    print(f"{options.events:,} events, mean {size:,.0f} bytes, {platform.machine()}, {form}")
    with database(options.database) as (url, dsn):
        with psycopg.connect(dsn) as connection:
            print(f"PostgreSQL {connection.info.server_version // 10_000}, {os.cpu_count()} cores\n", flush=True)
        batched_rate = None
        if "writers" in parts:
            rounds = [writers_round(url, dsn, bodies) for _ in range(options.rounds)]
            print(report(rounds), end="\n\n", flush=True)
            batched_rate = statistics.median(one[APPEND].rate for one in rounds)
        if "http" in parts:
            print(http_rounds(url, dsn, bodies, options.rounds, batched_rate), end="\n\n", flush=True)
        if "reads" in parts:
            print(reads.report(reads.measure(url, 0), reads.measure(url, 20)))


if __name__ == "__main__":
    main()
