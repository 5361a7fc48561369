-- How often does each job run, how regularly, how long, how reliably, and with how much data?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'
-- \i run_profile.sql
--
-- A row for each job with runs that began in the window: what Egeria's run profile is computed from. Times and lengths
-- are milliseconds, rounded down before anything is subtracted. Runs are those of the events: of SnapLogic, each Snap's.
WITH run AS MATERIALIZED (
    SELECT
        run_key, run_id, job_key, job_namespace, job_name, status, outcome,
        floor(extract(epoch FROM coalesce(start_time, first_event_time)) * 1000)::bigint AS began,
        floor(extract(epoch FROM end_time) * 1000)::bigint AS ended
    FROM ol_run
    WHERE first_event_time >= :'from'::timestamptz AND first_event_time < :'to'::timestamptz
),
run_volume AS (
    SELECT
        r.run_key, r.job_key,
        coalesce(sum(d.row_count) FILTER (WHERE d.direction = 'I'), 0) AS rows_read,
        coalesce(sum(d.row_count) FILTER (WHERE d.direction = 'O'), 0) AS rows_written,
        coalesce(sum(d.size_bytes) FILTER (WHERE d.direction = 'I'), 0) AS bytes_read,
        coalesce(sum(d.size_bytes) FILTER (WHERE d.direction = 'O'), 0) AS bytes_written
    FROM run r
    JOIN ol_run_dataset d ON d.run_key = r.run_key
    WHERE d.row_count IS NOT NULL OR d.size_bytes IS NOT NULL
    GROUP BY r.run_key, r.job_key
),
last_run AS (
    SELECT DISTINCT ON (job_key) job_key, run_key, run_id, ended, status
    FROM run
    ORDER BY job_key, began DESC, run_id COLLATE "C" DESC
),
volume AS (
    SELECT
        job_key, count(*) FILTER (WHERE greatest(rows_read, rows_written, bytes_read, bytes_written) > 0) AS runs,
        sum(rows_read) AS rows_read, sum(rows_written) AS rows_written,
        sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written
    FROM run_volume
    GROUP BY job_key
),
touched AS (
    SELECT
        job_key, count(*) FILTER (WHERE direction = 'I') AS inputs, count(*) FILTER (WHERE direction = 'O') AS outputs
    FROM (
        SELECT r.job_key, d.direction, d.dataset_key
        FROM run r
        JOIN ol_run_dataset d ON d.run_key = r.run_key
        GROUP BY r.job_key, d.direction, d.dataset_key
    ) dataset
    GROUP BY job_key
),
job AS (
    SELECT
        job_key, min(job_namespace) AS job_namespace, min(job_name) AS job_name,
        array_agg(began ORDER BY began) AS starts,
        coalesce(array_agg(ended - began ORDER BY ended - began) FILTER (WHERE ended >= began), '{}') AS durations,
        count(*) FILTER (WHERE status = 'COMPLETE') AS completed,
        count(*) FILTER (WHERE status = 'FAIL') AS failed,
        count(*) FILTER (WHERE status = 'ABORT') AS aborted,
        count(*) FILTER (WHERE outcome = 'FAIL') AS failed_outcomes
    FROM run
    GROUP BY job_key
)
SELECT
    nullif(j.job_namespace, '') AS job_namespace, j.job_name,
    (SELECT floor(extract(epoch FROM min(first_event_time)) * 1000)::bigint
     FROM ol_run
     WHERE first_event_time >= :'from'::timestamptz AND first_event_time < :'to'::timestamptz) AS earliest,
    j.starts, j.durations, j.completed, j.failed, j.aborted, j.failed_outcomes,
    coalesce(v.runs, 0) AS runs_with_volumes,
    coalesce(v.rows_read, 0) AS rows_read, coalesce(v.rows_written, 0) AS rows_written,
    coalesce(v.bytes_read, 0) AS bytes_read, coalesce(v.bytes_written, 0) AS bytes_written,
    coalesce(t.inputs, 0) AS inputs, coalesce(t.outputs, 0) AS outputs,
    l.run_id AS last_run_id, l.ended AS last_ended, l.status AS last_status,
    coalesce(lv.rows_read, 0) AS last_rows_read, coalesce(lv.rows_written, 0) AS last_rows_written,
    coalesce(lv.bytes_read, 0) AS last_bytes_read, coalesce(lv.bytes_written, 0) AS last_bytes_written
FROM job j
JOIN last_run l USING (job_key)
LEFT JOIN volume v USING (job_key)
LEFT JOIN touched t USING (job_key)
LEFT JOIN run_volume lv ON lv.run_key = l.run_key
ORDER BY j.job_namespace, j.job_name;
