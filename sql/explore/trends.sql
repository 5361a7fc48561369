-- How many executions began in each span of time, by what came of them: attempts at one task are one, and one that failed
-- and was retried is fixed where the retry completed.
WITH fixed AS MATERIALIZED (
    SELECT DISTINCT good.run_key
    FROM ol_run f
    CROSS JOIN LATERAL (
        SELECT l.run_key
        FROM ol_run l
        WHERE l.job_key = f.job_key AND l.first_event_time > f.first_event_time
          AND l.first_event_time < f.first_event_time + interval '2 days' AND l.outcome = 'COMPLETE' AND :one_task(f, l)
        ORDER BY l.first_event_time
        LIMIT 1
    ) good
    WHERE f.first_event_time >= :'from'::timestamptz - interval '2 days' AND f.first_event_time < :'to'::timestamptz
      AND f.outcome = 'FAIL' AND (f.nominal_start_time IS NOT NULL OR f.parent_run_id IS NOT NULL)
      AND NOT ol_is_snaplogic(f.job_namespace)
)
SELECT
    to_timestamp(:'origin'::float8 + floor((extract(epoch FROM e.first_event_time)::float8 - :'origin'::float8) / :'step'::float8)
                 * :'step'::float8) AS at,
    count(*) FILTER (WHERE e.outcome = 'COMPLETE' AND x.run_key IS NULL) AS completed,
    count(*) FILTER (WHERE e.outcome = 'COMPLETE' AND x.run_key IS NOT NULL) AS fixed,
    count(*) FILTER (WHERE e.outcome = 'FAIL') AS failed, count(*) FILTER (WHERE e.outcome = 'ABORT') AS aborted,
    count(*) FILTER (WHERE e.outcome NOT IN ('COMPLETE', 'FAIL', 'ABORT')) AS running
FROM ol_execution(:'from'::timestamptz, :'to'::timestamptz) e
LEFT JOIN fixed x ON x.run_key = e.execution_key
WHERE :bound(e)
  AND (:'job'::text = '' OR e.job_key = nullif(:'job'::text, '')::uuid)
  AND (:'namespace_given'::text = '' OR e.job_namespace = :'namespace'::text)
  AND NOT (NOT e.is_pipeline AND e.outcome <> 'COMPLETE'
           AND EXISTS (SELECT FROM ol_run s WHERE s.run_key = e.execution_key AND :replaced(s)))
GROUP BY 1
ORDER BY 1
