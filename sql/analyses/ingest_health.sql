-- Do the events arrive: how late, repeated, repaired, from the future, and what was refused?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'
-- \i ingest_health.sql
--
-- Reads the events of the window (not what they contain) and the dead letters that were received in it. Lag is the time
-- from an event to its reception; repeated events have run, time and type of another one, and other content. One row per
-- producer, and one per source and reason of what was refused.
WITH event AS (
    SELECT
        producer, run_id, event_time, event_type, job_namespace, job_name, notices IS NOT NULL AS is_repaired,
        extract(epoch FROM received_at - event_time)::float8 AS lag_seconds,
        row_number() OVER (PARTITION BY run_id, event_time, event_type, job_namespace, job_name ORDER BY event_hash) > 1
            AND run_id <> '' AS is_repeated
    FROM ol_event
    WHERE event_time >= :'from'::timestamptz AND event_time < :'to'::timestamptz
)
SELECT
    'producer' AS kind, producer AS name, NULL AS reason, count(*) AS events,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY lag_seconds) AS median_lag_seconds,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY lag_seconds) AS p95_lag_seconds,
    count(*) FILTER (WHERE lag_seconds < -300) AS from_the_future,
    count(*) FILTER (WHERE is_repeated) AS repeated, count(*) FILTER (WHERE is_repaired) AS repaired,
    min(event_time) AS first_seen, max(event_time) AS last_seen,
    (array_agg(run_id ORDER BY event_time DESC, run_id) FILTER (WHERE lag_seconds < -300))[:10] AS run_ids
FROM event
GROUP BY producer
UNION ALL
SELECT
    'refused', source, reason, sum(count)::bigint, NULL, NULL, 0, 0, 0, min(received_at), max(last_received_at),
    (array_agg(run_id ORDER BY last_received_at DESC, id) FILTER (WHERE run_id IS NOT NULL))[:10]
FROM ol_dead_letter
WHERE last_received_at >= :'from'::timestamptz AND last_received_at < :'to'::timestamptz AND state = 'new'
GROUP BY source, reason
ORDER BY kind, name, reason;
