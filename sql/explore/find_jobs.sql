-- Jobs that a text is in.
SELECT j.job_namespace AS namespace, j.job_name AS name, j.last_seen AS at, l.outcome
FROM ol_job j
LEFT JOIN LATERAL (
    SELECT r.outcome FROM ol_run r WHERE r.job_key = j.job_key ORDER BY r.first_event_time DESC LIMIT 1
) l ON true
WHERE :bound(j)
  AND ol_search_text(j.job_namespace || E'\n' || j.job_name, j.description, j.owners, j.tags)
      LIKE lower(:'like'::text COLLATE "default") COLLATE "C"
ORDER BY lower(j.job_name) NOT LIKE lower(:'like'::text), j.last_seen DESC, j.job_key
LIMIT :'limit'::int
