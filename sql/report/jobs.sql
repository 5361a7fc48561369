-- How did each job do?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'
-- \i jobs.sql
--
-- A row for each job with an execution in the window: how many there were by outcome, how long one usually takes (the
-- median of those that completed, in seconds), when the first and the last began, what came of the last,
-- the last error, and the last that completed.
SELECT
    job_key::text AS job_key, coalesce(job_namespace, '') AS namespace, job_name AS name, count(*) AS executions,
    count(*) FILTER (WHERE outcome = 'COMPLETE') AS completed, count(*) FILTER (WHERE outcome = 'FAIL') AS failed,
    count(*) FILTER (WHERE outcome = 'ABORT') AS aborted, count(*) FILTER (WHERE outcome = 'RUNNING') AS running,
    (percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM end_time - start_time))
        FILTER (WHERE outcome = 'COMPLETE' AND end_time >= start_time))::float8 AS typical,
    min(first_event_time) AS first_at, max(first_event_time) AS last_at,
    (array_agg(outcome ORDER BY first_event_time DESC, execution_id DESC))[1] AS last_outcome,
    (array_agg(left(error_message, 400) ORDER BY first_event_time DESC, execution_id DESC)
        FILTER (WHERE outcome = 'FAIL'))[1] AS last_error,
    (array_agg(execution_id ORDER BY first_event_time DESC, execution_id DESC) FILTER (WHERE outcome = 'COMPLETE'))[1] AS good_run
FROM ol_execution(:'from'::timestamptz, :'to'::timestamptz)
GROUP BY job_key, job_namespace, job_name
ORDER BY job_namespace, job_name;
