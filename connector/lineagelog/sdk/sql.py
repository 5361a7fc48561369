"""Inputs, outputs and column lineage of SQL statements, read by sqlglot.

Each statement is turned into (target, query) pairs: an UPDATE, DELETE or MERGE becomes the SELECT that gives the
written values. What a query reads are the physical tables of its scopes; where a column comes from is followed through
subqueries, CTEs and unions. Why sqlglot: docs/decisions.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from .facets import Dataset, complete_facet
from .guard import describe, warn_once

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.lineage import Node
    from sqlglot.optimizer.scope import Scope

_TARGET: Final = "lineagelog_target"
_DIALECTS: Final = {
    "postgresql": "postgres",
    "mssql": "tsql",
    "sqlserver": "tsql",
    "sparksql": "spark",
    "mariadb": "mysql",
}

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


class _Naming:
    """How tables and columns are called, and which columns are known.

    Names are folded as the dialect folds them (postgres: lower case, snowflake: upper case). Where names are stored as
    written but found in any case (SQL Server, SQLite, Spark), and without a dialect, the first spelling counts.
    """

    def __init__(self, dialect: str | None, default_schema: str | None, known: Mapping[str, Sequence[str]]) -> None:
        from sqlglot.dialects.dialect import NormalizationStrategy

        self.dialect = dialect
        self.sqlglot_dialect = _sqlglot_dialect(dialect)
        self.default_schema = default_schema
        self.known = {table.lower(): list(names) for table, names in known.items()}
        strategy = self.sqlglot_dialect.normalization_strategy
        self._as_written = dialect is None or "INSENSITIVE" in NormalizationStrategy(strategy).name
        self._spellings: dict[str, str] = {}

    def normalized(self, statement: exp.Expr) -> exp.Expr:
        """The statement with its names folded; how they were spelled is remembered."""
        from sqlglot import exp
        from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

        for identifier in statement.find_all(exp.Identifier):
            self._spellings.setdefault(identifier.name.lower(), identifier.name)
        return normalize_identifiers(statement, dialect=self.dialect)

    def spelled(self, name: str) -> str:
        """One part of a name, or a column's, as the database stores it."""
        return self._spellings.get(name.lower(), name) if self._as_written else name

    def name(self, table: exp.Table) -> str:
        """The dotted name of a table."""
        name = ".".join(self.spelled(part.name) for part in table.parts)
        return f"{self.default_schema}.{name}" if self.default_schema and "." not in name else name

    def columns(self, table: exp.Table) -> list[str]:
        """The known columns of a table, [] if they are not known."""
        return self.known.get(self.name(table).lower(), [])


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
        return _read(sql, _dialect(dialect), namespace, database, default_schema, columns or {})
    except Exception as problem:
        warn_once(f"lineage: SQL cannot be read: {describe(problem)}")
        return SqlLineage([], [], (describe(problem),))


def _dialect(name: str | None) -> str | None:
    return _DIALECTS.get(name.lower(), name.lower()) if name else None


def _read(
    sql: str,
    dialect: str | None,
    namespace: str | None,
    database: str | None,
    default_schema: str | None,
    columns: Mapping[str, Sequence[str]],
) -> SqlLineage:
    import sqlglot

    naming = _Naming(dialect, default_schema, columns)
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
            if written.columns:
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
                "transformations": [{"type": "DIRECT", "subtype": subtype}],
            }
            for table, name, subtype in sources
        ]
        if inputs:
            fields[column] = {"inputFields": inputs}
    return complete_facet("columnLineage", {"fields": fields}, "Dataset")


class _Script:
    """The statements of one text, one after the other."""

    def __init__(self, naming: _Naming) -> None:
        self.naming = naming
        self.inputs: dict[str, None] = {}
        self.written: dict[str, _Written] = {}
        self.errors: list[str] = []

    def read(self, statement: exp.Expr) -> None:
        """Add what one statement reads and writes."""
        known_before = dict(self.written)
        for target, names, query, files in _flows(statement):
            columns: Columns = {}
            for name in files:
                self.inputs[name] = None
            if query is not None:
                columns = self._query(query, names, target, known_before)
            if target is not None and _is_table(target):
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
                _prepared(query),
                dialect=self.naming.dialect,
                schema=_schema(self.naming),
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

        if isinstance(source, exp.Table) and _is_table(source) and not source.meta.get(_TARGET):
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
                root = to_node(index, scope, self.naming.dialect, schema=_schema(self.naming), trim_selects=False)
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
        if not isinstance(table, exp.Table) or not _is_table(table) or column == "*":
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


def _is_table(table: exp.Table) -> bool:
    """Whether a table expression is a stored table or a file, and no function."""
    from sqlglot import exp

    return isinstance(table.this, (exp.Identifier, exp.Var, exp.Literal)) and bool(table.name)


def _is_temporary(statement: exp.Expr, target: exp.Table) -> bool:
    from sqlglot import exp

    properties = statement.args.get("properties")
    return target.name.startswith("#") or bool(properties and properties.find(exp.TemporaryProperty))


def _schema(naming: _Naming) -> Any:
    """The known columns as sqlglot wants them."""
    from sqlglot.schema import Schema

    class Known(Schema):
        """Columns by dotted name, of whatever depth."""

        dialect = naming.sqlglot_dialect

        def add_table(self, *_: Any, **__: Any) -> None:
            raise NotImplementedError

        def column_names(self, table: Any, *_: Any, **__: Any) -> list[str]:
            return naming.columns(table)

        def get_column_type(self, *_: Any, **__: Any) -> Any:
            from sqlglot import exp

            return exp.DataType.build("unknown")

        @property
        def supported_table_args(self) -> tuple[str, ...]:
            return ()

        @property
        def empty(self) -> bool:
            return not naming.known

    return Known()


