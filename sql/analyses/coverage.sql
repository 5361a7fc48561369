-- Which facets do producers send, and which do they lack?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set arrived_from 0  \set arrived_to 18446744073709551615
-- \i coverage.sql
--
-- Reads the events of the window that end a run (COMPLETE, FAIL, ABORT), where producers say all that they know, and job
-- and dataset events; of those that arrived with the transactions from :arrived_from to before :arrived_to (0 and the
-- greatest number: all). One row per producer, place (run, job, input, output, dataset) and facet, with how many of all
-- such things have the facet; facet '' counts the things.
WITH event AS (
    SELECT producer, event_time, event
    FROM ol_event
    WHERE event_time >= :'from'::timestamptz AND event_time < :'to'::timestamptz
      AND arrival_xid >= (:'arrived_from'::text)::xid8 AND arrival_xid < (:'arrived_to'::text)::xid8
      AND event_type IN ('COMPLETE', 'FAIL', 'ABORT', '')
),
thing AS (
    SELECT producer, event_time, 'run' AS place, event #> '{run,facets}' AS facets FROM event WHERE event ? 'run'
    UNION ALL
    SELECT producer, event_time, 'job', event #> '{job,facets}' FROM event WHERE event ? 'job'
    UNION ALL
    SELECT producer, event_time, 'dataset', event #> '{dataset,facets}' FROM event WHERE event ? 'dataset'
    UNION ALL
    SELECT
        e.producer, e.event_time, side.place,
        CASE jsonb_typeof(d.entry -> 'facets') WHEN 'object' THEN d.entry -> 'facets' ELSE '{}' END
            || CASE jsonb_typeof(d.entry -> side.own) WHEN 'object' THEN d.entry -> side.own ELSE '{}' END
    FROM event e
    CROSS JOIN (VALUES ('input', 'inputs', 'inputFacets'), ('output', 'outputs', 'outputFacets')) side (place, member, own)
    CROSS JOIN LATERAL jsonb_array_elements(
        CASE jsonb_typeof(e.event -> side.member) WHEN 'array' THEN e.event -> side.member ELSE '[]' END
    ) AS d (entry)
),
facet AS (
    SELECT t.producer, t.event_time, t.place, f.facet
    FROM thing t
    CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(t.facets) WHEN 'object' THEN t.facets ELSE '{}' END) AS f (facet, value)
    WHERE jsonb_typeof(f.value) = 'object' AND NOT coalesce(f.value -> '_deleted', 'false') @> 'true'
    UNION ALL
    SELECT producer, event_time, place, '' FROM thing
)
SELECT producer, place, facet, count(*) AS things, min(event_time) AS first_seen, max(event_time) AS last_seen
FROM facet
GROUP BY producer, place, facet
ORDER BY producer, place, facet;
