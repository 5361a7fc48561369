"""A store of an earlier version becomes one of this version, with everything that is in it.

version_N.sql is what `sql/schema.sql` was when version N was current, version_N_views.sql its views, and
version_1_content.sql what a writer of then wrote; they are frozen.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.errors import StoreReadOnly, StoreTooNew
from lineagelog.event.parse import parse
from lineagelog.read import Reader
from lineagelog.store import Database, LogStore, LogStoreSchema, Verdict, Verifier, open_engine
from lineagelog.store.definition import migrations, tables
from tests.support import PATIENCE, ROOT, connect, encode, event, run_here

from .contents import CATALOG

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION_1, CONTENT_1, VERSION_2, VERSION_3, VIEWS_3 = (
    (Path(__file__).parent / f"version_{name}.sql").read_text(encoding="utf-8")
    for name in ("1", "1_content", "2", "3", "3_views")
)
FIRST = re.findall(r"CREATE TABLE IF NOT EXISTS openlineage\.(\w+)", VERSION_1)
"""The tables of version 1."""
LATER = (
    *("last_start_time", "last_fail_time", "outcome", "position", "result_key"),
    *("run_dataset_key", "run_key", "job_namespace", "job_name"),
)
"""Columns that later versions have in tables of version 1, and fill, or fill otherwise."""
BODIES = [encode(event(f"run-{number}", eventTime=f"2026-0{number % 3 + 1}-01T00:00:00Z")) for number in range(9)]


@pytest.fixture
def old_url(database_url: str) -> str:
    """A database with a store of version 1 in which events, dead letters and a token are."""
    with connect(database_url) as connection:
        connection.execute(VERSION_1.encode())
        connection.execute(CONTENT_1.encode())
        connection.execute(b"INSERT INTO openlineage.ol_token (name, sha256, scopes) VALUES ('t', '\\x01', '{read}')")
        connection.execute(b"UPDATE openlineage.ol_store SET retention_floor = '2020-01-01Z'")
    return database_url


@pytest.fixture
def old_store(old_url: str) -> Iterator[LogStore]:
    engine = open_engine(old_url, pool_size=3)
    yield LogStore(Database(engine))
    engine.dispose()


OLD = f"the store has version {{}} and this lineagelog needs {tables.VERSION}: run `lineagelog store init` as its owner"


def everything(url: str) -> dict[str, list[Any]]:
    """All that is in all tables of version 1 but the version itself; columns of later versions are empty."""
    with connect(url) as connection:
        names = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'openlineage'::regnamespace AND relkind IN ('r', 'p') "
            "AND NOT relispartition AND relname = ANY(%s) ORDER BY 1",
            (FIRST,),
        ).fetchall()
        found = {}
        for (name,) in names:
            columns = f"jsonb_strip_nulls(to_jsonb(t) - '{{{','.join(LATER)}}}'::text[])::text"
            columns = "retention_floor, created_at" if name == "ol_store" else columns
            rows = connection.execute(f"SELECT {columns} FROM openlineage.{name} t ORDER BY 1".encode()).fetchall()
            found[name] = rows
        return found


@pytest.mark.long
def test_a_store_of_version_1_becomes_one_of_this_version(old_store: LogStore, old_url: str, new_database: Any) -> None:
    """Nothing is lost, the catalog is that of a new store, and reading, verifying and appending go on."""
    before = everything(old_url)
    assert len(before["ol_event"]) == 9
    old_store.create()
    assert everything(old_url) == before
    assert old_store.check_version() == tables.VERSION
    assert list(Verifier(old_store).verify()) == []
    assert Reader(old_store.database).status().counts["ol_event"].rows == 9
    appended = old_store.append([parse(BODIES[0]), parse(encode(event("new")))])
    assert appended.verdicts == (Verdict.DUPLICATE, Verdict.STORED)
    with new_database() as url:
        engine = open_engine(url)
        LogStore(Database(engine)).create()
        engine.dispose()
        assert without_months(url) == without_months(old_url)
    old_store.create()
    assert old_store.check_version() == tables.VERSION


def without_months(url: str) -> list[Any]:
    """The catalog of a store, without its monthly partitions."""
    with connect(url) as connection:
        rows = connection.execute(CATALOG.encode()).fetchall()
    return [row for row in rows if "ol_event_y" not in str(row)]


@pytest.mark.long
def test_a_store_of_version_2_keeps_its_cursors(database_url: str, new_database: Any) -> None:
    """What forwarding has done so far stays; nothing is known of the targets yet; the catalog is a new store's."""
    with connect(database_url) as connection:
        connection.execute(VERSION_2.encode())
        connection.execute(
            b"INSERT INTO openlineage.ol_forward_cursor (target, arrival_xid, arrival, delivered) "
            b"VALUES ('t', '9', 8, 7)"
        )
    with new_database() as url:
        for each in (database_url, url):
            engine = open_engine(each)
            LogStore(Database(engine)).create()
            engine.dispose()
        assert without_months(url) == without_months(database_url)
    with connect(database_url) as connection:
        query = (
            b"SELECT arrival_xid::text, arrival, delivered, learnt, gap, gap_before FROM openlineage.ol_forward_cursor"
        )
        assert connection.execute(query).fetchall() == [("9", 8, 7, None, 0, None)]


