-- Which column stopped being fed from where, and which is fed from somewhere new?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '30 days'  \set runs 3
-- \i column_lineage_drift.sql
--
-- A job is judged by its completed executions with column lineage, from :history before the window on; the rules, those
-- for names too, are those of lineage_drift.sql. Executions with the same column lineage share its content, so only jobs
-- whose content changes are looked into. A column with lineage but without input fields (a constant) has NULL as its
-- source. A source of the whole dataset (column_name NULL) feeds each of its columns: a column has not lost, nor newly
-- got, what feeds the whole dataset after or before. A pipeline's first source of the whole is not new: its joins and groups
-- are told since its exporter writes today's facets.
WITH part AS (
    SELECT execution_key, dataset_key, lineage_hash
    FROM ol_execution_dataset(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    WHERE direction = 'O' AND lineage_hash IS NOT NULL AND NOT is_pipeline
    UNION
    SELECT execution_key, dataset_key, lineage_hash
    FROM ol_pipeline_dataset(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    WHERE direction = 'O' AND lineage_hash IS NOT NULL
),
content AS (
    SELECT execution_key, sum(uuid_hash_extended(lineage_hash, uuid_hash_extended(dataset_key, 0))::numeric) AS content
    FROM part
    GROUP BY execution_key
),
execution AS MATERIALIZED (
    SELECT
        e.execution_key, e.execution_id COLLATE "C" AS execution_id, e.job_key,
        e.job_namespace COLLATE "C" AS job_namespace, e.job_name COLLATE "C" AS job_name, e.first_event_time AS at, c.content,
        row_number() OVER job AS number,
        count(*) OVER (PARTITION BY e.job_key) AS runs
    FROM ol_execution(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz) e
    JOIN content c USING (execution_key)
    WHERE e.outcome = 'COMPLETE'
    WINDOW job AS (PARTITION BY e.job_key ORDER BY e.first_event_time, e.execution_id COLLATE "C")
),
version AS MATERIALIZED (
    SELECT e.job_key, e.content, e.execution_key
    FROM execution e
    JOIN (
        SELECT job_key, min(number) AS number, count(*) OVER (PARTITION BY job_key) AS contents
        FROM execution
        GROUP BY job_key, content
    ) first USING (job_key, number)
    WHERE first.contents > 1
),
edge AS (
    SELECT
        v.job_key, v.content,
        coalesce(t.shown_namespace, c.to_namespace) COLLATE "C" AS dataset_namespace,
        ol_name_pattern(coalesce(t.shown_name, c.to_name)) COLLATE "C" AS dataset_name, c.to_column COLLATE "C" AS column_name,
        coalesce(f.shown_namespace, c.from_namespace) COLLATE "C" AS from_namespace,
        ol_name_pattern(coalesce(f.shown_name, c.from_name)) COLLATE "C" AS from_name, c.from_column COLLATE "C" AS from_column,
        c.is_pipeline
    FROM ol_column_edge(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz,
                        (SELECT array_agg(execution_key) FROM version)) c
    JOIN version v USING (execution_key)
    LEFT JOIN ol_shown_name() t ON t.identity_key = c.to_identity_key
    LEFT JOIN ol_shown_name() f ON f.identity_key = c.from_identity_key AND c.from_name IS NOT NULL
),
feed AS MATERIALIZED (
    SELECT DISTINCT * FROM edge
),
occurrence AS (
    SELECT
        f.*, e.number, e.runs,
        e.number - lag(e.number) OVER (
            PARTITION BY f.job_key, f.dataset_namespace, f.dataset_name, f.column_name, f.from_namespace, f.from_name,
                         f.from_column
            ORDER BY e.number) AS gap
    FROM feed f
    JOIN execution e USING (job_key, content)
),
seen AS MATERIALIZED (
    SELECT
        job_key, dataset_namespace, dataset_name, column_name, from_namespace, from_name, from_column,
        runs, bool_or(is_pipeline) AS is_pipeline, count(*) AS present, min(number) AS first, max(number) AS last,
        greatest(coalesce(max(gap), 1), :'runs'::bigint) AS patience
    FROM occurrence
    GROUP BY job_key, dataset_namespace, dataset_name, column_name, from_namespace, from_name, from_column, runs
),
whole AS (
    SELECT * FROM seen WHERE column_name IS NULL
),
change AS MATERIALIZED (
    SELECT s.*, 'new' AS change, first AS shown, first - 1 AS without
    FROM seen s
    WHERE first > :'runs'::bigint
      AND NOT EXISTS (SELECT FROM whole w WHERE (w.job_key, w.dataset_namespace, w.dataset_name) =
                          (s.job_key, s.dataset_namespace, s.dataset_name)
                        AND (w.from_namespace, w.from_name, w.from_column) = (s.from_namespace, s.from_name, s.from_column)
                        AND s.column_name IS NOT NULL AND w.first < s.first)
      AND (s.column_name IS NOT NULL OR NOT s.is_pipeline
           OR EXISTS (SELECT FROM whole w WHERE (w.job_key, w.dataset_namespace, w.dataset_name) =
                          (s.job_key, s.dataset_namespace, s.dataset_name) AND w.first < s.first))
    UNION ALL
    SELECT s.*, 'lost', last + patience, runs - last
    FROM seen s
    WHERE runs - last >= patience AND present >= :'runs'::bigint
      AND NOT EXISTS (SELECT FROM whole w WHERE (w.job_key, w.dataset_namespace, w.dataset_name) =
                          (s.job_key, s.dataset_namespace, s.dataset_name)
                        AND (w.from_namespace, w.from_name, w.from_column) = (s.from_namespace, s.from_name, s.from_column)
                        AND s.column_name IS NOT NULL AND w.last > s.last)
),
-- one join for the three executions that tell of a change, which PostgreSQL would otherwise join with each other first
told AS (
    SELECT
        c.job_key, c.change, c.dataset_namespace, c.dataset_name, c.column_name, c.from_namespace, c.from_name,
        c.from_column, c.present, c.without, c.runs,
        min(e.job_namespace) AS job_namespace, min(e.job_name) AS job_name,
        min(e.at) FILTER (WHERE e.number = c.shown) AS shown_at,
        min(e.execution_id) FILTER (WHERE e.number = c.shown) AS run_id,
        min(e.at) FILTER (WHERE e.number = c.first) AS first_seen,
        min(e.execution_id) FILTER (WHERE e.number = c.first) AS first_run_id,
        min(e.at) FILTER (WHERE e.number = c.last) AS last_seen,
        min(e.execution_id) FILTER (WHERE e.number = c.last) AS last_run_id
    FROM (SELECT *, unnest(ARRAY[shown, first, last]) AS number FROM change) c
    JOIN execution e USING (job_key, number)
    GROUP BY c.job_key, c.change, c.dataset_namespace, c.dataset_name, c.column_name, c.from_namespace, c.from_name,
             c.from_column, c.present, c.without, c.runs
)
SELECT
    t.*,
    EXISTS (
        SELECT FROM seen o
        WHERE o.job_key = t.job_key AND o.dataset_namespace = t.dataset_namespace AND o.dataset_name = t.dataset_name
          AND (o.column_name IS NULL OR o.column_name = t.column_name) AND o.last = o.runs AND o.from_name IS NOT NULL
    ) AS still_fed
FROM told t
WHERE t.shown_at >= :'from'::timestamptz
ORDER BY t.shown_at, t.job_namespace, t.job_name, t.dataset_namespace, t.dataset_name, t.column_name, t.from_namespace,
         t.from_name, t.from_column;
