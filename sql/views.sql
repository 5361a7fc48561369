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

-- --- names that are one dataset --------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION ol_name_pattern(name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN name COLLATE "C" !~ '[0-9]{2}|=' THEN name ELSE
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(name COLLATE "C",
        '(^|/)([A-Za-z_][A-Za-z0-9_]*)=[^/]+', '\1\2={\2}', 'g'),
        '(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T_ -]?([01][0-9]|2[0-3])(:?[0-5][0-9]){0,2}Z?(?![0-9]))?', '{date}', 'g'),
        '(^|/)(19|20)[0-9]{2}/(0?[1-9]|1[0-2])/(0?[1-9]|[12][0-9]|3[01])(/([01]?[0-9]|2[0-3]))?(?=/|$)', '\1{date}', 'g'),
        '(?<![0-9])(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])([T_-]?([01][0-9]|2[0-3])([0-5][0-9]){0,2}Z?)?(?![0-9])', '{date}', 'g'),
        '(?<![0-9])(19|20)[0-9]{2}[_-](0[1-9]|1[0-2])([_-](0[1-9]|[12][0-9]|3[01]))?(?![0-9])', '{date}', 'g')
END;
COMMENT ON FUNCTION ol_name_pattern IS
    'the name with its dates and the values of its Hive partitions left out: for drift and volume such names are one';

