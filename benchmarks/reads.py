"""Window reads at 1 and 10 times the events per run: the cost follows the runs, not the events."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from benchmarks.generator import generate
from benchmarks.writers import Appending, create_store
from lineagelog.read import Reader, Window
from lineagelog.store import Database, open_engine

RUNS = 4_000
WINDOW = Window(datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 15, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class Reads:
    """Seconds of each read, median of five, and how many rows it gave."""

    events: int
    seconds: dict[str, float]
    rows: dict[str, int]


def measure(url: str, heartbeats: int) -> Reads:
    """Fill a store with so many RUNNING events per run, and read its windows."""
    events = int(RUNS * (2.268 + heartbeats))
    schema = f"reads_{heartbeats}"
    create_store(url, schema)
    Appending(url, schema, batch=500, connections=2).write(list(generate(events, heartbeats=heartbeats)))
    engine = open_engine(url)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")
    reader = Reader(Database(engine, schema))
    kinds: dict[str, Callable[[Window], Iterable[object]]] = {
        "runs": reader.runs,
        "run datasets": reader.run_datasets,
        "assertions": reader.assertions,
        "tests": reader.tests,
    }
    seconds, rows = {}, {}
    for name, read in kinds.items():
        times = []
        for _ in range(5):
            clock = time.perf_counter()
            rows[name] = sum(1 for _ in read(WINDOW))
            times.append(time.perf_counter() - clock)
        seconds[name] = statistics.median(times)
    engine.dispose()
    return Reads(events, seconds, rows)


def report(once: Reads, tenfold: Reads) -> str:
    """A table: seconds and rows of each read at both sizes, and the ratio per row."""
    lines = [
        f"| read of the whole window | {once.events:,} events | {tenfold.events:,} events | cost per row, 10× ÷ 1× |",
        "|---|--:|--:|--:|",
    ]
    for name in once.seconds:
        cells = [f"{reads.seconds[name] * 1000:.0f} ms, {reads.rows[name]:,} rows" for reads in (once, tenfold)]
        costs = [reads.seconds[name] / max(reads.rows[name], 1) for reads in (once, tenfold)]
        lines.append(f"| {name} | {' | '.join(cells)} | {costs[1] / costs[0]:.2f} |")
    return "\n".join(lines)
