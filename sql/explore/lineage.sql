-- Who reads and writes what, as of a time: of each job the last three executions, with the datasets that they touched. A row
-- for each job and dataset; a pipeline is one job. Of jobs that the asker must not see there is the key only.
WITH job AS (
    SELECT j.job_key, :bound(j) AS is_visible
    FROM ol_job j
    WHERE j.first_seen < :'as_of'::timestamptz
    ORDER BY j.last_seen DESC
    LIMIT 20000
),
part AS (
    SELECT
        j.is_visible, r.run_key, r.run_id, r.first_event_time, r.end_time, r.place, r.outcome, r.before, r.is_task, is_snap,
        CASE WHEN is_snap THEN coalesce(r.parent_namespace, '') ELSE r.job_namespace END AS job_namespace,
        CASE WHEN is_snap THEN r.parent_name ELSE r.job_name END AS job_name
    FROM job j
    CROSS JOIN LATERAL (
        SELECT
            o.*, row_number() OVER (ORDER BY o.first_event_time DESC, o.run_key DESC) AS place,
            lead(o.outcome) OVER (ORDER BY o.first_event_time DESC, o.run_key DESC) AS before,
            lead(o.parent_run_id) OVER (ORDER BY o.first_event_time DESC, o.run_key DESC) = o.parent_run_id
            OR lead(o.nominal_start_time) OVER (ORDER BY o.first_event_time DESC, o.run_key DESC) = o.nominal_start_time AS is_task
        FROM (
            SELECT * FROM ol_run x WHERE x.job_key = j.job_key AND x.first_event_time < :'as_of'::timestamptz
            ORDER BY x.first_event_time DESC, x.run_key DESC LIMIT 3
        ) o
    ) r
    CROSS JOIN LATERAL (SELECT ol_is_snap(r.job_namespace, r.parent_run_id, r.parent_name) AS is_snap) s
),
touched AS (
    SELECT
        p.*, d.direction, d.dataset_namespace, d.dataset_name, d.row_count, d.size_bytes, d.schema_hash, d.lineage_hash, d.event_type,
        coalesce(ol_identity_at(n.ends, n.identity_keys, d.event_time, d.lifecycle_state_change), d.dataset_key) AS identity_key
    FROM part p
    LEFT JOIN ol_run_dataset d ON d.run_key = p.run_key AND NOT (p.is_snap AND ol_is_virtual(d.dataset_namespace, d.dataset_name))
    LEFT JOIN ol_lives() n ON n.dataset_key = d.dataset_key
)
SELECT
    ol_key(t.job_namespace, t.job_name)::text AS job, t.is_visible, t.direction, t.identity_key::text AS dataset,
    CASE WHEN t.is_visible THEN t.job_namespace END AS job_namespace, CASE WHEN t.is_visible THEN t.job_name END AS job_name,
    CASE WHEN t.is_visible THEN coalesce(CASE WHEN :'within'::text = '' THEN s.shown_namespace END, min(t.dataset_namespace)) END AS dataset_namespace,
    CASE WHEN t.is_visible THEN coalesce(CASE WHEN :'within'::text = '' THEN s.shown_name END, min(t.dataset_name)) END AS dataset_name,
    max(t.first_event_time) AS at, bool_or(t.is_snap) AS is_pipeline,
    (array_agg(t.outcome ORDER BY t.first_event_time DESC))[1] AS outcome,
    coalesce(bool_or(t.place = 1 AND t.outcome = 'COMPLETE' AND t.before = 'FAIL' AND t.is_task), false) AS is_fixed,
    (array_agg(t.run_id ORDER BY t.first_event_time DESC))[1] AS run_id,
    max(t.row_count) FILTER (WHERE t.place = 1) AS rows, max(t.size_bytes) FILTER (WHERE t.place = 1) AS bytes,
    bool_or(t.place = 1) AS is_last,
    max(t.first_event_time) FILTER (WHERE t.outcome = 'COMPLETE') AS good_at,
    (array_agg(t.schema_hash::text ORDER BY t.first_event_time DESC) FILTER (WHERE t.schema_hash IS NOT NULL))[1] AS schema_hash,
    (array_agg(t.lineage_hash::text ORDER BY t.first_event_time DESC) FILTER (WHERE t.lineage_hash IS NOT NULL))[1] AS lineage_hash
FROM touched t
LEFT JOIN ol_shown_name() s ON s.identity_key = t.identity_key
GROUP BY t.job_namespace, t.job_name, t.is_visible, t.direction, t.identity_key, s.shown_namespace, s.shown_name
