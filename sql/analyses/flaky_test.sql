-- Which tests pass and fail by turns: is it the test, and not the data, that is unstable?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '30 days'
-- \i flaky_test.sql
--
-- A test is an assertion of a dataset (its type, column and name) or a test of a job. Counted are the flips: results
-- that differ from the one before, since :history before the window. A pair of results weighs half where the dataset
-- has another version in between, so that the data may be the reason. One row per test that flipped at least four
-- times, once of them in the window; how sure that is, lineagelog judges.
WITH result AS MATERIALIZED (
    SELECT
        CASE kind WHEN 'test' THEN 'job' ELSE 'dataset' END COLLATE "C" AS kind,
        CASE kind WHEN 'test' THEN job_namespace ELSE dataset_namespace END COLLATE "C" AS namespace,
        CASE kind WHEN 'test' THEN job_name ELSE dataset_name END COLLATE "C" AS name,
        coalesce(column_name, '') COLLATE "C" AS column_name, coalesce(name, '') COLLATE "C" AS test_name,
        coalesce(type, '') COLLATE "C" AS test_type,
        occurrence, dataset_key, run_id COLLATE "C" AS run_id, event_time AS at, success
    FROM ol_result(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    WHERE success IS NOT NULL
),
test AS (
    SELECT
        row_number() OVER (ORDER BY kind, namespace, name, column_name, test_name, test_type, occurrence) AS test,
        kind, namespace, name, column_name, test_name, test_type, occurrence,
        count(*) AS n, count(*) FILTER (WHERE NOT success) AS bad
    FROM result
    GROUP BY kind, namespace, name, column_name, test_name, test_type, occurrence
    HAVING count(*) FILTER (WHERE success) >= 2 AND count(*) FILTER (WHERE NOT success) >= 2
),
version AS (
    SELECT run_id, dataset_key, max(dataset_version) AS dataset_version
    FROM ol_run_dataset
    WHERE dataset_version IS NOT NULL AND run_id IN (SELECT run_id FROM result)
    GROUP BY run_id, dataset_key
),
pair AS (
    SELECT
        t.test, r.run_id, r.at,
        r.success <> lag(r.success) OVER turn AS is_flip,
        CASE WHEN v.dataset_version <> lag(v.dataset_version) OVER turn THEN 0.5 ELSE 1.0 END AS weight
    FROM result r
    JOIN test t USING (kind, namespace, name, column_name, test_name, test_type, occurrence)
    LEFT JOIN version v ON v.run_id = r.run_id AND v.dataset_key = r.dataset_key
    WINDOW turn AS (PARTITION BY t.test ORDER BY r.at, r.run_id)
)
SELECT
    t.kind, t.namespace, t.name, t.column_name, t.test_name, t.test_type, t.occurrence, t.n, t.bad,
    count(*) FILTER (WHERE p.is_flip) AS flips,
    sum(p.weight) FILTER (WHERE p.is_flip)::float8 AS flipped,
    coalesce(sum(p.weight) FILTER (WHERE NOT p.is_flip), 0)::float8 AS kept,
    min(p.at) FILTER (WHERE p.is_flip) AS first_seen, max(p.at) FILTER (WHERE p.is_flip) AS last_seen,
    (array_agg(p.run_id ORDER BY p.at DESC, p.run_id) FILTER (WHERE p.is_flip))[:10] AS run_ids
FROM pair p
JOIN test t USING (test)
GROUP BY p.test, t.kind, t.namespace, t.name, t.column_name, t.test_name, t.test_type, t.occurrence, t.n, t.bad
HAVING count(*) FILTER (WHERE p.is_flip) >= 4 AND max(p.at) FILTER (WHERE p.is_flip) >= :'from'::timestamptz
ORDER BY first_seen, t.namespace, t.name, t.column_name, t.test_name, t.test_type, t.occurrence;
