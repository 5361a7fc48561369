"""The raw run events of a window, oldest first, for analyses that read what was sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

from lineagelog.analysis import RawEvent
from lineagelog.postgres.database import Database

from .script import run_script

_MILLISECOND: Final = timedelta(milliseconds=1)
_SCRIPT: Final = """
    SELECT event_time, event::text AS content
    FROM ol_event
    WHERE event_kind = 'run' AND event_time >= :'from'::timestamptz AND event_time < :'beyond'::timestamptz
    ORDER BY event_time, arrival
"""


@contextmanager
def raw_events(
    database: Database, start: datetime, end: datetime, settings: Mapping[str, str]
) -> Iterator[Iterable[RawEvent]]:
    """The run events from ``start`` to ``end``, both included, by times that are rounded down to milliseconds.

    In the order of time, then of arrival; a few are in memory at once. Raises what `run_script` raises.
    """
    beyond = min(_floor(end), datetime.max.replace(tzinfo=UTC) - _MILLISECOND) + _MILLISECOND
    bounds = {"from": _floor(start).isoformat(), "beyond": beyond.isoformat()}
    with run_script(database, _SCRIPT, bounds, settings) as rows:
        yield (RawEvent(row["event_time"].astimezone(UTC), row["content"].encode()) for row in rows)


def _floor(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
