-- Which jobs does a product wait for, run by run?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '2 days'
-- \set dataset_namespace 'postgres://db:5432'  \set dataset 'shop.public.mart'  \set run_id ''
-- \i critical_path.sql
--
-- A product run: a completed execution of the window that wrote the dataset, or the execution :run_id. Upstream of a run,
-- input by input, is the last completed execution of each job that wrote the input, began before the run, ended before the
-- run's end, and ended since the run before of the same job began: what was there already kept nobody waiting. Followed
-- back to :history before the window. One row per product run and execution upstream, with the executions that it feeds.
WITH RECURSIVE
execution AS MATERIALIZED (
    SELECT
        job_key, execution_key, execution_id COLLATE "C" AS execution_id, job_namespace COLLATE "C" AS job_namespace,
        job_name COLLATE "C" AS job_name,
        coalesce(start_time, first_event_time) AS began, coalesce(end_time, last_event_time) AS ended,
        lag(coalesce(start_time, first_event_time), 1, '-infinity') OVER (
            PARTITION BY job_key ORDER BY coalesce(start_time, first_event_time), execution_key) AS began_before
    FROM ol_execution(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    WHERE outcome = 'COMPLETE'
),
use AS MATERIALIZED (
    SELECT
        u.execution_key, e.job_key, e.began, e.ended, u.direction, u.identity_key, u.dataset_namespace, u.dataset_name
    FROM ol_execution_dataset(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz) u
    JOIN execution e USING (execution_key)
),
product AS (
    SELECT execution_key
    FROM use
    WHERE direction = 'O' AND began >= :'from'::timestamptz AND identity_key IN (
        SELECT identity_key FROM use
        WHERE dataset_name = :'dataset'::text AND dataset_namespace = :'dataset_namespace'::text)
    UNION
    SELECT execution_key FROM execution WHERE execution_id = :'run_id'::text AND :'run_id'::text <> ''
),
reached AS (
    SELECT execution_key AS product_key, execution_key, NULL::uuid AS feeds, 0 AS depth FROM product
    UNION ALL
    SELECT *
    FROM (
        SELECT DISTINCT ON (w.product_key, w.execution_key, i.identity_key, o.job_key)
            w.product_key, o.execution_key, w.execution_key, w.depth + 1
        FROM (SELECT DISTINCT product_key, execution_key, depth FROM reached WHERE depth < 99) w
        JOIN execution r ON r.execution_key = w.execution_key
        JOIN use i ON i.execution_key = w.execution_key AND i.direction = 'I'
        JOIN use o ON o.identity_key = i.identity_key AND o.direction = 'O' AND o.job_key <> r.job_key
            AND o.ended <= r.ended AND o.ended > r.began_before AND (o.began, o.execution_key) < (r.began, r.execution_key)
        ORDER BY w.product_key, w.execution_key, i.identity_key, o.job_key, o.ended DESC, o.execution_key
    ) next
)
SELECT
    r.product_key::text AS product_key, r.execution_key::text AS execution_key, e.execution_id AS run_id,
    e.job_namespace, e.job_name, e.began, e.ended,
    coalesce(array_agg(DISTINCT r.feeds::text) FILTER (WHERE r.feeds IS NOT NULL), '{}') AS feeds
FROM reached r
JOIN execution e USING (execution_key)
JOIN execution p ON p.execution_key = r.product_key
GROUP BY r.product_key, r.execution_key, e.execution_id, e.job_namespace, e.job_name, e.began, e.ended, p.began
ORDER BY p.began, r.product_key, e.began, r.execution_key;
