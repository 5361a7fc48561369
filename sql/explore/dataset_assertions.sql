-- Assertions of a dataset, each with its last thirty results, newest first.
SELECT
    'assertion' AS kind, coalesce(a.assertion_name, a.assertion, 'unnamed') AS test, a.column_name, NULL AS dataset_namespace, NULL AS dataset_name,
    (array_agg(CASE WHEN NOT coalesce(a.skipped, false) THEN a.success END ORDER BY a.event_time DESC))[:30] AS latest,
    max(a.event_time) AS at, (array_agg(a.severity ORDER BY a.event_time DESC))[1] AS severity,
    (array_agg(left(a.expected, 300) ORDER BY a.event_time DESC))[1] AS expected,
    (array_agg(left(a.actual, 300) ORDER BY a.event_time DESC))[1] AS actual,
    (array_agg(a.run_id ORDER BY a.event_time DESC))[1] AS run_id
FROM (
    SELECT * FROM ol_assertion o WHERE o.dataset_key = ANY (:'keys'::uuid[]) AND :bound(o) ORDER BY o.event_time DESC LIMIT 3000
) a
GROUP BY 2, a.column_name
ORDER BY (array_agg(CASE WHEN NOT coalesce(a.skipped, false) THEN a.success END ORDER BY a.event_time DESC))[1] IS NOT false, 2, a.column_name
LIMIT 200
