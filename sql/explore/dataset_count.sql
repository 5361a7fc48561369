-- How many datasets there are, counted up to a number.
SELECT count(*) AS n FROM (
    SELECT FROM v_ol_dataset v
    CROSS JOIN LATERAL (
        :include(own_names)
    ) own
    WHERE own.names IS NOT NULL
      AND (:'like'::text = '' OR own.search_text LIKE lower(:'like'::text COLLATE "default") COLLATE "C")
      AND (:'namespace_given'::text = '' OR own.dataset_namespace = :'namespace'::text)
    LIMIT :'limit'::int
) x
