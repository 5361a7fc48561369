-- When was each dataset written?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set as_of '2026-03-08'  \set training '100 days'
-- \i stale_dataset.sql
--
-- A row for each dataset: when completed runs that wrote it ended (seconds since 1970, in order), from :training before
-- the window on until :as_of or the window's end, the last of these runs, and until when a run wrote that was alive for
-- more than a day, as streaming jobs do. What a failed run says that it wrote is announced, not confirmed.
WITH run AS MATERIALIZED (
    SELECT
        execution_key, execution_id, outcome, coalesce(end_time, last_event_time) AS ended, last_event_time,
        processing_type = 'STREAMING' OR last_event_time - first_event_time > interval '1 day' AS is_long
    FROM ol_execution(
        :'from'::timestamptz - :'training'::interval, greatest(:'to'::timestamptz, :'as_of'::timestamptz))
    WHERE outcome IN ('COMPLETE', 'RUNNING')
),
series AS MATERIALIZED (
    SELECT identity_key, series_key, dataset_namespace, pattern FROM v_ol_dataset_series
),
-- DISTINCT ON says what PostgreSQL cannot know: one row a dataset, which is then hashed
written AS (
    SELECT
        coalesce(s.series_key, d.identity_key) AS dataset_key,
        coalesce(s.dataset_namespace, d.dataset_namespace) COLLATE "C" AS dataset_namespace,
        coalesce(s.pattern, d.dataset_name) COLLATE "C" AS dataset_name,
        r.execution_id COLLATE "C" AS execution_id, r.ended, r.last_event_time,
        r.outcome = 'COMPLETE' AS is_confirmed, r.outcome = 'RUNNING' AND r.is_long AS is_alive
    FROM ol_execution_dataset(
        :'from'::timestamptz - :'training'::interval, greatest(:'to'::timestamptz, :'as_of'::timestamptz)) d
    JOIN run r USING (execution_key)
    LEFT JOIN (SELECT DISTINCT ON (identity_key) * FROM series) s USING (identity_key)
    WHERE d.direction = 'O'
)
SELECT
    dataset_namespace, dataset_name,
    array_agg(extract(epoch FROM ended)::float8 ORDER BY ended, execution_id) FILTER (WHERE is_confirmed) AS times,
    (array_agg(execution_id ORDER BY ended DESC, execution_id DESC)
        FILTER (WHERE is_confirmed AND ended <= :'as_of'::timestamptz))[1] AS run_id,
    extract(epoch FROM max(last_event_time) FILTER (WHERE is_alive))::float8 AS alive_to
FROM written
GROUP BY dataset_key, dataset_namespace, dataset_name
HAVING bool_or(is_confirmed)
ORDER BY dataset_namespace, dataset_name;
