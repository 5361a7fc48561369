-- The executions with an id, whatever job's; a run that a later attempt replaced is one, too.
WITH own AS (
    SELECT min(r.first_event_time) AS first, max(r.first_event_time) AS last FROM ol_run r WHERE r.run_id = :'run_id'::text
       OR (ol_is_snaplogic(r.job_namespace) AND r.parent_run_id = :'run_id'::text)
),
e AS (
    SELECT x.*, r.attempt, r.map_index
    FROM ol_execution((SELECT first FROM own), (SELECT last FROM own) + interval '1 microsecond') x
    LEFT JOIN ol_run r ON r.run_key = x.execution_key
    WHERE x.execution_id = :'run_id'::text AND :bound(x)
      AND (:'job'::text = '' OR x.job_key = nullif(:'job'::text, '')::uuid)
    ORDER BY x.first_event_time, x.execution_key
    LIMIT 20
)
:include(execution_rows)
ORDER BY e.first_event_time, e.execution_key
