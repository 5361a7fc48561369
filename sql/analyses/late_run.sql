-- When did the runs of each job start?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set as_of '2026-03-08'  \set training '100 days'
-- \i late_run.sql
--
-- A row for each job: when its runs from :training before the window on started, until :as_of or the window's end
-- (seconds since 1970, in order), the ids of those from the window on and of the last one before it; and from when to
-- when a run without an end was alive for more than a day, as streaming jobs are.
WITH run AS (
    SELECT
        job_key, job_namespace COLLATE "C" AS job_namespace, job_name COLLATE "C" AS job_name, execution_id COLLATE "C" AS execution_id,
        coalesce(start_time, first_event_time) AS at, last_event_time,
        outcome = 'RUNNING' AND last_event_time - first_event_time > interval '1 day' AS is_alive
    FROM ol_execution(
        :'from'::timestamptz - :'training'::interval, greatest(:'to'::timestamptz, :'as_of'::timestamptz))
    WHERE coalesce(processing_type, '') <> 'STREAMING'
)
SELECT
    job_namespace, job_name,
    array_agg(extract(epoch FROM at)::float8 ORDER BY at, execution_id) AS times,
    array_agg(execution_id ORDER BY at, execution_id) FILTER (WHERE at >= :'from'::timestamptz) AS run_ids,
    (array_agg(execution_id ORDER BY at DESC, execution_id DESC) FILTER (WHERE at < :'from'::timestamptz))[1] AS last_before,
    extract(epoch FROM min(at) FILTER (WHERE is_alive))::float8 AS alive_from,
    extract(epoch FROM max(last_event_time) FILTER (WHERE is_alive))::float8 AS alive_to
FROM run
GROUP BY job_key, job_namespace, job_name
ORDER BY job_namespace, job_name;
