"""Who leads a task of the store: the one process whose session holds the task's lock, until the session ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from lineagelog.postgres.connection import Connection
from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import driver_connection, translated_errors
from lineagelog.store.definition.partitions import advisory_key
from lineagelog.store.definition.schema import LogStoreSchema, schema_of


class Leadership:
    """The way to lead tasks of one store. All calls raise StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def stand(self) -> Iterator[Candidacy]:
        """Stand for tasks, on a session of the database; at the end, or when the session is lost, all are left.

        Raises SettingsError behind a pooler of transactions.
        """
        with translated_errors(), driver_connection(self._database.engine) as connection:
            connection.require_session("the work in the background of `serve`")
            connection.autocommit = True
            try:
                connection.end_soon()
                yield Candidacy(connection, schema_of(self._database))
            finally:
                if not connection.closed and not connection.broken:
                    connection.execute("SELECT pg_advisory_unlock_all()")
                    connection.autocommit = False


class Candidacy:
    """A session that stands for tasks, and holds the locks of those that it leads."""

    def __init__(self, connection: Connection, schema: LogStoreSchema) -> None:
        self._connection, self._schema = connection, schema

    def take(self, tasks: Iterable[str]) -> frozenset[str]:
        """Of these tasks take those that nobody leads. Raises StoreUnavailable if the session is lost: nothing is led.

        Without a task it only asks whether the session lives. A task that is led already must not be asked for.
        """
        names = sorted(tasks)
        keys = [advisory_key(self._schema, f"task:{name}") for name in names]
        query = "SELECT pg_try_advisory_lock(key) FROM unnest(%s::bigint[]) WITH ORDINALITY AS t (key, n) ORDER BY n"
        with translated_errors():
            rows = self._connection.execute(query, (keys,)).fetchall()
        return frozenset(name for name, (is_ours,) in zip(names, rows, strict=True) if is_ours)

    def leave(self, task: str) -> None:
        """Leave a task to others."""
        key = advisory_key(self._schema, f"task:{task}")
        with translated_errors():
            self._connection.execute("SELECT pg_advisory_unlock(%s)", (key,))
