-- Which executions did again what had been done already?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'
-- \i redundant_run.sql
--
-- An execution is redundant if the completed one before it of the same job read the same and wrote the same: the same
-- datasets, with the same rows and bytes, and either all inputs have versions that are equal, too, or the statistics of
-- all outputs are known and the two were due at the same time, overlap, or follow each other in less than half of the
-- job's usual distance. Only the window is looked at. One row per job.
WITH execution AS MATERIALIZED (
    SELECT
        job_key, execution_key, first_event_time AS at, start_time, end_time,
        lag(execution_key) OVER job AS before_key, lag(first_event_time) OVER job AS before_at,
        nominal_start_time = lag(nominal_start_time) OVER job
            OR first_event_time < lag(end_time) OVER job AS is_same_turn
    FROM ol_execution(:'from'::timestamptz, :'to'::timestamptz)
    WHERE outcome = 'COMPLETE'
    WINDOW job AS (PARTITION BY job_key ORDER BY first_event_time, execution_key)
),
usual AS (
    SELECT
        job_key, count(*) AS n,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY date_part('epoch', at - before_at)) AS gap_seconds
    FROM execution
    GROUP BY job_key
),
version AS (
    SELECT execution_key
    FROM ol_execution_dataset(:'from'::timestamptz, :'to'::timestamptz)
    WHERE direction = 'I'
    GROUP BY execution_key
    HAVING bool_and(dataset_version IS NOT NULL)
),
candidate AS MATERIALIZED (
    SELECT
        e.*, v.execution_key IS NOT NULL AS has_versions,
        coalesce(e.is_same_turn, false)
            OR coalesce(date_part('epoch', e.at - e.before_at) < u.gap_seconds / 2, false) AS is_soon
    FROM execution e
    JOIN usual u USING (job_key)
    LEFT JOIN version v USING (execution_key)
    WHERE e.before_key IS NOT NULL
      AND (v.execution_key IS NOT NULL OR e.is_same_turn OR date_part('epoch', e.at - e.before_at) < u.gap_seconds / 2)
),
content AS MATERIALIZED (
    SELECT
        execution_key,
        array_agg(jsonb_build_array(direction, dataset_key, row_count, size_bytes, dataset_version)
                  ORDER BY direction, dataset_key) AS content,
        bool_and(row_count IS NOT NULL OR size_bytes IS NOT NULL) FILTER (WHERE direction = 'O') AS is_known
    FROM ol_execution_dataset(:'from'::timestamptz, :'to'::timestamptz)
    WHERE execution_key IN (SELECT execution_key FROM candidate UNION ALL SELECT before_key FROM candidate)
    GROUP BY execution_key
)
SELECT
    e.job_namespace COLLATE "C" AS job_namespace, e.job_name COLLATE "C" AS job_name, min(u.n) AS n, count(*) AS redundant,
    coalesce(sum(greatest(extract(epoch FROM c.end_time - c.start_time), 0)), 0)::float8 AS lost_seconds,
    min(c.at) AS first_seen, max(c.at) AS last_seen,
    (array_agg(e.execution_id COLLATE "C" ORDER BY c.at DESC, c.execution_key))[:10] AS run_ids
FROM candidate c
JOIN content a ON a.execution_key = c.execution_key
JOIN content b ON b.execution_key = c.before_key
JOIN usual u USING (job_key)
JOIN ol_execution(:'from'::timestamptz, :'to'::timestamptz) e ON e.execution_key = c.execution_key
WHERE a.content = b.content AND (c.has_versions OR (c.is_soon AND a.is_known))
GROUP BY c.job_key, e.job_namespace, e.job_name
ORDER BY first_seen, e.job_namespace COLLATE "C", e.job_name COLLATE "C";
