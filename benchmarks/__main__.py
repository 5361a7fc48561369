"""The benchmarks: every figure of a round on one PostgreSQL, one after the other, and the ratios between them.

    python -m benchmarks [--events 30000] [--rounds 3] [--only writers,http,reads] [--database URL] [--json FILE]

Machines differ and are noisy: compare ratios of one run, and take the median of the rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg

from benchmarks.generator import generate
from benchmarks.writers import (
    Figure,
    Limit,
    Naive,
    append_all,
    append_in_processes,
    create_store,
    timed,
)
from lineagelog.store.embedded import EmbeddedPostgres

type Round = dict[str, Figure]


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
    limit, append = Limit(dsn), partial(append_all, url, "bench")
    few = bodies[: max(len(bodies) // 15, 500)]
    figures: list[Figure] = []
    for name, binary in (("a  COPY of raw JSON", False), ("a' the same, binary", True)):
        chunks = limit.prepare(bodies, binary=binary)
        limit.create()
        settle(dsn)
        figures.append(timed(name, bodies, lambda: limit.write(chunks, binary=binary)))  # noqa: B023
    for name, given, write in (
        ("b  naive, one transaction per event", few, lambda: Naive(dsn, "bench").write(few)),
        ("c1 append, batch 1", few, lambda: append(few, batch=1, connections=1)),
        (
            "c  append, one process, 1 connection",
            bodies,
            lambda: append(bodies, batch=500, connections=1),
        ),
        (
            "c  append, one process, 2 connections",
            bodies,
            lambda: append(bodies, batch=500, connections=2),
        ),
    ):
        create_store(url, "bench")
        settle(dsn)
        figures.append(timed(name, given, write))
    create_store(url, "bench")
    settle(dsn)
    figures.append(append_in_processes("c2 append, two processes", url, "bench", bodies, 2))
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
        "| writer | events/s | MB/s | client CPU µs/event | ÷ limit (a) | ÷ naive (b) |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in names:
        first = rounds[0][name]
        megabytes = median(name, "rate") * first.size / first.events / 1e6
        cpu = median(name, "client_cpu") / first.events * 1e6
        cells = (f"{median(name, 'rate'):,.0f}", f"{megabytes:.1f}", f"{cpu:.0f}", f"{ratio(name, limit):.2f}")
        lines.append(f"| {name} | {' | '.join(cells)} | {ratio(name, naive):.1f} |")
    return "\n".join(lines)


def main() -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", help="URL of a database to use instead of a fresh embedded one")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    bodies = list(generate(options.events))
    print(f"{options.events:,} events, mean {sum(map(len, bodies)) / len(bodies):,.0f} bytes, {platform.machine()}")
    with database(options.database) as (url, dsn):
        rounds = []
        for number in range(options.rounds):
            rounds.append(writers_round(url, dsn, bodies))
            print(f"round {number + 1} of {options.rounds} done", flush=True)
        print(report(rounds))
    if options.json:
        figures = [{name: [f.events, f.seconds, f.client_cpu] for name, f in one.items()} for one in rounds]
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
