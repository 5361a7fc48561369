-- Which jobs fail more often than they used to?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '30 days'
-- \i failure_rate_shift.sql
--
-- One row per job that failed at least three times since :history before the window, once of them in it, with what it
-- did day by day (UTC): executions that completed or failed, failures, chances (executions that did not follow a
-- failure) and episodes (failures among these). Since when it fails more often, if so, lineagelog judges.
WITH execution AS (
    SELECT
        job_key, job_namespace COLLATE "C" AS job_namespace, job_name COLLATE "C" AS job_name, first_event_time AS at, outcome = 'FAIL' AS is_bad,
        CASE WHEN outcome = 'FAIL' THEN execution_id END COLLATE "C" AS failed_run,
        coalesce(lag(outcome) OVER (PARTITION BY job_key ORDER BY first_event_time, execution_key), '') = 'FAIL'
            AS is_repeated
    FROM ol_execution(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    WHERE outcome IN ('COMPLETE', 'FAIL')
),
day AS (
    SELECT
        job_key, date_trunc('day', at AT TIME ZONE 'UTC') AS day,
        min(job_namespace) AS job_namespace, min(job_name) AS job_name,
        min(at) AS first_at, max(at) AS last_at, max(at) FILTER (WHERE is_bad) AS bad_at,
        count(*) AS runs, count(*) FILTER (WHERE is_bad) AS bad,
        count(*) FILTER (WHERE NOT is_repeated) AS chances,
        count(*) FILTER (WHERE is_bad AND NOT is_repeated) AS episodes,
        max(failed_run) AS failed_run
    FROM execution
    GROUP BY job_key, date_trunc('day', at AT TIME ZONE 'UTC')
)
SELECT
    min(job_namespace) AS job_namespace, min(job_name) AS job_name, sum(runs)::bigint AS n,
    min(first_at) AS first_seen, max(bad_at) AS last_seen,
    array_agg(failed_run ORDER BY day DESC) FILTER (WHERE bad > 0) AS run_ids,
    array_agg(first_at ORDER BY day) AS starts,
    array_agg(runs ORDER BY day) AS runs, array_agg(bad ORDER BY day) AS bad,
    array_agg(chances ORDER BY day) AS chances, array_agg(episodes ORDER BY day) AS episodes
FROM day
GROUP BY job_key
HAVING sum(episodes) >= 3 AND max(bad_at) >= :'from'::timestamptz
ORDER BY last_seen, job_namespace, job_name;
