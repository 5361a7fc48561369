"""The views of sql/views.sql in a store: made once, and anew where an update of lineagelog has changed them."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from psycopg import sql

from lineagelog.postgres.blocks import do_block
from lineagelog.resources import sql_text

from . import tables
from .migrations import same_rights

if TYPE_CHECKING:
    from .schema import LogStoreSchema

FILE: Final = "views.sql"
SINCE: Final = 3
"""The version of the tables that has ol_store.views."""
_VIEW: Final = re.compile(r"^CREATE OR REPLACE VIEW (\w+)", re.MULTILINE)


def version() -> str:
    """What ol_store.views holds where the views are those of this lineagelog."""
    return sha256(sql_text(FILE).encode()).hexdigest()[:16]


def statements(schema: LogStoreSchema) -> tuple[str, ...]:
    """What makes the views in one transaction, lets read them who may read ol_run, and remembers which they are."""
    text = sql_text(FILE)
    path = sql.Identifier(schema.schema_name).as_string()
    rights = (same_rights(schema.table, tables.RUN_TABLE, view, ("SELECT",)) for view in _VIEW.findall(text))
    return (
        f"SET LOCAL search_path TO {path}",
        text.rstrip().removesuffix(";"),
        *(do_block(each, "rights") for each in rights),
        f"UPDATE {schema.table(tables.STORE_TABLE)} SET views = '{version()}'",
    )
