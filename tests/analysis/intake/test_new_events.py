"""What is recorded reads each event once; what is only asked writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineagelog.analysis import analysis_named
from lineagelog.errors import InputError
from lineagelog.read.analyses import ask_new
from lineagelog.store.ledgers.analysing import Analysing

from ..support import ask, dataset, day, load, run, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore

NAME = "exposed_credentials"


def leaking(at: float) -> list:
    """A run with a password in a URL."""
    table = dataset("t")
    table["facets"]["dataSource"] = {"uri": "postgres://user:hunter2-and@db/shop"}
    return run("load", day(at), [table], [])


def test_each_event_is_read_once(store: LogStore) -> None:
    """Also one that is older than those of the last time; events of a transaction at work wait for its end."""
    ledger, analysis = Analysing(store.database), analysis_named(NAME)
    load(store, leaking(5))
    first = ledger.unread(NAME)
    assert [each.n for each in ask_new(store.database, analysis, first, as_of=day(9)).findings] == [1]
    assert ledger.unread(NAME).first == 0
    ledger.read(NAME, first)
    second = ledger.unread(NAME)
    assert ask_new(store.database, analysis, second, as_of=day(9)).findings == ()
    ledger.read(NAME, second)
    with store.engine.begin() as at_work:
        at_work.exec_driver_sql("SELECT pg_current_xact_id()")
        load(store, leaking(1), leaking(2))
        waiting = ledger.unread(NAME)
        assert ask_new(store.database, analysis, waiting, as_of=day(9)).findings == ()
        ledger.read(NAME, waiting)
    (found,) = ask_new(store.database, analysis, ledger.unread(NAME), as_of=day(9)).findings
    assert (found.n, found.first_seen.day) == (2, 2)
    ledger.read(NAME, first)
    assert ledger.unread(NAME).first == waiting.before
    assert ledger.unread("coverage").first == 0
    assert [each.n for each in ask(store, NAME, window(0, 9))] == [3]


def test_the_digest_does_not_tell_what_is_new(store: LogStore) -> None:
    """Its analyses are asked of a window."""
    with pytest.raises(InputError, match="schema_drift reads the digest"):
        ask_new(store.database, analysis_named("schema_drift"), Analysing(store.database).unread("x"), as_of=day(1))
