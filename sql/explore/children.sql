-- What a run has started, in order: children began while it was alive, or little before or after.
WITH e AS (
    SELECT x.*, r.attempt, r.map_index
    FROM ol_execution(:'from'::timestamptz - interval '1 hour', :'to'::timestamptz + interval '1 hour') x
    LEFT JOIN ol_run r ON r.run_key = x.execution_key
    WHERE x.parent_run_id = :'run_id'::text AND :bound(x)
    ORDER BY x.first_event_time, x.execution_key
    LIMIT :'limit'::int
)
:include(execution_rows)
ORDER BY e.first_event_time, e.execution_key
