-- Which column stopped being fed from where, and which is fed from somewhere new?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set history '30 days'  \set runs 3
-- \i column_lineage_drift.sql
--
-- A job is judged by its completed runs with column lineage, from :history before the window on; the rules are those
-- of lineage_drift.sql. Runs with the same column lineage share its content, so only jobs whose content changes are
-- looked into. Through the virtual datasets between the Snaps of a SnapLogic pipeline columns are followed to the real
-- ones. A column with lineage but without input fields (a constant) has NULL as its source.
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
written AS (
    SELECT
        j.unit, j.job_namespace, j.job_name, j.status, j.first_event_time, j.is_snap,
        d.dataset_namespace, d.dataset_name, d.lineage_hash
    FROM job_run j
    LEFT JOIN ol_run_dataset d ON d.run_id = j.run_id AND d.direction = 'O' AND d.lineage_hash IS NOT NULL
),
unit AS MATERIALIZED (
    SELECT
        unit, job_namespace, job_name, min(first_event_time) AS at, bool_or(is_snap) AS is_pipeline,
        md5(string_agg(
            DISTINCT concat_ws(' ', octet_length(dataset_namespace), dataset_namespace, dataset_name, lineage_hash),
            chr(10))) AS content,
        row_number() OVER job AS number,
        count(*) OVER (PARTITION BY job_namespace, job_name) AS runs
    FROM written
    GROUP BY unit, job_namespace, job_name
    HAVING bool_and(status = 'COMPLETE') AND count(lineage_hash) > 0
    WINDOW job AS (PARTITION BY job_namespace, job_name ORDER BY min(first_event_time), unit)
),
version AS MATERIALIZED (
    SELECT job_namespace, job_name, content, min(unit) AS unit, bool_or(is_pipeline) AS is_pipeline
    FROM unit
    WHERE (job_namespace, job_name) IN (
        SELECT job_namespace, job_name FROM unit GROUP BY 1, 2 HAVING count(DISTINCT content) > 1)
    GROUP BY job_namespace, job_name, content
),
edge AS MATERIALIZED (
    SELECT DISTINCT
        v.job_namespace, v.job_name, v.content, w.dataset_namespace, w.dataset_name, f.column_name,
        i.field ->> 'namespace' AS from_namespace, i.field ->> 'name' AS from_name, i.field ->> 'field' AS from_column,
        v.is_pipeline AND lower(w.dataset_namespace) = 'snaplogic' AND w.dataset_name ~* (
            '(^virtual_db\.virtual_schema\..*: ?[0-9a-f]{5}|: ?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})'
            '( \([^()]*\))?$') AS is_virtual,
        v.is_pipeline AND lower(i.field ->> 'namespace') = 'snaplogic' AND i.field ->> 'name' ~* (
            '(^virtual_db\.virtual_schema\..*: ?[0-9a-f]{5}|: ?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})'
            '( \([^()]*\))?$') AS from_virtual
    FROM version v
    JOIN written w USING (unit, job_namespace, job_name)
    JOIN ol_lineage_version l USING (lineage_hash)
    CROSS JOIN LATERAL jsonb_each(
        CASE jsonb_typeof(l.edges -> 'fields') WHEN 'object' THEN l.edges -> 'fields' ELSE '{}' END
    ) AS f (column_name, lineage)
    LEFT JOIN LATERAL jsonb_array_elements(
        CASE jsonb_typeof(f.lineage -> 'inputFields') WHEN 'array' THEN f.lineage -> 'inputFields' ELSE '[]' END
    ) AS i (field) ON true
),
feed AS (
    SELECT
        job_namespace, job_name, content, dataset_namespace, dataset_name, column_name,
        from_namespace, from_name, from_column, coalesce(from_virtual, false) AS from_virtual
    FROM edge
    WHERE NOT is_virtual
    UNION
    SELECT
        f.job_namespace, f.job_name, f.content, f.dataset_namespace, f.dataset_name, f.column_name,
        e.from_namespace, e.from_name, e.from_column, coalesce(e.from_virtual, false)
    FROM feed f
    JOIN edge e ON (e.job_namespace, e.job_name, e.content) = (f.job_namespace, f.job_name, f.content)
               AND (e.dataset_namespace, e.dataset_name, e.column_name)
                   = (f.from_namespace, f.from_name, f.from_column)
    WHERE f.from_virtual
),
occurrence AS (
    SELECT
        f.*, u.number, u.runs,
        u.number - lag(u.number) OVER same AS gap
    FROM feed f
    JOIN unit u USING (job_namespace, job_name, content)
    WHERE NOT f.from_virtual
    WINDOW same AS (
        PARTITION BY f.job_namespace, f.job_name, f.dataset_namespace, f.dataset_name, f.column_name,
                     f.from_namespace, f.from_name, f.from_column
        ORDER BY u.number)
),
seen AS (
    SELECT
        job_namespace, job_name, dataset_namespace, dataset_name, column_name, from_namespace, from_name, from_column,
        runs, count(*) AS present, min(number) AS first, max(number) AS last,
        greatest(coalesce(max(gap), 1), :'runs'::bigint) AS patience
    FROM occurrence
    GROUP BY job_namespace, job_name, dataset_namespace, dataset_name, column_name, from_namespace, from_name,
             from_column, runs
),
change AS (
    SELECT s.*, 'new' AS change, first AS shown, first - 1 AS without
    FROM seen s
    WHERE first > :'runs'::bigint
    UNION ALL
    SELECT s.*, 'lost', last + patience, runs - last
    FROM seen s
    WHERE runs - last >= patience AND present >= :'runs'::bigint
)
SELECT
    c.job_namespace, c.job_name, c.change, c.dataset_namespace, c.dataset_name, c.column_name, c.from_namespace,
    c.from_name, c.from_column, c.present, c.without, c.runs, u.at AS shown_at, u.unit AS run_id,
    f.at AS first_seen, f.unit AS first_run_id, l.at AS last_seen, l.unit AS last_run_id,
    EXISTS (
        SELECT FROM seen o
        WHERE (o.job_namespace, o.job_name, o.dataset_namespace, o.dataset_name, o.column_name)
              = (c.job_namespace, c.job_name, c.dataset_namespace, c.dataset_name, c.column_name)
          AND o.last = o.runs AND o.from_name IS NOT NULL
    ) AS still_fed
FROM change c
JOIN unit u ON (u.job_namespace, u.job_name, u.number) = (c.job_namespace, c.job_name, c.shown)
JOIN unit f ON (f.job_namespace, f.job_name, f.number) = (c.job_namespace, c.job_name, c.first)
JOIN unit l ON (l.job_namespace, l.job_name, l.number) = (c.job_namespace, c.job_name, c.last)
WHERE u.at >= :'from'::timestamptz
ORDER BY u.at, c.job_namespace, c.job_name, c.dataset_namespace, c.dataset_name, c.column_name, c.from_namespace,
         c.from_name, c.from_column;
