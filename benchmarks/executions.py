"""The views against hand-written queries, and the analyses with and without statistics, on a store of many runs.

    python -m benchmarks.executions [--runs 1000000] [--rounds 3] [--database URL [--keep]] [--only analyses] [--plans]

Each function of `sql/views.sql` answers for a day and a week, each view for the whole store, in turn with a query over
the tables that gives the same rows, first one first and then the other; the figure is the median of the rounds' ratios.
Times are PostgreSQL's own, of running with all columns, without sending. `--plans` shows the plans of what is slower
than 1.2.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import psycopg

from benchmarks.__main__ import database
from benchmarks.cpu import OfPostgres
from benchmarks.filled import END, fill, forget_statistics, vacuum
from benchmarks.writers import create_store
from lineagelog.analysis import analyses
from lineagelog.read import Window
from lineagelog.read.analyses import Terms, ask
from lineagelog.store import Database, open_engine

SCHEMA: Final = "bench_executions"
LIMIT: Final = 1.2
STATES: Final = {"with": vacuum, "without": forget_statistics}
"""Of the statistics."""
WEEK: Final = (END - timedelta(days=7), END)

_RUN = "r.run_key, r.run_id, r.job_namespace, r.job_name, r.job_key"
_IN_WINDOW = "NOT ol_is_snaplogic(r.job_namespace) AND r.first_event_time >= {start} AND r.first_event_time < {end}"
_PARENTS = "r.parent_run_id, r.parent_namespace, r.parent_name, r.root_run_id, r.root_namespace, r.root_name"

_RESULTS = """
        (SELECT DISTINCT ON (run_id, job_namespace, job_name, dataset_key, assertion, column_name, assertion_name,
                             occurrence)
            'assertion', event_time, run_id, job_namespace, job_name, dataset_namespace, dataset_name, dataset_key,
            assertion_name, assertion, column_name, occurrence, success,
            CASE success WHEN true THEN 'pass' WHEN false THEN 'fail' END, severity
        FROM ol_assertion
        ORDER BY run_id, job_namespace, job_name, dataset_key, assertion, column_name, assertion_name, occurrence,
                 event_time DESC, success DESC NULLS LAST, assertion_key DESC)
        UNION ALL
        (SELECT DISTINCT ON (run_id, job_namespace, job_name, test_name, test_type, occurrence)
            'test', event_time, run_id, job_namespace, job_name, NULL, NULL, NULL, test_name, test_type, NULL,
            occurrence, CASE lower(status) WHEN 'pass' THEN true WHEN 'fail' THEN false END, status, severity
        FROM ol_test
        ORDER BY run_id, job_namespace, job_name, test_name, test_type, occurrence, event_time DESC,
                 status DESC NULLS LAST, test_key DESC)"""

BY_HAND: Final = {
    "ol_execution": f"""
        SELECT {_RUN}, r.status, r.status, r.start_time, r.end_time, r.first_event_time, r.last_event_time,
            CASE WHEN r.status IN ('FAIL', 'ABORT') THEN r.error_message END,
            r.processing_type, r.integration, r.job_type, r.producer, {_PARENTS},
            r.nominal_start_time, r.nominal_end_time, 1::bigint, false
        FROM ol_run r WHERE {_IN_WINDOW}""",
    "ol_execution_dataset": f"""
        SELECT {_RUN}, r.first_event_time, d.direction, d.dataset_namespace, d.dataset_name, d.dataset_key,
            d.event_time, d.row_count, d.size_bytes, d.file_count, d.lifecycle_state_change, d.subset_type,
            d.dataset_version, d.schema_hash, d.lineage_hash, false
        FROM ol_run r JOIN ol_run_dataset d ON d.run_key = r.run_key WHERE {_IN_WINDOW}""",
    "ol_dataset_edge": f"""
        SELECT {_RUN}, r.first_event_time, i.dataset_namespace, i.dataset_name, i.dataset_key,
            o.dataset_namespace, o.dataset_name, o.dataset_key, false
        FROM ol_run r
        JOIN ol_run_dataset i ON i.run_key = r.run_key AND i.direction = 'I'
        JOIN ol_run_dataset o ON o.run_key = r.run_key AND o.direction = 'O' WHERE {_IN_WINDOW}""",
    "ol_column_edge": f"""
        SELECT {_RUN}, r.first_event_time, d.dataset_namespace, d.dataset_name, f.key COLLATE "C",
            i.field ->> 'namespace', i.field ->> 'name', i.field ->> 'field', false
        FROM ol_run r
        JOIN ol_run_dataset d ON d.run_key = r.run_key AND d.direction = 'O'
        JOIN ol_lineage_version l ON l.lineage_hash = d.lineage_hash
        CROSS JOIN LATERAL jsonb_each(l.edges -> 'fields') f
        CROSS JOIN LATERAL jsonb_array_elements(f.value -> 'inputFields') i (field) WHERE {_IN_WINDOW}""",
    "ol_result": f"""
        SELECT * FROM ({_RESULTS}) AS result WHERE event_time >= {{start}} AND event_time < {{end}}""",
    "v_ol_dataset": """
        SELECT dataset_key, dataset_namespace, dataset_name, first_seen, last_seen FROM ol_dataset""",
    "v_ol_dataset_name": """
        SELECT dataset_key, dataset_namespace, dataset_name, dataset_key FROM ol_dataset""",
    "v_ol_dataset_series": """
        SELECT dataset_key, dataset_namespace, dataset_name FROM ol_dataset""",
    "v_ol_job": """
        SELECT job_key, job_namespace, job_name, first_seen, last_seen FROM ol_job""",
}
"""What somebody would write over the tables for the same rows, by function or view; there is no SnapLogic in them, and
no dataset of several names."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A function or view in a window, and the query by hand."""

    name: str
    span: str
    view: str
    by_hand: str


