-- Which datasets changed their columns in the window?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '30 days'
-- \i schema_drift.sql
--
-- Compared is what one job says of one dataset, on one side, from execution to execution: jobs describe the same
-- dataset differently. A dataset is one by whichever of its names, and so are names that differ only in a date or in the
-- value of a Hive partition. One row per dataset and pair of different schemas; what exactly differs, lineagelog says
-- (`lineagelog analyse schema_drift`): reordered columns and other words for the same type are no drift.
WITH series AS MATERIALIZED (
    SELECT identity_key, series_key, dataset_namespace, pattern FROM v_ol_dataset_series
),
-- DISTINCT ON says what PostgreSQL cannot know: one row a dataset, which is then hashed
sighting AS MATERIALIZED (
    SELECT e.job_key, e.direction, s.series_key AS dataset_key, e.schema_hash, e.executed_at AS at,
        e.execution_id COLLATE "C" AS execution_id
    FROM ol_execution_dataset(:'from'::timestamptz - :'history'::interval, :'to'::timestamptz) e
    JOIN (SELECT DISTINCT ON (identity_key) * FROM series) s USING (identity_key)
    WHERE e.schema_hash IS NOT NULL
),
lane AS (
    SELECT job_key, direction, dataset_key
    FROM (SELECT DISTINCT job_key, direction, dataset_key, schema_hash FROM sighting) content
    GROUP BY job_key, direction, dataset_key
    HAVING count(*) > 1
),
change AS (
    SELECT
        *,
        lag(schema_hash) OVER (PARTITION BY job_key, direction, dataset_key ORDER BY at, execution_id) AS before_hash,
        row_number() OVER (PARTITION BY job_key, direction, dataset_key ORDER BY at, execution_id) AS number
    FROM (
        SELECT DISTINCT ON (job_key, direction, dataset_key, at, execution_id) *
        FROM sighting
        JOIN lane USING (job_key, direction, dataset_key)
        ORDER BY job_key, direction, dataset_key, at, execution_id, schema_hash
    ) one -- of an execution that had several names of it
),
found AS MATERIALIZED (
    SELECT
        dataset_key, before_hash, schema_hash, min(at) AS first_seen, max(at) AS last_seen, max(number) - 1 AS n,
        array_agg(DISTINCT job_key) AS job_keys, (array_agg(execution_id ORDER BY at, execution_id))[:10] AS run_ids
    FROM change
    WHERE before_hash <> schema_hash AND at >= :'from'::timestamptz
    GROUP BY dataset_key, before_hash, schema_hash
),
job AS (
    SELECT job_key, min(job_namespace COLLATE "C") AS job_namespace, min(job_name COLLATE "C") AS job_name
    FROM ol_execution(:'from'::timestamptz, :'to'::timestamptz)
    WHERE job_key IN (SELECT unnest(job_keys) FROM found)
    GROUP BY job_key
),
name AS (
    SELECT DISTINCT series_key AS dataset_key, dataset_namespace, pattern AS dataset_name FROM series
)
SELECT
    d.dataset_namespace, d.dataset_name, b.fields AS before, a.fields AS after,
    f.first_seen, f.last_seen, f.n,
    (SELECT jsonb_agg(jsonb_build_array(j.job_namespace, j.job_name) ORDER BY j.job_namespace, j.job_name)
     FROM job j WHERE j.job_key = ANY (f.job_keys)) AS jobs,
    f.run_ids
FROM found f
JOIN ol_schema_version b ON b.schema_hash = f.before_hash
JOIN ol_schema_version a ON a.schema_hash = f.schema_hash
JOIN name d ON d.dataset_key = f.dataset_key
ORDER BY f.first_seen, d.dataset_namespace, d.dataset_name, f.before_hash, f.schema_hash;
