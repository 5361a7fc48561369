-- What came of the executions, span by span?
--
-- SET search_path TO openlineage;
-- \set from '2026-03-01'  \set to '2026-03-08'  \set origin '2026-03-01'  \set step 3600  \set jobs '{}'  \set retried '{}'
-- \i spans.sql
--
-- A row for each span of :step seconds since :origin and each outcome in it, with the number of executions that began
-- then: of each of :jobs (their keys), or of all jobs together where none are named. RETRIED are failures of :retried
-- (run ids), which a retry made good.
SELECT job_key, place, outcome, count(*) AS executions
FROM (
    SELECT
        CASE WHEN :'jobs'::text <> '{}' THEN job_key::text ELSE '' END AS job_key,
        floor(extract(epoch FROM first_event_time - :'origin'::timestamptz) / :'step'::float8)::int AS place,
        CASE WHEN outcome = 'FAIL' AND execution_id = ANY (:'retried'::text[]) THEN 'RETRIED' ELSE outcome END AS outcome
    FROM ol_execution(:'from'::timestamptz, :'to'::timestamptz)
    WHERE :'jobs'::text = '{}' OR job_key = ANY (:'jobs'::uuid[])
) e
GROUP BY job_key, place, outcome
ORDER BY job_key, place, outcome;
