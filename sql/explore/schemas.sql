-- The fields of schemas.
SELECT schema_hash::text AS schema_hash, fields FROM ol_schema_version WHERE schema_hash = ANY (:'hashes'::uuid[])
