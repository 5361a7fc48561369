-- When did the runs of each job start and complete?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set as_of '2026-03-08'  \set training '100 days'
-- \i sla_attainment.sql
--
-- A row for each job: when its runs from :training before the window on started, until :as_of or the window's end, and
-- when they completed (seconds since 1970; NULL where they did not), and the ids of those from the window on, all in
-- order of their start.
WITH run AS (
    SELECT
        job_key, job_namespace COLLATE "C" AS job_namespace, job_name COLLATE "C" AS job_name, execution_id COLLATE "C" AS execution_id,
        coalesce(start_time, first_event_time) AS at,
        CASE WHEN outcome = 'COMPLETE' THEN coalesce(end_time, last_event_time) END AS ended
    FROM ol_execution(
        :'from'::timestamptz - :'training'::interval, greatest(:'to'::timestamptz, :'as_of'::timestamptz))
    WHERE coalesce(processing_type, '') <> 'STREAMING'
      AND NOT (outcome = 'RUNNING' AND last_event_time - first_event_time > interval '1 day')
)
SELECT
    job_namespace, job_name,
    array_agg(extract(epoch FROM at)::float8 ORDER BY at, execution_id) AS times,
    array_agg(extract(epoch FROM ended)::float8 ORDER BY at, execution_id) AS ends,
    array_agg(execution_id ORDER BY at, execution_id) FILTER (WHERE at >= :'from'::timestamptz) AS run_ids
FROM run
GROUP BY job_key, job_namespace, job_name
ORDER BY job_namespace, job_name;
