"""Dead letters: the events that were refused, to be looked at, tried again, or discarded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import psycopg
from msgspec import Struct
from sqlalchemy import ColumnElement, Row, Select, func, select, update

from lineagelog.event.model import Event, Rejected
from lineagelog.postgres.engine import driver_connection, translated_errors
from lineagelog.store.append.log import LogStore
from lineagelog.store.append.writer import dead_letter_texts
from lineagelog.store.definition import tables

RETRY_AT_ONCE: Final = 200
"""Letters that are tried again in one transaction …"""
RETRY_BYTES: Final = 16 << 20
"""… as long as their payloads together are not larger (a single one may be)."""

type Parse = Callable[[bytes], Event | Rejected]


class DeadLetterRow(Struct, frozen=True):
    """A refused event, without its bytes."""

    id: int
    reason: str
    """A code of `event.model.Reason`."""
    json_path: str
    detail: str
    source: str
    """The transport: http, file, kafka, …"""
    position: str
    """File and line, topic and offset, …"""
    payload_size: int
    """Bytes received."""
    kept_size: int
    """Bytes kept; fewer than payload_size if only the start was."""
    run_id: str | None
    job_namespace: str | None
    job_name: str | None
    event_type: str | None
    event_time: str | None
    count: int
    """How often it came."""
    received_at: datetime
    """The first time."""
    last_received_at: datetime
    state: str
    """new, retried or discarded."""

    @property
    def truncated(self) -> bool:
        """Whether only the start of the payload was kept; then it cannot be tried again."""
        return self.kept_size < self.payload_size


class Filter(Struct, frozen=True):
    """Which letters are meant; what is None does not matter."""

    ids: tuple[int, ...] | None = None
    state: str | None = None
    reason: str | None = None
    source: str | None = None
    since: datetime | None = None
    """Received (the last time) at or after."""
    until: datetime | None = None
    """Received (the last time) before."""


class Retried(Struct, frozen=True):
    """What became of the letters that were tried again."""

    stored: int
    """Events that are in the store now, also those that were there already."""
    expired: int
    """Older than the retention floor: discarded."""
    refused: int
    """Refused again; their reason is the new one."""
    truncated: int
    """Not tried: only the start of their bytes was kept. Send them again from their source, or discard them."""


class DeadLetters:
    """The dead letters of one store. All calls raise StoreUnavailable and StoreNotCreated."""

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self._table = store.schema.t(tables.DEAD_LETTER_TABLE)

    def list(
        self,
        wanted: Filter = Filter(),  # noqa: B008
        *,
        limit: int = 100,
        after: int | None = None,
        reverse: bool = False,
    ) -> list[DeadLetterRow]:
        """The first letters behind the id ``after``, in the order of their ids (oldest first), or against it."""
        number = self._table.c.id
        statement = self._select(wanted).order_by(number.desc() if reverse else number).limit(limit)
        if after is not None:
            statement = statement.where(number < after if reverse else number > after)
        with translated_errors(), self._store.engine.connect() as connection:
            return [_row(row) for row in connection.execute(statement)]

    def get(self, letter_id: int) -> tuple[DeadLetterRow, bytes] | None:
        """A letter and its payload."""
        statement = self._select(Filter(ids=(letter_id,))).add_columns(self._table.c.payload)
        with translated_errors(), self._store.engine.connect() as connection:
            row = connection.execute(statement).first()
        return None if row is None else (_row(row[:-1]), row[-1])

    def discard(self, wanted: Filter) -> int:
        """Mark new letters as discarded; how many. (They are kept: a refused event may be all that tells of a run.)"""
        table = self._table
        statement = update(table).where(table.c.state == "new", *self._conditions(wanted)).values(state="discarded")
        with translated_errors(), self._store.engine.begin() as connection:
            return connection.execute(statement).rowcount

    def retry(self, parse: Parse, wanted: Filter = Filter(state="new")) -> Retried:  # noqa: B008
        """Parse letters again and append those that are fine now, each batch and its marks in one transaction.

        Letters that are refused again stay new, with the new reason. Those marked as retried before are left out.
        """
        total = Retried(0, 0, 0, 0)
        for letters, truncated in self._batches(wanted):
            total = _add(total, self._retry(parse, letters), truncated)
        return total

    # --- reading ----------------------------------------------------------------------------------------------------

    def _select(self, wanted: Filter) -> Select[Any]:
        table = self._table.c
        columns = [
            func.length(table.payload).label("kept_size") if name == "kept_size" else table[name]
            for name in DeadLetterRow.__struct_fields__
        ]
        return select(*columns).where(*self._conditions(wanted))

    def _conditions(self, wanted: Filter) -> Sequence[ColumnElement[bool]]:
        table = self._table.c
        equal = {name: getattr(wanted, name) for name in ("state", "reason", "source")}
        found = [table[name] == value for name, value in equal.items() if value is not None]
        if wanted.ids is not None:
            found.append(table.id.in_(wanted.ids))
        if wanted.since is not None:
            found.append(table.last_received_at >= wanted.since)
        if wanted.until is not None:
            found.append(table.last_received_at < wanted.until)
        return found

    # --- trying again -----------------------------------------------------------------------------------------------

    def _batches(self, wanted: Filter) -> Iterator[tuple[Sequence[int], int]]:
        """The ids of letters to try, in batches of bounded size, and how many truncated ones were among them."""
        after, last = 0, self._last_id()
        while rows := self.list(wanted, limit=RETRY_AT_ONCE, after=after):
            after = rows[-1].id
            open_rows = [row for row in rows if row.state != "retried" and row.id <= last]
            truncated = sum(row.truncated for row in open_rows)
            batch: Sequence[int] = ()
            size = 0
            for row in open_rows:
                if row.truncated:
                    continue
                if batch and size + row.kept_size > RETRY_BYTES:
                    yield batch, 0
                    batch, size = (), 0
                batch = (*batch, row.id)
                size += row.kept_size
            yield batch, truncated

    def _last_id(self) -> int:
        """The newest letter; what a retry adds itself is not tried again."""
        with translated_errors(), self._store.engine.connect() as connection:
            return int(connection.execute(select(func.coalesce(func.max(self._table.c.id), 0))).scalar_one())

    def _retry(self, parse: Parse, letter_ids: Sequence[int]) -> Retried:
        if not letter_ids:
            return Retried(0, 0, 0, 0)
        letters = self._parse(parse, letter_ids)
        events = {letter.id: letter.parsed for letter in letters if isinstance(letter.parsed, Event)}
        refused = {letter.id: letter.parsed for letter in letters if isinstance(letter.parsed, Rejected)}
        stored = expired = 0
        if events:
            mark = _Mark(self._store, events)
            appended = self._store.append(list(events.values()), source="retry", in_transaction=mark)
            stored, expired = appended.stored + appended.duplicate, appended.expired
            numbers = list(events)
            refused |= {numbers[place]: rejected for place, rejected in appended.refusals.items()}
        for letter in letters:
            if letter.id in refused:
                self._refuse_again(letter, refused[letter.id])
        return Retried(stored, expired, len(refused), 0)

    def _parse(self, parse: Parse, letter_ids: Sequence[int]) -> Sequence[_Letter]:
        table = self._table.c
        columns = table.id, table.source, table.position, table.payload
        statement = select(*columns).where(table.id.in_(letter_ids)).order_by(table.id)
        with translated_errors(), self._store.engine.connect() as connection:
            rows = connection.execute(statement).all()
        return [_Letter(number, source, position, parse(payload)) for number, source, position, payload in rows]

    def _refuse_again(self, letter: _Letter, rejected: Rejected) -> None:
        """Give a letter its new reason. Where another letter has these bytes and this reason, it is that one now."""
        name = self._store.schema.table_beside_placeholders(tables.DEAD_LETTER_TABLE)
        other = (
            f"SELECT other.id FROM {name} mine JOIN {name} other ON other.sha256 = mine.sha256 "
            "AND other.reason = %(reason)s AND other.id <> mine.id WHERE mine.id = %(id)s FOR UPDATE"
        )
        texts = dead_letter_texts(rejected) | {"source": letter.source, "position": letter.position, "state": "new"}
        assignments = ", ".join(f"{column} = %({column})s" for column in texts)
        with translated_errors(), driver_connection(self._store.engine) as connection:
            found = connection.execute(other, texts | {"id": letter.id}).fetchone()
            if found is not None:
                connection.execute(f"DELETE FROM {name} WHERE id = %s", (letter.id,))
            left = letter.id if found is None else found[0]
            connection.execute(f"UPDATE {name} SET {assignments} WHERE id = %(id)s", texts | {"id": left})
            connection.commit()


class _Letter(NamedTuple):
    """A letter that is tried again: what parsing it gives now."""

    id: int
    source: str
    position: str
    parsed: Event | Rejected


class _Mark:
    """Marks, in the transaction that appends them, the letters whose events are in the store or too old for it."""

    def __init__(self, store: LogStore, events: dict[int, Event]) -> None:
        event, letter, home = (
            store.schema.table_beside_placeholders(name)
            for name in (tables.EVENT_TABLE, tables.DEAD_LETTER_TABLE, tables.STORE_TABLE)
        )
        given = "unnest(%(ids)s::bigint[], %(runs)s::text[], %(times)s::timestamptz[], %(types)s::text[], %(hashes)s)"
        self._statement = (
            f"WITH given AS (SELECT * FROM {given} AS g (id, run_id, event_time, event_type, event_hash)), "
            f"stored AS (SELECT g.id FROM given g JOIN {event} e ON e.run_id = g.run_id "
            "AND e.event_time = g.event_time AND e.event_type = g.event_type AND e.event_hash = g.event_hash "
            "AND e.event_time BETWEEN %(low)s AND %(high)s), "
            f"late AS (SELECT g.id FROM given g JOIN {home} s ON g.event_time < s.retention_floor) "
            f"UPDATE {letter} l SET state = CASE WHEN l.id IN (SELECT id FROM stored) THEN 'retried' "
            "ELSE 'discarded' END WHERE l.id IN (SELECT id FROM stored UNION SELECT id FROM late)"
        )
        times = [item.event_time for item in events.values()]
        self._parameters = {
            "ids": list(events),
            "runs": [item.run_id for item in events.values()],
            "times": times,
            "types": [item.event_type for item in events.values()],
            "hashes": [item.event_hash for item in events.values()],
            "low": min(times),
            "high": max(times),
        }

    def __call__(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(self._statement, self._parameters)


def _row(row: Row[Any] | Sequence[Any]) -> DeadLetterRow:
    return DeadLetterRow(*row)


def _add(total: Retried, part: Retried, truncated: int) -> Retried:
    return Retried(
        total.stored + part.stored,
        total.expired + part.expired,
        total.refused + part.refused,
        total.truncated + truncated,
    )
