-- How many jobs there are in each state.
WITH job AS (
    :include(job_state)
)
SELECT rank, count(*) AS jobs FROM job GROUP BY rank ORDER BY rank