-- Texts stand in the order of the columns, a line each, so that no search goes from one into the next. COLLATE "default" is
-- the database's: it knows more small letters than "C".
CREATE OR REPLACE FUNCTION ol_search_text(names text, description text, owners jsonb, tags jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lower((
    names || coalesce(E'\n' || description, '')
    || coalesce(E'\n' || jsonb_path_query_array(owners, '$[*].name')::text, '')
    || coalesce(E'\n' || jsonb_path_query_array(tags, '$[*].*')::text, '')
) COLLATE "default") COLLATE "C";
COMMENT ON FUNCTION ol_search_text IS 'what a search of jobs and datasets looks at, in small letters';

-- Not inlined (SET forbids it): PostgreSQL then expects its few rows, and makes them once per query. A rename ends a life
-- of the old name, which goes on as the new one's; a symlink joins the lives in which it was said.
CREATE OR REPLACE FUNCTION ol_identity()
RETURNS TABLE (
    dataset_key uuid, dataset_namespace text, dataset_name text, began timestamptz, ended timestamptz, identity_key uuid)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 500 SET jit TO off
BEGIN ATOMIC
    WITH RECURSIVE
    rename AS MATERIALIZED (
        SELECT DISTINCT ON (n.other_key, t.at) n.other_key AS old_key, t.at, n.dataset_key AS new_key
        FROM ol_dataset_name n
        CROSS JOIN LATERAL (VALUES (n.first_said), (n.last_said)) AS t (at)
        WHERE n.kind = 'rename'
        ORDER BY n.other_key, t.at, n.dataset_key
    ),
    flow AS (
        SELECT
            old_key, at AS ended, new_key AS open_key, at,
            lag(at, 1, '-infinity') OVER (PARTITION BY old_key ORDER BY at) AS began
        FROM rename
        UNION ALL
        SELECT f.old_key, f.ended, r.new_key, r.at, f.began
        FROM flow f
        CROSS JOIN LATERAL (
            SELECT new_key, at FROM rename WHERE rename.old_key = f.open_key AND rename.at > f.at ORDER BY at LIMIT 1
        ) r
    ),
    closed AS MATERIALIZED (
        SELECT DISTINCT ON (old_key, ended) old_key AS dataset_key, began, ended, open_key
        FROM flow
        ORDER BY old_key, ended, at DESC
    ),
    deletion AS (
        SELECT dataset_key, max(last_said) AS at FROM ol_dataset_name WHERE kind = 'deleted' GROUP BY dataset_key
    ),
    link AS (
        SELECT coalesce(a.open_key, s.dataset_key) AS a, coalesce(b.open_key, s.other_key) AS b
        FROM ol_dataset_name s
        CROSS JOIN LATERAL (VALUES (s.first_said), (s.last_said)) AS t (at)
        LEFT JOIN deletion d ON d.dataset_key = s.dataset_key
        LEFT JOIN closed a ON a.dataset_key = s.dataset_key AND t.at > a.began AND t.at <= a.ended
        LEFT JOIN closed b ON b.dataset_key = s.other_key AND t.at > b.began AND t.at <= b.ended
        WHERE s.kind = 'symlink' AND (d.at IS NULL OR t.at >= d.at)
    ),
    edge AS MATERIALIZED (
        SELECT a, b FROM link WHERE a <> b UNION SELECT b, a FROM link WHERE a <> b
    ),
    -- from the names with most links on, so that a table of a thousand partitions is not a million pairs
    degree AS MATERIALIZED (
        SELECT a AS key, count(*) AS links FROM edge GROUP BY a
    ),
    reach AS (
        SELECT d.key AS leader, d.key
        FROM degree d
        WHERE NOT EXISTS (
            SELECT FROM edge e JOIN degree o ON o.key = e.b WHERE e.a = d.key AND (o.links, o.key) > (d.links, d.key))
        UNION
        SELECT r.leader, e.b FROM reach r JOIN edge e ON e.a = r.key
    ),
    component AS MATERIALIZED (
        SELECT key, first_value(key) OVER (PARTITION BY leader ORDER BY key) AS identity_key
        FROM (SELECT DISTINCT ON (key) key, leader FROM reach ORDER BY key, leader) one
    ),
    life AS (
        SELECT dataset_key, began, ended, open_key FROM closed
        UNION ALL
        SELECT k.key, coalesce(c.ended, '-infinity'), 'infinity', k.key
        FROM (
            SELECT key FROM component UNION SELECT dataset_key FROM closed UNION SELECT open_key FROM closed
        ) k
        LEFT JOIN (SELECT dataset_key, max(ended) AS ended FROM closed GROUP BY dataset_key) c ON c.dataset_key = k.key
    ),
    name AS (
        SELECT dataset_key, dataset_namespace, dataset_name FROM ol_dataset_name
        UNION
        SELECT other_key, other_namespace, other_name FROM ol_dataset_name WHERE kind <> 'deleted'
    )
    SELECT l.dataset_key, n.dataset_namespace, n.dataset_name, l.began, l.ended, coalesce(c.identity_key, l.open_key)
    FROM life l
    JOIN name n ON n.dataset_key = l.dataset_key
    LEFT JOIN component c ON c.key = l.open_key;
END;
-- At the very instant of a rename the new name is already the renamed dataset's, all others are still what they were.
CREATE OR REPLACE FUNCTION ol_is_life(at timestamptz, lifecycle_state_change text, began timestamptz, ended timestamptz)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN upper(lifecycle_state_change COLLATE "C") = 'RENAME' THEN at >= began AND at < ended ELSE at > began AND at <= ended END;
COMMENT ON FUNCTION ol_is_life IS 'whether a sighting of a name belongs to that life of it (ol_identity)';

COMMENT ON FUNCTION ol_identity IS
    'the names that are joined with others, each from when (later than began) until when (ended) it is of which dataset';

-- The lives of a name follow each other without a gap. One row a name, so that PostgreSQL knows that a left join adds no
-- rows: it hashes the few names that are joined, and leaves the join out where nobody asks for identities.
CREATE OR REPLACE FUNCTION ol_lives()
RETURNS TABLE (dataset_key uuid, ends timestamptz[], identity_keys uuid[])
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT dataset_key, array_agg(ended ORDER BY ended), array_agg(identity_key ORDER BY ended)
    FROM ol_identity()
    GROUP BY dataset_key;
END;
COMMENT ON FUNCTION ol_lives IS 'as ol_identity, a row for each name: ends of its lives in order, and of which dataset it was in each';

CREATE OR REPLACE FUNCTION ol_lives_by_name()
RETURNS TABLE (dataset_namespace text, dataset_name text, ends timestamptz[], identity_keys uuid[])
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        dataset_namespace COLLATE "C", dataset_name COLLATE "C",
        array_agg(ended ORDER BY ended), array_agg(identity_key ORDER BY ended)
    FROM ol_identity()
    GROUP BY dataset_namespace COLLATE "C", dataset_name COLLATE "C";
END;
COMMENT ON FUNCTION ol_lives_by_name IS 'as ol_lives, by name';

-- As ol_is_life has it; times are whole microseconds.
CREATE OR REPLACE FUNCTION ol_identity_at(
    ends timestamptz[], identity_keys uuid[], at timestamptz, lifecycle_state_change text) RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN identity_keys[1 + width_bucket(
    CASE WHEN upper(lifecycle_state_change COLLATE "C") = 'RENAME' THEN at ELSE at - interval '1 microsecond' END, ends)];
COMMENT ON FUNCTION ol_identity_at IS 'of which dataset a name was then, from its lives (ol_lives); NULL without lives';

CREATE OR REPLACE FUNCTION ol_shown_name()
RETURNS TABLE (identity_key uuid, shown_namespace text, shown_name text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 500 SET jit TO off
BEGIN ATOMIC
    SELECT DISTINCT ON (i.identity_key) i.identity_key, i.dataset_namespace, i.dataset_name
    FROM ol_identity() i
    CROSS JOIN LATERAL (
        SELECT count(*) AS runs
        FROM (SELECT FROM ol_run_dataset d WHERE d.dataset_key = i.dataset_key LIMIT 1000) used
    ) u
    WHERE i.ended = 'infinity'
    ORDER BY i.identity_key, u.runs DESC, i.dataset_name, i.dataset_namespace;
END;
COMMENT ON FUNCTION ol_shown_name IS
    'of datasets with several names the one that most runs use (of 1,000 looked at; at equal numbers the first one)';

-- --- executions ------------------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION ol_pipeline_run(window_start timestamptz, window_end timestamptz)
RETURNS TABLE (
    execution_key uuid, execution_id text, execution_namespace text, execution_name text,
    run_id text, job_namespace text, job_name text, status text, outcome text, error_message text,
    start_time timestamptz, end_time timestamptz, first_event_time timestamptz, last_event_time timestamptz,
    processing_type text, integration text, job_type text, producer text,
    parent_run_id text, parent_namespace text, parent_name text,
    root_run_id text, root_namespace text, root_name text,
    nominal_start_time timestamptz, nominal_end_time timestamptz, is_snap boolean, run_key uuid)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        ol_key(r.execution_id, r.execution_namespace, r.execution_name),
        r.execution_id, r.execution_namespace, r.execution_name,
        r.run_id, r.job_namespace, r.job_name, r.status, r.outcome, r.error_message,
        r.start_time, r.end_time, r.first_event_time, r.last_event_time,
        r.processing_type, r.integration, r.job_type, r.producer,
        r.parent_run_id, r.parent_namespace, r.parent_name, r.root_run_id, r.root_namespace, r.root_name,
        r.nominal_start_time, r.nominal_end_time, r.is_snap, r.run_key
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
    JOIN ol_run_dataset d ON d.run_key = r.run_key;
END;
COMMENT ON FUNCTION ol_pipeline_dataset IS 'what each Snap of the executions read and wrote, virtual datasets too';

CREATE OR REPLACE FUNCTION ol_execution_dataset(window_start timestamptz, window_end timestamptz)
RETURNS TABLE (
    execution_key uuid, execution_id text, job_namespace text, job_name text, job_key uuid, executed_at timestamptz,
    direction text, dataset_namespace text, dataset_name text, dataset_key uuid, event_time timestamptz,
    row_count bigint, size_bytes bigint, file_count bigint, lifecycle_state_change text, subset_type text,
    dataset_version text, schema_hash uuid, lineage_hash uuid, is_pipeline boolean, identity_key uuid)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        r.run_key, r.run_id, r.job_namespace, r.job_name, r.job_key, r.first_event_time,
        d.direction, d.dataset_namespace, d.dataset_name, d.dataset_key, d.event_time,
        d.row_count, d.size_bytes, d.file_count, d.lifecycle_state_change, d.subset_type,
        d.dataset_version, d.schema_hash, d.lineage_hash, false,
        coalesce(ol_identity_at(n.ends, n.identity_keys, d.event_time, d.lifecycle_state_change), d.dataset_key)
    FROM ol_run r
    JOIN ol_run_dataset d ON d.run_key = r.run_key
    LEFT JOIN ol_lives() n ON n.dataset_key = d.dataset_key
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
        true, p.identity_key
    FROM (
        SELECT
            s.*, coalesce(ol_identity_at(n.ends, n.identity_keys, s.event_time, s.lifecycle_state_change), s.dataset_key)
                AS identity_key
        FROM ol_pipeline_dataset(window_start, window_end) s
        LEFT JOIN ol_lives() n ON n.dataset_key = s.dataset_key
        WHERE NOT s.is_virtual
    ) p
    GROUP BY p.execution_key, p.execution_id, p.execution_namespace, p.execution_name, p.executed_at,
             p.direction, p.dataset_namespace, p.dataset_name, p.dataset_key, p.identity_key;
END;
COMMENT ON FUNCTION ol_execution_dataset IS 'what the executions that began in the window read and wrote';

CREATE OR REPLACE VIEW v_ol_execution_dataset AS
SELECT e.*, 
    coalesce(s.shown_namespace, e.dataset_namespace) AS shown_namespace,
    coalesce(s.shown_name, e.dataset_name) AS shown_name
FROM ol_execution_dataset('-infinity', 'infinity') e
LEFT JOIN ol_shown_name() s ON s.identity_key = e.identity_key;
COMMENT ON VIEW v_ol_execution_dataset IS 'what an execution read and wrote; what flows inside a pipeline is left out';
COMMENT ON COLUMN v_ol_execution_dataset.executed_at IS 'first event of the execution';
COMMENT ON COLUMN v_ol_execution_dataset.direction IS 'I = input, O = output';
COMMENT ON COLUMN v_ol_execution_dataset.row_count IS 'NULL where no event carried it; of a pipeline, summed over its Snaps';
COMMENT ON COLUMN v_ol_execution_dataset.schema_hash IS 'key of ol_schema_version';
COMMENT ON COLUMN v_ol_execution_dataset.lineage_hash IS 'key of ol_lineage_version and of v_ol_lineage_content';
COMMENT ON COLUMN v_ol_execution_dataset.identity_key IS 'the dataset, whichever of its names was used: join by this';
COMMENT ON COLUMN v_ol_execution_dataset.shown_name IS 'with shown_namespace: the name that most runs use for it';

CREATE OR REPLACE VIEW v_ol_dataset AS
SELECT
    d.dataset_key, d.dataset_namespace, d.dataset_name, d.first_seen, d.last_seen, d.dataset_key AS identity_key,
    jsonb_build_array(jsonb_build_object('namespace', d.dataset_namespace, 'name', d.dataset_name)) AS names,
    d.description, d.description_type, d.owners, d.tags, d.dataset_type, d.dataset_sub_type,
    d.storage_layer, d.file_format, d.catalog_framework, d.catalog_type, d.catalog_name, d.catalog_uri, d.warehouse_uri,
    ol_search_text(d.dataset_namespace || E'\n' || d.dataset_name, d.description, d.owners, d.tags) AS search_text
FROM ol_dataset d
WHERE d.dataset_key NOT IN (SELECT dataset_key FROM ol_identity()) AND NOT ol_is_virtual(d.dataset_namespace, d.dataset_name)
UNION ALL
SELECT
    k.identity_key, s.shown_namespace, s.shown_name, k.first_seen, k.last_seen, k.identity_key, k.names,
    k.description, k.description_type, k.owners, k.tags, k.dataset_type, k.dataset_sub_type,
    k.storage_layer, k.file_format, k.catalog_framework, k.catalog_type, k.catalog_name, k.catalog_uri, k.warehouse_uri,
    ol_search_text(k.texts, k.description, k.owners, k.tags)
FROM (
    SELECT
        i.identity_key, string_agg(i.dataset_namespace || E'\n' || i.dataset_name, E'\n') AS texts,
        min(greatest(d.first_seen, i.began)) AS first_seen, max(least(d.last_seen, i.ended)) AS last_seen,
        jsonb_agg(DISTINCT jsonb_build_object('namespace', i.dataset_namespace, 'name', i.dataset_name)) AS names,
        (array_agg(d.description ORDER BY f.documentation_at DESC, d.dataset_key) FILTER (WHERE f.documentation_at IS NOT NULL))[1] AS description,
        (array_agg(d.description_type ORDER BY f.documentation_at DESC, d.dataset_key) FILTER (WHERE f.documentation_at IS NOT NULL))[1] AS description_type,
        (array_agg(d.owners ORDER BY f.owners_at DESC, d.dataset_key) FILTER (WHERE f.owners_at IS NOT NULL))[1] AS owners,
        (array_agg(d.tags ORDER BY f.tags_at DESC, d.dataset_key) FILTER (WHERE f.tags_at IS NOT NULL))[1] AS tags,
        (array_agg(d.dataset_type ORDER BY f.type_at DESC, d.dataset_key) FILTER (WHERE f.type_at IS NOT NULL))[1] AS dataset_type,
        (array_agg(d.dataset_sub_type ORDER BY f.type_at DESC, d.dataset_key) FILTER (WHERE f.type_at IS NOT NULL))[1] AS dataset_sub_type,
        (array_agg(d.storage_layer ORDER BY f.storage_at DESC, d.dataset_key) FILTER (WHERE f.storage_at IS NOT NULL))[1] AS storage_layer,
        (array_agg(d.file_format ORDER BY f.storage_at DESC, d.dataset_key) FILTER (WHERE f.storage_at IS NOT NULL))[1] AS file_format,
        (array_agg(d.catalog_framework ORDER BY f.catalog_at DESC, d.dataset_key) FILTER (WHERE f.catalog_at IS NOT NULL))[1] AS catalog_framework,
        (array_agg(d.catalog_type ORDER BY f.catalog_at DESC, d.dataset_key) FILTER (WHERE f.catalog_at IS NOT NULL))[1] AS catalog_type,
        (array_agg(d.catalog_name ORDER BY f.catalog_at DESC, d.dataset_key) FILTER (WHERE f.catalog_at IS NOT NULL))[1] AS catalog_name,
        (array_agg(d.catalog_uri ORDER BY f.catalog_at DESC, d.dataset_key) FILTER (WHERE f.catalog_at IS NOT NULL))[1] AS catalog_uri,
        (array_agg(d.warehouse_uri ORDER BY f.catalog_at DESC, d.dataset_key) FILTER (WHERE f.catalog_at IS NOT NULL))[1] AS warehouse_uri
    FROM ol_identity() i
    LEFT JOIN ol_dataset d ON d.dataset_key = i.dataset_key AND d.last_seen > i.began AND d.first_seen <= i.ended
    CROSS JOIN LATERAL (
        SELECT
            CASE WHEN ol_is_life(d.documentation_at, NULL, i.began, i.ended) THEN d.documentation_at END AS documentation_at,
            CASE WHEN ol_is_life(d.owners_at, NULL, i.began, i.ended) THEN d.owners_at END AS owners_at,
            CASE WHEN ol_is_life(d.tags_at, NULL, i.began, i.ended) THEN d.tags_at END AS tags_at,
            CASE WHEN ol_is_life(d.type_at, NULL, i.began, i.ended) THEN d.type_at END AS type_at,
            CASE WHEN ol_is_life(d.storage_at, NULL, i.began, i.ended) THEN d.storage_at END AS storage_at,
            CASE WHEN ol_is_life(d.catalog_at, NULL, i.began, i.ended) THEN d.catalog_at END AS catalog_at
    ) f
    GROUP BY i.identity_key
) k
JOIN ol_shown_name() s ON s.identity_key = k.identity_key
WHERE k.first_seen IS NOT NULL;

-- What drift and volume take for one dataset; PostgreSQL computes of the view above only what is asked.
CREATE OR REPLACE VIEW v_ol_dataset_series AS
SELECT
    identity_key, dataset_namespace, ol_name_pattern(dataset_name) AS pattern,
    CASE WHEN ol_name_pattern(dataset_name) = dataset_name THEN identity_key
         ELSE ol_key(dataset_namespace, ol_name_pattern(dataset_name)) END AS series_key,
    jsonb_array_length(names) > 1 OR ol_name_pattern(dataset_name) <> dataset_name AS has_several_names
FROM v_ol_dataset;
COMMENT ON VIEW v_ol_dataset_series IS
    'of which series a dataset is: names that differ only in a date or in the value of a Hive partition are one';
COMMENT ON COLUMN v_ol_dataset_series.pattern IS 'the name without dates and values of partitions';

COMMENT ON VIEW v_ol_dataset IS 'a dataset, whatever names it has: by the name that most runs use for it';
COMMENT ON COLUMN v_ol_dataset.dataset_key IS 'the same as identity_key: the key of one of its names';
COMMENT ON COLUMN v_ol_dataset.names IS 'all its names: objects of namespace and name';
COMMENT ON COLUMN v_ol_dataset.search_text IS 'names, description, owners and tags in small letters, for LIKE';
COMMENT ON COLUMN v_ol_dataset.owners IS 'objects of name and type';
COMMENT ON COLUMN v_ol_dataset.tags IS 'objects of key, value, source and field';

CREATE OR REPLACE VIEW v_ol_dataset_name AS
SELECT
    k.dataset_key, k.dataset_namespace, k.dataset_name, k.identity_key,
    coalesce(s.shown_namespace, k.dataset_namespace) AS shown_namespace,
    coalesce(s.shown_name, k.dataset_name) AS shown_name,
    k.began, k.ended, ol_name_pattern(coalesce(s.shown_name, k.dataset_name)) AS pattern
FROM (
    SELECT dataset_key, dataset_namespace, dataset_name, identity_key, began, ended FROM ol_identity()
    UNION ALL
    SELECT d.dataset_key, d.dataset_namespace, d.dataset_name, d.dataset_key, '-infinity', 'infinity'
    FROM ol_dataset d
    WHERE d.dataset_key NOT IN (SELECT dataset_key FROM ol_identity())
) k
LEFT JOIN ol_shown_name() s ON s.identity_key = k.identity_key;
COMMENT ON VIEW v_ol_dataset_name IS 'a name of a dataset; who said that it is one of several is in ol_dataset_name';
COMMENT ON COLUMN v_ol_dataset_name.began IS 'later than this it is a name of that dataset (-infinity: from the first)';
COMMENT ON COLUMN v_ol_dataset_name.ended IS 'until then (infinity: still): it was renamed';
COMMENT ON COLUMN v_ol_dataset_name.pattern IS 'the shown name without dates and values of partitions';

CREATE OR REPLACE VIEW v_ol_job AS
SELECT
    ol_job.job_key, ol_job.job_namespace, ol_job.job_name, first_seen, last_seen, description, description_type, owners, tags,
    processing_type, integration, job_type, source_code_location,
    ol_search_text(job_namespace || E'\n' || job_name, description, owners, tags) AS search_text,
    r.run_id AS last_run_id, r.first_event_time AS last_run_time, r.outcome AS last_outcome
FROM ol_job
LEFT JOIN LATERAL (
    SELECT run_id, first_event_time, outcome
    FROM ol_run
    WHERE ol_run.job_key = ol_job.job_key
    ORDER BY first_event_time DESC, run_key DESC
    LIMIT 1
) r ON true;
COMMENT ON COLUMN v_ol_job.last_run_id IS 'the run that began last, with last_run_time and last_outcome';
COMMENT ON VIEW v_ol_job IS 'a job, with what was said of it last';
COMMENT ON COLUMN v_ol_job.search_text IS 'names, description, owners and tags in small letters, for LIKE';
COMMENT ON COLUMN v_ol_job.owners IS 'objects of name and type';
COMMENT ON COLUMN v_ol_job.tags IS 'objects of key, value and source';

-- --- edges -----------------------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION ol_dataset_edge(window_start timestamptz, window_end timestamptz)
RETURNS TABLE (
    execution_key uuid, execution_id text, job_namespace text, job_name text, job_key uuid, executed_at timestamptz,
    from_namespace text, from_name text, from_key uuid, to_namespace text, to_name text, to_key uuid,
    is_pipeline boolean, from_identity_key uuid, to_identity_key uuid)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        r.run_key, r.run_id, r.job_namespace, r.job_name, r.job_key, r.first_event_time,
        i.dataset_namespace, i.dataset_name, i.dataset_key, o.dataset_namespace, o.dataset_name, o.dataset_key, false,
        coalesce(ol_identity_at(ni.ends, ni.identity_keys, i.event_time, i.lifecycle_state_change), i.dataset_key),
        coalesce(ol_identity_at(no.ends, no.identity_keys, o.event_time, o.lifecycle_state_change), o.dataset_key)
    FROM ol_run r
    JOIN ol_run_dataset i ON i.run_key = r.run_key AND i.direction = 'I'
    JOIN ol_run_dataset o ON o.run_key = r.run_key AND o.direction = 'O'
    LEFT JOIN ol_lives() ni ON ni.dataset_key = i.dataset_key
    LEFT JOIN ol_lives() no ON no.dataset_key = o.dataset_key
    WHERE NOT ol_is_snaplogic(r.job_namespace)
      AND r.first_event_time >= window_start AND r.first_event_time < window_end
    UNION ALL
    SELECT
        p.execution_key, p.execution_id, p.execution_namespace, p.execution_name,
        ol_key(p.execution_namespace, p.execution_name), p.executed_at,
        p.from_namespace, p.from_name, p.from_key, p.to_namespace, p.to_name, p.to_key, true,
        coalesce(ol_identity_at(ni.ends, ni.identity_keys, p.executed_at, NULL), p.from_key),
        coalesce(ol_identity_at(no.ends, no.identity_keys, p.executed_at, NULL), p.to_key)
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
            JOIN part o ON o.execution_key = i.execution_key AND o.run_id = i.run_id AND o.snap = i.snap
                AND o.direction = 'O'
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
    ) p
    LEFT JOIN ol_lives() ni ON ni.dataset_key = p.from_key
    LEFT JOIN ol_lives() no ON no.dataset_key = p.to_key;
END;
COMMENT ON FUNCTION ol_dataset_edge IS 'from which input to which output data went, in executions that began in the window';

CREATE OR REPLACE VIEW v_ol_dataset_edge AS
SELECT
    e.*,
    coalesce(f.shown_namespace, e.from_namespace) AS from_shown_namespace,
    coalesce(f.shown_name, e.from_name) AS from_shown_name,
    coalesce(t.shown_namespace, e.to_namespace) AS to_shown_namespace,
    coalesce(t.shown_name, e.to_name) AS to_shown_name
FROM ol_dataset_edge('-infinity', 'infinity') e
LEFT JOIN ol_shown_name() f ON f.identity_key = e.from_identity_key
LEFT JOIN ol_shown_name() t ON t.identity_key = e.to_identity_key;
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
    is_pipeline boolean, to_identity_key uuid, from_identity_key uuid)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        r.run_key, r.run_id, r.job_namespace, r.job_name, r.job_key, r.first_event_time,
        d.dataset_namespace, d.dataset_name, e.column_name, e.from_namespace, e.from_name, e.from_column, false,
        coalesce(ol_identity_at(no.ends, no.identity_keys, d.event_time, d.lifecycle_state_change), d.dataset_key),
        coalesce(ol_identity_at(ni.ends, ni.identity_keys, r.first_event_time, NULL), ol_key(e.from_namespace, e.from_name))
    FROM ol_run r
    JOIN ol_run_dataset d ON d.run_key = r.run_key AND d.direction = 'O'
    JOIN v_ol_lineage_content e ON e.lineage_hash = d.lineage_hash
    LEFT JOIN ol_lives() no ON no.dataset_key = d.dataset_key
    LEFT JOIN ol_lives_by_name() ni ON ni.dataset_name = e.from_name AND ni.dataset_namespace = e.from_namespace
    WHERE NOT ol_is_snaplogic(r.job_namespace)
      AND r.first_event_time >= window_start AND r.first_event_time < window_end
      AND (executions IS NULL OR r.run_key = ANY (executions))
    UNION ALL
    SELECT
        p.execution_key, p.execution_id, p.execution_namespace, p.execution_name,
        ol_key(p.execution_namespace, p.execution_name), p.executed_at,
        p.to_namespace, p.to_name, p.to_column, p.from_namespace, p.from_name, p.from_column, true,
        coalesce(ol_identity_at(no.ends, no.identity_keys, p.executed_at, NULL), ol_key(p.to_namespace, p.to_name)),
        coalesce(ol_identity_at(ni.ends, ni.identity_keys, p.executed_at, NULL), ol_key(p.from_namespace, p.from_name))
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
                f.to_namespace, f.to_name, CASE WHEN e.to_column IS NOT NULL THEN f.to_column END,
                e.from_namespace, e.from_name, e.from_column, e.from_virtual
            FROM feed f
            JOIN edge e ON e.execution_key = f.execution_key
                AND e.to_namespace = f.from_namespace AND e.to_name = f.from_name
                AND (e.to_column = f.from_column OR e.to_column IS NULL)
            WHERE f.from_virtual
        )
        SELECT * FROM feed WHERE NOT from_virtual
    ) p
    LEFT JOIN ol_lives_by_name() no ON no.dataset_name = p.to_name AND no.dataset_namespace = p.to_namespace
    LEFT JOIN ol_lives_by_name() ni ON ni.dataset_name = p.from_name AND ni.dataset_namespace = p.from_namespace;
END;
COMMENT ON FUNCTION ol_column_edge IS
    'which column fed which, in executions that began in the window; of all of them, or of those in the array';

CREATE OR REPLACE VIEW v_ol_column_edge AS
SELECT
    e.*,
    coalesce(t.shown_namespace, e.to_namespace) AS to_shown_namespace,
    coalesce(t.shown_name, e.to_name) AS to_shown_name,
    coalesce(f.shown_namespace, e.from_namespace) AS from_shown_namespace,
    coalesce(f.shown_name, e.from_name) AS from_shown_name
FROM ol_column_edge('-infinity', 'infinity') e
LEFT JOIN ol_shown_name() f ON f.identity_key = e.from_identity_key AND e.from_name IS NOT NULL
LEFT JOIN ol_shown_name() t ON t.identity_key = e.to_identity_key;
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
