-- When the first and the last run began.
SELECT min(r.first_event_time) AS first, max(r.first_event_time) AS last FROM ol_run r
