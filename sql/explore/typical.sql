-- How long the last completed executions of jobs took, by the median of thirty.
SELECT j.job_key::text AS job, percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM r.end_time - r.start_time)::float8) AS seconds
FROM unnest(:'jobs'::uuid[]) j (job_key)
CROSS JOIN LATERAL (
    SELECT x.* FROM ol_run x WHERE x.job_key = j.job_key AND x.first_event_time < :'to'::timestamptz
    ORDER BY x.first_event_time DESC LIMIT 30
) r
WHERE r.outcome = 'COMPLETE' AND r.end_time >= r.start_time AND :bound(r)
GROUP BY j.job_key
HAVING count(*) >= 3
