-- Jobs, worst state first, then by their last run, after a key; each with its last twenty executions.
WITH job AS (
    :include(job_state)
),
page AS (
    SELECT * FROM job
    WHERE (:'ranks'::text = '{}' OR rank = ANY (:'ranks'::int[]))
      AND (:'after_key'::text = '' OR rank > :'after_rank'::int OR (rank = :'after_rank'::int AND
           (coalesce(last_at, '-infinity'), job_key) < (:'after_at'::timestamptz, nullif(:'after_key'::text, '')::uuid)))
    ORDER BY rank, coalesce(last_at, '-infinity') DESC, job_key DESC
    LIMIT :'limit'::int
)
SELECT p.*, e.strip, e.error, e.duration, e.ended, e.typical, coalesce(e.good, 0) AS good, e.good_run_id, e.good_at, coalesce(e.times, '{}') AS times
FROM page p
LEFT JOIN LATERAL (
    SELECT
        (array_agg(CASE WHEN x.is_fixed THEN 'FIXED' ELSE x.outcome END ORDER BY x.at DESC) FILTER (WHERE NOT x.is_replaced))[:20] AS strip,
        (array_agg(left(x.error_message, 400) ORDER BY x.at DESC))[1] AS error,
        (array_agg(x.duration ORDER BY x.at DESC))[1] AS duration,
        (array_agg(x.end_time ORDER BY x.at DESC))[1] AS ended,
        percentile_cont(ARRAY[0.05, 0.5, 0.95]) WITHIN GROUP (ORDER BY x.duration) FILTER (WHERE x.outcome = 'COMPLETE') AS typical,
        count(*) FILTER (WHERE x.outcome = 'COMPLETE') AS good,
        (array_agg(x.run_id ORDER BY x.at DESC) FILTER (WHERE x.outcome = 'COMPLETE'))[1] AS good_run_id,
        max(x.at) FILTER (WHERE x.outcome = 'COMPLETE') AS good_at,
        array_agg(extract(epoch FROM x.at)::float8 ORDER BY x.at) FILTER (WHERE NOT x.is_replaced) AS times
    FROM (
        SELECT
            r.run_id, r.outcome, r.first_event_time AS at, r.end_time, r.error_message,
            CASE WHEN r.outcome IN ('COMPLETE', 'FAIL', 'ABORT') AND r.end_time >= r.start_time
                 THEN extract(epoch FROM r.end_time - r.start_time)::float8 END AS duration,
            r.outcome = 'COMPLETE' AND lag(r.outcome) OVER later = 'FAIL'
                AND (lag(r.parent_run_id) OVER later = r.parent_run_id OR lag(r.nominal_start_time) OVER later = r.nominal_start_time)
                AS is_fixed,
            r.outcome IN ('FAIL', 'ABORT')
                AND coalesce(lead(r.parent_run_id) OVER later = r.parent_run_id OR lead(r.nominal_start_time) OVER later = r.nominal_start_time, false)
                AS is_replaced
        FROM (SELECT * FROM ol_run o WHERE o.job_key = p.job_key ORDER BY o.first_event_time DESC LIMIT 30) r
        WINDOW later AS (ORDER BY r.first_event_time, r.run_key)
    ) x
) e ON true
ORDER BY p.rank, coalesce(p.last_at, '-infinity') DESC, p.job_key DESC
