-- One dataset, by any of its names or its key, with what was said of it last.
SELECT
    v.identity_key::text AS identity_key, own.dataset_namespace, own.dataset_name, own.names, v.first_seen, v.last_seen, v.description,
    v.owners, v.tags, v.dataset_type, v.dataset_sub_type, v.storage_layer, v.file_format
FROM v_ol_dataset v
CROSS JOIN LATERAL (
    :include(own_names)
) own
WHERE own.names IS NOT NULL
  AND (v.identity_key = :'key'::uuid OR (jsonb_array_length(v.names) > 1 AND :'key'::uuid IN (
          SELECT ol_key(o ->> 'namespace', o ->> 'name') FROM jsonb_array_elements(own.names) o)))
ORDER BY v.identity_key
LIMIT 1
