-- The text of one event of a run.
SELECT event::text AS content
FROM ol_event e
WHERE e.run_id = :'run_id'::text AND e.event_time = :'at'::timestamptz AND e.arrival = :'arrival'::bigint AND :bound(e)
