-- How long did the runs of each job take?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set training '100 days'
-- \i duration_anomaly.sql
--
-- A row for each job that completed a run in the window: when its completed runs from :training before the window on
-- began (seconds since 1970), how many seconds they took, and the ids of those in the window, all in order of time.
WITH run AS (
    SELECT
        job_key, job_namespace COLLATE "C" AS job_namespace, job_name COLLATE "C" AS job_name, execution_id COLLATE "C" AS execution_id,
        coalesce(start_time, first_event_time) AS at,
        extract(epoch FROM end_time - coalesce(start_time, first_event_time)) AS seconds
    FROM ol_execution(:'from'::timestamptz - :'training'::interval, :'to'::timestamptz)
    WHERE outcome = 'COMPLETE' AND end_time >= coalesce(start_time, first_event_time)
      AND coalesce(processing_type, '') <> 'STREAMING'
)
SELECT
    job_namespace, job_name,
    array_agg(extract(epoch FROM at)::float8 ORDER BY at, execution_id) AS times,
    array_agg(seconds::float8 ORDER BY at, execution_id) AS seconds,
    array_agg(execution_id ORDER BY at, execution_id) FILTER (WHERE at >= :'from'::timestamptz) AS run_ids
FROM run
GROUP BY job_key, job_namespace, job_name
HAVING max(at) >= :'from'::timestamptz
ORDER BY job_namespace, job_name;
