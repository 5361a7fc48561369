-- Datasets that a text is in, of those that the asker's jobs used.
SELECT own.dataset_namespace AS namespace, own.dataset_name AS name, v.last_seen AS at, NULL::text AS outcome
FROM v_ol_dataset v
CROSS JOIN LATERAL (
    :include(own_names)
) own
WHERE v.search_text LIKE lower(:'like'::text COLLATE "default") COLLATE "C"
  AND own.search_text LIKE lower(:'like'::text COLLATE "default") COLLATE "C"
ORDER BY lower(own.dataset_name) NOT LIKE lower(:'like'::text), v.last_seen DESC, v.dataset_key
LIMIT :'limit'::int