RUNS_OF_VERSION_3 = """
    INSERT INTO openlineage.ol_run (run_key, run_id, job_namespace, job_name, job_key, status, start_time, end_time,
        first_event_time, last_event_time)
    SELECT ('00000000-0000-0000-0000-00000000000' || number)::uuid, 'r' || number, 'n', 'j', gen_random_uuid(), status,
        began, ended, coalesce(began, ended), coalesce(ended, began)
    FROM (VALUES (1, 'FAIL', timestamptz '2026-01-01 00:00Z', timestamptz '2026-01-01 01:00Z'),
        (2, 'COMPLETE', timestamptz '2026-01-01 00:00Z', timestamptz '2026-01-01 01:00Z'),
        (3, 'START', timestamptz '2026-01-01 00:00Z', NULL),
        (4, 'FAIL', NULL, timestamptz '2026-01-01 01:00Z')) AS old (number, status, began, ended);
    INSERT INTO openlineage.ol_run (run_key, run_id, job_namespace, job_name, job_key, status, first_event_time,
        last_event_time)
    VALUES ('00000000-0000-0000-0000-00000000000a', 'r1', 'n', 'other', gen_random_uuid(), 'OTHER', '2026-01-01',
        '2026-01-01');
    INSERT INTO openlineage.ol_run_dataset (run_dataset_key, run_id, direction, dataset_namespace, dataset_name,
        dataset_key, event_time, event_type, row_count)
    SELECT gen_random_uuid(), 'r' || number, 'O', 'd', 't', gen_random_uuid(), '2026-01-01', 'COMPLETE', number
    FROM generate_series(1, 2) number"""


@pytest.mark.long
def test_a_store_of_version_3_tells_outcomes(database_url: str) -> None:
    """As far as its rows know of STARTs and FAILs; somebody's own view on ours, and on our functions, goes on."""
    with connect(database_url) as connection:
        connection.execute(VERSION_3.encode())
        connection.execute(b"SET search_path TO openlineage;" + VIEWS_3.encode())
        connection.execute(RUNS_OF_VERSION_3.encode())
        connection.execute(b"CREATE VIEW failed AS SELECT execution_id FROM v_ol_execution WHERE outcome = 'FAIL'")
        connection.execute(b"CREATE VIEW early AS SELECT execution_id FROM ol_execution('-infinity', '2026-01-02Z')")
    engine = open_engine(database_url)
    for _ in range(2):
        LogStore(Database(engine)).create()
    engine.dispose()
    with connect(database_url) as connection:
        outcomes = connection.execute(b"SELECT run_id, outcome FROM openlineage.ol_run ORDER BY 1, 2").fetchall()
        assert outcomes == [("r1", "FAIL"), ("r1", "OTHER"), ("r2", "COMPLETE"), ("r3", "RUNNING"), ("r4", "FAIL")]
        query = """SELECT run_id, job_name, row_count, run_dataset_key =
            openlineage.ol_key(run_id, job_namespace, job_name, direction, dataset_namespace, dataset_name)
            FROM openlineage.ol_run_dataset ORDER BY 1, 2"""
        datasets = connection.execute(query.encode()).fetchall()
        assert datasets == [("r1", "j", 1, True), ("r1", "other", 1, True), ("r2", "j", 2, True)]
        for view, count in (("failed", 2), ("early", 5)):
            assert connection.execute(f"SELECT count(*) FROM openlineage.{view}".encode()).fetchone() == (count,)
        connection.execute(b"DROP VIEW openlineage.early")
        connection.execute(b"SET search_path TO openlineage;" + (ROOT / "sql" / "views.sql").read_bytes())
        query = b"SELECT proname FROM pg_proc WHERE proname ~ '^ol_.*_before_'"
        assert connection.execute(query).fetchall() == []


def test_the_sql_file_migrates_too(old_url: str, old_store: LogStore) -> None:
    """sql/schema.sql and sql/views.sql, by psql, do to an old store what create() does."""
    with connect(old_url) as connection:
        for _ in range(2):
            connection.execute((ROOT / "sql" / "schema.sql").read_bytes())
            connection.execute(b"SET search_path TO openlineage;" + (ROOT / "sql" / "views.sql").read_bytes())
    assert old_store.check_version() == tables.VERSION
    with connect(old_url) as connection:
        by_file = connection.execute(CATALOG.encode()).fetchall()
    old_store.create()
    with connect(old_url) as connection:
        assert connection.execute(CATALOG.encode()).fetchall() == by_file


