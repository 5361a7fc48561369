"""How far a Kafka consumer group is: offsets that move in the transaction that stores the events, fenced by an epoch.

Exactly once, whatever Kafka believes of the group: a worker claims a partition, which raises the partition's epoch, and
moves its offset by compare-and-set on epoch and offset. Who was fenced in the meantime stores nothing. (Storing
offsets with the results is the way that Kafka's own documentation of KafkaConsumer gives for exactly-once.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import psycopg
from msgspec import Struct
from psycopg.rows import class_row

from lineagelog.errors import ClaimLost
from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import driver_connection, translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.schema import schema_of
from lineagelog.store.definition.version import keep_to_version


class PartitionPlace(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"


class Start(Struct, frozen=True):
    """A partition to be claimed, and where to begin if it never was."""

    place: PartitionPlace
    begin: int
    end: int
    """Where the partition ends now (its high watermark)."""
    topic_id: str | None


class Claim(Struct, frozen=True):
    """The right to move a partition's offset, until somebody else claims it."""

    place: PartitionPlace
    epoch: int
    next_offset: int
    topic_id: str | None
    """Of the topic that ``next_offset`` belongs to."""
    is_first: bool
    """Whether the group never read this partition before."""
    skipped: int = 0
    """Offsets that were passed over because Kafka no longer has their records."""


class Move(Struct, frozen=True):
    """A partition's offset from what it must be to what it shall be."""

    place: PartitionPlace
    epoch: int
    before: int
    after: int


class OffsetRow(Struct, frozen=True):
    """How far a group is in a partition."""

    consumer_group: str
    topic: str
    partition: int
    next_offset: int
    end_offset: int | None
    owner: str
    owner_epoch: int
    claimed_at: datetime
    stored_at: datetime | None
    seen_at: datetime

    @property
    def lag(self) -> int | None:
        """Records that are not stored yet, as of ``seen_at``; None if the end is not known."""
        return None if self.end_offset is None else max(self.end_offset - self.next_offset, 0)


class AdvancedBefore(Exception):
    """An earlier try of this very transaction was committed, though its answer was lost. Roll back: all is stored."""


_COLUMNS: Final = ", ".join(OffsetRow.__struct_fields__)


