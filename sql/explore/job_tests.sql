-- Tests and assertions that a job's last executions reported, each with its last thirty results, newest first.
WITH run AS (
    SELECT r.run_id FROM ol_run r WHERE r.job_key = :'job'::uuid AND :bound(r) ORDER BY r.first_event_time DESC LIMIT 60
),
result AS (
    SELECT
        'assertion' AS kind, coalesce(a.assertion_name, a.assertion, 'unnamed') AS test, a.column_name, a.dataset_namespace, a.dataset_name,
        CASE WHEN NOT coalesce(a.skipped, false) THEN a.success END AS success, a.severity, a.expected, a.actual, a.event_time, a.run_id
    FROM ol_assertion a JOIN run USING (run_id)
    WHERE ol_key(a.job_namespace, a.job_name) = :'job'::uuid
    UNION ALL
    SELECT
        'test', coalesce(t.test_name, t.test_type, 'unnamed'), NULL, NULL, NULL,
        CASE WHEN t.skipped THEN NULL WHEN lower(t.status) = 'pass' THEN true WHEN lower(t.status) = 'fail' THEN false END,
        t.severity, t.expected, t.actual, t.event_time, t.run_id
    FROM ol_test t JOIN run USING (run_id)
    WHERE ol_key(t.job_namespace, t.job_name) = :'job'::uuid
)
SELECT
    kind, test, column_name, dataset_namespace, dataset_name,
    (array_agg(success ORDER BY event_time DESC))[:30] AS latest, max(event_time) AS at,
    (array_agg(severity ORDER BY event_time DESC))[1] AS severity,
    (array_agg(left(expected, 300) ORDER BY event_time DESC))[1] AS expected, (array_agg(left(actual, 300) ORDER BY event_time DESC))[1] AS actual,
    (array_agg(run_id ORDER BY event_time DESC))[1] AS run_id
FROM result
GROUP BY kind, test, column_name, dataset_namespace, dataset_name
ORDER BY (array_agg(success ORDER BY event_time DESC))[1] IS NOT false, kind, dataset_namespace, dataset_name, test, column_name
LIMIT 200
