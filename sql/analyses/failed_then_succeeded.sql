-- Which jobs fail, and succeed when they are tried again?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '30 days'
-- \i failed_then_succeeded.sql
--
-- A success in the window is a retry of the failure before it if both were due at the same time (nominal start), were
-- started by the same run, or follow each other in less than half of the job's usual distance since :history before the
-- window. All failures in a row before it are counted. And a run that failed, began again and completed. One row per job.
WITH execution AS MATERIALIZED (
    SELECT
        job_key, execution_key, first_event_time AS at, outcome = 'FAIL' AS is_bad,
        count(*) FILTER (WHERE outcome <> 'FAIL') OVER job AS good,
        lag(first_event_time) OVER job AS before_at,
        CASE WHEN outcome = 'COMPLETE' AND lag(outcome) OVER job = 'FAIL' THEN lag(execution_key) OVER job END
            AS failed_key
    FROM ol_execution(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    WHERE outcome IN ('COMPLETE', 'FAIL')
    WINDOW job AS (PARTITION BY job_key ORDER BY first_event_time, execution_key)
),
candidate AS (
    SELECT * FROM execution WHERE failed_key IS NOT NULL AND at >= :'from'::timestamptz
),
own AS MATERIALIZED (
    SELECT
        job_key, job_namespace, job_name, run_key, run_id, first_event_time AS at,
        date_part('epoch', last_fail_time - start_time) AS lost_seconds
    FROM ol_run
    WHERE first_event_time >= :'from'::timestamptz AND first_event_time < :'to'::timestamptz
      AND outcome = 'COMPLETE' AND last_fail_time IS NOT NULL AND NOT ol_is_snaplogic(job_namespace)
),
detail AS MATERIALIZED (
    SELECT execution_key, nominal_start_time, parent_run_id
    FROM ol_execution(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    WHERE execution_key IN (SELECT execution_key FROM candidate UNION ALL SELECT failed_key FROM candidate)
),
usual AS (
    SELECT
        job_key, count(*) FILTER (WHERE at >= :'from'::timestamptz) AS n,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY date_part('epoch', at - before_at)) AS gap_seconds
    FROM execution
    WHERE job_key IN (SELECT job_key FROM candidate UNION ALL SELECT job_key FROM own)
    GROUP BY job_key
),
retry AS (
    SELECT c.job_key, c.execution_key, c.good
    FROM candidate c
    JOIN usual u USING (job_key)
    JOIN detail d ON d.execution_key = c.execution_key
    JOIN detail f ON f.execution_key = c.failed_key
    WHERE d.nominal_start_time = f.nominal_start_time
       OR d.parent_run_id = f.parent_run_id
       OR date_part('epoch', c.at - c.before_at) < u.gap_seconds / 2
),
part AS (
    SELECT r.execution_key AS retry_key, e.execution_key, e.at, e.is_bad
    FROM retry r
    JOIN execution e ON e.job_key = r.job_key
        AND ((e.is_bad AND e.good = r.good - 1) OR e.execution_key = r.execution_key)
),
attempt AS (
    SELECT
        e.job_key, e.job_namespace COLLATE "C" AS job_namespace, e.job_name COLLATE "C" AS job_name, p.retry_key,
        e.execution_id COLLATE "C" AS execution_id, p.at, p.is_bad,
        date_part('epoch', e.end_time - e.start_time) AS lost_seconds
    FROM part p
    JOIN ol_execution(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz) e USING (execution_key)
    UNION ALL
    SELECT job_key, job_namespace, job_name, run_key, run_id, at, true, lost_seconds FROM own
)
SELECT
    a.job_namespace, a.job_name, min(u.n) AS n, count(DISTINCT a.retry_key) AS retried,
    count(*) FILTER (WHERE a.is_bad) AS failures,
    coalesce(sum(greatest(a.lost_seconds, 0)) FILTER (WHERE a.is_bad), 0) AS lost_seconds,
    min(a.at) AS first_seen, max(a.at) AS last_seen,
    (array_agg(a.execution_id ORDER BY a.at DESC, a.execution_id))[:10] AS run_ids
FROM attempt a
JOIN usual u USING (job_key)
GROUP BY a.job_key, a.job_namespace, a.job_name
ORDER BY first_seen, a.job_namespace, a.job_name;
