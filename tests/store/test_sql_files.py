"""The generated SQL files: current, complete, and as good as the product's own writer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from lineagelog.event.model import Event
from lineagelog.event.parse import parse
from lineagelog.postgres.engine import open_engine
from lineagelog.store import Database
from lineagelog.store.append.digest import Digest
from lineagelog.store.append.log import LogStore
from lineagelog.store.definition import generate
from lineagelog.store.definition import schema as columns
from tests.support import EXAMPLES, ROOT, connect

from .contents import CATALOG, TABLES, digest_of, empty, keys_of
from .generated import events as generated_events

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = ROOT / "sql"


def test_the_files_are_current() -> None:
    """`make sql` would change nothing."""
    for name, content in generate.files().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == content, f"{name}: run `make sql`"


def test_schema_sql_makes_what_create_makes(database_url: str) -> None:
    """schema.sql and views.sql, sent to an empty database, twice, give the same catalog as LogStore.create()."""
    tables, views = ((FOLDER / name).read_text(encoding="utf-8") for name in ("schema.sql", "views.sql"))
    content = f"{tables} SET search_path TO openlineage; {views} RESET search_path;"
    with connect(database_url) as connection:
        for _ in range(2):
            connection.execute(content)
        by_file = connection.execute(CATALOG).fetchall()
        version = connection.execute("SELECT id, version, retention_floor FROM openlineage.ol_store").fetchall()
        connection.execute("DROP SCHEMA openlineage CASCADE")
        connection.commit()
    engine = open_engine(database_url)
    store = LogStore(Database(engine))
    store.create()
    engine.dispose()
    with connect(database_url) as connection:
        assert connection.execute(CATALOG).fetchall() == by_file
        assert connection.execute("SELECT id, version, retention_floor FROM openlineage.ol_store").fetchall() == version
    assert len(by_file) > 150


def statements(name: str) -> dict[str, str]:
    """The statements of a file, for psycopg."""
    found = {}
    for block in (FOLDER / name).read_text(encoding="utf-8").split("\n\n")[1:]:
        title = re.match(r"-- ([\w ]+):", block)
        assert title is not None
        body = re.sub(r"(?m)^--.*\n", "", block)
        found[title[1]] = re.sub(r"(?<!:):(\w+)", r"%(\1)s", body)
    return found


ENTITIES = ("upsert_job", "upsert_dataset", "upsert_dataset_name")
ENTITY_PARAMETERS = (columns.JOB_PARAMETERS, columns.DATASET_PARAMETERS, columns.DATASET_NAME_PARAMETERS)


def write_by_hand(connection: psycopg.Connection, event: Event, sql: dict[str, str]) -> None:
    """What a client in any language does: one event, one transaction, the statements of write.sql."""

    def run(name: str, names: tuple[str, ...], values: Any) -> psycopg.Cursor:
        parameters = {
            key: UUID(bytes=value) if key.endswith("_hash") and isinstance(value, bytes) and len(value) == 16 else value
            for key, value in zip(names, values, strict=True)
        }
        return connection.execute(sql[name], parameters)

    body = event.body.decode()
    identity = (event.run_id, event.event_time, event.event_type, event.event_hash, event.kind)
    values = (*identity, event.job_namespace, event.job_name, event.producer, body, event.raw, None)
    if run("insert_event", columns.EVENT_COLUMNS, values).fetchone() is None:
        connection.rollback()
        return
    digest = Digest.of([event])
    for run_row in digest.runs.values():
        values = [
            value.decode() if name == "governance_action" and value else value
            for name, value in zip(columns.RUN_PARAMETERS, run_row.values(), strict=True)
        ]
        run("upsert_run", columns.RUN_PARAMETERS, values)
    for dataset in digest.datasets.values():
        run("upsert_run_dataset", columns.RUN_DATASET_PARAMETERS, dataset.values())
    for title, names, rows in zip(ENTITIES, ENTITY_PARAMETERS, digest.entities.rows(), strict=True):
        for row in rows.values():
            told = zip(names, row, strict=True)
            values = [x.decode() if isinstance(x, bytes) and not name.endswith("_hash") else x for name, x in told]
            run(title, names, values)
    for row in digest.assertions.values():
        run("insert_assertion", columns.ASSERTION_PARAMETERS, row)
    for row in digest.tests.values():
        run("insert_test", columns.TEST_PARAMETERS, row)
    for key, content in digest.schemas.items():
        run("insert_schema_version", columns.SCHEMA_VERSION_COLUMNS, (key, content.decode()))
    for key, content in digest.lineages.items():
        run("insert_lineage_version", columns.LINEAGE_VERSION_COLUMNS, (key, content.decode()))
    connection.commit()


@pytest.fixture
def stores(database_url: str) -> Iterator[tuple[LogStore, LogStore]]:
    engine = open_engine(database_url)
    pair = LogStore(Database(engine, "openlineage")), LogStore(Database(engine, "twin"))
    for store in pair:
        store.create()
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        for month in (1, 2):
            for statement in pair[0].schema.partition_statements(2026, month):
                driver.execute(statement)
        driver.commit()
    yield pair
    engine.dispose()


@pytest.mark.long
@settings(max_examples=EXAMPLES // 2)
@given(bodies=st.lists(generated_events, min_size=1, max_size=10))
def test_one_event_at_a_time_gives_the_same_digest(stores: tuple[LogStore, LogStore], bodies: list[bytes]) -> None:
    """The statements of write.sql, used by another client, give the digest that append() gives, duplicates included."""
    by_hand, appended = stores
    empty(*stores)
    events = [event for event in map(parse, bodies) if isinstance(event, Event)]
    appended.append(events)
    sql = statements("write.sql")
    with by_hand.engine.connect() as connection:
        for event in (*reversed(events), events[0]):
            write_by_hand(connection.connection.driver_connection, event, sql)
    assert keys_of(by_hand) == keys_of(appended)
    assert digest_of(by_hand) == digest_of(appended)
    for name in TABLES[5:]:
        contents = []
        for store in stores:
            with store.engine.connect() as connection:
                query = text(f"SELECT t::text FROM {store.schema.table(name)} t ORDER BY 1")
                contents.append(connection.execute(query).scalars().all())
        assert contents[0] == contents[1]


def test_the_window_and_purge_statements_run(stores: tuple[LogStore, LogStore]) -> None:
    """The statements of the other files run as they stand, with times given as texts."""
    with stores[0].engine.connect() as connection:
        driver = connection.connection.driver_connection
        window = {"window_start": "2026-01-01T00:00:00Z", "window_end": "2026-02-01T00:00:00Z"}
        reads = statements("window.sql")
        assert {name: driver.execute(sql, window).rowcount for name, sql in reads.items()} == {
            name: int(name == "event_summary_in_window") for name in reads
        }
        for sql in statements("purge.sql").values():
            driver.execute(sql, {"cutoff": "2026-01-01T00:00:00Z"})