def _sqlglot_dialect(name: str | None) -> Any:
    from sqlglot.dialects.dialect import Dialect

    return Dialect.get_or_raise(name)


# --- statements as (target, its columns, query, files) ---------------------------------------------------------------

type _Flow = tuple[exp.Table | None, list[str], exp.Query | None, list[str]]


def _flows(statement: exp.Expr) -> Iterator[_Flow]:
    from sqlglot import exp

    if isinstance(statement, (exp.Create, exp.Insert)):
        yield from _into(statement)
    elif isinstance(statement, exp.Query):
        into = statement.args.get("into")
        yield (_table(into) if into else None), [], statement, []
    elif isinstance(statement, exp.Update):
        yield _update(statement)
    elif isinstance(statement, exp.Delete):
        yield _table(statement), [], _selecting([], statement, statement.args.get("using") or []), []
    elif isinstance(statement, exp.Merge):
        yield from _merge(statement)
    elif isinstance(statement, exp.Copy):
        files = [file.name or file.sql() for file in statement.args.get("files") or []]
        yield _table(statement), [], None, files
    elif isinstance(statement, exp.TruncateTable):
        for table in statement.expressions:
            yield table, [], None, []
    elif isinstance(statement, (exp.Drop, exp.Alter)) and statement.args.get("kind") in ("TABLE", "VIEW"):
        yield _table(statement), [], None, []


def _prepared(query: exp.Query) -> exp.Query:
    """Ease what sqlglot cannot follow without knowing the tables' columns.

    A lateral subquery becomes a plain one (what it refers to outside only filters), and an unqualified column of a
    subquery on one table is that table's.
    """
    from sqlglot import exp

    for lateral in list(query.find_all(exp.Lateral)):
        if isinstance(lateral.this, exp.Subquery):
            lateral.replace(exp.Subquery(this=lateral.this.this, alias=lateral.args.get("alias")))
    for select in query.find_all(exp.Select):
        source = select.args.get("from_")
        alone = not select.args.get("joins") and not select.args.get("laterals")
        if select is query or not alone or source is None or not isinstance(source.this, exp.Table):
            continue
        aliases = {each.alias for each in select.expressions if isinstance(each, exp.Alias)}
        for column in select.find_all(exp.Column):
            own = column.find_ancestor(exp.Select) is select and column.name not in aliases
            if own and not column.table:
                column.set("table", exp.to_identifier(source.this.alias_or_name))
    return query


def _table(holder: exp.Expr) -> exp.Table | None:
    """The table that a statement writes, marked so that it is not taken for one that is read."""
    from sqlglot import exp

    table = holder.this
    table = table.this if isinstance(table, exp.Schema) else table
    if not isinstance(table, exp.Table):
        return None
    table.meta[_TARGET] = True
    return table


def _into(statement: exp.Expr) -> Iterator[_Flow]:
    """CREATE … AS and INSERT."""
    from sqlglot import exp

    if isinstance(statement, exp.Create) and statement.args.get("kind") not in ("TABLE", "VIEW"):
        return
    names = []
    if isinstance(statement.this, exp.Schema):
        names = [
            column.name for column in statement.this.expressions if isinstance(column, (exp.Identifier, exp.ColumnDef))
        ]
    query = statement.expression
    if isinstance(query, exp.Subquery):
        query = query.unnest()
    if isinstance(query, exp.Query) and not isinstance(query, exp.Values):
        if outer := statement.args.get("with_"):
            query.set("with_", outer)
        yield _table(statement), names, query, []
    else:
        yield _table(statement), [], None, []


def _update(statement: exp.Update) -> _Flow:
    """UPDATE as the SELECT of the new values: the target beside what it is joined with."""
    sets = _assignments(statement.expressions)
    source = statement.args.get("from_")
    others = [source.this] if source is not None else []
    query = _selecting(list(sets.values()), statement, others)
    return _table(statement), list(sets), query, []


def _merge(statement: exp.Merge) -> Iterator[_Flow]:
    """Each branch of a MERGE as the SELECT of the values it writes."""
    from sqlglot import exp

    using = statement.args["using"]
    for when in statement.args["whens"].expressions:
        then = when.args.get("then")
        sets: dict[str, exp.Expr] = {}
        if isinstance(then, exp.Update):
            sets = _assignments(then.expressions)
        elif isinstance(then, exp.Insert) and isinstance(then.this, exp.Tuple) and then.expression:
            names = [column.name for column in then.this.expressions]
            sets = dict(zip(names, then.expression.expressions, strict=False))
        yield _table(statement), list(sets), _selecting(list(sets.values()), statement, [using]), []


def _assignments(expressions: list[exp.Expr]) -> dict[str, exp.Expr]:
    from sqlglot import exp

    return {each.this.name: each.expression for each in expressions if isinstance(each, exp.EQ)}


def _selecting(values: list[exp.Expr], statement: exp.Expr, others: list[exp.Expr]) -> exp.Select:
    """SELECT the values FROM the statement's target and other tables, under its WHERE and WITH."""
    from sqlglot import exp

    _table(statement)
    aliased = [exp.alias_(value.copy(), f"c{index}") for index, value in enumerate(values)]
    query = exp.select(*(aliased or [exp.Literal.number(1)])).from_(statement.this.copy())
    for other in others:
        query = query.join(other.copy(), join_type="cross")
    if where := statement.args.get("where"):
        query = query.where(where.this.copy())
    if outer := statement.args.get("with_"):
        query.set("with_", outer.copy())
    return query