@pytest.mark.long
def test_rights_come_along(old_url: str, old_store: LogStore) -> None:
    """Roles that may write, and those that may read, may do so with the new table: nobody grants again."""
    with connect(old_url, autocommit=True) as connection:
        for statement in (
            'CREATE ROLE "kafka writer"',
            "CREATE ROLE kafka_reader",
            'GRANT SELECT, INSERT, UPDATE ON openlineage.ol_dead_letter TO "kafka writer"',
            "GRANT SELECT ON openlineage.ol_dead_letter TO kafka_reader",
        ):
            connection.execute(statement.encode())
        try:
            old_store.create()
            query = "SELECT has_table_privilege(%s, 'openlineage.ol_kafka_offset', %s)"
            found = {
                (role, right): connection.execute(query, (role, right)).fetchone()
                for role in ("kafka writer", "kafka_reader")
                for right in ("SELECT", "INSERT", "UPDATE", "DELETE")
            }
        finally:
            for role in ('"kafka writer"', "kafka_reader"):
                connection.execute(f"DROP OWNED BY {role}".encode())
                connection.execute(f"DROP ROLE {role}".encode())
    assert [key for key, row in found.items() if row == (True,)] == [
        ("kafka writer", "SELECT"),
        ("kafka writer", "INSERT"),
        ("kafka writer", "UPDATE"),
        ("kafka_reader", "SELECT"),
    ]


_CREATE = """
import sys
from lineagelog.store import Database, LogStore, open_engine
store = LogStore(Database(open_engine(sys.argv[1])))
sys.stdin.readline()
store.create()
print(store.check_version())
"""


@pytest.mark.long
def test_processes_that_migrate_at_once(old_url: str, old_store: LogStore) -> None:
    """One does it, the others wait for it: all end well, nothing is done twice or lost."""
    before = everything(old_url)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _CREATE, old_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ended = [process.communicate(timeout=PATIENCE) for process in processes]
    assert [(out, error) for out, error in ended] == [(f"{tables.VERSION}\n", "")] * 3
    assert everything(old_url) == before
    assert old_store.check_version() == tables.VERSION


@pytest.mark.long
def test_writers_go_on_while_it_is_migrated(old_store: LogStore, old_url: str) -> None:
    """A batch that is being stored, and a reader, neither break the migration nor are broken by it."""
    with connect(old_url) as reading:
        reading.execute(b"SELECT count(*) FROM openlineage.ol_event")  # holds its locks until the end
        old_store.create()
        assert old_store.append([parse(encode(event("meanwhile")))]).stored == 1
    assert list(Verifier(old_store).verify()) == []


@pytest.mark.long
def test_an_older_program_refuses_a_newer_store(old_store: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so before it touches anything, in create() as well as when it looks at the version."""
    old_store.create()
    with old_store.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE openlineage.ol_forward_cursor")  # as a later version might
    before = tables.VERSION
    monkeypatch.setattr(tables, "VERSION", 1)
    for call in (old_store.create, old_store.check_version):
        with pytest.raises(StoreTooNew, match=f"the store has version {before} and this lineagelog knows up to 1"):
            call()
    with old_store.engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT to_regclass('openlineage.ol_forward_cursor')").scalar()
    assert found is None


@pytest.mark.long
def test_the_commands_migrate_and_say_who_must(old_url: str) -> None:
    """`doctor` finds the old version, `store init` migrates; a role that may not is told what to do."""
    checks = {check["subject"]: check for check in run_here("doctor", "--json", "--database", old_url).json["checks"]}
    assert checks["store"]["observed"] == OLD.format(1).partition(":")[0]
    assert "store init" in checks["store"]["advice"]
    assert "tables" not in checks
    with connect(old_url, autocommit=True) as connection:
        connection.execute(b"CREATE ROLE old_writer LOGIN")
        try:
            connection.execute(b"GRANT USAGE ON SCHEMA openlineage TO old_writer")
            connection.execute(b"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA openlineage TO old_writer")
            as_writer = old_url.replace("://lineagelog@", "://old_writer@")
            refused = run_here("load", "-", "--database", as_writer, stdin=b"")
            assert (refused.code, refused.err.count("\n")) == (2, 1)
            assert OLD.format(1) in refused.err
        finally:
            connection.execute(b"DROP OWNED BY old_writer")
            connection.execute(b"DROP ROLE old_writer")
    assert run_here("store", "init", "--database", old_url).out.endswith(f"version {tables.VERSION}\n")


def test_the_steps_lead_to_this_version() -> None:
    """Each version has its step, in order, and the last one is the version that new stores have."""
    versions = [step.version for step in migrations.STEPS]
    assert versions == sorted(versions)
    assert [step.version for step in migrations.STEPS if step.is_last] == list(range(2, tables.VERSION + 1))
    statements = migrations.statements(LogStoreSchema("it's a store").table)
    assert all(f"to version {version}:" in text for version, text in zip(versions, statements, strict=True))


def test_read_only_database_is_told(old_url: str) -> None:
    """A migration that the database refuses changes nothing."""
    with connect(old_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'.encode())
    engine = open_engine(old_url)
    with pytest.raises(StoreReadOnly):
        LogStore(Database(engine)).create()
    engine.dispose()
    with connect(old_url) as connection:
        assert connection.execute(b"SELECT version FROM openlineage.ol_store").fetchone() == (1,)
