"""The outbox of publishing: what Egeria is to hold, and how far that has come. Any number of publishers work it off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from msgspec import Struct
from sqlalchemy import ColumnElement, and_, case, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from lineagelog.errors import SettingsError
from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.version import keep_to_version

LEASE: Final = timedelta(minutes=10)
"""How long an item is one publisher's; who dies leaves it to others then."""
_AT_ONCE: Final = 500


class OutboxState(StrEnum):
    """How far an item has come."""

    PLANNED = "planned"
    """To be sent."""
    SENT = "sent"
    """A publisher is at it."""
    CONFIRMED = "confirmed"
    """Egeria has it."""
    FAILED = "failed"
    """It did not work, and is tried again by itself."""
    PARKED = "parked"
    """Egeria refuses it: it waits for a person, or for other content."""
    UNKNOWN = "unknown"
    """Egeria knows no element that it is about: it is tried again when it is planned again."""
    RETIRED = "retired"
    """It is to go from Egeria, then from here."""


class Content(Struct, frozen=True, kw_only=True):
    """What an item is, as plain values."""

    id: UUID
    kind: str
    subject_kind: str
    namespace: str
    name: str
    day: str
    content: Mapping[str, Any]
    content_hash: UUID


class Planned(Content, frozen=True, kw_only=True):
    """An item to keep."""

    priority: int
    """A smaller one is sent first."""


class OutboxItem(Content, frozen=True, kw_only=True):
    """An item that a publisher has taken, or that a list shows."""

    state: str
    attempts: int
    guids: Mapping[str, str]
    problem: str | None
    message_id: str | None
    user_action: str | None
    planned_at: datetime
    next_try: datetime
    confirmed_at: datetime | None


