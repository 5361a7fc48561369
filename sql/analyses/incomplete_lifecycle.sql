-- Which runs contradict themselves, or lack their beginning?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'
-- \i incomplete_lifecycle.sql
--
-- Of the runs that began in the window. error_in_complete: it completed, and carries an error. fail_and_complete: it
-- failed and completed, without a START between. failed_child: it completed, though a job that it ran failed and did
-- not succeed later on. no_start: it ended, and never began. ends_before_start: a clock is wrong. shared_run_id: several
-- jobs gave their run one id. Runs that never end are stuck_run.sql's. SnapLogic's Snaps, which report nothing but their
-- end, are left out. One row per job and rule, with the other jobs of a shared id.
WITH run AS MATERIALIZED (
    SELECT
        run_key, run_id, job_key, job_namespace, job_name, status, outcome, start_time, end_time, first_event_time,
        last_event_time, last_start_time, last_fail_time,
        coalesce(error_message_at >= coalesce(last_start_time, first_event_time)
                 AND (last_fail_time IS NULL OR error_message_at > last_fail_time), false) AS has_error,
        parent_run_id, parent_namespace, parent_name
    FROM ol_run
    WHERE first_event_time >= :'from'::timestamptz AND first_event_time < :'to'::timestamptz
      AND NOT ol_is_snaplogic(job_namespace)
),
failed_child AS (
    SELECT c.parent_run_id, coalesce(c.parent_namespace, '') AS parent_namespace, c.parent_name, c.end_time
    FROM run c
    LEFT JOIN run s ON s.parent_run_id = c.parent_run_id AND s.job_key = c.job_key AND s.outcome = 'COMPLETE'
        AND s.first_event_time >= c.first_event_time
    WHERE c.outcome = 'FAIL' AND c.parent_run_id IS NOT NULL AND s.run_key IS NULL
),
broken AS (
    SELECT run_key, 'error_in_complete' AS rule FROM run WHERE outcome = 'COMPLETE' AND has_error
    UNION ALL
    -- a COMPLETE before the FAIL has left nothing in the digest: the few runs that failed are looked up
    SELECT run_key, 'fail_and_complete'
    FROM (
        SELECT
            run_key,
            status = 'COMPLETE' OR EXISTS (
                SELECT FROM ol_event e
                WHERE e.run_id = run.run_id AND e.event_type = 'COMPLETE'
                  AND e.job_namespace = run.job_namespace AND e.job_name = run.job_name
                  AND e.event_time >= coalesce(run.last_start_time, run.first_event_time)
                  AND e.event_time <= run.last_event_time
            ) AS is_both
        FROM run
        WHERE outcome = 'FAIL'
    ) failed
    WHERE is_both
    UNION ALL
    SELECT DISTINCT p.run_key, 'failed_child'
    FROM run p
    JOIN failed_child c ON c.parent_run_id = p.run_id AND c.parent_name = p.job_name
        AND c.parent_namespace = p.job_namespace
    WHERE p.outcome = 'COMPLETE' AND c.end_time <= p.end_time
    UNION ALL
    SELECT run_key, 'no_start' FROM run WHERE start_time IS NULL AND end_time IS NOT NULL
    UNION ALL
    SELECT run_key, 'ends_before_start' FROM run WHERE end_time < start_time
),
total AS (
    SELECT job_key, count(*) AS n FROM run GROUP BY job_key
),
shared AS (
    SELECT
        min(first_event_time) AS first_event_time, max(last_event_time) AS last_event_time, run_id,
        array_agg(job_namespace ORDER BY job_namespace, job_name) AS namespaces,
        array_agg(job_name ORDER BY job_namespace, job_name) AS names
    FROM run
    WHERE run_id IN (SELECT run_id FROM run GROUP BY run_id HAVING count(*) > 1)
    GROUP BY run_id
)
SELECT
    r.job_namespace, r.job_name, b.rule, count(*) AS broken, min(t.n) AS n,
    min(r.first_event_time) AS first_seen, max(r.last_event_time) AS last_seen,
    (array_agg(r.run_id ORDER BY r.first_event_time DESC, r.run_key))[:10] AS run_ids,
    NULL::text[] AS namespaces, NULL::text[] AS names
FROM broken b
JOIN run r USING (run_key)
JOIN total t USING (job_key)
GROUP BY r.job_key, r.job_namespace, r.job_name, b.rule
UNION ALL
SELECT
    namespaces[1], names[1], 'shared_run_id', count(*), count(*),
    min(first_event_time), max(last_event_time), (array_agg(run_id ORDER BY first_event_time DESC, run_id))[:10],
    namespaces, names
FROM shared
GROUP BY namespaces, names
ORDER BY first_seen, job_namespace, job_name, rule, names;
