-- An execution as people see it, of the rows of `e` (of ol_execution, with attempt and map_index of ol_run): part of others.
SELECT
    e.execution_key, e.execution_id AS run_id, e.job_namespace, e.job_name, e.job_key, e.outcome,
    e.first_event_time, coalesce(e.start_time, e.first_event_time) AS started, e.end_time AS ended, e.last_event_time,
    CASE WHEN e.end_time >= e.start_time AND e.outcome IN ('COMPLETE', 'FAIL', 'ABORT')
         THEN extract(epoch FROM e.end_time - e.start_time)::float8 END AS duration,
    left(e.error_message, 2000) AS error, e.parent_run_id, e.parent_namespace, e.parent_name,
    e.nominal_start_time AS nominal, e.runs, e.is_pipeline, e.attempt, e.map_index,
    coalesce(a.outcomes, '{}') AS earlier, coalesce(a.run_ids, '{}') AS earlier_run_ids, w.rows_written, w.bytes_written
FROM e
LEFT JOIN LATERAL (
    SELECT
        array_agg(p.outcome ORDER BY p.first_event_time, p.run_key) AS outcomes,
        array_agg(p.run_id ORDER BY p.first_event_time, p.run_key) AS run_ids
    FROM ol_run p
    WHERE NOT e.is_pipeline AND p.job_key = e.job_key AND p.first_event_time < e.first_event_time
      AND p.first_event_time > e.first_event_time - interval '2 days'
      AND (p.outcome IN ('FAIL', 'ABORT') OR p.attempt < e.attempt) AND :one_task(e, p)
) a ON true
LEFT JOIN LATERAL (
    SELECT sum(d.row_count)::bigint AS rows_written, sum(d.size_bytes)::bigint AS bytes_written
    FROM ol_run_dataset d
    WHERE d.run_key = e.execution_key AND d.direction = 'O'
) w ON true
