-- How far forwarding is.
SELECT target, delivered, parked, problem, updated_at FROM ol_forward_cursor ORDER BY target
