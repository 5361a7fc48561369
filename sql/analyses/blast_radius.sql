-- What is downstream of a bad dataset or of a bad run, and who read it?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set dataset_namespace 'postgres://db:5432'  \set dataset 'shop.public.orders'
-- \set run_id ''  \set depth 10
-- \i blast_radius.sql
--
-- Starts with a dataset that is bad from :from on, or, if :run_id is not '', with all that this run wrote. A run has read
-- the bad data if it read the dataset, by whichever of its names, its last event is not before the bad write, and it
-- began before another run dropped, truncated or overwrote it; what it wrote is bad from then on; runs that began at :to
-- or later are left out. One row per job, dataset read and dataset written; those are told apart that name another
-- version than the bad one (other_version), and what follows from them. Within one execution of a SnapLogic pipeline,
-- virtual datasets are passed through: the rows lead from table to table.
WITH RECURSIVE
joined AS MATERIALIZED (
    SELECT dataset_key, began, ended, identity_key FROM ol_identity()
),
seed AS (
    SELECT
        coalesce(n.identity_key, d.dataset_key) AS dataset_key, d.dataset_namespace, d.dataset_name, d.dataset_version,
        min(r.first_event_time) AS at
    FROM ol_run r
    JOIN ol_run_dataset d ON d.run_key = r.run_key AND d.direction = 'O'
    LEFT JOIN joined n ON n.dataset_key = d.dataset_key
        AND ol_is_life(d.event_time, d.lifecycle_state_change, n.began, n.ended)
    WHERE r.run_id = :'run_id'::text AND :'run_id'::text <> ''
    GROUP BY coalesce(n.identity_key, d.dataset_key), d.dataset_namespace, d.dataset_name, d.dataset_version
    UNION ALL
    SELECT
        coalesce(n.identity_key, k.key), :'dataset_namespace'::text COLLATE "C", :'dataset'::text COLLATE "C", NULL,
        :'from'::timestamptz
    FROM (SELECT ol_key(:'dataset_namespace'::text, :'dataset'::text) AS key) k
    LEFT JOIN joined n ON n.dataset_key = k.key AND :'from'::timestamptz > n.began AND :'from'::timestamptz <= n.ended
    WHERE :'run_id'::text = ''
),
reached AS (
    SELECT
        s.dataset_key, s.at, NULL::text COLLATE "C" AS scope, 0 AS depth, ARRAY[s.dataset_key] AS path,
        NULL::text COLLATE "C" AS job_namespace, NULL::text COLLATE "C" AS job_name,
        NULL::text COLLATE "C" AS run_id, s.dataset_key AS from_key,
        s.dataset_namespace AS from_namespace, s.dataset_name AS from_name,
        s.dataset_namespace AS to_namespace, s.dataset_name AS to_name,
        s.dataset_version AS version, :'run_id'::text COLLATE "C" AS written_by, false AS other_version
    FROM seed s
    UNION ALL
    SELECT *
    FROM (
        SELECT
            coalesce(no.identity_key, o.dataset_key), greatest(b.at, r.first_event_time) AS at,
            CASE WHEN v.is_virtual THEN r.parent_run_id END AS scope,
            b.depth + CASE WHEN v.is_virtual THEN 0 ELSE 1 END AS depth,
            b.path || coalesce(no.identity_key, o.dataset_key),
            CASE WHEN p.is_snap THEN r.parent_namespace ELSE r.job_namespace END,
            CASE WHEN p.is_snap THEN r.parent_name ELSE r.job_name END,
            CASE WHEN p.is_snap THEN r.parent_run_id ELSE r.run_id END,
            CASE WHEN b.scope IS NULL THEN b.dataset_key ELSE b.from_key END,
            CASE WHEN b.scope IS NULL THEN b.to_namespace ELSE b.from_namespace END,
            CASE WHEN b.scope IS NULL THEN b.to_name ELSE b.from_name END,
            o.dataset_namespace, o.dataset_name, o.dataset_version, r.run_id,
            b.other_version OR coalesce(i.dataset_version <> b.version, false)
        FROM (
            -- of the ways into a dataset the earliest is enough to go on from, until it is made anew
            SELECT DISTINCT ON (w.dataset_key, w.scope, w.other_version, e.until,
                                CASE WHEN w.scope IS NOT NULL THEN (w.from_namespace, w.from_name) END) w.*, e.until
            FROM reached w
            CROSS JOIN LATERAL (
                SELECT min(d.event_time) AS until
                FROM (
                    SELECT dataset_key, began, ended FROM joined WHERE identity_key = w.dataset_key
                    UNION
                    SELECT w.dataset_key, '-infinity', 'infinity'
                    WHERE w.dataset_key NOT IN (SELECT dataset_key FROM joined)
                ) n
                JOIN ol_run_dataset d ON d.dataset_key = n.dataset_key AND d.direction = 'O'
                    AND ol_is_life(d.event_time, d.lifecycle_state_change, n.began, n.ended)
                WHERE upper(d.lifecycle_state_change) IN ('DROP', 'TRUNCATE', 'OVERWRITE')
                  AND d.event_time > w.at AND d.run_id <> w.written_by
            ) e
            WHERE w.dataset_key IS NOT NULL AND (w.depth < :'depth'::int OR w.scope IS NOT NULL)
            ORDER BY w.dataset_key, w.scope, w.other_version, e.until,
                     CASE WHEN w.scope IS NOT NULL THEN (w.from_namespace, w.from_name) END, w.at, w.path
        ) b
        CROSS JOIN LATERAL (
            SELECT dataset_key, began, ended FROM joined WHERE identity_key = b.dataset_key
            UNION
            SELECT b.dataset_key, '-infinity', 'infinity' WHERE b.dataset_key NOT IN (SELECT dataset_key FROM joined)
        ) n
        JOIN ol_run_dataset i ON i.dataset_key = n.dataset_key AND i.direction = 'I'
            AND ol_is_life(i.event_time, i.lifecycle_state_change, n.began, n.ended)
        JOIN ol_run r ON r.run_key = i.run_key AND r.last_event_time >= b.at
            AND (b.until IS NULL OR r.first_event_time < b.until)
            AND r.first_event_time < :'to'::timestamptz AND (b.scope IS NULL OR r.parent_run_id = b.scope)
        CROSS JOIN LATERAL (SELECT ol_is_snap(r.job_namespace, r.parent_run_id, r.parent_name) AS is_snap) p
        LEFT JOIN (
            ol_run_dataset o
            LEFT JOIN joined no ON no.dataset_key = o.dataset_key
                AND ol_is_life(o.event_time, o.lifecycle_state_change, no.began, no.ended)
        ) ON o.run_key = r.run_key AND o.direction = 'O' AND coalesce(no.identity_key, o.dataset_key) <> ALL (b.path)
        CROSS JOIN LATERAL (
            SELECT coalesce(p.is_snap AND ol_is_virtual(o.dataset_namespace, o.dataset_name), false) AS is_virtual
        ) v
        WHERE r.run_id <> :'run_id'::text
    ) next
)
SELECT
    min(r.depth) AS depth, r.job_namespace, r.job_name,
    coalesce(f.shown_namespace, r.from_namespace) AS from_namespace, coalesce(f.shown_name, r.from_name) AS from_name,
    coalesce(t.shown_namespace, r.to_namespace) AS to_namespace, coalesce(t.shown_name, r.to_name) AS to_name,
    min(r.at) AS first_seen, max(r.at) AS last_seen, count(DISTINCT r.run_id) AS runs,
    (array_agg(DISTINCT r.run_id))[:10] AS run_ids, r.other_version
FROM reached r
LEFT JOIN ol_shown_name() f ON f.identity_key = r.from_key
LEFT JOIN ol_shown_name() t ON t.identity_key = r.dataset_key
WHERE r.job_name IS NOT NULL AND r.scope IS NULL
GROUP BY 2, 3, 4, 5, 6, 7, r.other_version
ORDER BY 1, 8, 2, 3, 4, 5, 6, 7, r.other_version;
