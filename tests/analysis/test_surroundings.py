"""Whoever asks, wherever the session is: time zone, locale, the order of rows, a role that may only read."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event, make_url, text

from lineagelog.analysis import analyses, analysis_named
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


@pytest.mark.parametrize("name", [name for name, each in analyses().items() if not each.needs_a_parameter])
def test_a_role_that_may_only_read_can_ask(planted_url: str, name: str) -> None:
    """With USAGE of the schema and SELECT of what is in it."""
    engine = open_engine(planted_url)
    role = f"reader_of_{name}"
    with engine.begin() as connection:
        for statement in (
            f"CREATE ROLE {role} LOGIN",
            f"GRANT USAGE ON SCHEMA openlineage TO {role}",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA openlineage TO {role}",
        ):
            connection.execute(text(statement))
    url = make_url(planted_url).set(username=role).render_as_string(hide_password=False)
    try:
        assert isinstance(documents(url, name), list)
    finally:
        with engine.begin() as connection:
            connection.execute(text(f"DROP OWNED BY {role}"))
            connection.execute(text(f"DROP ROLE {role}"))
        engine.dispose()
