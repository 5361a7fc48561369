-- Which events carry secrets?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set arrived_from 0  \set arrived_to 18446744073709551615
-- \i exposed_credentials.sql
--
-- Reads the events of the window with all that they hold, of those that arrived with the transactions from
-- :arrived_from to before :arrived_to (0 and the greatest number: all). What in them is a secret, lineagelog says
-- (`lineagelog analyse exposed_credentials`), and never shows it.
SELECT event_kind, job_namespace, job_name, run_id, producer, event_time AS at, event::text AS event
FROM ol_event
WHERE event_time >= :'from'::timestamptz AND event_time < :'to'::timestamptz
  AND arrival_xid >= (:'arrived_from'::text)::xid8 AND arrival_xid < (:'arrived_to'::text)::xid8;
