-- What the last executions of some jobs did to a dataset, oldest first.
SELECT
    r.run_id, r.first_event_time AS at, r.outcome, r.job_namespace, r.job_name, d.direction, d.row_count AS rows, d.size_bytes AS bytes,
    d.file_count AS files, d.schema_hash::text AS schema_hash, d.dataset_version, d.lifecycle_state_change
FROM unnest(:'jobs'::uuid[]) j (job_key)
CROSS JOIN LATERAL (
    SELECT x.* FROM ol_run x WHERE x.job_key = j.job_key AND x.first_event_time < :'to'::timestamptz
    ORDER BY x.first_event_time DESC LIMIT :'limit'::int
) r
JOIN ol_run_dataset d ON d.run_key = r.run_key AND d.dataset_key = ANY (:'keys'::uuid[])
WHERE :bound(r)
ORDER BY r.first_event_time, r.run_key
