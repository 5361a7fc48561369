-- Which inputs and outputs of a job are new in the window, and which have vanished?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '30 days'  \set runs 3
-- \i lineage_drift.sql
--
-- A job is judged by its completed executions from :history before the window on. New: first read or written in the
-- window, after at least :runs executions without it. Vanished: missing from at least :runs executions in a row, and
-- from more than ever before, the last of them in the window. Of a pipeline, kind "flow" says from which input to which
-- output rows go. A dataset is one by whichever of its names, and so are names that differ only in a date or in the value
-- of a Hive partition.
WITH execution AS MATERIALIZED (
    SELECT
        execution_key, execution_id COLLATE "C" AS execution_id, job_key,
        job_namespace COLLATE "C" AS job_namespace, job_name COLLATE "C" AS job_name, first_event_time AS at,
        row_number() OVER job AS number,
        count(*) OVER (PARTITION BY job_key) AS runs
    FROM ol_execution(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    WHERE outcome = 'COMPLETE'
    WINDOW job AS (PARTITION BY job_key ORDER BY first_event_time, execution_id COLLATE "C")
),
fact AS (
    SELECT
        execution_key, CASE direction WHEN 'I' THEN 'input' ELSE 'output' END AS kind, identity_key,
        '00000000-0000-0000-0000-000000000000'::uuid AS target_key
    FROM ol_execution_dataset(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    UNION ALL
    SELECT execution_key, 'flow', from_identity_key, to_identity_key
    FROM ol_dataset_edge(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    WHERE is_pipeline
),
series AS MATERIALIZED (
    SELECT identity_key, series_key, dataset_namespace, pattern, has_several_names FROM v_ol_dataset_series
),
-- DISTINCT ON says what PostgreSQL cannot know: one row a dataset, which is then hashed
sighting AS MATERIALIZED (
    SELECT
        e.job_key, e.number, e.runs, f.kind, s.series_key AS dataset_key, coalesce(t.series_key, f.target_key) AS target_key,
        s.has_several_names OR coalesce(t.has_several_names, false) AS may_repeat
    FROM fact f
    JOIN execution e USING (execution_key)
    JOIN (SELECT DISTINCT ON (identity_key) * FROM series) s USING (identity_key)
    LEFT JOIN (SELECT DISTINCT ON (identity_key) * FROM series) t ON t.identity_key = f.target_key
),
occurrence AS MATERIALIZED (
    SELECT job_key, number, runs, kind, dataset_key, target_key FROM sighting WHERE NOT may_repeat
    UNION ALL
    SELECT DISTINCT job_key, number, runs, kind, dataset_key, target_key FROM sighting WHERE may_repeat
),
seen AS MATERIALIZED (
    SELECT
        job_key, kind, dataset_key, target_key, runs, count(*) AS present, min(number) AS first, max(number) AS last
    FROM occurrence
    GROUP BY job_key, kind, dataset_key, target_key, runs
),
-- only of what may have vanished it is worth knowing how long it was ever missing before
gap AS (
    SELECT job_key, kind, dataset_key, target_key, max(gap) AS gap
    FROM (
        SELECT
            job_key, kind, dataset_key, target_key,
            number - lag(number) OVER (PARTITION BY job_key, kind, dataset_key, target_key ORDER BY number) AS gap
        FROM occurrence
        WHERE (job_key, kind, dataset_key, target_key) IN (
            SELECT job_key, kind, dataset_key, target_key FROM seen
            WHERE runs - last >= :'runs'::bigint AND present >= :'runs'::bigint)
    ) missing
    GROUP BY job_key, kind, dataset_key, target_key
),
change AS MATERIALIZED (
    SELECT
        job_key, kind, dataset_key, target_key, runs, present, first, last,
        'new' AS change, first AS shown, first - 1 AS without
    FROM seen
    WHERE first > :'runs'::bigint
    UNION ALL
    SELECT
        job_key, kind, dataset_key, target_key, runs, present, first, last,
        'vanished', last + greatest(coalesce(gap, 1), :'runs'::bigint), runs - last
    FROM seen
    JOIN gap USING (job_key, kind, dataset_key, target_key)
    WHERE runs - last >= greatest(coalesce(gap, 1), :'runs'::bigint)
),
-- one join for the three executions that tell of a change, which PostgreSQL would otherwise join with each other first
told AS (
    SELECT
        c.job_key, c.change, c.kind, c.dataset_key, c.target_key, c.present, c.without, c.runs,
        min(e.job_namespace) AS job_namespace, min(e.job_name) AS job_name,
        min(e.at) FILTER (WHERE e.number = c.shown) AS shown_at,
        min(e.execution_id) FILTER (WHERE e.number = c.shown) AS run_id,
        min(e.at) FILTER (WHERE e.number = c.first) AS first_seen,
        min(e.execution_id) FILTER (WHERE e.number = c.first) AS first_run_id,
        min(e.at) FILTER (WHERE e.number = c.last) AS last_seen,
        min(e.execution_id) FILTER (WHERE e.number = c.last) AS last_run_id
    FROM (SELECT *, unnest(ARRAY[shown, first, last]) AS number FROM change) c
    JOIN execution e USING (job_key, number)
    GROUP BY c.job_key, c.change, c.kind, c.dataset_key, c.target_key, c.present, c.without, c.runs
),
name AS (
    SELECT DISTINCT series_key AS dataset_key, dataset_namespace, pattern AS dataset_name FROM series
)
SELECT
    t.job_namespace, t.job_name, t.change, t.kind, d.dataset_namespace, d.dataset_name,
    g.dataset_namespace AS target_namespace, g.dataset_name AS target_name, t.present, t.without, t.runs,
    t.shown_at, t.run_id, t.first_seen, t.first_run_id, t.last_seen, t.last_run_id
FROM told t
JOIN name d ON d.dataset_key = t.dataset_key
LEFT JOIN name g ON g.dataset_key = t.target_key
WHERE t.shown_at >= :'from'::timestamptz
ORDER BY t.shown_at, t.job_namespace, t.job_name, t.kind, d.dataset_namespace, d.dataset_name, g.dataset_namespace,
         g.dataset_name;
