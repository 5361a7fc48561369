"""Several prepared statements in one round trip, on libpq's own pipeline mode.

psycopg's pipelines go through a cursor, the type registry and a wait for every statement, which costs more than the
statements do where a batch is one or a few events. Here all are sent, then all answers are read. The transaction is
the caller's to end, or ends with the last statement: then its locks are held while no client thinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult
from psycopg.waiting import Ready, Wait

from .connection import POOLED_BEGIN, Connection

_prepared: WeakKeyDictionary[psycopg.Connection[Any], set[bytes]] = WeakKeyDictionary()
"""The names of the statements that each connection knows."""


class Prepared:
    """A statement in PostgreSQL's own form, prepared once per connection; its rows come in binary form.

    Where a pooler stands between, the next transaction may be another session's: there it is parsed each time.
    """

    __slots__ = ("name", "text")

    def __init__(self, text: str) -> None:
        self.text = text.encode()
        self.name = b"lineagelog_" + sha256(self.text).hexdigest()[:24].encode()


_BEGIN: Final = Prepared("BEGIN")
_POOLED_BEGIN: Final = Prepared(POOLED_BEGIN)
_COMMIT, _ROLLBACK = Prepared("COMMIT"), Prepared("ROLLBACK")


class StatementPipeline:
    """Statements for one round trip. Begins a transaction if the connection is in none."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._statements: list[tuple[Prepared, Sequence[bytes | None], Sequence[int]]] = []
        opening = connection.opening() if isinstance(connection, Connection) else None
        self._prepares = opening is None
        if connection.pgconn.transaction_status == TransactionStatus.IDLE:
            self._statements.append((_BEGIN if opening is None else _POOLED_BEGIN, (), ()))
            if opening is not None:
                self._statements.append((Prepared(opening), (), ()))
        self._own = len(self._statements)
        """How many come before those that are added."""

    def add(self, statement: Prepared, values: Sequence[bytes | None] = (), types: Sequence[int] = ()) -> int:
        """One more statement, ``values`` in binary form and ``types`` their OIDs; returns its place in the results."""
        self._statements.append((statement, values, types))
        return len(self._statements) - 1 - self._own

    def end(self, *, commit: bool) -> None:
        """End the transaction behind the statements; where one of them fails it stays open, for the caller to end."""
        self._statements.append((_COMMIT if commit else _ROLLBACK, (), ()))

    def run(self) -> list[PGresult]:
        """Send all, and return each one's result. Raises psycopg's error for the first that failed."""
        known = _prepared.setdefault(self._connection, set())
        try:
            self._connection.pgconn.enter_pipeline_mode()
            prepared = self._send(known)
            results = self._connection.wait(_answers(self._connection))
            self._connection.pgconn.exit_pipeline_mode()
        except BaseException:
            self._connection.close()  # nobody knows what is still under way on it
            raise
        answers = zip(prepared, results, strict=False)  # they come first
        known.update(name for name, result in answers if result.status == ExecStatus.COMMAND_OK)
        for result in results:
            if result.status == ExecStatus.FATAL_ERROR:
                error = psycopg.errors.error_from_result(result, self._connection.info.encoding)
                if isinstance(error, psycopg.errors.InvalidSqlStatementName):
                    known.clear()  # somebody deallocated them: the next try prepares them again
                raise error
        return results[len(prepared) + self._own :]

    def _send(self, known: set[bytes]) -> list[bytes]:
        """Buffer the statements, those to be prepared first; returns the names of these."""
        pgconn = self._connection.pgconn
        prepared: list[bytes] = []
        for statement, _, types in self._statements if self._prepares else ():
            if statement.name not in known and statement.name not in prepared:
                pgconn.send_prepare(statement.name, statement.text, types)
                prepared.append(statement.name)
        for statement, values, types in self._statements:
            formats = [Format.BINARY] * len(values)
            if self._prepares:
                pgconn.send_query_prepared(statement.name, values, formats, Format.BINARY)
            else:
                pgconn.send_query_params(statement.text, values, types, formats, Format.BINARY)
        pgconn.pipeline_sync()
        return prepared


def _answers(connection: psycopg.Connection[Any]) -> PQGen[list[PGresult]]:
    """Flush what is buffered and read every answer up to the synchronisation point."""
    pgconn = connection.pgconn
    while pgconn.flush():
        if (yield Wait.RW) & Ready.R:
            pgconn.consume_input()
    results: list[PGresult] = []
    while True:
        if pgconn.is_busy():
            yield Wait.R
            pgconn.consume_input()
        elif (result := pgconn.get_result()) is not None:  # None ends one statement's answer
            if result.status == ExecStatus.PIPELINE_SYNC:
                return results
            results.append(result)
