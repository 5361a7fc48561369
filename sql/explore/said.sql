-- What open findings are about, least severe first: they speak of nodes that the asker sees anyway.
SELECT
    CASE subject_kind WHEN 'column' THEN 'dataset' WHEN 'test' THEN coalesce(content ->> 'tests', 'job') ELSE subject_kind END AS kind,
    subject_namespace AS namespace, subject_name AS name, analysis, severity
FROM ol_finding
WHERE status = 'OPEN' AND subject_kind IN ('job', 'dataset', 'column', 'test')
  AND NOT (muted_at IS NOT NULL AND (muted_until IS NULL OR muted_until > now()))
ORDER BY array_position(ARRAY['low', 'medium', 'high', 'critical'], severity), subject_namespace, subject_name, analysis
LIMIT 10000
