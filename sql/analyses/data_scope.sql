-- Is each dataset replaced, partitioned or appended to, since when, how often, and who reads it?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'
-- \i data_scope.sql
--
-- A row for each dataset that runs which began in the window wrote or read: what Egeria's data scope is computed from.
-- A run writes a dataset once, and jobs that share a run id are one writer: the one that told of it last. Times are
-- milliseconds, rounded down.
WITH run AS MATERIALIZED (
    SELECT run_id, run_key, job_key, outcome, last_event_time
    FROM ol_run
    WHERE first_event_time >= :'from'::timestamptz AND first_event_time < :'to'::timestamptz
),
one_run AS MATERIALIZED (
    SELECT
        run_id, (array_agg(job_key ORDER BY last_event_time DESC, run_key))[1] AS job_key,
        bool_or(outcome = 'FAIL') AS has_failed
    FROM run
    GROUP BY run_id
),
-- jobs that share a run id have rows of their own: of one dataset that which was said last is the run's
used AS MATERIALIZED (
    SELECT DISTINCT ON (r.run_id, d.direction, d.dataset_key)
        r.run_id, r.job_key, r.has_failed, d.direction, d.dataset_key, d.dataset_namespace, d.dataset_name,
        d.event_time, d.row_count, d.lifecycle_state_change, d.subset_type, d.dataset_version
    FROM one_run r
    JOIN ol_run_dataset d ON d.run_id = r.run_id
    ORDER BY r.run_id, d.direction, d.dataset_key, d.event_type = 'START' AND d.row_count IS NULL, d.event_time DESC,
        d.run_key
),
job_use AS (
    SELECT
        dataset_key, job_key,
        min(dataset_namespace) AS dataset_namespace, min(dataset_name) AS dataset_name,
        count(*) FILTER (WHERE direction = 'O') AS writes,
        min(event_time) FILTER (WHERE direction = 'O') AS first_write,
        max(event_time) FILTER (WHERE direction = 'O') AS last_write,
        max(event_time) FILTER (
            WHERE direction = 'O' AND upper(lifecycle_state_change) IN ('OVERWRITE', 'TRUNCATE', 'CREATE')) AS replaced,
        bool_or(direction = 'O' AND subset_type IS NOT NULL) AS is_partitioned,
        count(row_count) FILTER (WHERE direction = 'O') AS writes_with_rows,
        coalesce(sum(row_count) FILTER (WHERE direction = 'O'), 0) AS rows,
        max(row_count) FILTER (WHERE direction = 'O') AS max_rows,
        count(*) FILTER (WHERE direction = 'I') AS reads,
        max(event_time) FILTER (WHERE direction = 'I') AS last_read,
        count(*) FILTER (WHERE direction = 'O' AND has_failed) AS failed_writes
    FROM used
    GROUP BY dataset_key, job_key
),
version AS (
    SELECT dataset_key, count(*) AS versions
    FROM (
        SELECT dataset_key, dataset_version FROM used
        WHERE direction = 'O' AND dataset_version IS NOT NULL
        GROUP BY dataset_key, dataset_version
    ) content
    GROUP BY dataset_key
),
dataset AS (
    SELECT
        dataset_key, min(dataset_namespace) AS dataset_namespace, min(dataset_name) AS dataset_name,
        sum(writes)::bigint AS writes, count(*) FILTER (WHERE writes > 0) AS writers,
        min(first_write) AS first_write, max(last_write) AS last_write, max(replaced) AS replaced,
        bool_or(is_partitioned) AS is_partitioned, sum(writes_with_rows)::bigint AS writes_with_rows,
        sum(rows) AS rows, max(max_rows) AS max_rows,
        sum(reads)::bigint AS reads, count(*) FILTER (WHERE reads > 0) AS readers, max(last_read) AS last_read,
        sum(failed_writes)::bigint AS failed_writes
    FROM job_use
    GROUP BY dataset_key
)
SELECT
    nullif(d.dataset_namespace, '') AS dataset_namespace, d.dataset_name,
    (SELECT floor(extract(epoch FROM min(first_event_time)) * 1000)::bigint
     FROM ol_run
     WHERE first_event_time >= :'from'::timestamptz AND first_event_time < :'to'::timestamptz) AS earliest,
    d.writes, d.writers,
    floor(extract(epoch FROM d.first_write) * 1000)::bigint AS first_write,
    floor(extract(epoch FROM d.last_write) * 1000)::bigint AS last_write,
    floor(extract(epoch FROM d.replaced) * 1000)::bigint AS replaced,
    d.is_partitioned, d.writes_with_rows, d.rows, d.max_rows, coalesce(v.versions, 0) AS versions,
    d.reads, d.readers, floor(extract(epoch FROM d.last_read) * 1000)::bigint AS last_read, d.failed_writes
FROM dataset d
LEFT JOIN version v USING (dataset_key)
ORDER BY d.dataset_namespace, d.dataset_name;
