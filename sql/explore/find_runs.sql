-- Runs with that id, or failed in the last thirty days before the newest event with that text in their error.
(SELECT r.run_id, r.job_namespace AS namespace, r.job_name AS name, r.first_event_time AS at, r.outcome, left(r.error_message, 300) AS error
 FROM ol_run r
 WHERE r.run_id = :'text'::text AND :bound(r)
 LIMIT 20)
UNION ALL
(SELECT r.run_id, r.job_namespace, r.job_name, r.first_event_time, r.outcome, left(r.error_message, 300)
 FROM ol_run r
 WHERE r.first_event_time > (SELECT max(first_event_time) FROM ol_run) - interval '30 days' AND r.outcome IN ('FAIL', 'ABORT')
   AND lower(r.error_message COLLATE "default") LIKE lower(:'like'::text COLLATE "default") AND :bound(r)
 ORDER BY r.first_event_time DESC
 LIMIT :'limit'::int)
