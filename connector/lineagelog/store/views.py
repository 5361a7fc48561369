"""The views of sql/views.sql in a store: made once, and anew where an update of lineagelog has changed them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

import psycopg
from psycopg import sql

from lineagelog.resources import sql_text

from . import tables
from .schema import LogStoreSchema

FILE: Final = "views.sql"

_RIGHTS: Final = """
    SELECT c.oid::regclass::text, a.grantee::regrole::text
    FROM pg_catalog.pg_class r
    CROSS JOIN aclexplode(r.relacl) a
    JOIN pg_catalog.pg_class c ON c.relnamespace = r.relnamespace AND c.relkind = 'v' AND c.relname LIKE 'v\\_ol\\_%%'
    WHERE r.oid = %s::regclass AND a.privilege_type = 'SELECT' AND a.grantee NOT IN (0, r.relowner)"""


def version() -> str:
    """What ol_store.views holds where the views are those of this lineagelog."""
    return sha256(sql_text(FILE).encode()).hexdigest()[:16]


def statements(schema: LogStoreSchema) -> list[str]:
    """The statements that make the views and remember which they are; they end with a search_path of their own."""
    path = sql.Identifier(schema.schema_name).as_string()
    store = schema.table(tables.STORE_TABLE)
    return [
        f"SET LOCAL search_path TO {path}",
        sql_text(FILE),
        f"UPDATE {store} SET views = '{version()}'",
    ]


def install(connection: psycopg.Connection[Any], schema: LogStoreSchema) -> bool:
    """Make the views where they are missing or others, in the caller's transaction; returns whether it did.

    Whoever may read ol_run may read them.
    """
    store = schema.table(tables.STORE_TABLE)
    row = connection.execute(f"SELECT views FROM {store}").fetchone()
    if row is not None and row[0] == version():
        return False
    for statement in statements(schema):
        connection.execute(statement.encode())
    for view, role in connection.execute(_RIGHTS, (schema.table(tables.RUN_TABLE),)).fetchall():
        connection.execute(f"GRANT SELECT ON {view} TO {role}".encode())
    return True
