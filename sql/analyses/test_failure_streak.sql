-- Which tests fail again and again: since which run, and what else broke with it?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '30 days'  \set streak 3
-- \i test_failure_streak.sql
--
-- A test is an assertion of a dataset (its type, column and name) or a test of a job. A streak: at least :streak results
-- of it in a row that failed, one of them in the window; what neither passed nor failed is passed over. One row per
-- streak, with how often the test failed outside of streaks since :history before the window; whether that makes a streak likely
-- by itself, lineagelog judges.
WITH result AS MATERIALIZED (
    SELECT
        CASE kind WHEN 'test' THEN 'job' ELSE 'dataset' END COLLATE "C" AS kind,
        CASE kind WHEN 'test' THEN job_namespace ELSE dataset_namespace END COLLATE "C" AS namespace,
        CASE kind WHEN 'test' THEN job_name ELSE dataset_name END COLLATE "C" AS name,
        coalesce(column_name, '') COLLATE "C" AS column_name, coalesce(name, '') COLLATE "C" AS test_name,
        coalesce(type, '') COLLATE "C" AS test_type,
        occurrence, run_id COLLATE "C" AS run_id, event_time AS at, NOT success AS is_bad, severity
    FROM ol_result(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz)
    WHERE success IS NOT NULL
),
test AS (
    SELECT
        row_number() OVER (ORDER BY kind, namespace, name, column_name, test_name, test_type, occurrence) AS test,
        kind, namespace, name, column_name, test_name, test_type, occurrence
    FROM result
    GROUP BY kind, namespace, name, column_name, test_name, test_type, occurrence
    HAVING count(*) FILTER (WHERE is_bad) >= :'streak'::bigint
       AND max(at) FILTER (WHERE is_bad) >= :'from'::timestamptz
),
numbered AS MATERIALIZED (
    SELECT
        t.test, r.run_id, r.at, r.is_bad, r.severity,
        count(*) FILTER (WHERE NOT r.is_bad) OVER (PARTITION BY t.test ORDER BY r.at, r.run_id) AS good
    FROM result r
    JOIN test t USING (kind, namespace, name, column_name, test_name, test_type, occurrence)
),
streak AS (
    SELECT test, good, count(*) AS streak, max(at) >= :'from'::timestamptz AS is_told
    FROM numbered
    WHERE is_bad
    GROUP BY test, good
    HAVING count(*) >= :'streak'::bigint
),
-- what the test says otherwise: another streak must not make this one likely
total AS (
    SELECT
        n.test, count(*) AS n, count(*) FILTER (WHERE s.test IS NULL) AS others,
        count(*) FILTER (WHERE n.is_bad AND s.test IS NULL) AS others_bad
    FROM numbered n
    LEFT JOIN streak s ON s.test = n.test AND s.good = n.good AND n.is_bad
    WHERE n.test IN (SELECT test FROM streak WHERE is_told)
    GROUP BY n.test
),
-- and what it says at about that time, from ten good results before to ten after: it may have become worse
near AS (
    SELECT s.test, s.good, count(*) AS near, count(*) FILTER (WHERE n.is_bad) AS near_bad
    FROM streak s
    JOIN numbered n ON n.test = s.test AND n.good >= s.good - 10 AND n.good <= s.good + 10
    LEFT JOIN streak o ON o.test = n.test AND o.good = n.good AND n.is_bad
    WHERE s.is_told AND o.test IS NULL
    GROUP BY s.test, s.good
)
SELECT
    t.kind, t.namespace, t.name, t.column_name, t.test_name, t.test_type, t.occurrence, s.streak, a.n, a.others, a.others_bad,
    coalesce(max(b.near), 0) AS near, coalesce(max(b.near_bad), 0) AS near_bad,
    max(lower(n.severity)) FILTER (WHERE n.is_bad) AS reported_severity,
    min(n.at) FILTER (WHERE n.is_bad) AS first_seen, max(n.at) FILTER (WHERE n.is_bad) AS last_seen,
    array_agg(n.run_id ORDER BY n.at, n.run_id) FILTER (WHERE n.is_bad) AS run_ids,
    max(n.at) FILTER (WHERE NOT n.is_bad AND n.good = s.good) AS last_good_at,
    max(n.run_id) FILTER (WHERE NOT n.is_bad AND n.good = s.good) AS last_good_run,
    max(n.at) FILTER (WHERE n.good > s.good) AS ended_at,
    max(n.run_id) FILTER (WHERE n.good > s.good) AS ended_run
FROM streak s
JOIN test t ON t.test = s.test
JOIN total a ON a.test = s.test
LEFT JOIN near b ON b.test = s.test AND b.good = s.good
JOIN numbered n ON n.test = s.test AND (n.good = s.good OR (n.good = s.good + 1 AND NOT n.is_bad))
WHERE s.is_told
GROUP BY s.test, s.good, s.streak, t.kind, t.namespace, t.name, t.column_name, t.test_name, t.test_type, t.occurrence,
         a.n, a.others, a.others_bad
ORDER BY first_seen, t.namespace, t.name, t.column_name, t.test_name, t.test_type, t.occurrence;
