"""SQL statements as (target, query) pairs with resolved names, read by sqlglot: the part that does not know events.

`statements` parses a text, each statement for itself; `flows` says what one writes, and the query that gives the
values; `SqlNaming` what tables and columns are called. Both the SDK (`sdk/sql.py`) and the exporter of SnapLogic
(`export/snaplogic/statement.py`) follow columns through these. Why sqlglot: docs/decisions.md.
"""

from .flows import TARGET, flows, prepared
from .idle import moves_no_data
from .naming import SqlNaming, dialect_name, is_table, is_temporary, known_schema
from .text import SqlStatement, Templates, statements

__all__ = [
    "TARGET",
    "SqlNaming",
    "SqlStatement",
    "Templates",
    "dialect_name",
    "flows",
    "is_table",
    "is_temporary",
    "known_schema",
    "moves_no_data",
    "prepared",
    "statements",
]
