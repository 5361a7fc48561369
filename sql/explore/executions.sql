-- The executions that began in a window, newest or oldest first, after a key; attempts at one task are one.
WITH e AS (
    SELECT x.*, r.attempt, r.map_index
    FROM ol_execution(:'from'::timestamptz, :'to'::timestamptz) x
    LEFT JOIN ol_run r ON r.run_key = x.execution_key
    WHERE :bound(x)
      AND (:'job'::text = '' OR x.job_key = nullif(:'job'::text, '')::uuid)
      AND (:'namespace_given'::text = '' OR x.job_namespace = :'namespace'::text)
      AND (:'outcomes'::text = '{}' OR x.outcome = ANY (:'outcomes'::text[]))
      AND (:'after_key'::text = '' OR
           (x.first_event_time, x.execution_key) :beyond() (:'after_at'::timestamptz, nullif(:'after_key'::text, '')::uuid))
      AND NOT (NOT x.is_pipeline AND EXISTS (SELECT FROM ol_run s WHERE s.run_key = x.execution_key AND :replaced(s)))
    ORDER BY x.first_event_time :order(), x.execution_key :order()
    LIMIT :'limit'::int
)
:include(execution_rows)
ORDER BY e.first_event_time :order(), e.execution_key :order()
