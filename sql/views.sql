-- What a run, a dataset, a result and an edge are for people: the views of the log store, part of its schema.
--
-- SET search_path TO openlineage;
-- \i views.sql
--
-- `lineagelog store init` runs this. Columns are only ever added, at the end. A view is the function of the same name
-- over all of time: give the function a window [window_start, window_end) for the executions that began in it, and
-- PostgreSQL plans it as if its text stood in your query, with the window on an index.
--
-- Why executions and not runs: SnapLogic sends a run for each Snap of a pipeline, with virtual datasets between the
-- Snaps. SnapLogic's rules stand in this file and nowhere else.

-- A function whose columns change cannot be replaced: those that there are step aside, and go at the end of this file.
-- What somebody's own view still asks stays under its other name, as it was.
DO $$
DECLARE own record;
BEGIN
    FOR own IN SELECT oid, proname FROM pg_catalog.pg_proc
        WHERE pronamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema())
              AND proretset AND proname ~ '^ol_' AND proname !~ '_before_\d+$'
    LOOP
        EXECUTE format('ALTER FUNCTION %s RENAME TO %I', own.oid::regprocedure, left(own.proname, 40) || '_before_' || own.oid);
    END LOOP;
END $$;

-- --- names and SnapLogic ---------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION ol_key(VARIADIC parts text[]) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT encode(substr(sha256(convert_to(string_agg(coalesce(octet_length(part) || ':' || part, '-'), '' ORDER BY place),
                                           'UTF8')), 1, 16), 'hex')::uuid
    FROM unnest(parts) WITH ORDINALITY AS given (part, place)
);
COMMENT ON FUNCTION ol_key IS 'the key of a job or dataset (namespace, name) or of a run (run_id, job_namespace, job_name)';

