"""Which SQL library is right more often: sqlglot (through `lineage_from_sql`) or openlineage-sql, on fifty queries.

Run: `python -m benchmarks.sql_lineage [-v]`. Without openlineage-sql installed only sqlglot is measured. A query's
tables are right if inputs and outputs are exactly the expected ones, its columns if each expected column has exactly
the expected sources; names are compared without regard to case, since openlineage-sql keeps them as written.
"""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path
from typing import Any

from lineagelog.sdk import lineage_from_sql

QUERIES: list[Any] = runpy.run_path(str(Path(__file__).parents[1] / "tests" / "sdk" / "sql_queries.py"))["QUERIES"]

type Answer = tuple[set[str], set[str], dict[str, set[str]]]


def by_sqlglot(query: Any) -> Answer:
    """Ask `lineage_from_sql`."""
    found = lineage_from_sql(query.sql, query.dialect, columns=query.known)
    columns: dict[str, set[str]] = {}
    for output in found.outputs:
        for name, field in output.get("facets", {}).get("columnLineage", {}).get("fields", {}).items():
            sources = {f"{source['name']}.{source['field']}".lower() for source in field["inputFields"]}
            columns.setdefault(name.lower(), set()).update(sources)
    return (
        {dataset["name"].lower() for dataset in found.inputs},
        {dataset["name"].lower() for dataset in found.outputs},
        columns,
    )


def by_openlineage_sql(query: Any) -> Answer:
    """Ask openlineage-sql; it has no parameter for known columns."""
    import openlineage_sql

    dialects = {"tsql": "mssql", "spark": "hive"}
    found = openlineage_sql.parse([query.sql], dialect=dialects.get(query.dialect, query.dialect))
    if found is None:
        return set(), set(), {}
    columns: dict[str, set[str]] = {}
    for each in found.column_lineage:
        sources = {f"{c.origin.qualified_name if c.origin else '?'}.{c.name}".lower() for c in each.lineage}
        columns.setdefault(each.descendant.name.lower(), set()).update(sources)
    return (
        {table.qualified_name.lower() for table in found.in_tables},
        {table.qualified_name.lower() for table in found.out_tables},
        columns,
    )


def expected(query: Any) -> Answer:
    """What is right; names with spaces are written with them in the set's own place."""

    def words(text: str) -> set[str]:
        return {text.lower()} if text in ("Sales.Order Lines", "dbo.Top Orders") else set(text.lower().split())

    columns = {
        name.lower(): {s.replace("\0", " ").lower() for s in sources.replace("Unit Price", "Unit\0Price").split()}
        for name, sources in query.columns.items()
    }
    return words(query.inputs), words(query.outputs), columns


def measure(ask: Any, *, verbose: bool) -> tuple[int, int, int, float]:
    """Queries whose tables are right, with columns to tell, whose columns are right, and seconds."""
    tables = told = right = 0
    began = time.perf_counter()
    for query in QUERIES:
        inputs, outputs, columns = expected(query)
        try:
            got = ask(query)
        except Exception as problem:
            got = (set(), set(), {})
            if verbose:
                print("   ", query.name, problem)
        tables_right = got[:2] == (inputs, outputs)
        columns_right = all(got[2].get(name, set()) == sources for name, sources in columns.items())
        tables += tables_right
        told += bool(columns)
        right += bool(columns) and columns_right
        if verbose and not (tables_right and columns_right):
            print(f"  {query.name}: tables {'right' if tables_right else got[:2]}; columns", end=" ")
            print(
                "right"
                if columns_right
                else {k: (v, got[2].get(k)) for k, v in columns.items() if got[2].get(k, set()) != v}
            )
    return tables, told, right, time.perf_counter() - began


def main() -> None:
    """Print the counts of both."""
    for name, ask in (("sqlglot", by_sqlglot), ("openlineage-sql", by_openlineage_sql)):
        try:
            if name == "openlineage-sql":
                __import__("openlineage_sql")
        except ImportError:
            print(f"{name} is not installed")
            continue
        tables, told, right, seconds = measure(ask, verbose="-v" in sys.argv)
        print(f"{name}: tables right {tables} of {len(QUERIES)}, columns right {right} of {told}, {seconds:.2f} s")


if __name__ == "__main__":
    main()
