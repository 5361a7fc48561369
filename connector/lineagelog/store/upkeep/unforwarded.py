"""Events that a purge would take before the targets of forwarding have got them: counted, refused, or told as a gap."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import psycopg
from msgspec import Struct

from lineagelog.errors import StoreError
from lineagelog.store.definition import tables
from lineagelog.store.definition.schema import LogStoreSchema
from lineagelog.store.ledgers.forwarding import FOREIGN, NOT_BEGUN, START, WANTED, Position, Selection, wanted_values


class Wish(Struct, frozen=True):
    """What the settings say of a target."""

    selection: Selection
    from_beginning: bool
    """Whether it is to get what was stored before it is forwarded to for the first time."""


class Owed(Struct, frozen=True):
    """Events before a cut-off that a target has not got."""

    target: str
    events: int


class Unforwarded:
    """Guards the events that targets are waiting for: those with a cursor, and those of the settings.

    A target with a cursor but no wish (its section is gone, or it never had one) is owed every event.
    """

    def __init__(self, schema: LogStoreSchema, cutoff: datetime, wishes: Mapping[str, Wish]) -> None:
        self._event = schema.table_beside_placeholders(tables.EVENT_TABLE)
        self._cursor = schema.table_beside_placeholders(tables.FORWARD_CURSOR_TABLE)
        self._cutoff, self._wishes = cutoff, wishes

    def owed(self, connection: psycopg.Connection[Any]) -> tuple[Owed, ...]:
        """The targets that have not got everything before the cut-off."""
        counts = {name: self._count(connection, name, place) for name, place in self._places(connection).items()}
        return tuple(Owed(name, events) for name, events in counts.items() if events)

    def refuse(self, connection: psycopg.Connection[Any]) -> None:
        """Raise StoreError that names each target with its count, if events are owed or that cannot be known."""
        if self._places(connection) and self._exists(connection, FOREIGN):
            raise StoreError(
                "the store was restored from another database cluster: run `lineagelog forward rebase` first, so that "
                "what targets have not got is known (or say --even-unforwarded)"
            )
        if owed := self.owed(connection):
            counts = ", ".join(f"{each.target} {each.events}" for each in owed)
            raise StoreError(
                f"nothing was purged: before {self._cutoff.isoformat()} lie events that were not forwarded: {counts}. "
                "Forward them (lineagelog forward status), forget a target that is gone "
                "(lineagelog forward forget TARGET), or say --even-unforwarded"
            )

    def record(self, connection: psycopg.Connection[Any], owed: tuple[Owed, ...]) -> None:
        """Remember that targets will not get these events."""
        query = f"""
            INSERT INTO {self._cursor} AS c (target, arrival_xid, arrival, gap, gap_before)
            VALUES (%(target)s, %(xid)s::text::xid8, %(arrival)s, %(events)s, %(cutoff)s)
            ON CONFLICT (target) DO UPDATE SET gap = c.gap + excluded.gap,
              gap_before = greatest(c.gap_before, excluded.gap_before)"""
        place = {"xid": str(NOT_BEGUN.xid), "arrival": NOT_BEGUN.arrival, "cutoff": self._cutoff}
        for each in owed:
            connection.execute(query, place | {"target": each.target, "events": each.events})

    def _places(self, connection: psycopg.Connection[Any]) -> dict[str, Position]:
        """Where each target is to which something is owed."""
        query = f"SELECT target, arrival_xid::text::bigint, arrival FROM {self._cursor}"
        known = {name: Position(xid, arrival) for name, xid, arrival in connection.execute(query, {})}
        begun = {name: place for name, place in known.items() if place != NOT_BEGUN}
        places = {name: START for name, wish in self._wishes.items() if wish.from_beginning} | begun
        return dict(sorted(places.items()))

    def _count(self, connection: psycopg.Connection[Any], name: str, place: Position) -> int:
        wish = self._wishes.get(name)
        selection = wish.selection if wish else Selection()
        query = f"""
            SELECT count(*) FROM {self._event} e WHERE e.event_time < %(cutoff)s
              AND (e.arrival_xid, e.arrival) > (%(xid)s::text::xid8, %(arrival)s::bigint) AND {WANTED}"""
        values = {"cutoff": self._cutoff, "xid": str(place.xid), "arrival": place.arrival}
        row = connection.execute(query, values | wanted_values(selection)).fetchone()
        return int(row[0]) if row else 0

    def _exists(self, connection: psycopg.Connection[Any], condition: str) -> bool:
        row = connection.execute(f"SELECT EXISTS (SELECT 1 FROM {self._event} WHERE {condition})", {}).fetchone()
        return row is not None and bool(row[0])
