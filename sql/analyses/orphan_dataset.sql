-- Which datasets does nobody read, and which are read though nobody writes them?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '30 days'
-- \i orphan_dataset.sql
--
-- never_read: written in the window, and since :history before it read by no other job than those that write it.
-- never_written: read in the window, and written by nobody since :history before it. One row per dataset,
-- by whichever of its names it is read and written.
WITH use AS MATERIALIZED (
    SELECT
        identity_key AS dataset_key, direction, job_key,
        min(dataset_namespace COLLATE "C") AS dataset_namespace, min(dataset_name COLLATE "C") AS dataset_name,
        count(*) AS uses, count(*) FILTER (WHERE executed_at >= :'from'::timestamptz) AS uses_in_window,
        sum(row_count) AS row_count, min(executed_at) AS first_at, max(executed_at) AS last_at,
        max(execution_id COLLATE "C") AS run_id
    FROM ol_execution_dataset(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    GROUP BY identity_key, direction, job_key
),
dataset AS (
    SELECT
        u.dataset_key, min(u.dataset_namespace) AS dataset_namespace, min(u.dataset_name) AS dataset_name,
        bool_or(u.direction = 'O') AS is_written, bool_or(u.direction = 'I') AS is_read,
        bool_or(u.direction = 'I' AND w.job_key IS NULL) AS is_used,
        sum(u.uses)::bigint AS n, sum(u.uses_in_window) AS uses_in_window,
        sum(u.row_count) FILTER (WHERE u.direction = 'O') AS rows_written,
        count(DISTINCT u.job_key) AS jobs, min(u.first_at) AS first_seen, max(u.last_at) AS last_seen,
        array_agg(u.run_id ORDER BY u.last_at DESC, u.run_id) AS run_ids
    FROM use u
    LEFT JOIN use w ON w.dataset_key = u.dataset_key AND w.job_key = u.job_key AND w.direction = 'O'
        AND u.direction = 'I'
    GROUP BY u.dataset_key
),
orphan AS (
    SELECT *, CASE WHEN is_written THEN 'never_read' ELSE 'never_written' END AS rule
    FROM dataset
    WHERE uses_in_window > 0 AND NOT (is_written AND is_used)
)
SELECT
    o.dataset_namespace, o.dataset_name, o.rule, o.n, o.jobs, o.rows_written::float8 AS rows_written, o.first_seen,
    o.last_seen, o.run_ids[:10] AS run_ids
FROM orphan o
ORDER BY o.rule, o.dataset_namespace, o.dataset_name;