def as_by_hand(connection: psycopg.Connection[Any], pair: Pair) -> Pair:
    """The pair with as many columns of the view as the query by hand has: a view's further columns are at its end."""
    count = len(connection.execute(f"{pair.by_hand} LIMIT 0").description or ())
    names = [each.name for each in connection.execute(f"SELECT * FROM ({pair.view}) x LIMIT 0").description or ()]
    return replace(pair, view=f"SELECT {', '.join(names[:count])} FROM ({pair.view}) x")


def pairs() -> Iterator[Pair]:
    """For a day and for a week; the views that take no window once."""
    day = END - timedelta(days=2)
    spans = {"a day": (day, day + timedelta(days=1)), "a week": WEEK}
    for name, by_hand in BY_HAND.items():
        for span, window in spans.items():
            start, end = (f"'{time.isoformat()}'::timestamptz" for time in window)
            if not name.startswith("v_"):
                query = f"SELECT * FROM {name}({start}, {end})"
                yield Pair(name, span, query, by_hand.format(start=start, end=end))
            elif span == "a day":
                yield Pair(name, "all", f"SELECT * FROM {name}", by_hand)


@dataclass(frozen=True, slots=True)
class Compared:
    """Rows, milliseconds of both (medians), the median ratio, and the view's plan."""

    pair: Pair
    rows: int
    view: float
    by_hand: float
    ratio: float
    plan: str


def compare(connection: psycopg.Connection[Any], pair: Pair, rounds: int) -> Compared:
    """Run both in turn. Raises ValueError if they do not give as many rows."""
    counts = [connection.execute(f"SELECT count(*) FROM ({q}) q").fetchone() for q in (pair.view, pair.by_hand)]
    if counts[0] != counts[1]:
        raise ValueError(f"{pair.name}, {pair.span}: {counts[0]} rows, by hand {counts[1]}")
    times: dict[str, list[float]] = {pair.view: [], pair.by_hand: []}
    for number in range(rounds):
        order = (pair.view, pair.by_hand) if number % 2 == 0 else (pair.by_hand, pair.view)
        for query in order:
            times[query].append(milliseconds(connection, query))
    ratios = [view / hand for view, hand in zip(times[pair.view], times[pair.by_hand], strict=True)]
    lines = connection.execute("EXPLAIN " + pair.view).fetchall()
    medians = [statistics.median(times[query]) for query in (pair.view, pair.by_hand)]
    assert counts[0] is not None
    return Compared(pair, counts[0][0], *medians, statistics.median(ratios), "\n".join(line for (line,) in lines))


def milliseconds(connection: psycopg.Connection[Any], query: str) -> float:
    """What PostgreSQL takes to plan and run it."""
    row = connection.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {query}").fetchone()
    assert row is not None
    return float(row[0][0]["Planning Time"] + row[0][0]["Execution Time"])


def report_views(found: list[Compared]) -> str:
    """A table."""
    lines = ["| function or view | window | rows | ms | by hand, ms | ratio |", "|---|---|--:|--:|--:|--:|"]
    for one in found:
        times = f"{one.view:,.0f} | {one.by_hand:,.0f} | {one.ratio:.2f}"
        lines.append(f"| `{one.pair.name}` | {one.pair.span} | {one.rows:,} | {times} |")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Asked:
    """Seconds of an analysis by the state of the statistics, and how many findings it had."""

    name: str
    findings: int
    seconds: dict[str, float]
    cpu: dict[str, float]
    """Of PostgreSQL with its workers, and of Python: what a busy machine does not change."""


