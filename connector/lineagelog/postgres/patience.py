"""Waits for locks without holding up others: ask for a short time, stand back, ask again for longer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import psycopg
from psycopg import errors as pg

from lineagelog.backoff import pause_after
from lineagelog.errors import StoreUnavailable

LOCK_TIMEOUT: Final = 200
"""Milliseconds that writers may queue behind a lock that is waited for; then we stand back, and wait longer the next
time, in case they are never done so soon."""
MAX_LOCK_TIMEOUT: Final = 3000
_FIRST_PAUSE: Final = 0.04
_LONGEST_PAUSE: Final = 0.5
_PASSING: Final = (pg.LockNotAvailable, pg.DeadlockDetected, pg.SerializationFailure)


def patiently[T](
    connection: psycopg.Connection[Any],
    work: Callable[[], T],
    *,
    attempts: int,
    statement_timeout: str,
    gives_up: str,
) -> T:
    """Do the work in a transaction of its own, again and again while locks are held against it.

    Raises StoreUnavailable with the text ``gives_up`` after so many ``attempts``.
    """
    for attempt in range(1, attempts + 1):
        try:
            connection.execute(f"SET LOCAL lock_timeout = {min(LOCK_TIMEOUT * attempt, MAX_LOCK_TIMEOUT)}".encode())
            connection.execute(f"SET LOCAL statement_timeout = '{statement_timeout}'".encode())
            result = work()
            connection.commit()
            return result
        except _PASSING:
            connection.rollback()
            time.sleep(pause_after(attempt, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE))
    raise StoreUnavailable(gives_up)
