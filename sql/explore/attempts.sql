-- All attempts at the task that a run is one of, in order.
WITH e AS (
    SELECT x.*, r.attempt, r.map_index
    FROM ol_run own
    JOIN ol_run r ON r.job_key = own.job_key AND r.first_event_time > own.first_event_time - interval '2 days'
        AND r.first_event_time < own.first_event_time + interval '2 days'
    JOIN ol_execution(:'at'::timestamptz - interval '2 days', :'at'::timestamptz + interval '2 days') x
        ON x.execution_key = r.run_key
    WHERE own.run_key = :'key'::uuid AND (r.run_key = own.run_key OR :one_task(own, r)) AND :bound(x)
    ORDER BY x.first_event_time, x.execution_key
    LIMIT 50
)
:include(execution_rows)
ORDER BY e.first_event_time, e.execution_key
