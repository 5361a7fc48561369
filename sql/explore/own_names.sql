-- Of the names of a dataset `v` those that the asker's jobs used: other names are not its to know. NULL: it sees none.
SELECT
    jsonb_agg(n) AS names,
    CASE WHEN :'within'::text = '' THEN v.search_text ELSE lower(string_agg((n ->> 'namespace') || E'\n' || (n ->> 'name'), E'\n')) END
        COLLATE "C" AS search_text,
    CASE WHEN bool_or(n = jsonb_build_object('namespace', v.dataset_namespace, 'name', v.dataset_name)) THEN v.dataset_namespace
         ELSE min(n ->> 'namespace') END COLLATE "C" AS dataset_namespace,
    CASE WHEN bool_or(n = jsonb_build_object('namespace', v.dataset_namespace, 'name', v.dataset_name)) THEN v.dataset_name
         ELSE min(n ->> 'name') END COLLATE "C" AS dataset_name
FROM jsonb_array_elements(v.names) n
WHERE :'within'::text = '' OR EXISTS (
    SELECT FROM ol_run_dataset d WHERE d.dataset_key = ol_key(n ->> 'namespace', n ->> 'name') AND :bound(d))
