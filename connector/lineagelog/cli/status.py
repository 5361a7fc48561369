"""`lineagelog status`: how much is in the store and how fresh it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING

import typer

from lineagelog.shown import counted, duration, size

from .command import command
from .printing import Json, print_facts, print_json, put, text_of
from .session import Session

if TYPE_CHECKING:
    from lineagelog.read import Status
    from lineagelog.store.ledgers.kafka_offsets import OffsetRow


def register(app: typer.Typer) -> None:
    """Mount the command."""
    command(app, "status", "lineagelog status", "lineagelog status --json | jq .counts")(_status)


def _status(session: Session, json: Json = False) -> None:
    """Show the metrics of the store: rows, sizes, first and last event, lag, dead letters."""
    from lineagelog.read import Reader

    with session.store() as store:
        status = Reader(store.database).status()
        name = store.database.schema
    if json:
        from msgspec.structs import asdict

        counts = {table: count.rows for table, count in status.counts.items()}
        partitions = [asdict(partition) for partition in status.partitions]
        lag = None if status.lag is None else asdict(status.lag)
        kafka = [{**asdict(row), "lag": row.lag} for row in status.kafka]
        nested = {"counts": counts, "partitions": partitions, "lag": lag, "kafka": kafka}
        print_json({"schema": name, **asdict(status), **nested})
        return
    _print(name, status)


def _print(schema: str, status: Status) -> None:
    lag = status.lag
    seen = (
        None
        if lag is None
        else f"{_span(lag.p50_seconds)} median, {_span(lag.p95_seconds)} at the 95th percentile (last hour)"
    )
    facts = {
        "schema": f"{schema}, version {status.version}, {size(status.size_bytes)} with indexes",
        "first event": status.first_event_time,
        "last event": status.last_event_time,
        "last received": status.last_received_at,
        "lag": seen,
        "purged before": status.retention_floor,
        "dead letters": ", ".join(f"{count} {state}" for state, count in status.dead_letters.items()) or "none",
        "partitions": f"{len(status.partitions):,} of ol_event",
    }
    if status.kafka:
        facts["kafka"] = "; ".join(_groups(status.kafka))
    print_facts(facts, width=20)
    put()
    for table, count in status.counts.items():
        put(f"{table:<20}{count.rows:>14,}{'' if count.exact else ' (estimated)'}")


def _groups(rows: Iterable[OffsetRow]) -> Iterator[str]:
    """A line per consumer group and topic."""
    for (group, topic), some in groupby(rows, key=lambda row: (row.consumer_group, row.topic)):
        known = list(some)
        lag = sum(row.lag or 0 for row in known)
        seen = max(row.seen_at for row in known)
        yield f"group {group}, topic {topic}: {counted(len(known), 'partitions')}, lag {lag:,}, seen {text_of(seen)}"


def _span(seconds: float) -> str:
    return duration(timedelta(seconds=seconds))
