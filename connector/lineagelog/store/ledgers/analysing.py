"""How far the analyses that read events have read them: what is recorded begins where it ended the last time."""

from __future__ import annotations

from typing import Final

from lineagelog.analysis import Arrived
from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import driver_connection, translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.version import keep_to_version

_UNREAD: Final = """
    SELECT coalesce((SELECT arrival_xid::text::numeric FROM {cursor} WHERE analysis = %s), 0),
           pg_snapshot_xmin(pg_current_snapshot())::text::numeric"""
_READ: Final = """
    INSERT INTO {cursor} AS known (analysis, arrival_xid) VALUES (%s, %s::text::xid8)
    ON CONFLICT (analysis) DO UPDATE SET arrival_xid = EXCLUDED.arrival_xid, updated_at = now()
    WHERE known.arrival_xid < EXCLUDED.arrival_xid"""


class Analysing:
    """The ledger. All calls raise StoreUnavailable and StoreNotCreated."""

    def __init__(self, database: Database) -> None:
        self._database = database
        cursor = keep_to_version(database).table(tables.ANALYSIS_CURSOR_TABLE)
        self._unread, self._read = _UNREAD.format(cursor=cursor).encode(), _READ.format(cursor=cursor).encode()

    def unread(self, analysis: str) -> Arrived:
        """What is to be read next. Nothing can appear among it any more: transactions that are at work wait."""
        with translated_errors(), driver_connection(self._database.engine) as connection:
            row = connection.execute(self._unread, (analysis,)).fetchone()
        assert row is not None  # noqa: S101  # a SELECT without a condition gives a row
        return Arrived(int(row[0]), int(row[1]))

    def read(self, analysis: str, arrived: Arrived) -> None:
        """Remember that all of it was read; after what was found is stored, so that nothing is lost between."""
        with translated_errors(), driver_connection(self._database.engine) as connection:
            connection.execute(self._read, (analysis, str(arrived.before)))
            connection.commit()
