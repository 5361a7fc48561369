-- How much did each job write to each dataset?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set training '100 days'
-- \i volume_anomaly.sql
--
-- A row for each job, dataset and way of writing that was seen in the window: when the completed runs from :training
-- before the window on began (seconds since 1970), the rows, bytes and files that they wrote (NULL where nothing was
-- said), and the ids of those in the window, all in order of time. What a failed run says that it wrote is no volume.
-- Names that differ only in a date or in the value of a partition are one dataset, as are all names of one table.
WITH run AS MATERIALIZED (
    SELECT execution_key, coalesce(start_time, first_event_time) AS at
    FROM ol_execution(:'from'::timestamptz - :'training'::interval, :'to'::timestamptz)
    WHERE outcome = 'COMPLETE'
),
series AS MATERIALIZED (
    SELECT identity_key, series_key, dataset_namespace, pattern FROM v_ol_dataset_series
),
-- DISTINCT ON says what PostgreSQL cannot know: one row a dataset, which is then hashed
written AS (
    SELECT
        coalesce(s.series_key, d.identity_key) AS dataset_key, d.job_key,
        coalesce(s.dataset_namespace, d.dataset_namespace) COLLATE "C" AS dataset_namespace,
        coalesce(s.pattern, d.dataset_name) COLLATE "C" AS dataset_name,
        d.job_namespace COLLATE "C" AS job_namespace, d.job_name COLLATE "C" AS job_name, d.execution_id COLLATE "C" AS execution_id, r.at,
        d.row_count, d.size_bytes, d.file_count,
        CASE WHEN d.lifecycle_state_change IN ('CREATE', 'OVERWRITE', 'TRUNCATE') THEN 'REPLACED'
             WHEN d.subset_type IS NOT NULL THEN 'PARTITIONED' ELSE 'APPENDED' END AS pattern
    FROM ol_execution_dataset(:'from'::timestamptz - :'training'::interval, :'to'::timestamptz) d
    JOIN run r USING (execution_key)
    LEFT JOIN (SELECT DISTINCT ON (identity_key) * FROM series) s USING (identity_key)
    WHERE d.direction = 'O'
      AND (d.row_count IS NOT NULL OR d.size_bytes IS NOT NULL OR d.file_count IS NOT NULL)
)
SELECT
    dataset_namespace, dataset_name, job_namespace, job_name, pattern,
    array_agg(extract(epoch FROM at)::float8 ORDER BY at, execution_id) AS times,
    array_agg(row_count ORDER BY at, execution_id) AS rows,
    CASE WHEN count(size_bytes) > 0 THEN array_agg(size_bytes ORDER BY at, execution_id) END AS bytes,
    CASE WHEN count(file_count) > 0 THEN array_agg(file_count ORDER BY at, execution_id) END AS files,
    array_agg(execution_id ORDER BY at, execution_id) FILTER (WHERE at >= :'from'::timestamptz) AS run_ids
FROM written
GROUP BY dataset_key, job_key, dataset_namespace, dataset_name, job_namespace, job_name, pattern
HAVING max(at) >= :'from'::timestamptz
ORDER BY dataset_namespace, dataset_name, job_namespace, job_name, pattern;