class Publications:
    """The outbox of one store. All calls raise StoreUnavailable and StoreNotCreated."""

    def __init__(self, database: Database) -> None:
        self._engine = database.engine
        self._table = keep_to_version(database).t(tables.PUBLICATION_TABLE)

    # --- planning ---------------------------------------------------------------------------------------------------

    def plan(self, items: Sequence[Planned]) -> int:
        """Keep the items: new ones, and those whose content changed or that Egeria did not know; how many they were."""
        return sum(self._planned(items[start : start + _AT_ONCE]) for start in range(0, len(items), _AT_ONCE))

    def _planned(self, items: Sequence[Planned]) -> int:
        table = self._table.c
        rows = [{"id": item.id, **_columns(item)} for item in sorted(items, key=lambda item: item.id)]
        statement = insert(self._table).values(rows)
        changed = or_(
            table.content_hash != statement.excluded.content_hash,
            table.state.in_((OutboxState.UNKNOWN, OutboxState.RETIRED)),
        )
        fresh = {
            "content": statement.excluded.content,
            "content_hash": statement.excluded.content_hash,
            # who is at it finds, when it is done, that the content is another by now
            "state": case((table.state == OutboxState.SENT, table.state), else_=OutboxState.PLANNED.value),
            "attempts": 0,
            "next_try": func.now(),
            "problem": None,
            "message_id": None,
            "user_action": None,
            "planned_at": func.now(),
        }
        upsert = statement.on_conflict_do_update(index_elements=[table.id], set_=fresh, where=changed)
        with translated_errors(), self._engine.begin() as connection:
            return len(connection.execute(upsert.returning(table.id)).all())

    def retire(self, kind: str, keep: int) -> int:
        """Of an item of the kind per day and subject, keep the newest ``keep`` days; the others are to go."""
        table = self._table.c
        same = table.subject_kind, table.namespace, table.name
        place = func.row_number().over(partition_by=same, order_by=table.day.desc())
        ranked = select(table.id, place.label("place")).where(table.kind == kind).subquery()
        old = select(ranked.c.id).where(ranked.c.place > keep)
        gone = update(self._table).where(table.id.in_(old), table.state != OutboxState.RETIRED)
        with translated_errors(), self._engine.begin() as connection:
            return connection.execute(gone.values(state=OutboxState.RETIRED, attempts=0, next_try=func.now())).rowcount

    # --- publishing -------------------------------------------------------------------------------------------------

    def take(self) -> OutboxItem | None:
        """The next item that is due, ours for LEASE; None if there is none."""
        table = self._table.c
        due = (
            select(table.id)
            .where(self._is_due())
            .order_by(table.priority, table.next_try, table.id)
            .limit(1)
            .with_for_update(skip_locked=True)
            .scalar_subquery()
        )
        values = {
            "state": case((table.state == OutboxState.RETIRED, table.state), else_=OutboxState.SENT.value),
            "attempts": table.attempts + 1,
            "lease_until": func.now() + LEASE,
        }
        taken = update(self._table).where(table.id == due).values(values).returning(*self._listed())
        with translated_errors(), self._engine.begin() as connection:
            row = connection.execute(taken).first()
        return None if row is None else _item(row)

    def _is_due(self) -> ColumnElement[bool]:
        table = self._table.c
        waits = table.state.in_((OutboxState.PLANNED, OutboxState.FAILED, OutboxState.RETIRED))
        is_free = or_(table.lease_until.is_(None), table.lease_until < func.now())
        was_left = and_(table.state == OutboxState.SENT, table.lease_until < func.now())
        return and_(or_(waits, was_left), table.next_try <= func.now(), is_free)

    def confirm(self, item: OutboxItem, guids: Mapping[str, str]) -> None:
        """Egeria has it; where its content is another by now, that is still to be sent."""
        table = self._table.c
        values = {
            "state": case(
                (table.content_hash == item.content_hash, OutboxState.CONFIRMED.value), else_=OutboxState.PLANNED.value
            ),
            "guids": dict(guids),
            "attempts": 0,
            "confirmed_at": func.now(),
        }
        self._settle(item, values)

    def fail(self, item: OutboxItem, problem: str, again_in: timedelta) -> None:
        """It did not work; it is due again after a while."""
        table = self._table.c
        state = case((table.state == OutboxState.RETIRED, table.state), else_=OutboxState.FAILED.value)
        self._settle(item, {"state": state, "problem": problem, "next_try": func.now() + again_in})

    def park(self, item: OutboxItem, problem: str, *, message_id: str | None, user_action: str | None) -> None:
        """Egeria refuses it."""
        told = {"problem": problem, "message_id": message_id, "user_action": user_action}
        self._settle(item, {"state": self._unless_changed(item, OutboxState.PARKED), **told})

    def leave(self, item: OutboxItem, problem: str) -> None:
        """Egeria knows no element for it."""
        self._settle(item, {"state": self._unless_changed(item, OutboxState.UNKNOWN), "problem": problem})

    def _unless_changed(self, item: OutboxItem, state: OutboxState) -> ColumnElement[str]:
        same = self._table.c.content_hash == item.content_hash
        return case((same, state.value), else_=OutboxState.PLANNED.value)

    def give_back(self, item: OutboxItem) -> None:
        """It was not tried: Egeria is away, or cannot be used."""
        table = self._table.c
        state = case((table.state == OutboxState.RETIRED, table.state), else_=OutboxState.PLANNED.value)
        self._settle(item, {"state": state, "attempts": table.attempts - 1})

    def _settle(self, item: OutboxItem, values: Mapping[str, Any]) -> None:
        table = self._table.c
        settled = {"problem": None, "message_id": None, "user_action": None, "lease_until": None, **values}
        with translated_errors(), self._engine.begin() as connection:
            connection.execute(update(self._table).where(table.id == item.id).values(settled))

    def remove(self, item: OutboxItem) -> None:
        """It is gone from Egeria; unless it is wished again meanwhile."""
        table = self._table.c
        with translated_errors(), self._engine.begin() as connection:
            connection.execute(delete(self._table).where(table.id == item.id, table.state == OutboxState.RETIRED))

    # --- looking ----------------------------------------------------------------------------------------------------

    def list(self, states: Iterable[str] = (), kinds: Iterable[str] = ()) -> Iterator[OutboxItem]:
        """Items, oldest plan first."""
        table = self._table.c
        query = select(*self._listed()).order_by(table.planned_at, table.priority, table.name, table.id)
        for column, wanted in ((table.state, list(states)), (table.kind, list(kinds))):
            if wanted:
                query = query.where(column.in_(wanted))
        with translated_errors(), self._engine.connect() as connection:
            yield from map(_item, connection.execution_options(yield_per=_AT_ONCE).execute(query))

    def get(self, item_id: UUID) -> OutboxItem | None:
        """One item."""
        with translated_errors(), self._engine.connect() as connection:
            row = connection.execute(select(*self._listed()).where(self._table.c.id == item_id)).first()
        return None if row is None else _item(row)

    def counts(self) -> dict[str, int]:
        """Items by state, all states named."""
        table = self._table.c
        query = select(table.state, func.count()).group_by(table.state)
        with translated_errors(), self._engine.connect() as connection:
            found = {str(state): int(count) for state, count in connection.execute(query)}
        return {state.value: found.get(state, 0) for state in OutboxState}

    def retry(self, ids: Sequence[UUID] | None = None) -> int:
        """Try parked, failed and unknown items at once: all, or those named; how many they are."""
        table = self._table.c
        stuck = table.state.in_((OutboxState.PARKED, OutboxState.FAILED, OutboxState.UNKNOWN))
        chosen = stuck if ids is None else and_(stuck, table.id.in_(ids))
        again = update(self._table).where(chosen).values(state=OutboxState.PLANNED, attempts=0, next_try=func.now())
        with translated_errors(), self._engine.begin() as connection:
            return connection.execute(again).rowcount

    def _listed(self) -> tuple[Any, ...]:
        return tuple(self._table.c[name] for name in OutboxItem.__struct_fields__)


def _columns(item: Planned) -> dict[str, Any]:
    return {name: getattr(item, name) for name in Planned.__struct_fields__ if name != "id"}


def _item(row: Any) -> OutboxItem:
    return OutboxItem(**row._mapping)


def state_of(text: str) -> OutboxState:
    """The state of that name. Raises SettingsError that lists them."""
    try:
        return OutboxState(text.lower())
    except ValueError:
        raise SettingsError(f"there is no state {text!r}: use {', '.join(OutboxState)}") from None
