-- How often do the assertions of each dataset and the tests of each job pass?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'
-- \i quality_summary.sql
--
-- A row for each dimension of a dataset (assertions) or job (tests) that was reported in the window, in the order of
-- its first report: what Egeria's summary is computed from. Each report of each event counts; beside it, runs by
-- their last result. Times are milliseconds, rounded down.
WITH report AS MATERIALIZED (
    SELECT
        'dataset' COLLATE "C" AS kind, dataset_namespace AS namespace, dataset_name AS name,
        coalesce(assertion, assertion_name, 'unknown') || coalesce('.' || column_name, '') AS dimension,
        CASE WHEN success THEN 'pass' ELSE 'fail' END COLLATE "C" AS result,
        severity, event_time, run_id, assertion_key AS key
    FROM ol_assertion
    WHERE event_time >= :'from'::timestamptz AND event_time < :'to'::timestamptz
    UNION ALL
    SELECT
        'job', job_namespace, job_name,
        CASE WHEN test_type IS NULL THEN coalesce(test_name, 'null') ELSE test_type || '.' || coalesce(test_name, 'null') END,
        coalesce(status, 'skip'), severity, event_time, run_id, test_key
    FROM ol_test
    WHERE event_time >= :'from'::timestamptz AND event_time < :'to'::timestamptz
),
last AS (
    SELECT
        kind, namespace, name, dimension,
        count(*) FILTER (WHERE lower(result) = 'pass') AS runs_passed,
        count(*) FILTER (WHERE lower(result) = 'fail') AS runs_failed
    FROM (
        SELECT DISTINCT ON (kind, namespace, name, dimension, run_id) *
        FROM report
        ORDER BY kind, namespace, name, dimension, run_id, event_time DESC, key
    ) of_run
    GROUP BY kind, namespace, name, dimension
)
SELECT
    r.kind, nullif(r.namespace, '') AS namespace, r.name, r.dimension,
    count(*) FILTER (WHERE lower(r.result) = 'pass') AS passed,
    count(*) FILTER (WHERE lower(r.result) = 'fail') AS failed,
    count(*) FILTER (WHERE lower(r.result) NOT IN ('pass', 'fail')) AS skipped,
    floor(extract(epoch FROM max(r.event_time) FILTER (WHERE lower(r.result) = 'fail')) * 1000)::bigint AS last_failure,
    (array_agg(r.result ORDER BY r.event_time DESC, r.key))[1] AS last_result,
    (array_agg(r.severity ORDER BY r.event_time DESC, r.key) FILTER (WHERE r.severity IS NOT NULL))[1] AS severity,
    min(l.runs_passed) AS runs_passed, min(l.runs_failed) AS runs_failed
FROM report r
JOIN last l USING (kind, namespace, name, dimension)
GROUP BY r.kind, r.namespace, r.name, r.dimension
ORDER BY r.kind, r.namespace, r.name, min(r.event_time), r.dimension;
