-- How did each test do?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'
-- \i tests.sql
--
-- A row for each assertion of a dataset and test of a job that passed or failed in the window: how often, its last thirty
-- results, newest first, and what was expected and found when it last failed.
WITH result AS (
    SELECT
        CASE kind WHEN 'test' THEN 'job' ELSE 'dataset' END COLLATE "C" AS kind,
        CASE kind WHEN 'test' THEN job_namespace ELSE dataset_namespace END COLLATE "C" AS namespace,
        CASE kind WHEN 'test' THEN job_name ELSE dataset_name END COLLATE "C" AS name,
        column_name COLLATE "C" AS column_name, coalesce(name, type, 'unnamed') COLLATE "C" AS test,
        coalesce(type, '') COLLATE "C" AS type, occurrence, run_id, event_time AS at, success, severity, expected, actual
    FROM ol_result(:'from'::timestamptz, :'to'::timestamptz)
    WHERE success IS NOT NULL
)
SELECT
    kind, coalesce(namespace, '') AS namespace, name, column_name, test, count(*) AS n,
    count(*) FILTER (WHERE NOT success) AS failed,
    (array_agg(success ORDER BY at DESC, run_id DESC))[:30] AS latest,
    max(at) FILTER (WHERE NOT success) AS failed_at,
    (array_agg(severity ORDER BY at DESC, run_id DESC) FILTER (WHERE NOT success))[1] AS severity,
    (array_agg(left(expected, 400) ORDER BY at DESC, run_id DESC) FILTER (WHERE NOT success))[1] AS expected,
    (array_agg(left(actual, 400) ORDER BY at DESC, run_id DESC) FILTER (WHERE NOT success))[1] AS actual
FROM result
GROUP BY kind, namespace, name, column_name, test, type, occurrence
ORDER BY kind, namespace, name, column_name, test, type, occurrence;