class KafkaOffsets:
    """The offsets of one group, for one worker. Safe for many threads. Raises what the store raises."""

    def __init__(self, database: Database, group: str, owner: str) -> None:
        self._engine, self._group, self._owner = database.engine, group, owner
        self._table = keep_to_version(database).table_beside_placeholders(tables.KAFKA_OFFSET_TABLE)

    def claim(self, starts: Iterable[Start]) -> list[Claim]:
        """Take partitions over: whoever had them is fenced from the commit of this on."""
        query = f"""
            INSERT INTO {self._table} AS o
              (consumer_group, topic, partition, next_offset, end_offset, topic_id, owner_epoch, owner)
            VALUES (%s, %s, %s, %s, %s, %s, 1, %s)
            ON CONFLICT (consumer_group, topic, partition) DO UPDATE SET
              owner_epoch = o.owner_epoch + 1, owner = excluded.owner, claimed_at = now(), seen_at = now(),
              end_offset = excluded.end_offset, topic_id = coalesce(o.topic_id, excluded.topic_id)
            RETURNING owner_epoch, next_offset, topic_id"""
        claims = []
        with translated_errors(), driver_connection(self._engine) as connection:
            for start in sorted(starts, key=lambda start: start.place):
                values = (self._group, *start.place, start.begin, start.end, start.topic_id, self._owner)
                row = connection.execute(query, values).fetchone()
                assert row is not None  # noqa: S101  # an upsert returns its row
                claims.append(Claim(start.place, row[0], row[1], row[2], is_first=row[0] == 1))
            connection.commit()
        return claims

    def restart(self, claim: Claim, offset: int, topic_id: str | None) -> None:
        """Put a claimed partition elsewhere: its records are gone, or it is another topic now. Raises ClaimLost."""
        query = f"""
            UPDATE {self._table} SET next_offset = %s, topic_id = coalesce(%s, topic_id)
            WHERE consumer_group = %s AND topic = %s AND partition = %s AND owner_epoch = %s AND next_offset = %s"""
        values = (offset, topic_id, self._group, *claim.place, claim.epoch, claim.next_offset)
        with translated_errors(), driver_connection(self._engine) as connection:
            if connection.execute(query, values).rowcount != 1:
                raise ClaimLost(f"{claim.place} was claimed by another worker of group {self._group!r}")
            connection.commit()

    def advance(self, connection: psycopg.Connection[Any], moves: Sequence[Move]) -> None:
        """Move offsets inside the caller's transaction.

        Raises ClaimLost if one of them is not ours or not where we left it, AdvancedBefore if an earlier try has
        moved them; either way the transaction must not be committed.
        """
        query = f"""
            UPDATE {self._table} o SET next_offset = m.after, stored_at = now(), seen_at = now(),
              end_offset = greatest(o.end_offset, m.after)
            FROM unnest(%s::text[], %s::int[], %s::bigint[], %s::bigint[], %s::bigint[])
              AS m (topic, partition, epoch, before, after)
            WHERE o.consumer_group = %s AND o.topic = m.topic AND o.partition = m.partition
              AND o.owner_epoch = m.epoch AND o.next_offset = m.before"""
        columns = zip(*((*move.place, move.epoch, move.before, move.after) for move in moves), strict=True)
        values = [*map(list, columns), self._group]
        if moves and connection.execute(query, values).rowcount != len(moves):
            self._explain(connection, moves)

    def _explain(self, connection: psycopg.Connection[Any], moves: Sequence[Move]) -> None:
        query = f"SELECT topic, partition, owner_epoch, next_offset, owner FROM {self._table} WHERE consumer_group = %s"
        connection.rollback()
        rows = connection.execute(query, (self._group,)).fetchall()
        found = {PartitionPlace(topic, partition): rest for topic, partition, *rest in rows}
        if all(found.get(move.place, ())[:2] == [move.epoch, move.after] for move in moves):
            raise AdvancedBefore
        lost = [move.place for move in moves if found.get(move.place, ())[:2] != [move.epoch, move.before]]
        owners = {place: found[place][2] if place in found else "nobody" for place in lost}
        text = ", ".join(f"{place} (now {owner})" for place, owner in owners.items())
        raise LostPlaces(f"claimed by another worker of group {self._group!r}: {text}", tuple(lost))

    def tell(self, epochs: Mapping[PartitionPlace, int], ends: Mapping[PartitionPlace, int]) -> None:
        """Say that claimed partitions have an owner that lives, and where they end, for who asks for the lag."""
        query = f"""
            UPDATE {self._table} SET end_offset = coalesce(%s, end_offset), seen_at = now()
            WHERE consumer_group = %s AND topic = %s AND partition = %s AND owner_epoch = %s"""
        rows = [(ends.get(place), self._group, *place, epoch) for place, epoch in sorted(epochs.items())]
        with translated_errors(), driver_connection(self._engine) as connection:
            connection.cursor().executemany(query, rows)
            connection.commit()

    def positions(self) -> dict[PartitionPlace, int]:
        """The group's next offsets."""
        query = f"SELECT topic, partition, next_offset FROM {self._table} WHERE consumer_group = %s"
        with translated_errors(), driver_connection(self._engine) as connection:
            rows = connection.execute(query, (self._group,)).fetchall()
        return {PartitionPlace(topic, partition): offset for topic, partition, offset in rows}


class LostPlaces(ClaimLost):
    """ClaimLost, and for which partitions."""

    def __init__(self, message: str, places: tuple[PartitionPlace, ...]) -> None:
        super().__init__(message)
        self.places = places


def offset_rows(database: Database) -> list[OffsetRow]:
    """All groups, by name, topic and partition; none for roles that may not read them."""
    may_read = "SELECT coalesce(has_table_privilege(to_regclass(%s), 'SELECT'), false)"
    table = schema_of(database).table(tables.KAFKA_OFFSET_TABLE)
    query = f"SELECT {_COLUMNS} FROM {table} ORDER BY 1, 2, 3"
    with translated_errors(), driver_connection(database.engine) as connection:
        row = connection.execute(may_read, (table,)).fetchone()
        if row is None or not row[0]:
            return []
        return connection.cursor(row_factory=class_row(OffsetRow)).execute(query).fetchall()
