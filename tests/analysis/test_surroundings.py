"""The robust analyses say the same whatever the session has set, of histories in which there is something to say."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from lineagelog.analysis import analysis_named
from lineagelog.read import Window
from lineagelog.read.analyses import ask
from lineagelog.store import Database, LogStore, open_engine

from .planted import END, clean, fill, plant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.databases import NewDatabase

ROBUST = ("late_run", "stale_dataset", "duration_anomaly", "volume_anomaly", "sla_attainment")


@pytest.fixture(scope="module")
def planted_url(new_database: NewDatabase) -> Iterator[str]:
    """A store with effects of each kind."""
    with new_database() as url:
        database = Database(open_engine(url))
        LogStore(database).create()
        fill(database, plant(clean(7, 40), 7, 14.0, 2))
        database.dispose()
        yield url


def documents(url: str, name: str, *settings: str) -> list[dict[str, Any]]:
    """The findings over connections with such settings."""
    engine = open_engine(url)
    if settings:

        @event.listens_for(engine, "connect")
        def set_up(connection: Any, _: Any) -> None:
            for setting in settings:
                connection.execute(setting)
            connection.commit()

    database = Database(engine)
    found = ask(database, analysis_named(name), Window(END - timedelta(days=14), END)).document["findings"]
    database.dispose()
    return found


@pytest.mark.parametrize("name", ROBUST)
def test_the_session_does_not_matter(planted_url: str, name: str) -> None:
    """Neither its time zone nor how it prints, nor how PostgreSQL plans."""
    plain = documents(planted_url, name)
    assert plain
    settings = ("SET timezone = 'Pacific/Chatham'", "SET datestyle = 'SQL, DMY'", "SET intervalstyle = 'sql_standard'")
    assert documents(planted_url, name, *settings) == plain
    assert documents(planted_url, name, "SET enable_seqscan = off", "SET extra_float_digits = 0") == plain
