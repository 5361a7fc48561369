"""Writers side by side on one PostgreSQL: the limit, the naive one, ours in batches, ours one event at a time."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any

import psycopg

from benchmarks.cpu import OfPostgres
from lineagelog.event.model import Event
from lineagelog.event.parse import parse
from lineagelog.intake import Delivery, Door, load
from lineagelog.postgres.wire import column_type, copy_data
from lineagelog.store import Database, LogStore, LogStoreSchema, open_engine
from lineagelog.store.append.digest import Digest
from lineagelog.store.definition import schema as names
from lineagelog.store.definition.schema import EVENT_COLUMNS, sql

BATCH = 1000


@dataclass(frozen=True, slots=True)
class Figure:
    """What one writer did."""

    name: str
    events: int
    size: int
    """Bytes of the events."""
    seconds: float
    client_cpu: float
    """Seconds of CPU in the writer's processes."""
    database_cpu: float
    """Seconds of CPU in PostgreSQL's."""

    @property
    def rate(self) -> float:
        """Events per second."""
        return self.events / self.seconds


def timed(name: str, bodies: Sequence[bytes], write: Callable[[], object], postgres: OfPostgres) -> Figure:
    """Run a writer that works in this process."""
    database, cpu, clock = postgres.seconds(), time.process_time(), time.perf_counter()
    write()
    seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
    return Figure(name, len(bodies), sum(map(len, bodies)), seconds, cpu, postgres.seconds() - database)