-- COLLATE "C" is the columns' own: a body that is parsed when the function is made has the database's instead, and then
-- PostgreSQL does not see that the index of SnapLogic's runs answers the question.
CREATE OR REPLACE FUNCTION ol_is_snaplogic(job_namespace text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lower(job_namespace COLLATE "C") = 'snaplogic';
COMMENT ON FUNCTION ol_is_snaplogic IS 'whether the runs of a namespace are Snaps and pipelines of SnapLogic';

CREATE OR REPLACE FUNCTION ol_is_snap(job_namespace text, parent_run_id text, parent_name text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lower(job_namespace COLLATE "C") = 'snaplogic' AND parent_run_id IS NOT NULL AND parent_name IS NOT NULL;
COMMENT ON FUNCTION ol_is_snap IS 'whether a run is a Snap''s, part of the execution that its parent facet names';

CREATE OR REPLACE FUNCTION ol_is_virtual(dataset_namespace text, dataset_name text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lower(dataset_namespace COLLATE "C") = 'snaplogic' AND dataset_name ~* (
    '(^virtual_db\.virtual_schema\..*: ?[0-9a-f]{5}|: ?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})'
    '( \([^()]*\))?$');
COMMENT ON FUNCTION ol_is_virtual IS 'whether a dataset is what flows between two Snaps, in either form of its name';

-- --- executions ------------------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION ol_pipeline_run(window_start timestamptz, window_end timestamptz)
RETURNS TABLE (
    execution_key uuid, execution_id text, execution_namespace text, execution_name text,
    run_id text, job_namespace text, job_name text, status text, outcome text, error_message text,
    start_time timestamptz, end_time timestamptz, first_event_time timestamptz, last_event_time timestamptz,
    processing_type text, integration text, job_type text, producer text,
    parent_run_id text, parent_namespace text, parent_name text,
    root_run_id text, root_namespace text, root_name text,
    nominal_start_time timestamptz, nominal_end_time timestamptz, is_snap boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        ol_key(r.execution_id, r.execution_namespace, r.execution_name),
        r.execution_id, r.execution_namespace, r.execution_name,
        r.run_id, r.job_namespace, r.job_name, r.status, r.outcome, r.error_message,
        r.start_time, r.end_time, r.first_event_time, r.last_event_time,
        r.processing_type, r.integration, r.job_type, r.producer,
        r.parent_run_id, r.parent_namespace, r.parent_name, r.root_run_id, r.root_namespace, r.root_name,
        r.nominal_start_time, r.nominal_end_time, r.is_snap
    FROM (
        SELECT
            *, min(first_event_time) OVER (PARTITION BY execution_id, execution_namespace, execution_name) AS began
        FROM (
            SELECT
                p.*, p.parent_run_id IS NOT NULL AND p.parent_name IS NOT NULL AS is_snap,
                CASE WHEN p.parent_name IS NULL THEN p.run_id ELSE coalesce(p.parent_run_id, p.run_id) END
                    AS execution_id,
                CASE WHEN p.parent_run_id IS NULL OR p.parent_name IS NULL THEN p.job_namespace
                     ELSE coalesce(p.parent_namespace, '') END AS execution_namespace,
                CASE WHEN p.parent_run_id IS NULL OR p.parent_name IS NULL THEN p.job_name
                     ELSE p.parent_name END AS execution_name
            FROM ol_run p
            WHERE ol_is_snaplogic(p.job_namespace)
              AND CASE WHEN p.parent_name IS NULL THEN p.run_id ELSE coalesce(p.parent_run_id, p.run_id) END IN (
                SELECT CASE WHEN b.parent_name IS NULL THEN b.run_id ELSE coalesce(b.parent_run_id, b.run_id) END
                FROM ol_run b
                WHERE ol_is_snaplogic(b.job_namespace)
                  AND b.first_event_time >= window_start AND b.first_event_time < window_end)
        ) AS part
    ) AS r
    WHERE r.began >= window_start AND r.began < window_end;
END;
COMMENT ON FUNCTION ol_pipeline_run IS
    'the runs of SnapLogic in executions that began in the window, each with the execution that it is part of';

CREATE OR REPLACE FUNCTION ol_execution(window_start timestamptz, window_end timestamptz)
RETURNS TABLE (
    execution_key uuid, execution_id text, job_namespace text, job_name text, job_key uuid,
    status text, outcome text, start_time timestamptz, end_time timestamptz,
    first_event_time timestamptz, last_event_time timestamptz, error_message text,
    processing_type text, integration text, job_type text, producer text,
    parent_run_id text, parent_namespace text, parent_name text,
    root_run_id text, root_namespace text, root_name text,
    nominal_start_time timestamptz, nominal_end_time timestamptz, runs bigint, is_pipeline boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        r.run_key, r.run_id, r.job_namespace, r.job_name, r.job_key, r.status, r.outcome,
        r.start_time, r.end_time, r.first_event_time, r.last_event_time,
        CASE WHEN r.outcome IN ('FAIL', 'ABORT') THEN r.error_message END,
        r.processing_type, r.integration, r.job_type, r.producer,
        r.parent_run_id, r.parent_namespace, r.parent_name, r.root_run_id, r.root_namespace, r.root_name,
        r.nominal_start_time, r.nominal_end_time, 1::bigint, false
    FROM ol_run r
    WHERE NOT ol_is_snaplogic(r.job_namespace)
      AND r.first_event_time >= window_start AND r.first_event_time < window_end
    UNION ALL
    SELECT
        p.execution_key, p.execution_id, p.execution_namespace, p.execution_name,
        ol_key(p.execution_namespace, p.execution_name), p.status, p.outcome,
        p.start_time, p.end_time, p.first_event_time, p.last_event_time, p.error_message,
        p.processing_type, p.integration, p.job_type, p.producer,
        p.parent_run_id, p.parent_namespace, p.parent_name, p.root_run_id, p.root_namespace, p.root_name,
        p.nominal_start_time, p.nominal_end_time, p.runs, p.is_pipeline
    FROM (
        SELECT
            s.execution_key, s.execution_id, s.execution_namespace, s.execution_name,
            CASE WHEN bool_or(s.status = 'FAIL') THEN 'FAIL' WHEN bool_or(s.status = 'ABORT') THEN 'ABORT'
                 WHEN bool_or(s.status = 'RUNNING') THEN 'RUNNING' WHEN bool_or(s.status = 'START') THEN 'START'
                 WHEN bool_and(s.status = 'COMPLETE') THEN 'COMPLETE' ELSE min(s.status) END COLLATE "C" AS status,
            CASE WHEN bool_or(s.outcome = 'FAIL') THEN 'FAIL' WHEN bool_or(s.outcome = 'ABORT') THEN 'ABORT'
                 WHEN bool_or(s.outcome = 'RUNNING') THEN 'RUNNING'
                 WHEN bool_and(s.outcome = 'COMPLETE') THEN 'COMPLETE' ELSE min(s.outcome) END COLLATE "C" AS outcome,
            min(s.start_time) AS start_time, max(s.end_time) AS end_time,
            min(s.first_event_time) AS first_event_time, max(s.last_event_time) AS last_event_time,
            min(s.error_message) FILTER (WHERE s.outcome IN ('FAIL', 'ABORT')) AS error_message,
            min(s.processing_type) AS processing_type, min(s.integration) AS integration,
            min(s.job_type) AS job_type, min(s.producer) AS producer,
            min(s.parent_run_id) FILTER (WHERE NOT s.is_snap) AS parent_run_id,
            min(s.parent_namespace) FILTER (WHERE NOT s.is_snap) AS parent_namespace,
            min(s.parent_name) FILTER (WHERE NOT s.is_snap) AS parent_name,
            min(s.root_run_id) AS root_run_id, min(s.root_namespace) AS root_namespace, min(s.root_name) AS root_name,
            min(s.nominal_start_time) AS nominal_start_time, max(s.nominal_end_time) AS nominal_end_time,
            count(*) AS runs, bool_or(s.is_snap) AS is_pipeline
        FROM ol_pipeline_run(window_start, window_end) s
        GROUP BY s.execution_key, s.execution_id, s.execution_namespace, s.execution_name
    ) p;
END;
COMMENT ON FUNCTION ol_execution IS 'the executions of jobs that began in the window; all Snaps of a pipeline are one';

CREATE OR REPLACE VIEW v_ol_execution AS SELECT * FROM ol_execution('-infinity', 'infinity');
COMMENT ON VIEW v_ol_execution IS 'an execution of a job, as all its events together tell; all Snaps of a pipeline are one';
COMMENT ON COLUMN v_ol_execution.execution_key IS 'hash of execution_id, job_namespace, job_name';
COMMENT ON COLUMN v_ol_execution.execution_id IS 'the run id; of a pipeline, its own and not a Snap''s';
COMMENT ON COLUMN v_ol_execution.status IS 'START, RUNNING, COMPLETE, FAIL, ABORT, OTHER or UNKNOWN; the worst of a pipeline''s Snaps';
COMMENT ON COLUMN v_ol_execution.outcome IS
    'what came of it, go by this: a FAIL after the last START is FAIL, a START after the last end RUNNING, else the status';
COMMENT ON COLUMN v_ol_execution.error_message IS 'of those that failed or were aborted';
COMMENT ON COLUMN v_ol_execution.runs IS 'runs in it: 1, or the number of Snaps';

-- --- what executions read and wrote ----------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION ol_pipeline_dataset(window_start timestamptz, window_end timestamptz)
RETURNS TABLE (
    execution_key uuid, execution_id text, execution_namespace text, execution_name text,
    executed_at timestamptz, run_id text, snap text, direction text,
    dataset_namespace text, dataset_name text, dataset_key uuid, event_time timestamptz,
    row_count bigint, size_bytes bigint, file_count bigint, lifecycle_state_change text, subset_type text,
    dataset_version text, schema_hash uuid, lineage_hash uuid, is_virtual boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        r.execution_key, r.execution_id, r.execution_namespace, r.execution_name,
        min(r.first_event_time) OVER (PARTITION BY r.execution_key), r.run_id, r.job_name, d.direction,
        d.dataset_namespace, d.dataset_name, d.dataset_key, d.event_time,
        d.row_count, d.size_bytes, d.file_count, d.lifecycle_state_change, d.subset_type,
        d.dataset_version, d.schema_hash, d.lineage_hash,
        r.is_snap AND ol_is_virtual(d.dataset_namespace, d.dataset_name)
    FROM ol_pipeline_run(window_start, window_end) r
    JOIN ol_run_dataset d ON d.run_id = r.run_id;
END;
COMMENT ON FUNCTION ol_pipeline_dataset IS 'what each Snap of the executions read and wrote, virtual datasets too';

CREATE OR REPLACE FUNCTION ol_execution_dataset(window_start timestamptz, window_end timestamptz)
RETURNS TABLE (
    execution_key uuid, execution_id text, job_namespace text, job_name text, job_key uuid, executed_at timestamptz,
    direction text, dataset_namespace text, dataset_name text, dataset_key uuid, event_time timestamptz,
    row_count bigint, size_bytes bigint, file_count bigint, lifecycle_state_change text, subset_type text,
    dataset_version text, schema_hash uuid, lineage_hash uuid, is_pipeline boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        r.run_key, r.run_id, r.job_namespace, r.job_name, r.job_key, r.first_event_time,
        d.direction, d.dataset_namespace, d.dataset_name, d.dataset_key, d.event_time,
        d.row_count, d.size_bytes, d.file_count, d.lifecycle_state_change, d.subset_type,
        d.dataset_version, d.schema_hash, d.lineage_hash, false
    FROM ol_run r
    JOIN ol_run_dataset d ON d.run_id = r.run_id
    WHERE NOT ol_is_snaplogic(r.job_namespace)
      AND r.first_event_time >= window_start AND r.first_event_time < window_end
    UNION ALL
    SELECT
        p.execution_key, p.execution_id, p.execution_namespace, p.execution_name,
        ol_key(p.execution_namespace, p.execution_name), p.executed_at,
        p.direction, p.dataset_namespace, p.dataset_name, p.dataset_key, max(p.event_time),
        sum(p.row_count)::bigint, sum(p.size_bytes)::bigint, sum(p.file_count)::bigint,
        max(p.lifecycle_state_change), max(p.subset_type), max(p.dataset_version),
        (array_agg(p.schema_hash ORDER BY p.snap, p.event_time DESC, p.run_id) FILTER (WHERE p.schema_hash IS NOT NULL))[1],
        (array_agg(p.lineage_hash ORDER BY p.snap, p.event_time DESC, p.run_id) FILTER (WHERE p.lineage_hash IS NOT NULL))[1],
        true
    FROM ol_pipeline_dataset(window_start, window_end) p
    WHERE NOT p.is_virtual
    GROUP BY p.execution_key, p.execution_id, p.execution_namespace, p.execution_name, p.executed_at,
             p.direction, p.dataset_namespace, p.dataset_name, p.dataset_key;
END;
COMMENT ON FUNCTION ol_execution_dataset IS 'what the executions that began in the window read and wrote';

CREATE OR REPLACE VIEW v_ol_execution_dataset AS SELECT * FROM ol_execution_dataset('-infinity', 'infinity');
COMMENT ON VIEW v_ol_execution_dataset IS 'what an execution read and wrote; what flows inside a pipeline is left out';
COMMENT ON COLUMN v_ol_execution_dataset.executed_at IS 'first event of the execution';
COMMENT ON COLUMN v_ol_execution_dataset.direction IS 'I = input, O = output';
COMMENT ON COLUMN v_ol_execution_dataset.row_count IS 'NULL where no event carried it; of a pipeline, summed over its Snaps';
COMMENT ON COLUMN v_ol_execution_dataset.schema_hash IS 'key of ol_schema_version';
COMMENT ON COLUMN v_ol_execution_dataset.lineage_hash IS 'key of ol_lineage_version and of v_ol_lineage_content';

CREATE OR REPLACE VIEW v_ol_dataset AS
SELECT
    dataset_key, min(dataset_namespace) AS dataset_namespace, min(dataset_name) AS dataset_name,
    min(event_time) AS first_seen, max(event_time) AS last_seen
FROM ol_run_dataset
GROUP BY dataset_key; -- which says both names; by all three PostgreSQL would expect a hundred times as many datasets
COMMENT ON VIEW v_ol_dataset IS 'a dataset that a run has read or written';

-- --- edges -----------------------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION ol_dataset_edge(window_start timestamptz, window_end timestamptz)
RETURNS TABLE (
    execution_key uuid, execution_id text, job_namespace text, job_name text, job_key uuid, executed_at timestamptz,
    from_namespace text, from_name text, from_key uuid, to_namespace text, to_name text, to_key uuid,
    is_pipeline boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        r.run_key, r.run_id, r.job_namespace, r.job_name, r.job_key, r.first_event_time,
        i.dataset_namespace, i.dataset_name, i.dataset_key, o.dataset_namespace, o.dataset_name, o.dataset_key, false
    FROM ol_run r
    JOIN ol_run_dataset i ON i.run_id = r.run_id AND i.direction = 'I'
    JOIN ol_run_dataset o ON o.run_id = r.run_id AND o.direction = 'O'
    WHERE NOT ol_is_snaplogic(r.job_namespace)
      AND r.first_event_time >= window_start AND r.first_event_time < window_end
    UNION ALL
    SELECT
        p.execution_key, p.execution_id, p.execution_namespace, p.execution_name,
        ol_key(p.execution_namespace, p.execution_name), p.executed_at,
        p.from_namespace, p.from_name, p.from_key, p.to_namespace, p.to_name, p.to_key, true
    FROM (
        WITH RECURSIVE part AS (
            SELECT * FROM ol_pipeline_dataset(window_start, window_end)
        ),
        step AS (
            SELECT
                i.execution_key, i.execution_id, i.execution_namespace, i.execution_name, i.executed_at,
                i.dataset_namespace AS from_namespace, i.dataset_name AS from_name, i.dataset_key AS from_key,
                i.is_virtual AS from_virtual,
                o.dataset_namespace AS to_namespace, o.dataset_name AS to_name, o.dataset_key AS to_key,
                o.is_virtual AS to_virtual
            FROM part i
            JOIN part o ON o.execution_key = i.execution_key AND o.run_id = i.run_id AND o.direction = 'O'
            WHERE i.direction = 'I'
        ),
        flow AS (
            SELECT
                execution_key, execution_id, execution_namespace, execution_name, executed_at,
                from_namespace, from_name, from_key, to_namespace, to_name, to_key, to_virtual
            FROM step
            WHERE NOT from_virtual
            UNION
            SELECT
                f.execution_key, f.execution_id, f.execution_namespace, f.execution_name, f.executed_at,
                f.from_namespace, f.from_name, f.from_key, s.to_namespace, s.to_name, s.to_key, s.to_virtual
            FROM flow f
            JOIN step s ON s.execution_key = f.execution_key AND s.from_key = f.to_key
            WHERE f.to_virtual
        )
        SELECT * FROM flow WHERE NOT to_virtual
    ) p;
END;
COMMENT ON FUNCTION ol_dataset_edge IS 'from which input to which output data went, in executions that began in the window';

CREATE OR REPLACE VIEW v_ol_dataset_edge AS SELECT * FROM ol_dataset_edge('-infinity', 'infinity');
COMMENT ON VIEW v_ol_dataset_edge IS
    'an execution''s way from an input to an output: all pairs of a run, and in a pipeline what its Snaps connect';

CREATE OR REPLACE VIEW v_ol_lineage_content AS
SELECT
    l.lineage_hash, f.column_name COLLATE "C" AS column_name,
    i.field ->> 'namespace' AS from_namespace, i.field ->> 'name' AS from_name, i.field ->> 'field' AS from_column
FROM ol_lineage_version l
CROSS JOIN LATERAL jsonb_each(
    CASE jsonb_typeof(l.edges -> 'fields') WHEN 'object' THEN l.edges -> 'fields' ELSE '{}' END
) AS f (column_name, lineage)
LEFT JOIN LATERAL jsonb_array_elements(
    CASE jsonb_typeof(f.lineage -> 'inputFields') WHEN 'array' THEN f.lineage -> 'inputFields' ELSE '[]' END
) AS i (field) ON true
UNION ALL
SELECT l.lineage_hash, NULL, i.field ->> 'namespace', i.field ->> 'name', i.field ->> 'field'
FROM ol_lineage_version l
CROSS JOIN LATERAL jsonb_array_elements(
    CASE jsonb_typeof(l.edges -> 'dataset') WHEN 'array' THEN l.edges -> 'dataset' ELSE '[]' END
) AS i (field);
COMMENT ON VIEW v_ol_lineage_content IS 'the column lineage facet of a dataset, an input field a row';
COMMENT ON COLUMN v_ol_lineage_content.column_name IS 'NULL: what feeds the whole dataset (filters, joins, groups)';
COMMENT ON COLUMN v_ol_lineage_content.from_name IS 'NULL: the column has lineage, and no input field (a constant)';

CREATE OR REPLACE FUNCTION ol_column_edge(window_start timestamptz, window_end timestamptz, executions uuid[] DEFAULT NULL)
RETURNS TABLE (
    execution_key uuid, execution_id text, job_namespace text, job_name text, job_key uuid, executed_at timestamptz,
    to_namespace text, to_name text, to_column text, from_namespace text, from_name text, from_column text,
    is_pipeline boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        r.run_key, r.run_id, r.job_namespace, r.job_name, r.job_key, r.first_event_time,
        d.dataset_namespace, d.dataset_name, e.column_name, e.from_namespace, e.from_name, e.from_column, false
    FROM ol_run r
    JOIN ol_run_dataset d ON d.run_id = r.run_id AND d.direction = 'O'
    JOIN v_ol_lineage_content e ON e.lineage_hash = d.lineage_hash
    WHERE NOT ol_is_snaplogic(r.job_namespace)
      AND r.first_event_time >= window_start AND r.first_event_time < window_end
      AND (executions IS NULL OR r.run_key = ANY (executions))
    UNION ALL
    SELECT
        p.execution_key, p.execution_id, p.execution_namespace, p.execution_name,
        ol_key(p.execution_namespace, p.execution_name), p.executed_at,
        p.to_namespace, p.to_name, p.to_column, p.from_namespace, p.from_name, p.from_column, true
    FROM (
        WITH RECURSIVE edge AS (
            SELECT DISTINCT
                d.execution_key, d.execution_id, d.execution_namespace, d.execution_name, d.executed_at,
                d.dataset_namespace AS to_namespace, d.dataset_name AS to_name, e.column_name AS to_column,
                e.from_namespace, e.from_name, e.from_column, d.is_virtual AS to_virtual,
                coalesce(ol_is_virtual(e.from_namespace, e.from_name), false) AS from_virtual
            FROM ol_pipeline_dataset(window_start, window_end) d
            JOIN v_ol_lineage_content e ON e.lineage_hash = d.lineage_hash
            WHERE d.direction = 'O' AND (executions IS NULL OR d.execution_key = ANY (executions))
        ),
        feed AS (
            SELECT
                execution_key, execution_id, execution_namespace, execution_name, executed_at,
                to_namespace, to_name, to_column, from_namespace, from_name, from_column, from_virtual
            FROM edge
            WHERE NOT to_virtual
            UNION
            SELECT
                f.execution_key, f.execution_id, f.execution_namespace, f.execution_name, f.executed_at,
                f.to_namespace, f.to_name, f.to_column, e.from_namespace, e.from_name, e.from_column, e.from_virtual
            FROM feed f
            JOIN edge e ON e.execution_key = f.execution_key
                AND e.to_namespace = f.from_namespace AND e.to_name = f.from_name
                AND (e.to_column = f.from_column OR e.to_column IS NULL)
            WHERE f.from_virtual
        )
        SELECT * FROM feed WHERE NOT from_virtual
    ) p;
END;
COMMENT ON FUNCTION ol_column_edge IS
    'which column fed which, in executions that began in the window; of all of them, or of those in the array';

CREATE OR REPLACE VIEW v_ol_column_edge AS SELECT * FROM ol_column_edge('-infinity', 'infinity');
COMMENT ON VIEW v_ol_column_edge IS 'a column that an execution wrote, and a column that fed it; through a pipeline''s Snaps';
COMMENT ON COLUMN v_ol_column_edge.to_column IS 'NULL: the whole dataset, each column of it (filters, joins, groups)';
COMMENT ON COLUMN v_ol_column_edge.from_name IS 'NULL: the column has lineage, and no source (a constant)';

-- --- results ---------------------------------------------------------------------------------------------------------

-- The last report of a result is found by its key, so that the cost follows the reports of the window, however many of
-- them one run has.
CREATE OR REPLACE FUNCTION ol_result(window_start timestamptz, window_end timestamptz)
RETURNS TABLE (
    kind text, event_time timestamptz, run_id text, job_namespace text, job_name text,
    dataset_namespace text, dataset_name text, dataset_key uuid, name text, type text, column_name text,
    occurrence integer, success boolean, status text, severity text,
    expected text, actual text, params jsonb, side text, execution_key uuid, job_key uuid, result_key uuid)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        'assertion' COLLATE "C", a.event_time, a.run_id, a.job_namespace, a.job_name,
        a.dataset_namespace, a.dataset_name, a.dataset_key, a.assertion_name, a.assertion, a.column_name,
        a.position, CASE WHEN NOT coalesce(a.skipped, false) THEN a.success END,
        CASE WHEN a.skipped THEN 'skip' WHEN a.success THEN 'pass' WHEN NOT a.success THEN 'fail' END COLLATE "C",
        a.severity, a.expected, a.actual, a.params::jsonb, a.side,
        ol_key(a.run_id, a.job_namespace, a.job_name), ol_key(a.job_namespace, a.job_name), a.result_key
    FROM ol_assertion a
    WHERE a.event_time >= window_start AND a.event_time < window_end
      AND NOT EXISTS (
        SELECT FROM ol_assertion later
        WHERE later.result_key = a.result_key
          AND (later.event_time, coalesce(later.success::int, -1), later.assertion_key)
              > (a.event_time, coalesce(a.success::int, -1), a.assertion_key))
    UNION ALL
    SELECT
        'test', t.event_time, t.run_id, t.job_namespace, t.job_name,
        NULL, NULL, NULL, t.test_name, t.test_type, NULL,
        t.position, CASE WHEN t.skipped THEN NULL WHEN lower(t.status) = 'pass' THEN true WHEN lower(t.status) = 'fail' THEN false END,
        CASE WHEN t.skipped THEN 'skip' ELSE t.status END,
        t.severity, t.expected, t.actual, t.params::jsonb, 'run',
        ol_key(t.run_id, t.job_namespace, t.job_name), ol_key(t.job_namespace, t.job_name), t.result_key
    FROM ol_test t
    WHERE t.event_time >= window_start AND t.event_time < window_end
      AND NOT EXISTS (
        SELECT FROM ol_test later
        WHERE later.result_key = t.result_key
          AND (later.event_time, coalesce(later.status, ''), later.test_key)
              > (t.event_time, coalesce(t.status, ''), t.test_key));
END;
COMMENT ON FUNCTION ol_result IS 'one result per assertion or test of a run, the last report''s, where that lies in the window';

CREATE OR REPLACE VIEW v_ol_result AS
SELECT
    kind COLLATE "C" AS kind, event_time, run_id COLLATE "C" AS run_id, job_namespace COLLATE "C" AS job_namespace,
    job_name COLLATE "C" AS job_name, dataset_namespace COLLATE "C" AS dataset_namespace,
    dataset_name COLLATE "C" AS dataset_name, dataset_key, name COLLATE "C" AS name, type COLLATE "C" AS type,
    column_name COLLATE "C" AS column_name, occurrence, success, status COLLATE "C" AS status,
    severity COLLATE "C" AS severity, expected COLLATE "C" AS expected, actual COLLATE "C" AS actual, params,
    side COLLATE "C" AS side, execution_key, job_key, result_key
FROM ol_result('-infinity', 'infinity');
COMMENT ON VIEW v_ol_result IS 'one result per assertion or test of a run: the last report''s';
COMMENT ON COLUMN v_ol_result.kind IS 'assertion (of a dataset) or test (of a run)';
COMMENT ON COLUMN v_ol_result.occurrence IS 'number among the results of that name, type and column of one event';
COMMENT ON COLUMN v_ol_result.success IS 'NULL: neither passed nor failed (skipped, unknown)';
COMMENT ON COLUMN v_ol_result.severity IS 'as configured: warn = a failure does not stop anything; NULL = not told';
COMMENT ON COLUMN v_ol_result.side IS
    'where it was told: input or output (facets of an input or output), dataset (among its own facets), run (a test)';

-- --- what stepped aside ----------------------------------------------------------------------------------------------

DO $$
DECLARE
    own record;
    gone boolean;
BEGIN
    LOOP
        gone := false;
        FOR own IN SELECT oid FROM pg_catalog.pg_proc
            WHERE pronamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema())
              AND proretset AND proname ~ '^ol_.*_before_\d+$'
        LOOP
            BEGIN
                EXECUTE format('DROP FUNCTION %s', own.oid::regprocedure);
                gone := true;
            EXCEPTION WHEN dependent_objects_still_exist THEN NULL; -- another one's turn first, or somebody's own view
            END;
        END LOOP;
        EXIT WHEN NOT gone;
    END LOOP;
END $$;
