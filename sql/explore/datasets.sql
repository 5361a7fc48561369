-- Datasets, those with the worst findings first, then by when they were seen last, after a key.
WITH found AS (
    SELECT
        subject_namespace, subject_name, count(*) AS n,
        min(array_position(ARRAY['critical', 'high', 'medium', 'low'], severity)) AS rank
    FROM ol_finding
    WHERE status = 'OPEN' AND (subject_kind IN ('dataset', 'column') OR content ->> 'tests' = 'dataset')
      AND NOT (muted_at IS NOT NULL AND (muted_until IS NULL OR muted_until > now()))
    GROUP BY subject_namespace, subject_name
)
SELECT * FROM (
    SELECT
        v.identity_key, own.dataset_namespace, own.dataset_name, jsonb_array_length(own.names) AS names, v.last_seen, v.first_seen,
        v.dataset_type, v.owners, v.tags, coalesce(f.n, 0) AS findings, coalesce(f.rank, 5) AS rank
    FROM v_ol_dataset v
    CROSS JOIN LATERAL (
        :include(own_names)
    ) own
    LEFT JOIN found f ON f.subject_namespace = own.dataset_namespace AND f.subject_name = own.dataset_name
    WHERE own.names IS NOT NULL
      AND (:'like'::text = '' OR own.search_text LIKE lower(:'like'::text COLLATE "default") COLLATE "C")
      AND (:'namespace_given'::text = '' OR own.dataset_namespace = :'namespace'::text)
) x
WHERE (:'after_key'::text = '' OR rank > :'after_rank'::int OR (rank = :'after_rank'::int AND
       (last_seen, identity_key) < (:'after_at'::timestamptz, nullif(:'after_key'::text, '')::uuid)))
ORDER BY rank, last_seen DESC, identity_key DESC
LIMIT :'limit'::int
