"""Inputs, outputs and column lineage of SQL statements, read by sqlglot.

Each statement is turned into (target, query) pairs by `lineagelog.sqllineage`. What a query reads are the physical
tables of its scopes; where a column comes from is followed through subqueries, CTEs and unions. Why sqlglot:
docs/decisions.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lineagelog.shown import mask_text
from lineagelog.spec import transformation
from lineagelog.sqllineage import (
    TARGET,
    SqlNaming,
    SqlStatement,
    Templates,
    dialect_name,
    flows,
    is_table,
    is_temporary,
    known_schema,
    moves_no_data,
    prepared,
    statements,
)
from lineagelog.sqllineage.naming import file_name, unknown_function

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
    """What was not understood, a line each with its statement's number and line; what is here is not in the lists."""


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
    through and not reported; a table that an earlier statement wrote is no input. Each statement is read for itself,
    placeholders of templates (``{{ … }}``, ``${…}``, ``{…}``) stand for values and names. Never raises: what cannot be
    read is in ``errors``, and nothing is left out without a word there.
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
    naming = SqlNaming(dialect, default_schema, columns)
    templates = Templates(sql)
    script = _Script(naming, templates)
    for statement in statements(templates.sql, dialect):
        script.read(statement)
    if templates.has_branches:
        script.errors.append("{% if %}, {% else %}, {% for %} are not run: all of their branches are read, once")
    if not (script.count or script.errors):
        script.errors.append("the text has no statement")
    prefix = f"{database}/" if database else ""

    def dataset(name: str) -> Dataset:
        own = "" if name in script.files else prefix
        return {"name": own + name} | ({"namespace": namespace} if namespace else {})

    outputs = []
    for name, written in script.written.items():
        if not written.temporary:
            made = dataset(name)
            if any(written.columns.values()):
                made["facets"] = {"columnLineage": _facet(written.columns, dataset)}
            outputs.append(made)
    return SqlLineage([dataset(name) for name in script.inputs], outputs, tuple(dict.fromkeys(script.errors)))


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

    def __init__(self, naming: SqlNaming, templates: Templates) -> None:
        self.naming = naming
        self.templates = templates
        self.inputs: dict[str, None] = {}
        self.written: dict[str, _Written] = {}
        self.files: set[str] = set()
        self.errors: list[str] = []
        self.count = 0
        self._current = SqlStatement(0, 0)
        self._met: set[str] = set()

    def read(self, statement: SqlStatement) -> None:
        """Add what one statement reads and writes, or say why not."""
        self.count += 1
        self._current = statement
        if statement.parsed is None:
            self._tell(_why(statement))
            return
        try:
            self._follow(statement.parsed)
        except Exception as problem:  # the other statements are read all the same
            self._tell(f"not followed: {describe(problem)}")

    def _follow(self, statement: exp.Expr) -> None:
        parsed = self.naming.normalized(statement.transform(self.templates.valued))
        known_before = dict(self.written)
        expected = _tables_of(parsed)
        self._met = set()
        for target, names, query, files in flows(parsed, self.naming.columns):
            for name in files:
                self._read_name(name, known_before)
                self.files.add(name)
            columns = self._query(query, names, target, known_before) if query is not None else {}
            if target is not None and is_table(target):
                self._write(target, columns, parsed)
        self._learn(parsed)
        self._tell_what_is_missing(parsed, expected)

    def _tell(self, what: str) -> None:
        self.errors.append(mask_text(self.templates.shown(self._current.told(what))))

    def _tell_what_is_missing(self, parsed: exp.Expr, expected: list[exp.Table]) -> None:
        """Nothing is left out without a word."""
        if moves_no_data(parsed):
            return
        if not self._met:
            self._tell(f"{self._current.beginning} is not followed")
            return
        for table in expected:
            name = self.naming.name(table)
            if name.lower() not in self._met:
                self._tell(f"what happens to {name} is not followed")

    def _learn(self, parsed: exp.Expr) -> None:
        """The columns that CREATE TABLE and DECLARE @t TABLE list."""
        from sqlglot import exp

        for schema in parsed.find_all(exp.Schema):
            holder = schema.parent
            columns = [each.name for each in schema.expressions if isinstance(each, exp.ColumnDef)]
            if isinstance(holder, exp.DeclareItem):
                for name in holder.this if isinstance(holder.this, list) else [holder.this]:
                    table = exp.Table(this=exp.Identifier(this=f"@{name.name}", quoted=True, temporary=True))
                    self.naming.learn(table, columns)
            elif isinstance(holder, exp.Create) and isinstance(schema.this, exp.Table):
                self.naming.learn(schema.this, columns)

    def _write(self, target: exp.Table, columns: Columns, statement: exp.Expr) -> None:
        name = self._name(target)
        if not name:
            return
        written = self.written.setdefault(name, _Written())
        written.temporary = written.temporary or _is_temporary(statement, target)
        for column, sources in columns.items():
            written.columns.setdefault(column, {}).update(sources)

    def _name(self, table: exp.Table) -> str:
        """The name of a table that is read or written; "" (and a word) for one that a template is to name."""
        name = self.naming.name(table)
        self._met.add(name.lower())
        if self.templates.is_in(name):
            self._tell(f"{name} is known only when the placeholder is filled in; left out")
            return ""
        if file_name(table):
            self.files.add(name)
        return name

    def _query(
        self, query: exp.Query, names: list[str], target: exp.Table | None, before: dict[str, _Written]
    ) -> Columns:
        """Note what a query reads; give its columns, under the target's names where these are known."""
        from sqlglot import exp
        from sqlglot.optimizer.qualify import qualify
        from sqlglot.optimizer.scope import build_scope, traverse_scope

        unnamed = _unnamed(query, self.naming.dialect)
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
            self._tell(f"its columns are not followed: {describe(problem)}")
            scope = None
        for called in query.find_all(exp.TableFromRows):
            self._call(called)
        for inner in traverse_scope(query):
            for source in inner.sources.values():
                self._read_table(source, before)
        if scope is None or target is None:
            return {}
        names = names or self.naming.columns(target)
        return self._columns(scope, names, before, unnamed)

    def _read_table(self, source: Any, before: dict[str, _Written]) -> None:
        from sqlglot import exp

        if not isinstance(source, exp.Table):
            return
        if not is_table(source):
            self._call(source)
        elif source.meta.get(TARGET):
            self._met.add(self.naming.name(source).lower())
        elif name := self._name(source):
            self._read_name(name, before)

    def _call(self, called: exp.Expr) -> None:
        """Meet a function that stands for a table."""
        self._met.add("")
        if function := unknown_function(called):
            self._tell(f"what {function}(…) reads is not known")

    def _read_name(self, name: str, before: dict[str, _Written]) -> None:
        self._met.add(name.lower())
        if name not in before:
            self.inputs[name] = None

    def _columns(self, scope: Scope, names: list[str], before: dict[str, _Written], unnamed: dict[str, str]) -> Columns:
        from sqlglot import exp
        from sqlglot.lineage import to_node

        selects = scope.expression.selects  # type: ignore[attr-defined]
        found: Columns = {}
        for index, select in enumerate(selects):
            if isinstance(select, exp.Star) or select.is_star:
                return {}  # which columns there are, and where each stands, is not known
            name = names[index] if index < len(names) else select.alias_or_name
            name = unnamed.get(name, name)
            if self.templates.is_in(name):
                self._tell(f"column {name} is known only when the placeholder is filled in; left out")
                continue
            if not name:
                continue
            sources = found.setdefault(self.naming.spelled(name), {})
            if any(self.templates.is_in(str(each.this)) for each in select.find_all(exp.Placeholder)):
                self._tell(f"what column {name} takes from a placeholder is not known: {select.unalias().sql()}")
            try:
                root = to_node(index, scope, self.naming.dialect, schema=known_schema(self.naming), trim_selects=False)
                for source in sorted(self._leaves(root, before)):  # sqlglot gives them in the order of a set
                    sources[source] = None
            except Exception as problem:
                self._tell(f"column {name} is not followed: {describe(problem)}")
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
        if self.templates.is_in(name):
            return
        if self.templates.is_in(column):
            self._tell(f"column {column} is known only when the placeholder is filled in; left out")
            return
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
    into = statement.args.get("into")
    return (
        is_temporary(target)
        or isinstance(statement, exp.Cache)
        or bool(into and into.args.get("temporary"))
        or bool(properties and properties.find(exp.TemporaryProperty, exp.VolatileProperty))
    )


