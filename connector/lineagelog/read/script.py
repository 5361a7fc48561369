"""What an analysis reads: the rows of its file of SQL, or the raw events of the window.

People run such a file in psql, too: its variables (``:'name'``) become parameters.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, Final, cast

import psycopg
from psycopg import errors as pg
from psycopg import pq, sql
from psycopg.rows import dict_row

from lineagelog.analysis import RawEvent
from lineagelog.errors import AnalysisStopped
from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import driver_connection, translated_errors
from lineagelog.store.definition.version import keep_to_version

_VARIABLE: Final = re.compile(r":'(\w+)'")
_AT_ONCE: Final = 100 if pq.version() >= 170000 else 1
"""Rows that are asked of the connection at a time; libpq 17 gives several."""
_SAME_FOR_ALL: Final = {"timezone": "UTC", "extra_float_digits": "1", "bytea_output": "hex"}
"""Whatever the role or the database has set: results do not depend on it."""
_PATIENCE: Final = 5.0
"""Seconds that a statement may take to be cancelled."""
_COMMENT: Final = re.compile(r"^\s*--.*$", re.MULTILINE)
_MILLISECOND: Final = timedelta(milliseconds=1)
_RAW_EVENTS: Final = """
    SELECT event_time, event::text AS content
    FROM ol_event
    WHERE event_kind = 'run' AND event_time >= :'from'::timestamptz AND event_time < :'beyond'::timestamptz
    ORDER BY event_time, arrival
"""


def variables(script: str) -> frozenset[str]:
    """The psql variables that a script uses, comments apart."""
    return frozenset(_VARIABLE.findall(_COMMENT.sub("", script)))


def text_array(texts: Iterable[str]) -> str:
    """As PostgreSQL spells an array of texts."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


class Stop:
    """Lets another thread end a question: the statement that runs for it is cancelled, a later one is not begun."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self._is_asked = False

    def now(self) -> None:
        """End it; returns when PostgreSQL was told."""
        with self._lock:  # the connection stays that question's own until then
            self._is_asked = True
            if self._connection is not None:
                with suppress(psycopg.Error):
                    self._connection.cancel_safe(timeout=_PATIENCE)

    @contextmanager
    def ends(self, connection: psycopg.Connection[Any]) -> Iterator[None]:
        """While this lasts, what runs on the connection can be ended. Raises AnalysisStopped where it is ended."""
        with self._lock:
            if self._is_asked:
                raise AnalysisStopped("nobody waits for the answer")
            self._connection = connection
        try:
            yield
        finally:
            with self._lock:
                self._connection = None


@contextmanager
def run_script(
    database: Database,
    script: str,
    values: Mapping[str, str],
    settings: Mapping[str, str] | None = None,
    stop: Stop | None = None,
) -> Iterator[Iterator[dict[str, Any]]]:
    """The rows of the one statement in ``script``, read in a transaction that can only read, one after the other.

    ``values``: a text for each variable; the script casts them. ``settings`` of PostgreSQL hold for the statement.
    No more than a few rows are in memory at once. Raises AnalysisStopped after its statement_timeout or by ``stop``,
    StoreUnavailable, StoreNotCreated, StoreTooOld, and KeyError for a variable without a value.
    """
    keep_to_version(database)
    text = _VARIABLE.sub(r"%(\1)s", _COMMENT.sub("", script).replace("%", "%%"))
    wanted = {name: values[name] for name in variables(script)}
    # quoted as one name: set_config would take a comma in it for a list
    path = sql.Identifier(database.schema).as_string()
    chosen = {"search_path": f"pg_catalog, {path}, pg_temp", **_SAME_FOR_ALL, **(settings or {})}
    with (
        translated_errors(),
        driver_connection(database.engine) as connection,
        (stop or Stop()).ends(connection),
    ):
        connection.execute("SET TRANSACTION READ ONLY")
        calls = ", ".join(["set_config(%s, %s, true)"] * len(chosen))
        connection.execute(f"SELECT {calls}".encode(), [part for setting in chosen.items() for part in setting])
        with connection.cursor(row_factory=dict_row) as cursor:
            try:
                stream = cursor.stream(text.encode(), wanted, size=_AT_ONCE)
                with closing(cast("Generator[dict[str, Any]]", stream)) as rows:
                    yield rows
            except pg.QueryCanceled as error:
                raise AnalysisStopped("stopped at the time limit") from error


@contextmanager
def raw_events(
    database: Database, start: datetime, end: datetime, settings: Mapping[str, str], stop: Stop | None = None
) -> Iterator[Iterable[RawEvent]]:
    """The run events from ``start`` to ``end``, both included, by times that are rounded down to milliseconds.

    In the order of time, then of arrival; a few are in memory at once. Raises what `run_script` raises.
    """
    beyond = min(_floor(end), datetime.max.replace(tzinfo=UTC) - _MILLISECOND) + _MILLISECOND
    bounds = {"from": _floor(start).isoformat(), "beyond": beyond.isoformat()}
    with run_script(database, _RAW_EVENTS, bounds, settings, stop) as rows:
        yield (RawEvent(row["event_time"].astimezone(UTC), row["content"].encode()) for row in rows)


def _floor(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
