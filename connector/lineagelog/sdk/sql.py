"""Inputs, outputs and column lineage of SQL statements, read by sqlglot.

Each statement is turned into (target, query) pairs by `lineagelog.sqllineage`. What a query reads are the physical
tables of its scopes; where a column comes from is followed through subqueries, CTEs and unions. Why sqlglot:
docs/decisions.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lineagelog.spec import transformation
from lineagelog.sqllineage import TARGET, SqlNaming, dialect_name, flows, is_table, known_schema, prepared

from .facets import Dataset, complete_facet
from .guard import describe, warn_once

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.lineage import Node
    from sqlglot.optimizer.scope import Scope

type Source = tuple[str, str, str]
"""Table, column, and how it is used: IDENTITY, TRANSFORMATION or AGGREGATION."""
type Columns = dict[str, dict[Source, None]]
"""For each output column its sources, by name."""


@dataclass(frozen=True)
class SqlLineage:
    """What statements read and write, as `lineage_run` takes it."""

    inputs: list[Dataset]
    outputs: list[Dataset]
    """With a columnLineage facet where columns could be followed."""
    errors: tuple[str, ...] = ()
    """What could not be read, one line each; what is here is not in the lists."""


@dataclass
class _Written:
    """A table that the statements so far have written."""

    temporary: bool = False
    columns: Columns = field(default_factory=dict)


def lineage_from_sql(
    sql: str,
    dialect: str | None = None,
    *,
    namespace: str | None = None,
    database: str | None = None,
    default_schema: str | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
) -> SqlLineage:
    """The inputs, outputs and column lineage of one or more SQL statements.

    ``dialect``: a name that sqlglot knows (postgres, snowflake, bigquery, spark, tsql, …); with it, names are given as
    that database stores them. ``namespace``: of the datasets (else the configured one). ``database``: put before the
    tables' names with a ``/``. ``default_schema``: put before names that have no schema. ``columns``: table → its
    columns, where ``*`` or unqualified columns of a join cannot be told from the text. A temporary table is followed
    through and not reported; a table that an earlier statement wrote is no input. Never raises: what cannot be read is
    in ``errors``.
    """
    try:
        return _read(sql, dialect_name(dialect), namespace, database, default_schema, columns or {})
    except Exception as problem:
        warn_once(f"lineage: SQL cannot be read: {describe(problem)}")
        return SqlLineage([], [], (describe(problem),))


def _read(
    sql: str,
    dialect: str | None,
    namespace: str | None,
    database: str | None,
    default_schema: str | None,
    columns: Mapping[str, Sequence[str]],
) -> SqlLineage:
    import sqlglot

    naming = SqlNaming(dialect, default_schema, columns)
    script = _Script(naming)
    for statement in sqlglot.parse(sql, dialect=dialect):
        if statement is not None:
            script.read(naming.normalized(statement))
    prefix = f"{database}/" if database else ""

    def dataset(name: str) -> Dataset:
        return {"name": prefix + name} | ({"namespace": namespace} if namespace else {})

    outputs = []
    for name, written in script.written.items():
        if not written.temporary:
            made = dataset(name)
            if any(written.columns.values()):
                made["facets"] = {"columnLineage": _facet(written.columns, dataset)}
            outputs.append(made)
    return SqlLineage([dataset(name) for name in script.inputs], outputs, tuple(script.errors))


def _facet(columns: Columns, dataset: Any) -> dict[str, Any]:
    fields = {}
    for column, sources in columns.items():
        inputs = [
            {
                **dataset(table),
                "field": name,
                "transformations": [transformation("DIRECT", subtype)],
            }
            for table, name, subtype in sources
        ]
        if inputs:
            fields[column] = {"inputFields": inputs}
    return complete_facet("columnLineage", {"fields": fields}, "Dataset")


class _Script:
    """The statements of one text, one after the other."""

    def __init__(self, naming: SqlNaming) -> None:
        self.naming = naming
        self.inputs: dict[str, None] = {}
        self.written: dict[str, _Written] = {}
        self.errors: list[str] = []

    def read(self, statement: exp.Expr) -> None:
        """Add what one statement reads and writes."""
        known_before = dict(self.written)
        for target, names, query, files in flows(statement):
            columns: Columns = {}
            for name in files:
                self.inputs[name] = None
            if query is not None:
                columns = self._query(query, names, target, known_before)
            if target is not None and is_table(target):
                self._write(target, columns, statement)

    def _write(self, target: exp.Table, columns: Columns, statement: exp.Expr) -> None:
        name = self.naming.name(target)
        written = self.written.setdefault(name, _Written())
        written.temporary = written.temporary or _is_temporary(statement, target)
        for column, sources in columns.items():
            written.columns.setdefault(column, {}).update(sources)

    def _query(
        self, query: exp.Query, names: list[str], target: exp.Table | None, before: dict[str, _Written]
    ) -> Columns:
        """Note what a query reads; give its columns, under the target's names where these are known."""
        from sqlglot.optimizer.qualify import qualify
        from sqlglot.optimizer.scope import build_scope, traverse_scope

        try:
            query = qualify(
                prepared(query),
                dialect=self.naming.dialect,
                schema=known_schema(self.naming),
                validate_qualify_columns=False,
                identify=False,
                quote_identifiers=False,
            )
            scope = build_scope(query)
        except Exception as problem:  # its tables can be told all the same
            self.errors.append(f"columns: {describe(problem)}")
            scope = None
        for inner in traverse_scope(query):
            for source in inner.sources.values():
                self._read_table(source, before)
        if scope is None or target is None:
            return {}
        names = names or self.naming.columns(target)
        return self._columns(scope, names, before)

    def _read_table(self, source: Any, before: dict[str, _Written]) -> None:
        from sqlglot import exp

        if isinstance(source, exp.Table) and is_table(source) and not source.meta.get(TARGET):
            name = self.naming.name(source)
            if name not in before:
                self.inputs[name] = None

    def _columns(self, scope: Scope, names: list[str], before: dict[str, _Written]) -> Columns:
        from sqlglot import exp
        from sqlglot.lineage import to_node

        selects = scope.expression.selects  # type: ignore[attr-defined]
        found: Columns = {}
        for index, select in enumerate(selects):
            if isinstance(select, exp.Star) or select.is_star:
                return {}  # which columns there are, and where each stands, is not known
            name = names[index] if index < len(names) else select.alias_or_name
            if not name:
                continue
            sources = found.setdefault(self.naming.spelled(name), {})
            try:
                root = to_node(index, scope, self.naming.dialect, schema=known_schema(self.naming), trim_selects=False)
                for source in sorted(self._leaves(root, before)):  # sqlglot gives them in the order of a set
                    sources[source] = None
            except Exception as problem:
                self.errors.append(f"column {name}: {describe(problem)}")
        return found

    def _leaves(self, root: Node, before: dict[str, _Written]) -> Iterator[Source]:
        """The columns of physical tables below a node, each with how it is used on the way."""
        from sqlglot import exp

        stack: list[tuple[Node, str]] = [(root, "IDENTITY")]
        seen: set[tuple[int, str]] = set()
        while stack:
            node, use = stack.pop()
            if (id(node), use) in seen:
                continue
            seen.add((id(node), use))
            if isinstance(node.source, exp.Table) and not node.downstream:
                yield from self._source(node, use, before)
            use = _use(node.expression, use)
            stack += [(below, use) for below in reversed(node.downstream)]

    def _source(self, node: Node, use: str, before: dict[str, _Written]) -> Iterator[Source]:
        from sqlglot import exp

        table, column = node.source, self.naming.spelled(exp.to_column(node.name).name)
        if not isinstance(table, exp.Table) or not is_table(table) or column == "*":
            return
        name = self.naming.name(table)
        if name in before and before[name].temporary:
            for source, inner, how in before[name].columns.get(column, {}):
                yield source, inner, max(use, how, key=_USES.index)
        else:
            yield name, column, use


_USES: Final = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


def _use(expression: exp.Expr, so_far: str) -> str:
    """How an expression uses the columns in it, added to how its own value is used."""
    from sqlglot import exp

    inner = expression.unalias() if isinstance(expression, exp.Expr) else expression
    if isinstance(inner, (exp.Column, exp.Table, exp.Query, exp.Star)):
        own = "IDENTITY"
    elif inner.find(exp.AggFunc) is not None:
        own = "AGGREGATION"
    else:
        own = "TRANSFORMATION"
    return max(own, so_far, key=_USES.index)


def _is_temporary(statement: exp.Expr, target: exp.Table) -> bool:
    from sqlglot import exp

    properties = statement.args.get("properties")
    return target.name.startswith("#") or bool(properties and properties.find(exp.TemporaryProperty))
