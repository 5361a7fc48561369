"""How fast one worker consumes, against appending the same events directly: `python -m benchmarks.consume`.

Broker, PostgreSQL and worker share the machine, and PostgreSQL and the events are the same for both. The measure is the
ratio of the rates; the goal is 0.7. The rate of consuming is that from the first batch stored to the last: joining the
group is not in it.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import statistics
import tempfile
import threading
import time
from pathlib import Path

import structlog
from confluent_kafka import Producer
from tests.kafka_broker import Broker, fetch_jars, start

from benchmarks.__main__ import database, settle
from benchmarks.generator import generate
from benchmarks.writers import Appending, create_store
from lineagelog.intake import Door
from lineagelog.kafka.cluster import KafkaCluster
from lineagelog.kafka.consumer import Worker
from lineagelog.kafka.metrics import WorkerMetrics
from lineagelog.kafka.options import ConsumerOptions
from lineagelog.store import Database, LogStore, open_engine

SCHEMA = "bench"


def fill(broker: Broker, bodies: list[bytes], compression: str) -> str:
    """A topic of three partitions with the events."""
    topic = broker.topic()
    producer = Producer({"bootstrap.servers": broker.servers, "linger.ms": 50, "compression.type": compression})
    for body in bodies:
        while True:
            try:
                producer.produce(topic, body)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()
    return topic


def timed_append(url: str, bodies: list[bytes], connections: int) -> float:
    """Events per second of `load`'s way."""
    create_store(url, SCHEMA)
    appending = Appending(url, SCHEMA, batch=500, connections=connections)
    begun = time.perf_counter()
    appending.write(bodies)
    return len(bodies) / (time.perf_counter() - begun)


def timed_consume(url: str, broker: Broker, topic: str, number: int) -> float:
    """Events per second of one worker."""
    create_store(url, SCHEMA)
    engine = open_engine(url, pool_size=2)
    options = ConsumerOptions(brokers=broker.servers, topics=(topic,), group=f"bench-{number}")
    seen: list[tuple[float, int]] = []

    def note(metrics: WorkerMetrics) -> None:
        if not seen or seen[-1][1] != metrics.stored:
            seen.append((time.perf_counter(), metrics.stored))

    ends = KafkaCluster(options).ends()
    Worker(Door(LogStore(Database(engine, SCHEMA))), options, stop=threading.Event(), until=ends, report=note).run()
    engine.dispose()
    seen = [(at, stored) for at, stored in seen if stored]
    (first, before), (last, after) = seen[0], seen[-1]
    return (after - before) / (last - first)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consume", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compression", default="lz4", help="of the topic: none, lz4, gzip, snappy, zstd")
    parser.add_argument("--database", help="URL of a database to use instead of a fresh embedded one")
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    bodies = list(generate(options.events))
    folder = Path(tempfile.mkdtemp(prefix="lineagelog-bench-kafka-"))
    process, broker = start(folder, fetch_jars())
    try:
        with database(options.database) as (url, dsn):
            topic = fill(broker, bodies, options.compression)
            rounds = []
            for number in range(options.rounds):
                rates = []
                for run in (
                    lambda: timed_append(url, bodies, 1),
                    lambda: timed_append(url, bodies, 2),
                    lambda: timed_consume(url, broker, topic, number),  # noqa: B023
                ):
                    settle(dsn)
                    rates.append(run())
                rounds.append(rates)
            report(rounds)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def report(rounds: list[list[float]]) -> None:
    """A table of the rounds and their medians."""
    print(
        "| round | append, 1 connection | append, 2 | consume, 1 worker | ÷ 1 connection | ÷ 2 |\n"
        "|--|--:|--:|--:|--:|--:|"
    )
    named = [(str(number), rates) for number, rates in enumerate(rounds, 1)]
    for name, (one, two, consume) in named:
        print(f"| {name} | {one:,.0f} | {two:,.0f} | {consume:,.0f} | {consume / one:.2f} | {consume / two:.2f} |")
    ratios = [statistics.median(consume / rates[index] for *rates, consume in rounds) for index in (0, 1)]
    print(f"| median | | | | {ratios[0]:.2f} | {ratios[1]:.2f} |")


if __name__ == "__main__":
    main()
