-- When the newest execution began, and the newest event arrived.
SELECT (SELECT max(r.first_event_time) FROM ol_run r WHERE :bound(r)) AS began,
       (SELECT max(e.arrival) FROM (SELECT arrival FROM ol_event ORDER BY arrival_xid DESC, arrival DESC LIMIT 1) e) AS arrival
