-- What went wrong first, upstream of a bad dataset, job or run?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set as_of '2026-03-08'  \set history '30 days'
-- \set dataset_namespace 'postgres://db:5432'  \set dataset 'shop.public.orders'
-- \set job_namespace ''  \set job ''  \set run_id ''  \set depth 10
-- \i root_cause.sql
--
-- Walks from the dataset, from the job's last failed (else last) execution, or from the run, against the flow of data and
-- backwards in time: from a job to those that wrote what it reads, each up to what it could have given. Links are those
-- since :history before the window, since a failed run may not say what it would have written. What went wrong in the
-- window: executions failed, aborted, late or missing (half as much again as the longest gap of at least five), outputs
-- without rows, or with less than half of the least of five before; failed tests; other schemas, column lineage or inputs
-- than the execution before. One row per job, kind and dataset, with the jobs that it feeds on the way.
WITH RECURSIVE
execution AS MATERIALIZED (
    SELECT
        job_key, execution_key, execution_id COLLATE "C" AS execution_id, job_namespace COLLATE "C" AS job_namespace,
        job_name COLLATE "C" AS job_name, outcome, first_event_time AS at, last_event_time AS until
    FROM ol_execution(:'from'::timestamptz - :'history'::interval, least(:'to'::timestamptz, :'as_of'::timestamptz))
),
use AS MATERIALIZED (
    SELECT
        job_key, execution_key, execution_id COLLATE "C" AS execution_id, executed_at AS at, direction, identity_key,
        dataset_namespace COLLATE "C" AS dataset_namespace, dataset_name COLLATE "C" AS dataset_name,
        CASE WHEN ol_name_pattern(dataset_name) = dataset_name THEN identity_key
             ELSE ol_key(dataset_namespace, ol_name_pattern(dataset_name)) END AS series_key,
        row_count, schema_hash, lineage_hash
    FROM ol_execution_dataset(
        :'from'::timestamptz - :'history'::interval, least(:'to'::timestamptz, :'as_of'::timestamptz))
),
link AS MATERIALIZED (
    SELECT job_key, direction, identity_key, min(at) AS first_at FROM use GROUP BY job_key, direction, identity_key
),
seed AS (
    SELECT DISTINCT ON (o.job_key)
        o.job_key, 1 AS depth, least(:'to'::timestamptz, :'as_of'::timestamptz) AS wanted_at, e.until AS before
    FROM link o
    JOIN execution e ON e.job_key = o.job_key
    WHERE o.direction = 'O' AND o.identity_key IN (
        SELECT identity_key FROM use
        WHERE dataset_name = :'dataset'::text AND dataset_namespace = :'dataset_namespace'::text)
    ORDER BY o.job_key, e.at DESC
),
start AS (
    SELECT job_key, depth, wanted_at, before FROM seed
    UNION ALL
    SELECT job_key, 0, until, until
    FROM (
        SELECT DISTINCT ON (job_key) job_key, until
        FROM execution
        WHERE (job_name = :'job'::text AND job_namespace = :'job_namespace'::text AND at >= :'from'::timestamptz)
           OR (execution_id = :'run_id'::text AND :'run_id'::text <> '')
        ORDER BY job_key, outcome IN ('FAIL', 'ABORT') DESC, at DESC
    ) known
),
walk AS (
    SELECT job_key, depth, wanted_at, before, ARRAY[job_key] AS path, NULL::uuid AS feeds FROM start
    UNION ALL
    SELECT *
    FROM (
        SELECT DISTINCT ON (o.job_key, w.job_key)
            o.job_key, w.depth + 1, w.before, least(w.before, e.until), w.path || o.job_key, w.job_key
        FROM (
            -- of the ways to a job the one that leaves it most time is enough to go on from
            SELECT DISTINCT ON (job_key) *
            FROM walk
            WHERE depth < :'depth'::int
            ORDER BY job_key, before DESC, path
        ) w
        JOIN link i ON i.job_key = w.job_key AND i.direction = 'I' AND i.first_at <= w.before
        JOIN link o ON o.identity_key = i.identity_key AND o.direction = 'O' AND o.first_at <= w.before
        JOIN execution e ON e.job_key = o.job_key AND e.at <= w.before
        WHERE o.job_key <> ALL (w.path)
        ORDER BY o.job_key, w.job_key, e.at DESC
    ) next
),
node AS MATERIALIZED (
    SELECT
        job_key, min(depth) AS depth, max(wanted_at) AS wanted_at,
        array_agg(DISTINCT feeds) FILTER (WHERE feeds IS NOT NULL) AS feeds
    FROM walk
    GROUP BY job_key
    HAVING min(depth) > 0
),
turn AS MATERIALIZED (
    SELECT
        *, max(gap) OVER earlier AS longest, count(gap) OVER earlier AS gaps,
        row_number() OVER (PARTITION BY job_key ORDER BY at DESC, execution_key DESC) = 1 AS is_last
    FROM (
        SELECT
            e.job_key, e.execution_key, e.execution_id, e.outcome, e.at, n.wanted_at,
            e.at - lag(e.at) OVER (PARTITION BY e.job_key ORDER BY e.at, e.execution_key) AS gap
        FROM execution e
        JOIN node n ON n.job_key = e.job_key AND e.at <= n.wanted_at
    ) spaced
    WINDOW earlier AS (PARTITION BY job_key ORDER BY at, execution_key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
written AS MATERIALIZED (
    SELECT
        u.*, count(u.row_count) OVER earlier AS counts, min(u.row_count) OVER earlier AS least_rows,
        lag(u.schema_hash) OVER told AS schema_before, lag(u.lineage_hash) OVER told AS lineage_before
    FROM use u
    JOIN turn t ON t.execution_key = u.execution_key AND t.outcome = 'COMPLETE'
    WINDOW
        told AS (PARTITION BY u.job_key, u.direction, u.series_key ORDER BY u.at, u.execution_key),
        earlier AS (PARTITION BY u.job_key, u.direction, u.series_key ORDER BY u.at, u.execution_key
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
input AS (
    SELECT
        job_key, execution_id, at, series,
        lag(series) OVER (PARTITION BY job_key ORDER BY at, execution_id) AS series_before
    FROM (
        SELECT
            job_key, execution_key, execution_id, at, array_agg(DISTINCT series_key ORDER BY series_key) AS series
        FROM written
        WHERE direction = 'I'
        GROUP BY job_key, execution_key, execution_id, at
    ) one
),
symptom AS (
    SELECT
        job_key, CASE outcome WHEN 'FAIL' THEN 'failed' ELSE 'aborted' END AS kind,
        NULL::text COLLATE "C" AS dataset_namespace, NULL::text COLLATE "C" AS dataset_name,
        NULL::text COLLATE "C" AS test, at, execution_id AS run_id
    FROM turn
    WHERE outcome IN ('FAIL', 'ABORT')
    UNION ALL
    SELECT job_key, 'late', NULL, NULL, NULL, at, execution_id FROM turn WHERE gaps >= 5 AND gap > longest * 1.5
    UNION ALL
    SELECT job_key, 'missing', NULL, NULL, NULL, at + greatest(longest, gap), execution_id
    FROM turn
    WHERE is_last AND gaps >= 4 AND wanted_at - at > greatest(longest, gap) * 1.5
    UNION ALL
    SELECT job_key, 'no rows', dataset_namespace, dataset_name, NULL, at, execution_id
    FROM written
    WHERE direction = 'O' AND counts > 0 AND row_count = 0 AND least_rows > 0
    UNION ALL
    SELECT job_key, 'few rows', dataset_namespace, dataset_name, NULL, at, execution_id
    FROM written
    WHERE direction = 'O' AND counts >= 5 AND row_count > 0 AND row_count < least_rows / 2
    UNION ALL
    SELECT job_key, 'schema', dataset_namespace, dataset_name, NULL, at, execution_id
    FROM written
    WHERE schema_hash <> schema_before
    UNION ALL
    SELECT job_key, 'column lineage', dataset_namespace, dataset_name, NULL, at, execution_id
    FROM written
    WHERE lineage_hash <> lineage_before
    UNION ALL
    SELECT job_key, 'inputs', NULL, NULL, NULL, at, execution_id FROM input WHERE series <> series_before
    UNION ALL
    SELECT
        r.job_key, CASE WHEN lower(r.severity COLLATE "C") = 'warn' THEN 'test warned' ELSE 'test failed' END,
        r.dataset_namespace, r.dataset_name, coalesce(r.name, r.type), r.event_time, r.run_id
    FROM ol_result(:'from'::timestamptz, least(:'to'::timestamptz, :'as_of'::timestamptz)) r
    JOIN node n ON n.job_key = r.job_key AND r.event_time <= n.wanted_at
    WHERE NOT r.success
),
known AS (
    SELECT
        job_key, count(*) FILTER (WHERE at >= :'from'::timestamptz) AS n,
        (array_agg(outcome ORDER BY at DESC, execution_key DESC))[1] AS outcome
    FROM turn
    GROUP BY job_key
),
named AS (
    SELECT DISTINCT ON (job_key) job_key, job_namespace, job_name FROM execution ORDER BY job_key, at DESC
)
SELECT
    s.job_key::text AS job_key, n.feeds::text[] AS feeds, e.job_namespace, e.job_name, n.depth, s.kind,
    s.dataset_namespace, s.dataset_name, s.test, k.n, k.outcome = 'COMPLETE' AS is_well, count(*) AS times,
    min(s.at) AS first_seen, max(s.at) AS last_seen,
    (array_agg(s.run_id ORDER BY s.at, s.run_id))[:10] AS run_ids
FROM symptom s
JOIN node n USING (job_key)
JOIN known k USING (job_key)
JOIN named e USING (job_key)
WHERE s.at >= :'from'::timestamptz
GROUP BY s.job_key, n.feeds, e.job_namespace, e.job_name, n.depth, s.kind, s.dataset_namespace, s.dataset_name, s.test,
         k.n, k.outcome
ORDER BY first_seen, e.job_namespace, e.job_name, s.kind, s.dataset_namespace, s.dataset_name, s.test;
