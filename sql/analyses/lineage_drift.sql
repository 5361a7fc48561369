-- Which inputs and outputs of a job are new in the window, and which have vanished?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '30 days'  \set runs 3
-- \i lineage_drift.sql
--
-- A job is judged by its completed runs from :history before the window on. New: first read or written in the window,
-- after at least :runs runs without it. Vanished: missing from at least :runs runs in a row, and from more than ever
-- before, the last of them in the window. Of a SnapLogic pipeline all Snaps of one execution are one run, and what
-- flows between Snaps (virtual datasets) is left out: kind "flow" says from which input to which output rows go.
WITH RECURSIVE
job_run AS MATERIALIZED (
    SELECT
        r.run_id, r.status, r.first_event_time, p.is_snap,
        CASE WHEN p.is_snap THEN r.parent_run_id ELSE r.run_id END AS unit,
        CASE WHEN p.is_snap THEN r.parent_namespace ELSE r.job_namespace END AS job_namespace,
        CASE WHEN p.is_snap THEN r.parent_name ELSE r.job_name END AS job_name
    FROM ol_run r
    CROSS JOIN LATERAL (
        SELECT lower(r.job_namespace) = 'snaplogic' AND r.parent_run_id IS NOT NULL
           AND r.parent_name IS NOT NULL AS is_snap
    ) p
    WHERE r.first_event_time >= :'from'::timestamptz - :'history'::interval
      AND r.first_event_time < :'to'::timestamptz
),
unit AS (
    SELECT
        unit, job_namespace, job_name, min(first_event_time) AS at,
        row_number() OVER job AS number,
        count(*) OVER (PARTITION BY job_namespace, job_name) AS runs
    FROM job_run
    GROUP BY unit, job_namespace, job_name
    HAVING bool_and(status = 'COMPLETE')
    WINDOW job AS (PARTITION BY job_namespace, job_name ORDER BY min(first_event_time), unit)
),
touched AS MATERIALIZED (
    SELECT
        j.unit, j.job_namespace, j.job_name, j.is_snap, d.run_id, d.direction, d.dataset_namespace, d.dataset_name,
        j.is_snap AND lower(d.dataset_namespace) = 'snaplogic' AND d.dataset_name ~* (
            '(^virtual_db\.virtual_schema\..*: ?[0-9a-f]{5}|: ?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})'
            '( \([^()]*\))?$') AS is_virtual
    FROM job_run j
    JOIN ol_run_dataset d ON d.run_id = j.run_id
),
snap AS MATERIALIZED (
    SELECT
        i.unit, i.job_namespace, i.job_name,
        i.dataset_namespace AS from_namespace, i.dataset_name AS from_name, i.is_virtual AS from_virtual,
        o.dataset_namespace AS to_namespace, o.dataset_name AS to_name, o.is_virtual AS to_virtual
    FROM touched i
    JOIN touched o ON o.run_id = i.run_id AND o.unit = i.unit AND o.direction = 'O'
    WHERE i.is_snap AND i.direction = 'I'
),
flow AS (
    SELECT unit, job_namespace, job_name, from_namespace, from_name, to_namespace, to_name, to_virtual
    FROM snap
    WHERE NOT from_virtual
    UNION
    SELECT
        f.unit, f.job_namespace, f.job_name, f.from_namespace, f.from_name, s.to_namespace, s.to_name, s.to_virtual
    FROM flow f
    JOIN snap s ON s.unit = f.unit AND s.from_namespace = f.to_namespace AND s.from_name = f.to_name
    WHERE f.to_virtual
),
fact AS (
    SELECT DISTINCT
        unit, job_namespace, job_name, CASE direction WHEN 'I' THEN 'input' ELSE 'output' END AS kind,
        dataset_namespace, dataset_name, NULL::text AS target_namespace, NULL::text AS target_name
    FROM touched
    WHERE NOT is_virtual
    UNION ALL
    SELECT unit, job_namespace, job_name, 'flow', from_namespace, from_name, to_namespace, to_name
    FROM flow
    WHERE NOT to_virtual
),
occurrence AS (
    SELECT
        f.*, u.number, u.at, u.runs,
        u.number - lag(u.number) OVER same AS gap
    FROM fact f
    JOIN unit u USING (unit, job_namespace, job_name)
    WINDOW same AS (
        PARTITION BY f.job_namespace, f.job_name, f.kind, f.dataset_namespace, f.dataset_name, f.target_namespace,
                     f.target_name
        ORDER BY u.number)
),
seen AS (
    SELECT
        job_namespace, job_name, kind, dataset_namespace, dataset_name, target_namespace, target_name, runs,
        count(*) AS present, min(number) AS first, max(number) AS last,
        greatest(coalesce(max(gap), 1), :'runs'::bigint) AS patience
    FROM occurrence
    GROUP BY job_namespace, job_name, kind, dataset_namespace, dataset_name, target_namespace, target_name, runs
),
change AS (
    SELECT s.*, 'new' AS change, first AS shown, first - 1 AS without
    FROM seen s
    WHERE first > :'runs'::bigint
    UNION ALL
    SELECT s.*, 'vanished', last + patience, runs - last
    FROM seen s
    WHERE runs - last >= patience AND present >= :'runs'::bigint
)
SELECT
    c.job_namespace, c.job_name, c.change, c.kind, c.dataset_namespace, c.dataset_name, c.target_namespace,
    c.target_name, c.present, c.without, c.runs, u.at AS shown_at, u.unit AS run_id,
    f.at AS first_seen, f.unit AS first_run_id, l.at AS last_seen, l.unit AS last_run_id
FROM change c
JOIN unit u ON (u.job_namespace, u.job_name, u.number) = (c.job_namespace, c.job_name, c.shown)
JOIN unit f ON (f.job_namespace, f.job_name, f.number) = (c.job_namespace, c.job_name, c.first)
JOIN unit l ON (l.job_namespace, l.job_name, l.number) = (c.job_namespace, c.job_name, c.last)
WHERE u.at >= :'from'::timestamptz
ORDER BY u.at, c.job_namespace, c.job_name, c.kind, c.dataset_namespace, c.dataset_name, c.target_namespace,
         c.target_name;