class Limit:
    """COPY of the raw JSON into a keyed table with lz4: what any writer of these events can reach at most."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def prepare(self, bodies: Sequence[bytes], *, binary: bool) -> list[bytes]:
        """Make the data of each COPY beforehand, so that nothing but PostgreSQL is measured."""
        events = [event for event in map(parse, bodies) if isinstance(event, Event)]
        return [self._data(chunk, binary=binary) for chunk in batched(events, BATCH)]

    def _data(self, events: Sequence[Event], *, binary: bool) -> bytes:
        rows = [(*event.key, event.body) for event in events]
        if binary:
            columns = LogStoreSchema("limit").t("ol_event").c
            names = ("run_id", "event_time", "event_type", "event_hash", "event")
            return copy_data([column_type(columns[name].type) for name in names], rows)
        lines = [
            b"\t".join(
                (
                    run_id.encode().replace(b"\\", b"\\\\"),
                    event_time.isoformat().encode(),
                    event_type.encode(),
                    b"\\\\x" + event_hash.hex().encode(),
                    body.replace(b"\\", b"\\\\"),
                )
            )
            for run_id, event_time, event_type, event_hash, body in rows
        ]
        return b"\n".join([*lines, b""])

    def write(self, chunks: Iterable[bytes], *, binary: bool) -> None:
        """COPY, one transaction per chunk."""
        form = "(FORMAT BINARY)" if binary else ""
        with psycopg.connect(self._dsn) as connection:
            for chunk in chunks:
                with connection.cursor().copy(f"COPY raw_limit FROM STDIN {form}") as copy:
                    copy.write(chunk)
                connection.commit()

    def create(self) -> None:
        """An empty table."""
        with psycopg.connect(self._dsn) as connection:
            connection.execute("DROP TABLE IF EXISTS raw_limit")
            connection.execute(
                'CREATE TABLE raw_limit (run_id text COLLATE "C", event_time timestamptz, event_type text COLLATE "C",'
                " event_hash bytea, event jsonb NOT NULL, PRIMARY KEY (run_id, event_time, event_type, event_hash))"
            )
            connection.execute(
                "DO $$ BEGIN ALTER TABLE raw_limit ALTER COLUMN event SET COMPRESSION lz4;"
                " EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN NULL; END $$"
            )


class Naive:
    """What a JDBC connector does: per event one transaction of the schema's single-row statements, prepared."""

    def __init__(self, dsn: str, schema: str) -> None:
        self._dsn = dsn
        self._schema = LogStoreSchema(schema)
        self._event = sql(self._schema.insert_event())
        self._run = sql(self._schema.upsert_run())
        self._dataset = sql(self._schema.upsert_run_dataset())
        self._assertion = sql(self._schema.insert_assertion())
        self._test = sql(self._schema.insert_test())

    def write(self, bodies: Iterable[bytes]) -> None:
        """One event after the other."""
        with psycopg.connect(self._dsn) as connection:
            connection.prepare_threshold = 1
            for body in bodies:
                event = parse(body)
                if isinstance(event, Event):
                    self._write_event(connection, event)

    def _write_event(self, connection: psycopg.Connection[Any], event: Event) -> None:

        values = (*event.key, event.kind, event.job_namespace, event.job_name, event.producer)
        row = dict(zip(EVENT_COLUMNS, (*values, event.body.decode(), event.raw, None), strict=True))
        if connection.execute(self._event, row).fetchone() is not None:
            digest = Digest.of([event])
            for statement, parameters, rows in (
                (self._run, names.RUN_PARAMETERS, [row.values() for row in digest.runs.values()]),
                (
                    self._dataset,
                    names.RUN_DATASET_PARAMETERS,
                    [row.values() for row in digest.datasets.values()],
                ),
                (self._assertion, names.ASSERTION_PARAMETERS, digest.assertions.values()),
                (self._test, names.TEST_PARAMETERS, digest.tests.values()),
            ):
                for values in rows:
                    connection.execute(statement, _plain(dict(zip(parameters, values, strict=True))))
        connection.commit()


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Hashes as text and JSON as text, as a JDBC client would send them."""
    for name, value in parameters.items():
        if isinstance(value, bytes):
            parameters[name] = value.hex() if name.endswith("_hash") else value.decode()
    return parameters


class Appending:
    """Our writer in one process. Opened beforehand: a store compiles its statements once in its life (some 70 ms)."""

    def __init__(self, url: str, schema: str, *, batch: int, connections: int) -> None:
        self._engine = open_engine(url, pool_size=connections)
        self._store = LogStore(Database(self._engine, schema))
        self._store.append([])
        self._batch, self._connections = batch, connections

    def write(self, bodies: Sequence[bytes]) -> None:
        """Load the events, then close."""
        deliveries = (Delivery(body, "") for body in bodies)
        door = Door(self._store)
        for _ in load(door, deliveries, source="benchmark", batch=self._batch, connections=self._connections):
            pass
        self._engine.dispose()


def append_in_processes(
    name: str, url: str, schema: str, bodies: Sequence[bytes], processes: int, postgres: OfPostgres
) -> Figure:
    """Our writer in several processes, each with its share; timed from when all are ready."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(processes + 1)
    cpu = context.Value("d", 0.0)

    def work(share: Sequence[bytes]) -> None:
        appending = Appending(url, schema, batch=500, connections=1)
        barrier.wait()
        before = time.process_time()
        appending.write(share)
        with cpu.get_lock():
            cpu.value += time.process_time() - before

    workers = [context.Process(target=work, args=(bodies[number::processes],)) for number in range(processes)]
    for worker in workers:
        worker.start()
    database = postgres.seconds()
    barrier.wait()
    clock = time.perf_counter()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - clock
    if any(worker.exitcode for worker in workers):
        raise RuntimeError("a writer process failed")
    database = postgres.seconds() - database
    return Figure(name, len(bodies), sum(map(len, bodies)), seconds, cpu.value, database)


def create_store(url: str, schema: str) -> None:
    """An empty store."""
    engine = open_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
    store = LogStore(Database(engine, schema))
    store.create()
    with engine.begin() as connection:  # the naive writer makes no partitions; nobody else pays for these either
        for month in (11, 12):
            for statement in store.schema.partition_statements(2026, month):
                connection.exec_driver_sql(statement)
    engine.dispose()
