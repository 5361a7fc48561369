-- Which jobs fail again and again: how long already, since which run?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '30 days'  \set streak 3
-- \i failure_streak.sql
--
-- A streak: at least :streak executions of a job in a row that ended with FAIL, one of them in the window. Aborted and
-- open executions are passed over. One row per streak, with how often the job failed outside of streaks since
-- :history before the window; whether that makes a streak likely by itself, lineagelog judges.
WITH execution AS MATERIALIZED (
    SELECT
        job_key, execution_key, first_event_time AS at, outcome = 'FAIL' AS is_bad,
        count(*) FILTER (WHERE outcome <> 'FAIL') OVER (
            PARTITION BY job_key ORDER BY first_event_time, execution_key) AS good
    FROM ol_execution(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    WHERE outcome IN ('COMPLETE', 'FAIL')
),
streak AS (
    SELECT job_key, good, count(*) AS streak, max(at) >= :'from'::timestamptz AS is_told
    FROM execution
    WHERE is_bad
    GROUP BY job_key, good
    HAVING count(*) >= :'streak'::bigint
),
-- what the job does otherwise: another streak must not make this one likely
total AS (
    SELECT
        e.job_key, count(*) AS n, count(*) FILTER (WHERE s.job_key IS NULL) AS others,
        count(*) FILTER (WHERE e.is_bad AND s.job_key IS NULL) AS others_bad
    FROM execution e
    LEFT JOIN streak s ON s.job_key = e.job_key AND s.good = e.good AND e.is_bad
    WHERE e.job_key IN (SELECT job_key FROM streak WHERE is_told)
    GROUP BY e.job_key
),
-- and what it does at about that time, from ten good ones before to ten after: it may have become worse
near AS (
    SELECT
        s.job_key, s.good, count(*) AS near, count(*) FILTER (WHERE e.is_bad) AS near_bad
    FROM streak s
    JOIN execution e ON e.job_key = s.job_key AND e.good >= s.good - 10 AND e.good <= s.good + 10
    LEFT JOIN streak o ON o.job_key = e.job_key AND o.good = e.good AND e.is_bad
    WHERE s.is_told AND o.job_key IS NULL
    GROUP BY s.job_key, s.good
),
-- the executions of a streak, the good one before it and the one that ended it
part AS (
    SELECT s.job_key, s.good, s.streak, e.execution_key, e.at, e.is_bad, e.good > s.good AS is_after
    FROM streak s
    JOIN execution e ON e.job_key = s.job_key AND (e.good = s.good OR (e.good = s.good + 1 AND NOT e.is_bad))
    WHERE s.is_told
)
SELECT
    e.job_namespace COLLATE "C" AS job_namespace, e.job_name COLLATE "C" AS job_name, p.streak, t.n, t.others, t.others_bad,
    coalesce(max(a.near), 0) AS near, coalesce(max(a.near_bad), 0) AS near_bad,
    min(p.at) FILTER (WHERE p.is_bad) AS first_seen, max(p.at) FILTER (WHERE p.is_bad) AS last_seen,
    array_agg(e.execution_id COLLATE "C" ORDER BY p.at, p.execution_key) FILTER (WHERE p.is_bad) AS run_ids,
    max(p.at) FILTER (WHERE NOT p.is_bad AND NOT p.is_after) AS last_good_at,
    max(e.execution_id COLLATE "C") FILTER (WHERE NOT p.is_bad AND NOT p.is_after) AS last_good_run,
    max(p.at) FILTER (WHERE p.is_after) AS ended_at,
    max(e.execution_id COLLATE "C") FILTER (WHERE p.is_after) AS ended_run
FROM part p
JOIN total t USING (job_key)
LEFT JOIN near a ON a.job_key = p.job_key AND a.good = p.good
JOIN ol_execution(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz) e USING (execution_key)
GROUP BY p.job_key, p.good, e.job_namespace, e.job_name, p.streak, t.n, t.others,
         t.others_bad
ORDER BY first_seen, e.job_namespace COLLATE "C", e.job_name COLLATE "C";
