"""News of findings that are still to be told: the outbox of the webhook. Any number of notifiers work it off."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from msgspec import Struct
from sqlalchemy import and_, func, select, update

from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.version import keep_to_version


class Untold(Struct, frozen=True):
    """A finding that is to be told."""

    finding_id: UUID
    news: str
    """opened, reopened or closed."""
    since: datetime
    attempts: int
    """With this one."""


class FindingNews:
    """The news of one store. All calls raise StoreUnavailable and StoreNotCreated."""

    def __init__(self, database: Database) -> None:
        self._engine = database.engine
        self._table = keep_to_version(database).t(tables.FINDING_TABLE)

    def take(self, lease: timedelta) -> Untold | None:
        """The next finding that is to be told and due, ours until the lease ends; None if there is none."""
        table = self._table.c
        due = (
            select(table.finding_id)
            .where(table.news.is_not(None), table.news_next <= func.now())
            .order_by(table.news_next, table.finding_id)
            .limit(1)
            .with_for_update(skip_locked=True)
            .scalar_subquery()
        )
        values = {"news_attempts": table.news_attempts + 1, "news_next": func.now() + lease}
        names = (table.finding_id, table.news, table.news_at, table.news_attempts)
        taken = update(self._table).where(table.finding_id == due).values(values).returning(*names)
        with translated_errors(), self._engine.begin() as connection:
            row = connection.execute(taken).first()
        return None if row is None else Untold(*row)

    def told(self, untold: Untold) -> None:
        """It was taken; unless there is other news by now, nothing is left to tell."""
        self._settle(untold, {"news": None, "news_at": None, "news_next": None, "news_attempts": 0})

    def tell_again(self, untold: Untold, pause: timedelta) -> None:
        """It was not taken: it is due again after a while."""
        self._settle(untold, {"news_next": func.now() + pause})

    def _settle(self, untold: Untold, values: dict[str, Any]) -> None:
        table = self._table.c
        same = and_(table.finding_id == untold.finding_id, table.news_at == untold.since)
        with translated_errors(), self._engine.begin() as connection:
            connection.execute(update(self._table).where(same).values(values))

    def waiting(self) -> int:
        """How many findings are to be told."""
        query = select(func.count()).where(self._table.c.news.is_not(None))
        with translated_errors(), self._engine.connect() as connection:
            return int(connection.execute(query).scalar_one())