def _unnamed(query: exp.Query, dialect: str | None) -> dict[str, str]:
    """What sqlglot calls columns that have no alias, and their true names: in PostgreSQL the function's; else ""."""
    from sqlglot import exp

    selects = query.selects
    if any(isinstance(select, exp.Star) or select.is_star for select in selects):
        return {}
    by_function = dialect in ("postgres", "redshift", "materialize")
    return {
        f"_col_{at}": select.sql_name().lower() if by_function and isinstance(select, exp.Func) else ""
        for at, select in enumerate(selects)
        if not isinstance(select, (exp.Alias, exp.Column)) and not select.output_name
    }


def _tables_of(parsed: exp.Expr) -> list[exp.Table]:
    """The tables that a statement names, but for those that it only looks like or refers to."""
    from sqlglot import exp

    if moves_no_data(parsed):
        return []
    common = {each.alias.lower() for each in parsed.find_all(exp.CTE)}
    aliases = {each.alias.lower() for each in parsed.find_all(exp.Table) if each.alias}
    return [
        table.copy()
        for table in parsed.find_all(exp.Table)
        if is_table(table)
        and not table.find_ancestor(exp.LikeProperty, exp.Reference, exp.ForeignKey, exp.Properties, exp.ColumnDef)
        and (table.db or table.name.lower() not in common | aliases)
    ]


def _why(statement: SqlStatement) -> str:
    """Why a statement could not be parsed, with the place in the whole text."""
    for each in getattr(statement.problem, "errors", ()):
        line = statement.line + (each.get("line") or 1) - 1
        return f"not understood: {each['description'].rstrip('. ')} near {each.get('highlight')!r} (line {line})"
    return f"not understood: {describe(statement.problem)}" if statement.problem else "not understood"
