-- Which datasets changed their columns in the window?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '30 days'
-- \i schema_drift.sql
--
-- Compared is what one job says of one dataset, on one side, from run to run: jobs describe the same dataset
-- differently. One row per dataset and pair of different schemas; what exactly differs, lineagelog says
-- (`lineagelog analyse schema-drift`): reordered columns and other words for the same type are no drift.
WITH sighting AS (
    SELECT
        r.job_namespace, r.job_name, r.run_id, r.first_event_time AS at,
        d.direction, d.dataset_namespace, d.dataset_name, d.schema_hash,
        lag(d.schema_hash) OVER lane AS before_hash,
        row_number() OVER lane AS number
    FROM ol_run r
    JOIN ol_run_dataset d ON d.run_id = r.run_id AND d.schema_hash IS NOT NULL
    WHERE r.first_event_time >= :'from'::timestamptz - :'history'::interval
      AND r.first_event_time < :'to'::timestamptz
      AND NOT (lower(d.dataset_namespace) = 'snaplogic' AND d.dataset_name ~* (
            '(^virtual_db\.virtual_schema\..*: ?[0-9a-f]{5}|: ?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})'
            '( \([^()]*\))?$'))
    WINDOW lane AS (
        PARTITION BY r.job_namespace, r.job_name, d.direction, d.dataset_namespace, d.dataset_name
        ORDER BY r.first_event_time, r.run_id)
)
SELECT
    s.dataset_namespace, s.dataset_name, b.fields AS before, a.fields AS after,
    min(s.at) AS first_seen, max(s.at) AS last_seen, max(s.number) - 1 AS n,
    jsonb_agg(DISTINCT jsonb_build_array(s.job_namespace, s.job_name)) AS jobs,
    (array_agg(s.run_id ORDER BY s.at, s.run_id))[:10] AS run_ids
FROM sighting s
JOIN ol_schema_version b ON b.schema_hash = s.before_hash
JOIN ol_schema_version a ON a.schema_hash = s.schema_hash
WHERE s.before_hash <> s.schema_hash AND s.at >= :'from'::timestamptz
GROUP BY s.dataset_namespace, s.dataset_name, s.before_hash, s.schema_hash, b.fields, a.fields
ORDER BY min(s.at), s.dataset_namespace, s.dataset_name, s.before_hash, s.schema_hash;
