"""What a database or a role brings along changes nothing: names, types, operators and settings of others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.analysis import Analysis, analyses
from lineagelog.event.parse import parse
from lineagelog.postgres.engine import driver_connection
from lineagelog.read import Reader, Window
from lineagelog.read.analyses import EVERYTHING
from lineagelog.read.script import run_script
from lineagelog.resources import sql_text
from lineagelog.store import Database, DeadLetters, LogStore, Tokens, Verifier, open_engine, purge
from lineagelog.store.ledgers.forwarding import START, Forwarding, Selection
from tests.support import ROOT, connect, encode, event, run_here

from .contents import CATALOG, TABLES
from .surroundings import SURROUNDINGS, admin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def bodies() -> list[list[bytes]]:
    """Batches that meet in the same rows, so that SQL merges them; one goes by COPY."""
    schema = {"schema": {"fields": [{"name": "a'b\\c"}]}}

    def outputs(rows: int | None, name: str = "out") -> list[dict[str, Any]]:
        checks = {"assertions": [{"assertion": "unique", "success": True}, {"assertion": "NULL", "success": False}]}
        facets = {"dataQualityAssertions": checks} | ({} if rows is None else {"outputStatistics": {"rowCount": rows}})
        return [{"namespace": "db\\", "name": name, "facets": schema, "outputFacets": facets}]

    def one(kind: str, hour: int, rows: int | None, run: str = "NULL") -> bytes:
        return encode(event(run, kind, eventTime=f"2026-03-01T{hour:02}:30:00.123456Z", outputs=outputs(rows)))

    merged = [[one("FAIL", 9, 2)], [one("START", 7, None)], [one("COMPLETE", 9, 3)], [one("RUNNING", 8, 1)]]
    many = [one("COMPLETE", number % 24, number, f"run-{number}") for number in range(120)]
    return [*merged, many, [one("START", 3, None, "spans"), one("COMPLETE", 20, 4, "spans")], [b"{", b"[]"]]


def fill(store: LogStore) -> list[Any]:
    """Write in all ways, and tell what came back."""
    told: list[Any] = []
    for number, batch in enumerate(bodies()):
        told += [store.append([parse(body) for body in batch], positions=[f"{number}"] * len(batch)).verdicts]
        told += [store.append([parse(body) for body in batch], positions=[f"{number}"] * len(batch)).verdicts]
    text, token = Tokens(store.database).create("a\\b", ["read"], namespaces=["NULL", "x"])
    grant = Tokens(store.database).check(text)
    assert grant is not None
    return [*told, token.scopes, token.namespaces, grant.allows("read", "NULL"), DeadLetters(store).retry(parse)]  # type: ignore[arg-type]


def read(store: LogStore) -> list[Any]:
    """All that is read, without the times and numbers of arrival."""
    reader = Reader(store.database)
    window = Window(datetime(2026, 3, 1, 8, tzinfo=UTC), datetime(2026, 3, 1, 12, tzinfo=UTC))
    lists = [
        *(reader.runs(window), reader.runs(window, status="FAIL"), reader.runs(window, dataset_name="out")),
        *(reader.run_datasets(window), reader.assertions(window, success=False), reader.tests(window)),
    ]
    events = [(row.run_id, row.event_time, row.event) for row in reader.events(window, content=True)]
    details = reader.run("NULL", content=True)
    assert details is not None
    status = reader.status()
    page = Forwarding(store.database).page(START, Selection(namespaces=("te%",)), limit=10, max_bytes=10**9)
    values = {"from": "2026-03-01", "to": "2026-03-02", "as_of": "2026-03-02", **EVERYTHING.variables}
    bad = {"dataset": "out", "dataset_namespace": "db\\"}
    return [
        *map(list, lists),
        *(sorted(events), details.runs, details.datasets, details.assertions, list(details.schemas.values())),
        *(status.counts, status.first_event_time, status.dead_letters, [part.bounds for part in status.partitions]),
        [(each.run_id, each.event_time, each.body) for each in page.events],
        *(rows_of(store, each, values | each.values(bad if each.one_of else {})) for each in analyses().values()),
        reader.event_summary(window),
        list(Verifier(store).verify()),
    ]


def rows_of(store: LogStore, analysis: Analysis[Any], values: dict[str, str]) -> list[dict[str, Any]]:
    """Of an analysis, without how long ago its events were received."""
    with run_script(store.database, sql_text(analysis.script), values) as rows:
        return [{name: value for name, value in row.items() if "_lag_" not in name} for row in rows]


def stored(url: str) -> dict[str, list[Any]]:
    """The rows of all tables as they are, without the times and numbers of arrival."""
    found: dict[str, list[Any]] = {}
    with admin(url) as connection:
        for table in (*TABLES, "ol_dead_letter"):
            names = connection.execute(
                "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attname) FROM pg_attribute WHERE attnum > 0 "
                "AND attrelid = %s::regclass AND attname NOT IN ('arrival', 'arrival_xid', 'id') "
                "AND attname NOT LIKE '%%received_at'",
                (f"openlineage.{table}",),
            ).fetchone()[0]
            rows = connection.execute(f"SELECT {names} FROM openlineage.{table}".encode()).fetchall()
            found[table] = sorted(map(str, rows))
    return found


def catalog(url: str) -> list[Any]:
    with admin(url) as connection:
        return list(connection.execute(CATALOG.encode()).fetchall())


def whole_story(url: str) -> list[Any]:
    """Make a store, write, read, purge: all that is seen on the way."""
    engine = open_engine(url, pool_size=2)
    try:
        store = LogStore(Database(engine))
        store.create()
        story = [catalog(url), fill(store), stored(url), read(store)]
        with admin(url) as connection:
            row = connection.execute(
                "SELECT bool_and(abs(extract(epoch FROM received_at - now())) < 86400) "
                "AND count(DISTINCT arrival_xid) > 5 FROM openlineage.ol_event"
            ).fetchone()
        purged = purge(store, datetime(2026, 3, 1, 9, tzinfo=UTC), batch=7)
        return [*story, row, purged, stored(url), read(store)]
    finally:
        engine.dispose()


@pytest.fixture(scope="module")
def as_it_should_be(new_database: Any) -> Iterator[list[Any]]:
    with new_database() as url:
        yield whole_story(url)


@pytest.mark.long
@pytest.mark.parametrize("surroundings", SURROUNDINGS, ids=lambda each: each.__name__)
def test_nothing_changes(database_url: str, as_it_should_be: list[Any], surroundings: Callable[[str], None]) -> None:
    """Definition, writing, reading, analyses, verify and purge give the same wherever they are."""
    surroundings(database_url)
    assert whole_story(database_url) == as_it_should_be
    assert as_it_should_be[4] == (True,)


@pytest.mark.parametrize("surroundings", SURROUNDINGS, ids=lambda each: each.__name__)
def test_the_sql_file_defines_the_same(
    database_url: str, as_it_should_be: list[Any], surroundings: Callable[[str], None]
) -> None:
    """sql/schema.sql and sql/views.sql, sent by another program as they are, make the same tables and views."""
    surroundings(database_url)
    with connect(database_url) as connection:
        connection.execute((ROOT / "sql" / "schema.sql").read_bytes())
        connection.execute(b"SET search_path TO openlineage;" + (ROOT / "sql" / "views.sql").read_bytes())
    made = [row for row in catalog(database_url) if "ol_event_y" not in str(row)]
    assert made == [row for row in as_it_should_be[0] if "ol_event_y" not in str(row)]


def test_temporary_tables_hide_nothing(store_url: str) -> None:
    """Tables of the session with the names of ours, and of the catalogue's, are not ours."""
    engine = open_engine(store_url, pool_size=1)
    store = LogStore(Database(engine))
    with driver_connection(engine) as connection:
        for name in ("ol_event", "ol_run", "ol_run_dataset", "ol_store", "pg_class", "pg_namespace", "pg_inherits"):
            connection.execute(f"CREATE TEMP TABLE {name} (nothing int)".encode())
        connection.commit()
    fill(store)
    store.create()
    told = read(store)
    purge(store, datetime(2026, 3, 1, 9, tzinfo=UTC))
    engine.dispose()
    with_none = open_engine(store_url)
    assert told[-1] == list(Verifier(LogStore(Database(with_none))).verify()) == []
    with_none.dispose()


@pytest.mark.long
def test_the_command_in_hostile_surroundings(database_url: str) -> None:
    """`store init`, `load`, `doctor` and `store verify`, all at once around them."""
    for surround in SURROUNDINGS:
        surround(database_url)
    assert run_here("store", "init", "--months", "1", "--database", database_url).code == 0
    lines = b"".join(body for batch in bodies()[:-1] for body in batch)
    assert run_here("load", "-", "--database", database_url, stdin=lines).code == 0
    assert "no differences" in run_here("store", "verify", "--database", database_url).out
    assert run_here("status", "--database", database_url).code == 0
    assert run_here("doctor", "--database", database_url, "--json").json["checks"]
