"""Questions to the tables of a store, and emptying them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from lineagelog.store.upkeep import verify_entities
from lineagelog.store.upkeep.verify import Verifier, rows_of

if TYPE_CHECKING:
    from lineagelog.store.append.digest import Digest

if TYPE_CHECKING:
    from lineagelog.store import LogStore

TABLES = (
    *("ol_event", "ol_run", "ol_run_dataset", "ol_assertion", "ol_test", "ol_schema_version", "ol_lineage_version"),
    *("ol_job", "ol_dataset", "ol_dataset_name"),
)
CATALOG = """
    SELECT 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attcompression,
      a.attcollation::regcollation::text, pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum),
      a.attidentity::text || a.attgenerated::text
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'openlineage'::regnamespace AND a.attnum > 0
    UNION ALL
    SELECT 'relation', c.relname, c.relkind::text, pg_get_expr(c.relpartbound, c.oid), NULL, NULL,
      array_to_string(c.reloptions, ','), pg_get_partkeydef(c.oid), obj_description(c.oid, 'pg_class'),
      CASE WHEN c.relkind IN ('i', 'I') THEN pg_get_indexdef(c.oid) END
    FROM pg_class c WHERE c.relnamespace = 'openlineage'::regnamespace
    UNION ALL
    SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), convalidated, NULL,
      NULL, NULL, NULL, NULL
    FROM pg_constraint WHERE connamespace = 'openlineage'::regnamespace
    ORDER BY 1, 2, 3"""
"""What a store consists of, from PostgreSQL's catalogs."""


def empty(*stores: LogStore) -> None:
    """Empty the tables of stores in one database, and what their writers know of them; nothing was ever purged."""
    with stores[0].engine.begin() as connection:
        for store in stores:
            connection.execute(text(f"TRUNCATE {', '.join(store.schema.table(name) for name in TABLES)}"))
            connection.execute(text(f"UPDATE {store.schema.table('ol_store')} SET retention_floor = NULL"))
    for store in stores:
        store.forget()


def rows(store: LogStore, table: str, columns: str = "t::text") -> set[tuple[Any, ...]]:
    """The rows of a table."""
    with store.engine.connect() as connection:
        return {tuple(row) for row in connection.execute(text(f"SELECT {columns} FROM {store.schema.table(table)} t"))}


def ids(store: LogStore, table: str) -> set[str]:
    """The run ids in a table."""
    return {row[0] for row in rows(store, table, "run_id")}


def keys_of(store: LogStore) -> list[Any]:
    """What is stored raw, in order."""
    columns = "run_id, event_time, event_type, event_hash"
    with store.engine.connect() as connection:
        found = connection.execute(text(f"SELECT {columns} FROM {store.schema.table('ol_event')}"))
        return sorted(tuple(row) for row in found)


def expected_of(digest: Digest) -> dict[str, dict[bytes, tuple[Any, ...]]]:
    """The rows that a digest adds up to, entities too."""
    return rows_of(digest) | verify_entities.rows_of(digest.entities)


def digest_of(store: LogStore) -> dict[str, dict[bytes, tuple[Any, ...]]]:
    """All digest rows."""
    with store.engine.connect() as connection:
        driver = connection.connection.driver_connection
        runs = Verifier(store).stored_rows(driver, sorted(ids(store, "ol_event")))
        return runs | verify_entities.stored_rows(store.schema, driver)
