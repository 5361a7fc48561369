-- Which executions hang, or ended without a word?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set as_of '2026-03-08'  \set history '30 days'  \set floor '1 hour'
-- \i stuck_run.sql
--
-- Looked at are executions that began since :history before the window and were open at :as_of; those of streaming jobs
-- may stay open. Stuck is one that has been open for more than one and a half times as long as 99 of 100 finished ones
-- of its job took, and for more than :floor. ORPHAN: the run that started it has ended; LOST_END: later executions of
-- the job have ended, or none ever has; else HUNG. With fewer than eight finished ones: ORPHAN where its parent ended
-- longer than :floor ago, LOST_END where the job begins again and again and never ends, else nothing can be said.
-- One row per job and verdict.
WITH execution AS MATERIALIZED (
    SELECT
        execution_key, job_key, coalesce(start_time, first_event_time) AS at,
        CASE WHEN end_time <= :'as_of'::timestamptz AND outcome NOT IN ('START', 'RUNNING') THEN end_time END AS ended,
        coalesce(outcome IN ('START', 'RUNNING') OR end_time > :'as_of'::timestamptz, false)
            AND upper(coalesce(processing_type, '')) <> 'STREAMING' AS is_open
    FROM ol_execution(:'from'::timestamptz - :'history'::interval, least(:'to'::timestamptz, :'as_of'::timestamptz))
),
usual AS MATERIALIZED (
    SELECT
        job_key,
        count(*) FILTER (WHERE ended >= at) AS finished,
        max(at) FILTER (WHERE ended IS NOT NULL) AS last_finished_at,
        count(*) FILTER (WHERE is_open) AS open,
        extract(epoch FROM percentile_disc(0.99) WITHIN GROUP (ORDER BY ended - at) FILTER (WHERE ended >= at))::float8
            AS p99_seconds
    FROM execution
    WHERE job_key IN (SELECT job_key FROM execution WHERE is_open AND at < :'as_of'::timestamptz - :'floor'::interval)
    GROUP BY job_key
),
candidate AS (
    SELECT e.*, u.finished, u.p99_seconds, u.open, coalesce(u.last_finished_at > x.at, false) AS is_overtaken
    FROM execution x
    JOIN usual u USING (job_key)
    JOIN ol_execution(:'from'::timestamptz - :'history'::interval, least(:'to'::timestamptz, :'as_of'::timestamptz)) e
        USING (execution_key)
    WHERE x.is_open AND x.at < :'as_of'::timestamptz - :'floor'::interval
      AND x.at < :'as_of'::timestamptz - make_interval(secs => 1.5 * coalesce(u.p99_seconds, 0))
),
judged AS (
    SELECT
        c.*,
        CASE
            WHEN c.finished >= 8 AND p.execution_key IS NOT NULL THEN 'ORPHAN'
            WHEN c.finished >= 8 AND c.is_overtaken THEN 'LOST_END'
            WHEN c.finished >= 8 THEN 'HUNG'
            WHEN c.finished = 0 AND c.open > 1 THEN 'LOST_END'
            WHEN p.end_time < :'as_of'::timestamptz - :'floor'::interval THEN 'ORPHAN'
            ELSE ''
        END AS verdict
    FROM candidate c
    LEFT JOIN ol_execution(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz) p
        ON p.execution_id = c.parent_run_id AND p.job_namespace = coalesce(c.parent_namespace, '')
        AND p.job_name = c.parent_name AND p.end_time <= :'as_of'::timestamptz AND p.outcome NOT IN ('START', 'RUNNING')
)
SELECT
    min(job_namespace COLLATE "C") AS job_namespace, min(job_name COLLATE "C") AS job_name, verdict, count(*) AS stuck,
    min(finished) AS n, min(p99_seconds) AS p99_seconds,
    extract(epoch FROM :'as_of'::timestamptz - max(coalesce(start_time, first_event_time)))::float8 AS elapsed_seconds,
    min(first_event_time) AS first_seen, max(last_event_time) AS last_seen,
    (array_agg(execution_id COLLATE "C" ORDER BY first_event_time DESC, execution_key))[:10] AS run_ids
FROM judged
GROUP BY job_key, verdict
ORDER BY first_seen, job_namespace, job_name, verdict;
