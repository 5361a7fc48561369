"""Databases of the session's server, by pytest-postgresql's janitor."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from psycopg import sql
from pytest_postgresql.janitor import DatabaseJanitor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psycopg
    from pytest_postgresql.executors import NoopExecutor

    type NewDatabase = Callable[..., contextlib.AbstractContextManager[str]]
    """Takes the name of a template, or nothing; gives the SQLAlchemy URL of a copy that is there for the block."""


class Janitor(DatabaseJanitor):
    """Copies files and keeps one connection: half the time that making and dropping take otherwise.

    pytest-postgresql connects twice for each database, and lets PostgreSQL write the copy into its log.
    """

    def __init__(self, server: NoopExecutor, admin: psycopg.Connection, name: str, template: str) -> None:
        place = {"user": server.user, "host": server.host, "port": server.port}
        super().__init__(**place, dbname=name, template_dbname=template)
        self._admin = admin

    def _build_create_database_sql(self) -> sql.Composed:
        return super()._build_create_database_sql() + sql.SQL(" STRATEGY file_copy")

    @contextlib.contextmanager
    def cursor(self, dbname: str | None = None) -> Iterator[psycopg.Cursor]:
        """A cursor of the session's connection, which is to the database for upkeep."""
        with self._admin.cursor() as cursor:
            yield cursor