def ask_all(url: str, connection: psycopg.Connection[Any], rounds: int) -> list[Asked]:
    """Each analysis of the last week, with statistics and just after their loss. Raises ValueError if they differ."""
    engine, week = open_engine(url), Window(*WEEK)
    postgres = OfPostgres(url.replace("postgresql+psycopg://", "postgresql://"))
    times: dict[str, dict[str, list[float]]] = {name: {} for name in analyses()}
    cpus: dict[str, dict[str, list[float]]] = {name: {} for name in analyses()}
    findings: dict[str, int] = {}
    for _ in range(rounds):
        for state, bring_about in STATES.items():
            bring_about(connection)
            for name, analysis in analyses().items():
                values = {"dataset": "in_4", "dataset_namespace": "db"} if analysis.one_of else {}
                used = postgres.seconds() + time.process_time()
                clock = time.perf_counter()
                answer = ask(
                    Database(engine, SCHEMA), analysis, week, values, terms=Terms(time_limit=timedelta(hours=1))
                )
                times[name].setdefault(state, []).append(time.perf_counter() - clock)
                cpus[name].setdefault(state, []).append(postgres.seconds() + time.process_time() - used)
                count = len(answer.findings)
                if findings.setdefault(name, count) != count:
                    raise ValueError(f"{name} {state} statistics: {count} findings, not {findings[name]}")
    engine.dispose()
    return [
        Asked(name, findings[name], medians(times[name]), medians(cpus[name]))
        for name, analysis in analyses().items()
        if not analysis.reads_events
    ]


def medians(by_state: dict[str, list[float]]) -> dict[str, float]:
    """The median of each state's rounds."""
    return {state: statistics.median(rounds) for state, rounds in by_state.items()}


def report_analyses(asked: list[Asked]) -> str:
    """A table, the sum of those that are no drift, and the memory that Python took at most."""
    lines = [
        "| analysis | findings | with statistics | its CPU | without | its CPU | ratio of CPU |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    others = [one for one in asked if not one.name.endswith("_drift")]
    total = {state: sum(one.seconds[state] for one in others) for state in STATES}
    cpu = {state: sum(one.cpu[state] for one in others) for state in STATES}
    for one in (*asked, Asked("all but the drifts", sum(one.findings for one in others), total, cpu)):
        cells = [f"{figure[state]:.1f} s" for state in STATES for figure in (one.seconds, one.cpu)]
        ratio = one.cpu["without"] / max(one.cpu["with"], 0.01)
        lines.append(f"| `{one.name}` | {one.findings:,} | {' | '.join(cells)} | {ratio:.1f} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return "\n".join([*lines, "", f"Python took {peak:,.0f} MiB at most."])


def runs_in(connection: psycopg.Connection[Any]) -> int | None:
    """How many there are, if an earlier measurement has kept its store."""
    if connection.execute("SELECT to_regclass('ol_run')").fetchone() == (None,):
        return None
    row = connection.execute("SELECT count(*) FROM ol_run").fetchone()
    return row and row[0]


def main(given: list[str] | None = None) -> None:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.executions", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", help="URL of a database of a superuser to use instead of a fresh embedded one")
    parser.add_argument("--keep", action="store_true", help="keep the filled store in --database, for the next time")
    parser.add_argument("--only", choices=("views", "analyses"), help="one of the two tables")
    parser.add_argument("--plans", action="store_true", help=f"the plans of views with a ratio above {LIMIT}")
    options = parser.parse_args(given)
    with database(options.database) as (url, dsn), psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"SET search_path TO pg_catalog, {SCHEMA}, pg_temp")
        if runs_in(connection) != options.runs:
            clock = time.perf_counter()
            create_store(url, SCHEMA)
            fill(connection, options.runs)
            print(f"{options.runs:,} runs filled in {time.perf_counter() - clock:.0f} s\n", flush=True)
        found = [compare(connection, pair, options.rounds) for pair in pairs()] if options.only != "analyses" else []
        if found:
            print(report_views(found), end="\n\n", flush=True)
        for one in found if options.plans else ():
            if one.ratio > LIMIT:
                print(f"{one.pair.view}\n{one.plan}\n", flush=True)
        if options.only != "views":
            print(report_analyses(ask_all(url, connection, options.rounds)))
        if not options.keep:
            connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


if __name__ == "__main__":
    main()
