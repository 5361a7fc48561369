-- The last executions of a job, oldest first, to be drawn: attempts at one task are one.
SELECT * FROM (
    SELECT
        r.run_id, r.run_key, r.outcome, r.first_event_time AS at,
        CASE WHEN r.outcome IN ('COMPLETE', 'FAIL', 'ABORT') AND r.end_time >= r.start_time
             THEN extract(epoch FROM r.end_time - r.start_time)::float8 END AS duration,
        r.outcome = 'COMPLETE' AND EXISTS (
            SELECT FROM ol_run p WHERE p.job_key = r.job_key AND p.first_event_time < r.first_event_time
              AND p.first_event_time > r.first_event_time - interval '2 days' AND p.outcome = 'FAIL' AND :one_task(r, p)
        ) AS is_fixed
    FROM ol_run r
    WHERE r.job_key = :'job'::uuid AND :bound(r) AND r.first_event_time < :'to'::timestamptz AND NOT :replaced(r)
    ORDER BY r.first_event_time DESC, r.run_key DESC
    LIMIT :'limit'::int
) x
ORDER BY at, run_key
