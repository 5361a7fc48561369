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
        occurrence, coalesce(ol_identity_at(n.ends, n.identity_keys, event_time, NULL), dataset_key) AS identity_key,
        run_id COLLATE "C" AS run_id, job_namespace COLLATE "C" AS job_namespace, job_name COLLATE "C" AS job_name,
        event_time AS at, success
    FROM ol_result(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    LEFT JOIN ol_lives() n USING (dataset_key)
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
    SELECT run_id, job_namespace, job_name, identity_key, max(dataset_version) AS dataset_version
    FROM (
        SELECT
            run_id, job_namespace, job_name, dataset_version,
            coalesce(ol_identity_at(n.ends, n.identity_keys, event_time, lifecycle_state_change), dataset_key) AS identity_key
        FROM ol_run_dataset
        LEFT JOIN ol_lives() n USING (dataset_key)
        WHERE dataset_version IS NOT NULL AND run_id IN (SELECT run_id FROM result WHERE identity_key IS NOT NULL)
    ) told
    GROUP BY run_id, job_namespace, job_name, identity_key
),
pair AS (
    SELECT
        t.test, run_id, r.at,
        r.success <> lag(r.success) OVER turn AS is_flip,
        CASE WHEN v.dataset_version <> lag(v.dataset_version) OVER turn THEN 0.5 ELSE 1.0 END AS weight
    FROM result r
    JOIN test t USING (kind, namespace, name, column_name, test_name, test_type, occurrence)
    LEFT JOIN version v USING (run_id, job_namespace, job_name, identity_key)
    WINDOW turn AS (PARTITION BY t.test ORDER BY r.at, run_id)
)
SELECT
    t.kind, t.namespace, t.name, t.column_name, t.test_name, t.test_type, t.occurrence, t.n, t.bad,
    f.flips, f.flipped, f.kept, f.first_seen, f.last_seen, f.run_ids
FROM (
    SELECT
        test,
        count(*) FILTER (WHERE is_flip) AS flips,
        sum(weight) FILTER (WHERE is_flip)::float8 AS flipped,
        coalesce(sum(weight) FILTER (WHERE NOT is_flip), 0)::float8 AS kept,
        min(at) FILTER (WHERE is_flip) AS first_seen, max(at) FILTER (WHERE is_flip) AS last_seen,
        (array_agg(run_id ORDER BY at DESC, run_id) FILTER (WHERE is_flip))[:10] AS run_ids
    FROM pair
    GROUP BY test
    HAVING count(*) FILTER (WHERE is_flip) >= 4 AND max(at) FILTER (WHERE is_flip) >= :'from'::timestamptz
) f
JOIN test t USING (test)
ORDER BY f.first_seen, t.namespace, t.name, t.column_name, t.test_name, t.test_type, t.occurrence;
