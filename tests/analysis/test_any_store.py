"""All analyses over any store: empty, of one run, of oddities; in any time zone, by a role that may only read."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson
import psycopg
import pytest
import sqlglot

from lineagelog.analysis import analyses
from lineagelog.event.parse import parse
from lineagelog.read import Window
from lineagelog.read.analyses import ask
from lineagelog.resources import sql_text
from lineagelog.store import Database, open_engine

from .support import dataset, day, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore

BAD = {"dataset": "t", "dataset_namespace": "postgres://db:5432"}
ALWAYS = Window(datetime.min.replace(tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))
READER = "analyses_only_read"


def answers(database: Database, period: Window) -> dict[str, Any]:
    """The documents of all analyses."""
    return {
        name: orjson.loads(orjson.dumps(ask(database, analysis, period, BAD if analysis.one_of else {}).document))
        for name, analysis in analyses().items()
    }


def load_oddities(store: LogStore) -> None:
    """Huge, negative, missing and equal figures; ends before starts; times of every age; failures, retries, streaks."""
    rows = [0, -1, 2**63 - 1, 2**63, 1e300, None, "12", "x", 7, 7, 7, 7]
    for number, count in enumerate(rows):
        table = {**dataset("t"), "outputFacets": {"outputStatistics": {"rowCount": count, "size": count}}}
        checks = [{"assertion": "not_null", "success": number % 2 == 0, "column": None}, {"assertion": "x"}, {}]
        table["inputFacets"] = {"dataQualityAssertions": {"assertions": checks}}
        kind = ("COMPLETE", "FAIL", "ABORT", "OTHER", "", "RUNNING")[number % 6]
        start, end = run("odd", day(number / 9), [table], [table], eventType=kind)
        skewed = {**end, "eventTime": (day(number / 9) - timedelta(days=number % 3 * 400)).isoformat()}
        load(store, [start] if number % 4 else [], [end], [skewed] if number % 5 == 0 else [])
        load(store, run("fails", day(number), [], [table], eventType="COMPLETE" if number < 9 else "FAIL"))
    for when in ("0001-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "2099-12-31T00:00:00Z", "9999-12-31T23:59:59Z"):
        base = {**run("absurd", day(0), [], [])[0], "eventTime": when, "run": {"runId": run_id_of(when, day(0))}}
        load(store, [base, {**base, "eventType": "COMPLETE"}])
    store.append(
        [parse(b'{"eventTime": "2026-03-04T00:00:00Z", "producer": "p", "dataset": {"namespace": "n", "name": "d"}}')]
    )


def test_a_store_without_anything_and_one_with_one_run(store: LogStore) -> None:
    """There is an answer, and nothing to say."""
    for period in (window(0, 9), ALWAYS):
        told = answers(store.database, period)
        assert [
            name for name, each in told.items() if each["results"] or each["findings"] or each["insufficient"]
        ] == []
    load(store, run("only", day(1), [], []))
    told = answers(store.database, window(0, 9))
    assert [name for name, each in told.items() if each["findings"]] == []


@pytest.mark.long
def test_oddities_are_answered_alike_for_all(store: LogStore, store_url: str) -> None:
    """By a role that may only read, in another time zone and style of dates; with rows that lie in another order."""
    load_oddities(store)
    plain = store_url.replace("+psycopg", "")
    expected = {period: answers(store.database, period) for period in (window(0, 13), ALWAYS)}
    assert {"failure_streak", "incomplete_lifecycle"} <= {
        name for name, each in expected[window(0, 13)].items() if each["findings"]
    }
    with psycopg.connect(plain, autocommit=True) as owner:
        for table in ("ol_run", "ol_run_dataset", "ol_assertion", "ol_test"):
            owner.execute(f"CLUSTER openlineage.{table} USING {table}_pkey".encode())
        owner.execute(f"DROP ROLE IF EXISTS {READER}".encode())
        owner.execute(f"CREATE ROLE {READER} LOGIN".encode())
        try:
            for setting in ("timezone = 'Asia/Kathmandu'", "datestyle = 'German'", "intervalstyle = 'sql_standard'"):
                owner.execute(f"ALTER ROLE {READER} SET {setting}".encode())
            owner.execute(f"GRANT USAGE ON SCHEMA openlineage TO {READER}".encode())
            owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA openlineage TO {READER}".encode())
            engine = open_engine(store_url.replace("://lineagelog@", f"://{READER}@"))
            for period, told in expected.items():
                assert answers(Database(engine), period) == told
            engine.dispose()
        finally:
            owner.execute(f"DROP OWNED BY {READER}".encode())
            owner.execute(f"DROP ROLE {READER}".encode())


@pytest.mark.parametrize("name", analyses())
def test_the_sql_is_translated_for_the_engines_it_names(name: str) -> None:
    """As sqlglot does it: nothing is unsupported, and the engine's grammar takes what it gives."""
    script = re.sub(r":'(\w+)'", "'1'", re.sub(r"^\s*--.*$", "", sql_text(analyses()[name].script), flags=re.MULTILINE))
    for engine in analyses()[name].engines:
        if engine != "postgresql":
            raising = sqlglot.ErrorLevel.RAISE
            (text,) = sqlglot.transpile(script.strip().rstrip(";"), "postgres", engine, unsupported_level=raising)
            assert sqlglot.parse_one(text, engine)
