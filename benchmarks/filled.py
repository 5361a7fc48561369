"""Fills a store with runs by SQL alone: 3 datasets a run, versions of schemas and column lineage, planted changes.

Fast enough for a million, and only for reading: there are no events behind the digest. Three jobs change late in the
last week: one reads another dataset, one has another schema, one another column lineage.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg

START: Final = datetime(2026, 3, 1, tzinfo=UTC)
END: Final = START + timedelta(days=30)

_TABLES: Final = (
    "ol_run", "ol_run_dataset", "ol_job", "ol_dataset", "ol_dataset_name", "ol_assertion", "ol_test",
    "ol_schema_version", "ol_lineage_version",
)  # fmt: skip

_PREPARE: Final = """
CREATE TEMP TABLE job AS
SELECT n, 'job_' || n AS name, ol_key('bench', 'job_' || n) AS key FROM generate_series(0, {jobs} - 1) n;

CREATE TEMP TABLE dataset AS
SELECT job, slot, direction, name, ol_key('db', name) AS key, shape, edges, since, until
FROM (
    SELECT n AS job, 0 AS slot, 'I' AS direction, 'in_' || n AS name, 'a' AS shape, NULL AS edges, 0.0 AS since,
           CASE n WHEN 2 THEN 0.85 ELSE 1 END AS until FROM job
    UNION ALL SELECT 2, 0, 'I', 'in_2', 'b', NULL, 0.85, 1
    UNION ALL SELECT n, 1, 'I', 'also_' || n, 'a', NULL, 0, CASE n WHEN 1 THEN 0.85 ELSE 1 END FROM job
    UNION ALL SELECT 1, 1, 'I', 'other_1', 'a', NULL, 0.85, 1
    UNION ALL SELECT n, 2, 'O', 'out_' || n, 'a', 'in', 0, CASE n WHEN 3 THEN 0.85 ELSE 1 END FROM job
    UNION ALL SELECT 3, 2, 'O', 'out_3', 'a', 'also', 0.85, 1
) AS planned;

CREATE TEMP TABLE run AS
SELECT i, i % {jobs} AS job, i / {jobs} AS number, md5('run ' || i)::uuid AS key, md5('run ' || i)::uuid::text AS id,
       '{start}'::timestamptz + i * ('{end}'::timestamptz - '{start}'::timestamptz) / {runs} AS at
FROM generate_series(0, {runs} - 1) i;
ANALYZE job; ANALYZE dataset; ANALYZE run;
"""

_FILL: Final = """
INSERT INTO ol_run (run_key, run_id, job_namespace, job_name, job_key, status, start_time, end_time, first_event_time,
                    last_event_time, processing_type, integration, job_type, producer)
SELECT r.key, r.id, 'bench', j.name, j.key, CASE r.number % 50 WHEN 49 THEN 'FAIL' ELSE 'COMPLETE' END, r.at,
       r.at + interval '5 minutes', r.at, r.at + interval '5 minutes', 'BATCH', 'BENCH', 'JOB',
       'https://example.invalid/bench'
FROM run r JOIN job j ON j.n = r.job ORDER BY r.i;

INSERT INTO ol_run_dataset (run_dataset_key, run_key, run_id, job_namespace, job_name, direction,
                            dataset_namespace, dataset_name, dataset_key,
                            event_time, event_type, row_count, row_count_at, schema_hash, schema_hash_at, lineage_hash,
                            lineage_hash_at)
SELECT md5(r.i || ' ' || d.slot)::uuid, r.key, r.id, 'bench', j.name, d.direction,
       'db', d.name, d.key, r.at + interval '5 minutes',
       'COMPLETE', r.i % 1000, r.at, md5(d.name || d.shape)::uuid, r.at, md5(d.name || d.edges)::uuid,
       CASE WHEN d.edges IS NOT NULL THEN r.at END
FROM run r JOIN job j ON j.n = r.job
JOIN dataset d ON d.job = r.job AND r.i >= d.since * {runs} AND r.i < d.until * {runs} ORDER BY r.i;

INSERT INTO ol_job (job_key, job_namespace, job_name, first_seen, last_seen)
SELECT key, 'bench', name, '{start}', '{end}' FROM job;

INSERT INTO ol_dataset (dataset_key, dataset_namespace, dataset_name, first_seen, last_seen)
SELECT DISTINCT key, 'db', name, '{start}'::timestamptz, '{end}'::timestamptz FROM dataset;

