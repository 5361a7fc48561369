"""Metrics of a store for its operator: how much, how fresh, how large."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, func, select, text

from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.schema import LogStoreSchema
from lineagelog.store.definition.version import keep_to_version
from lineagelog.store.ledgers.kafka_offsets import OffsetRow, offset_rows

from .making import utc

COUNT_UP_TO: Final = 64 << 20
"""Tables of at most so many bytes (without indexes) are counted; of larger ones PostgreSQL's estimate is taken."""
LAG_EVENTS: Final = 1000
LAG_TIME: Final = timedelta(hours=1)


class Count(Struct, frozen=True):
    """A number of rows."""

    rows: int
    exact: bool


class Partition(Struct, frozen=True):
    """A partition of ol_event."""

    name: str
    bounds: str
    """As PostgreSQL writes them: ``FOR VALUES FROM (…) TO (…)``."""
    rows: int | None
    """PostgreSQL's estimate; None before it has one."""
    size_bytes: int
    """With indexes and TOAST."""


class Lag(Struct, frozen=True):
    """How long after they happened events were received, over the last hour and at most the last 1,000 events."""

    events: int
    p50_seconds: float
    p95_seconds: float


class Status(Struct, frozen=True):
    """How much a store holds, how fresh and how large it is."""

    version: int
    created_at: datetime
    retention_floor: datetime | None
    counts: dict[str, Count]
    """By table name."""
    size_bytes: int
    """Of all tables with their indexes."""
    first_event_time: datetime | None
    last_event_time: datetime | None
    last_received_at: datetime | None
    lag: Lag | None
    """None where nothing arrived in the last hour."""
    dead_letters: dict[str, int]
    """By state."""
    partitions: tuple[Partition, ...]
    kafka: tuple[OffsetRow, ...]
    """How far `lineagelog consume` is; empty where nothing was consumed."""


_SIZES: Final = text("""
    SELECT root.relname AS name,
      CASE WHEN bool_or(leaf.reltuples < 0) THEN NULL ELSE sum(leaf.reltuples)::bigint END AS estimate,
      sum(pg_relation_size(leaf.oid))::bigint AS heap,
      sum(pg_total_relation_size(leaf.oid))::bigint AS total
    FROM pg_class root
    JOIN pg_namespace n ON n.oid = root.relnamespace AND n.nspname = :schema
    CROSS JOIN LATERAL (
      SELECT c.* FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
      WHERE (root.relkind = 'r' AND c.oid = root.oid) OR (root.relkind = 'p' AND i.inhparent = root.oid)
    ) AS leaf
    WHERE root.relkind IN ('r', 'p') AND NOT root.relispartition
    GROUP BY root.relname""")

_PARTITIONS: Final = text("""
    SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds, nullif(c.reltuples, -1)::bigint AS rows,
      pg_total_relation_size(c.oid) AS size_bytes
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
    JOIN pg_namespace n ON n.oid = p.relnamespace
    WHERE n.nspname = :schema AND p.relname = :table ORDER BY c.relname""")


def read_status(database: Database) -> Status:
    """Read the metrics of a store. Raises StoreUnavailable, StoreNotCreated and StoreTooOld."""
    schema = keep_to_version(database)
    event, store, letter = (schema.t(n) for n in (tables.EVENT_TABLE, tables.STORE_TABLE, tables.DEAD_LETTER_TABLE))
    kafka = tuple(offset_rows(database))
    with translated_errors(), database.engine.connect() as connection:
        version, created, floor = connection.execute(
            select(store.c.version, store.c.created_at, store.c.retention_floor)
        ).one()
        sizes = {row.name: row for row in connection.execute(_SIZES, {"schema": database.schema})}
        first, last = connection.execute(select(func.min(event.c.event_time), func.max(event.c.event_time))).one()
        newest = select(event.c.received_at).order_by(event.c.arrival.desc()).limit(1)
        states = connection.execute(select(letter.c.state, func.count()).group_by(letter.c.state))
        where = {"schema": database.schema, "table": tables.EVENT_TABLE}
        return Status(
            version=version,
            created_at=created.astimezone(UTC),
            retention_floor=utc(floor),
            counts={name: _count(connection, schema, name, sizes[name]) for name in tables.DATA_TABLES},
            size_bytes=sum(row.total for row in sizes.values()),
            first_event_time=utc(first),
            last_event_time=utc(last),
            last_received_at=utc(connection.execute(newest).scalar()),
            lag=_lag(connection, schema),
            dead_letters={state: count for state, count in states},  # noqa: C416  # rows, not pairs, to mypy
            partitions=tuple([Partition(*row) for row in connection.execute(_PARTITIONS, where)]),
            kafka=kafka,
        )


def _count(connection: Connection, schema: LogStoreSchema, name: str, size: Any) -> Count:
    if size.estimate is not None and size.heap > COUNT_UP_TO:
        return Count(size.estimate, exact=False)
    return Count(connection.execute(select(func.count()).select_from(schema.t(name))).scalar_one(), exact=True)


def _lag(connection: Connection, schema: LogStoreSchema) -> Lag | None:
    event = schema.t(tables.EVENT_TABLE).c
    latest = (
        select(event.received_at, event.event_time).order_by(event.arrival.desc()).limit(LAG_EVENTS).subquery("latest")
    )
    seconds = func.extract("epoch", latest.c.received_at - latest.c.event_time)
    percentiles = (func.percentile_cont(share).within_group(seconds) for share in (0.5, 0.95))
    statement = select(func.count(), *percentiles).where(latest.c.received_at >= func.now() - LAG_TIME)
    events, middle, high = connection.execute(statement).one()
    return Lag(events, float(middle), float(high)) if events else None
