-- How many things there are to publish, by state.
SELECT state, count(*) AS n FROM ol_publication GROUP BY state ORDER BY state