INSERT INTO ol_schema_version (schema_hash, fields)
SELECT DISTINCT md5(d.name || d.shape)::uuid, (
    SELECT jsonb_agg(jsonb_build_object('name', 'c' || c, 'type', 'text'))
    FROM generate_series(0, CASE d.shape WHEN 'a' THEN 19 ELSE 20 END) c)
FROM dataset d;

INSERT INTO ol_lineage_version (lineage_hash, edges)
SELECT md5(d.name || d.edges)::uuid, jsonb_build_object('fields', (
    SELECT jsonb_object_agg('c' || c, jsonb_build_object('inputFields', jsonb_build_array(jsonb_build_object(
        'namespace', 'db', 'name', CASE c WHEN 3 THEN d.edges ELSE 'in' END || '_' || d.job, 'field', 'c' || c))))
    FROM generate_series(0, 4) c))
FROM dataset d WHERE d.edges IS NOT NULL;

INSERT INTO ol_assertion (assertion_key, event_time, run_id, job_namespace, job_name, dataset_namespace, dataset_name,
                          dataset_key, assertion, column_name, success, occurrence, position, result_key)
SELECT md5(r.i || ' assertion ' || report)::uuid, r.at + report * interval '1 minute', r.id, 'bench', j.name, 'db',
       d.name, d.key, 'not_null', 'c1', (r.i + report) % 7 > 0, 1, 1, md5(r.i || ' assertion')::uuid
FROM run r
JOIN job j ON j.n = r.job
JOIN dataset d ON d.job = r.job AND d.slot = 2 AND r.i >= d.since * {runs} AND r.i < d.until * {runs},
     generate_series(0, CASE r.number % 9 WHEN 0 THEN 1 ELSE 0 END) report
WHERE r.number % 3 = 0;

INSERT INTO ol_test (test_key, event_time, run_id, job_namespace, job_name, test_name, status, test_type, occurrence,
                     position, result_key)
SELECT md5(r.i || ' test ' || report)::uuid, r.at + report * interval '1 minute', r.id, 'bench', j.name, 'counts',
       CASE (r.i + report) % 7 WHEN 0 THEN 'fail' ELSE 'pass' END, 'row_count', 1, 1, md5(r.i || ' test')::uuid
FROM run r JOIN job j ON j.n = r.job, generate_series(0, CASE r.number % 9 WHEN 0 THEN 1 ELSE 0 END) report
WHERE r.number % 5 = 0;
"""

_JOIN: Final = """
INSERT INTO ol_dataset_name (dataset_name_key, kind, dataset_key, dataset_namespace, dataset_name, other_key,
                             other_namespace, other_name, job_namespace, job_name, first_said, last_said)
SELECT md5('symlink ' || n)::uuid, 'symlink', ol_key('db', 'out_' || n), 'db', 'out_' || n,
       ol_key('file', '/data/' || n), 'file', '/data/' || n, '', '', '{start}', '{end}'
FROM generate_series(0, {names} / 2 - 1) n
"""


def fill(connection: psycopg.Connection[Any], runs: int) -> None:
    """Fill the empty store on the connection's search_path, with statistics that nothing renews meanwhile."""
    values = {"runs": runs, "jobs": max(5, min(1000, runs // 50)), "start": START.isoformat(), "end": END.isoformat()}
    for table in _TABLES:
        connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    for statement in (_PREPARE + _FILL).format(**values).split(";"):
        connection.execute(statement)
    connection.execute("DROP TABLE job, dataset, run")
    vacuum(connection)


def join_names(connection: psycopg.Connection[Any], names: int) -> None:
    """Symlinks that join so many names in pairs, in place of those that there are: first what the jobs write."""
    connection.execute("DELETE FROM ol_dataset_name")
    connection.execute(_JOIN.format(names=names, start=START.isoformat(), end=END.isoformat()))
    vacuum(connection)


def vacuum(connection: psycopg.Connection[Any]) -> None:
    """Hint bits, the visibility map, and statistics, as autovacuum would bring them."""
    connection.execute(f"VACUUM (ANALYZE) {', '.join(_TABLES)}")


def forget_statistics(connection: psycopg.Connection[Any]) -> None:
    """As after a load that a moment ago filled a store which had none. Only a superuser may."""
    connection.execute(
        "DELETE FROM pg_statistic WHERE starelid = ANY (ARRAY(SELECT to_regclass(name) FROM unnest(%s::text[]) name))",
        [list(_TABLES)],
    )
