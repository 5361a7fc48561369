-- What is downstream of a bad dataset or of a bad run, and who read it?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set dataset_namespace 'postgres://db:5432'  \set dataset 'shop.public.orders'
-- \set run_id ''  \set depth 10
-- \i blast_radius.sql
--
-- Starts with a dataset that is bad from :from on, or, if :run_id is not '', with all that this run wrote. A run has read
-- the bad data if it read the dataset and its last event is not before the bad write; what it wrote is bad from then
-- on; runs that began at :to or later are left out. One row per job, dataset read and dataset written. Within one
-- execution of a SnapLogic pipeline, virtual datasets are passed through: the rows lead from table to table.
WITH RECURSIVE
seed AS (
    SELECT d.dataset_key, d.dataset_namespace, d.dataset_name, min(r.first_event_time) AS at
    FROM ol_run r
    JOIN ol_run_dataset d ON d.run_id = r.run_id AND d.direction = 'O'
    WHERE r.run_id = :'run_id'::text AND :'run_id'::text <> ''
    GROUP BY d.dataset_key, d.dataset_namespace, d.dataset_name
    UNION ALL
    SELECT
        ol_key(:'dataset_namespace'::text, :'dataset'::text),
        :'dataset_namespace'::text COLLATE "C", :'dataset'::text COLLATE "C", :'from'::timestamptz
    WHERE :'run_id'::text = ''
),
reached AS (
    SELECT
        s.dataset_key, s.at, NULL::text COLLATE "C" AS scope, 0 AS depth, ARRAY[s.dataset_key] AS path,
        NULL::text COLLATE "C" AS job_namespace, NULL::text COLLATE "C" AS job_name,
        NULL::text COLLATE "C" AS run_id,
        s.dataset_namespace AS from_namespace, s.dataset_name AS from_name,
        s.dataset_namespace AS to_namespace, s.dataset_name AS to_name
    FROM seed s
    UNION ALL
    SELECT *
    FROM (
        SELECT
            o.dataset_key, greatest(b.at, r.first_event_time) AS at,
            CASE WHEN v.is_virtual THEN r.parent_run_id END AS scope,
            b.depth + CASE WHEN v.is_virtual THEN 0 ELSE 1 END AS depth,
            b.path || o.dataset_key,
            CASE WHEN p.is_snap THEN r.parent_namespace ELSE r.job_namespace END,
            CASE WHEN p.is_snap THEN r.parent_name ELSE r.job_name END,
            CASE WHEN p.is_snap THEN r.parent_run_id ELSE r.run_id END,
            CASE WHEN b.scope IS NULL THEN b.to_namespace ELSE b.from_namespace END,
            CASE WHEN b.scope IS NULL THEN b.to_name ELSE b.from_name END,
            o.dataset_namespace, o.dataset_name
        FROM (
            -- of the ways into a dataset the earliest is enough to go on from
            SELECT DISTINCT ON (dataset_key, scope, CASE WHEN scope IS NOT NULL THEN (from_namespace, from_name) END) *
            FROM reached
            WHERE dataset_key IS NOT NULL AND (depth < :'depth'::int OR scope IS NOT NULL)
            ORDER BY dataset_key, scope, CASE WHEN scope IS NOT NULL THEN (from_namespace, from_name) END, at, path
        ) b
        JOIN ol_run_dataset i ON i.dataset_key = b.dataset_key AND i.direction = 'I'
        JOIN ol_run r ON r.run_id = i.run_id AND r.last_event_time >= b.at
            AND r.first_event_time < :'to'::timestamptz AND (b.scope IS NULL OR r.parent_run_id = b.scope)
        CROSS JOIN LATERAL (SELECT ol_is_snap(r.job_namespace, r.parent_run_id, r.parent_name) AS is_snap) p
        LEFT JOIN ol_run_dataset o ON o.run_id = r.run_id AND o.direction = 'O' AND o.dataset_key <> ALL (b.path)
        CROSS JOIN LATERAL (
            SELECT coalesce(p.is_snap AND ol_is_virtual(o.dataset_namespace, o.dataset_name), false) AS is_virtual
        ) v
        WHERE r.run_id <> :'run_id'::text
    ) next
)
SELECT
    min(depth) AS depth, job_namespace, job_name,
    from_namespace, from_name, to_namespace, to_name,
    min(at) AS first_seen, max(at) AS last_seen, count(DISTINCT run_id) AS runs,
    (array_agg(DISTINCT run_id))[:10] AS run_ids
FROM reached
WHERE job_name IS NOT NULL AND scope IS NULL
GROUP BY job_namespace, job_name, from_namespace, from_name, to_namespace, to_name
ORDER BY depth, first_seen, job_namespace, job_name, from_namespace, from_name, to_namespace, to_name;
