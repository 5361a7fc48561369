-- What column lineage contents say, an input field a row.
SELECT DISTINCT c.lineage_hash::text AS lineage_hash, c.column_name, c.from_namespace, c.from_name, c.from_column
FROM v_ol_lineage_content c
WHERE c.lineage_hash = ANY (:'hashes'::uuid[]) AND c.from_name IS NOT NULL
ORDER BY 1, 2, 3, 4, 5
