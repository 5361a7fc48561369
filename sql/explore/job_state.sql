-- Jobs with their state: what came of the last execution, and what recorded analyses say is late or stuck. Part of others.
-- rank: 0 failed, 1 stuck, 2 late, 3 running, 4 fixed by retry, 5 aborted, 6 completed, 7 no run is known.
SELECT
    s.*,
    CASE WHEN s.is_failed THEN 0 WHEN s.is_stuck THEN 1 WHEN s.is_late THEN 2 WHEN s.last_outcome IS NULL THEN 7
         WHEN s.last_outcome = 'ABORT' THEN 5 WHEN s.last_outcome = 'COMPLETE' THEN CASE WHEN s.is_fixed THEN 4 ELSE 6 END
         ELSE 3 END AS rank
FROM (
    SELECT
        j.job_key, j.job_namespace, j.job_name, j.owners, j.tags, j.job_type, j.integration, j.processing_type,
        j.description, j.source_code_location, j.first_seen, j.last_seen,
        l.run_id AS last_run_id, l.outcome AS last_outcome, l.first_event_time AS last_at,
        coalesce(l.outcome = 'FAIL', false) AS is_failed, coalesce(f.is_stuck, false) AS is_stuck, coalesce(f.is_late, false) AS is_late,
        coalesce(f.findings, 0) AS findings, coalesce(l.outcome = 'COMPLETE' AND b.outcome = 'FAIL' AND :one_task(l, b), false) AS is_fixed
    FROM ol_job j
    LEFT JOIN LATERAL (
        SELECT r.* FROM ol_run r WHERE r.job_key = j.job_key ORDER BY r.first_event_time DESC, r.run_key DESC LIMIT 1
    ) l ON true
    LEFT JOIN LATERAL (
        SELECT r.* FROM ol_run r WHERE l.outcome = 'COMPLETE' AND r.job_key = j.job_key AND r.first_event_time < l.first_event_time
        ORDER BY r.first_event_time DESC, r.run_key DESC LIMIT 1
    ) b ON true
    LEFT JOIN (
        SELECT
            subject_namespace, subject_name, count(*) AS findings, bool_or(analysis = 'stuck_run') AS is_stuck,
            bool_or(analysis = 'late_run' AND content ->> 'change' = 'missing') AS is_late
        FROM ol_finding
        WHERE status = 'OPEN' AND subject_kind IN ('job', 'test')
          AND NOT (muted_at IS NOT NULL AND (muted_until IS NULL OR muted_until > now()))
        GROUP BY subject_namespace, subject_name
    ) f ON f.subject_namespace = j.job_namespace AND f.subject_name = j.job_name
    WHERE :bound(j)
      AND (:'job'::text = '' OR j.job_key = nullif(:'job'::text, '')::uuid)
      AND (:'namespace_given'::text = '' OR j.job_namespace = :'namespace'::text)
      AND (:'like'::text = '' OR ol_search_text(j.job_namespace || E'\n' || j.job_name, j.description, j.owners, j.tags)
           LIKE lower(:'like'::text COLLATE "default") COLLATE "C")
) s
