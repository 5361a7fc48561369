"""Names are compared as bytes, whatever the locale of the database is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from psycopg import sql

from lineagelog.analysis import analyses
from lineagelog.resources import sql_text
from tests.support import connect

if TYPE_CHECKING:
    from lineagelog.store import LogStore

TIMES = {"from": "2026-03-01", "to": "2026-03-08", "as_of": "2026-03-08", "arrived_from": "0", "arrived_to": "9"}
OTHERS = """
    SELECT array_agg(attname::text) FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation
    WHERE attrelid = 'asked'::regclass AND collname <> 'C' AND attname ~ '(name|namespace|run_ids?|_run|column)$'"""


def test_names_have_the_collation_c(store: LogStore) -> None:
    """All columns that name something or list runs: the order of what an analysis tells is by these."""
    found = {}
    with connect(store.engine.url.render_as_string(hide_password=False)) as connection:
        connection.execute(f'SET search_path TO pg_catalog, "{store.schema.schema_name}"'.encode())
        for name, analysis in analyses().items():
            values = {**TIMES, **{each.name: each.default for each in analysis.parameters}}
            query = re.sub("--[^\n]*", "", sql_text(analysis.script)).strip().removesuffix(";")
            for variable, value in values.items():
                query = query.replace(f":'{variable}'", sql.quote(value))
            connection.execute(f"CREATE OR REPLACE TEMP VIEW asked AS {query}".encode())
            (found[name],) = connection.execute(OTHERS).fetchone() or ()
            connection.execute("DROP VIEW asked")
    assert {name: columns for name, columns in found.items() if columns} == {}
