"""Several prepared statements in one round trip, on libpq's own pipeline mode.

psycopg's pipelines go through a cursor, the type registry and a wait for every statement, which costs more than the
statements do where a batch is one or a few events. Here all are sent, then all answers are read. The transaction is
the caller's to end.
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

_prepared: WeakKeyDictionary[psycopg.Connection[Any], set[bytes]] = WeakKeyDictionary()
"""The names of the statements that each connection knows."""


class Prepared:
    """A statement in PostgreSQL's own form, prepared once per connection; its rows come in binary form."""

    __slots__ = ("name", "text")

    def __init__(self, text: str) -> None:
        self.text = text.encode()
        self.name = b"lineagelog_" + sha256(self.text).hexdigest()[:24].encode()


_BEGIN: Final = Prepared("BEGIN")


class Pipeline:
    """Statements for one round trip. Begins a transaction if the connection is in none."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._statements: list[tuple[Prepared, Sequence[bytes | None], Sequence[int]]] = []
        self._begins = connection.pgconn.transaction_status == TransactionStatus.IDLE
        if self._begins:
            self._statements.append((_BEGIN, (), ()))

    def add(self, statement: Prepared, values: Sequence[bytes | None] = (), types: Sequence[int] = ()) -> int:
        """One more statement, ``values`` in binary form and ``types`` their OIDs; returns its place in the results."""
        self._statements.append((statement, values, types))
        return len(self._statements) - 1 - self._begins

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
        return results[len(prepared) + self._begins :]

    def _send(self, known: set[bytes]) -> list[bytes]:
        """Buffer the statements, those to be prepared first; returns the names of these."""
        pgconn = self._connection.pgconn
        prepared: list[bytes] = []
        for statement, _, types in self._statements:
            if statement.name not in known and statement.name not in prepared:
                pgconn.send_prepare(statement.name, statement.text, types)
                prepared.append(statement.name)
        for statement, values, _ in self._statements:
            pgconn.send_query_prepared(statement.name, values, [Format.BINARY] * len(values), Format.BINARY)
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
