"""Runs a file of SQL that people run in psql too: its variables (``:'name'``) become parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from psycopg import errors as pg
from psycopg import sql
from psycopg.rows import dict_row

from lineagelog.errors import AnalysisStopped
from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import driver_connection, translated_errors
from lineagelog.store.definition.version import keep_to_version

_VARIABLE: Final = re.compile(r":'(\w+)'")
_COMMENT: Final = re.compile(r"^\s*--.*$", re.MULTILINE)


def variables(script: str) -> frozenset[str]:
    """The psql variables that a script uses, comments apart."""
    return frozenset(_VARIABLE.findall(_COMMENT.sub("", script)))


def run_script(
    database: Database,
    script: str,
    values: Mapping[str, str],
    settings: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """The rows of the one statement in ``script``, read in a transaction that can only read.

    ``values``: a text for each variable; the script casts them. ``settings`` of PostgreSQL hold for the statement.
    Raises AnalysisStopped after its statement_timeout, StoreUnavailable, StoreNotCreated, StoreTooOld, and KeyError for
    a variable without a value.
    """
    keep_to_version(database)
    text = _VARIABLE.sub(r"%(\1)s", _COMMENT.sub("", script).replace("%", "%%"))
    wanted = {name: values[name] for name in variables(script)}
    # quoted as one name: set_config would take a comma in it for a list
    path = sql.Identifier(database.schema).as_string()
    chosen = {"search_path": f"pg_catalog, {path}, pg_temp", **(settings or {})}
    with translated_errors(), driver_connection(database.engine) as connection:
        connection.execute("SET TRANSACTION READ ONLY")
        calls = ", ".join(["set_config(%s, %s, true)"] * len(chosen))
        connection.execute(f"SELECT {calls}".encode(), [part for setting in chosen.items() for part in setting])
        with connection.cursor(row_factory=dict_row) as cursor:
            try:
                return cursor.execute(text.encode(), wanted).fetchall()
            except pg.QueryCanceled as error:
                raise AnalysisStopped("stopped at the time limit") from error
