"""SQL statements as (target, query) pairs with resolved names, read by sqlglot: the part that does not know events.

An UPDATE, DELETE or MERGE becomes the SELECT that gives the written values, and VALUES the SELECT of each row. Both the
SDK (`sdk/sql.py`) and the exporter of SnapLogic (`export/snaplogic/statement.py`) follow columns through these. Why
sqlglot: docs/decisions.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sqlglot import exp

TARGET: Final = "lineagelog_target"
"""The key in `Expr.meta` that marks the table that a statement writes, also in the query that gives its values."""
_QUALIFIERS: Final = ("table", "db", "catalog")
_DIALECTS: Final = {
    "postgresql": "postgres",
    "mssql": "tsql",
    "sqlserver": "tsql",
    "sparksql": "spark",
    "mariadb": "mysql",
}


class SqlNaming:
    """How tables and columns are called, and which columns are known.

    Names are folded as the dialect folds them (postgres: lower case, snowflake: upper case). Where names are stored as
    written but found in any case (SQL Server, SQLite, Spark), without a dialect, and where ``as_written`` asks for it,
    the first spelling counts: of a table that of its tables, of a column that of its columns, never an alias's.
    """

    def __init__(
        self,
        dialect: str | None,
        default_schema: str | None,
        known: Mapping[str, Sequence[str]],
        *,
        as_written: bool = False,
    ) -> None:
        from sqlglot.dialects.dialect import NormalizationStrategy

        self.dialect = dialect
        self.sqlglot_dialect = _sqlglot_dialect(dialect)
        self.default_schema = default_schema
        self.known = {table.lower(): list(names) for table, names in known.items()}
        strategy = self.sqlglot_dialect.normalization_strategy
        insensitive = "INSENSITIVE" in NormalizationStrategy(strategy).name
        self._as_written = as_written or dialect is None or insensitive
        self._columns: dict[str, str] = {}
        self._tables: dict[str, str] = {}

    def normalized(self, statement: exp.Expr) -> exp.Expr:
        """The statement with its names folded; how they were spelled is remembered."""
        from sqlglot import exp
        from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

        for identifier in statement.find_all(exp.Identifier):
            if isinstance(identifier.parent, exp.Table):
                self._tables.setdefault(identifier.name.lower(), identifier.name)
            elif not isinstance(identifier.parent, exp.TableAlias) and identifier.arg_key not in _QUALIFIERS:
                self._columns.setdefault(identifier.name.lower(), identifier.name)
        return normalize_identifiers(statement, dialect=self.dialect)

    def spelled(self, name: str) -> str:
        """A column's name as the database stores it."""
        return self._columns.get(name.lower(), name) if self._as_written else name

    def parts(self, table: exp.Table) -> list[str]:
        """The parts of a table's name, outermost first, as the database stores them."""
        names = [part.name for part in table.parts]
        return [self._tables.get(name.lower(), name) for name in names] if self._as_written else names

    def name(self, table: exp.Table) -> str:
        """The dotted name of a table."""
        name = ".".join(self.parts(table))
        return f"{self.default_schema}.{name}" if self.default_schema and "." not in name else name

    def columns(self, table: exp.Table) -> list[str]:
        """The known columns of a table, [] if they are not known."""
        return self.known.get(self.name(table).lower(), [])


def is_table(table: exp.Table) -> bool:
    """Whether a table expression is a stored table or a file, and no function."""
    from sqlglot import exp

    return isinstance(table.this, (exp.Identifier, exp.Var, exp.Literal)) and bool(table.name)


def dialect_name(name: str | None) -> str | None:
    """sqlglot's name of a dialect that people call otherwise."""
    return _DIALECTS.get(name.lower(), name.lower()) if name else None


def known_schema(naming: SqlNaming) -> Any:
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


type Flow = tuple[exp.Table | None, list[str], exp.Query | None, list[str]]
"""What is written, its columns as far as the statement names them, the query that gives them, files that are read."""


def flows(statement: exp.Expr) -> Iterator[Flow]:
    """What one statement reads and writes; nothing for one that does neither (GRANT, SET …)."""
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


def prepared(query: exp.Query) -> exp.Query:
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
    table.meta[TARGET] = True
    return table


def _into(statement: exp.Expr) -> Iterator[Flow]:
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
    elif isinstance(query, exp.Values) and names:
        for row in query.expressions:
            values = row.expressions if isinstance(row, exp.Tuple) else [row]
            yield _table(statement), names, exp.select(*_aliased(values)), []
        yield from _on_conflict(statement)
    else:
        yield _table(statement), [], None, []


def _on_conflict(statement: exp.Expr) -> Iterator[Flow]:
    """`ON CONFLICT … DO UPDATE SET`; a value of EXCLUDED is the inserted one, which is told already."""
    from sqlglot import exp

    conflict = statement.args.get("conflict")
    sets = _assignments(conflict.expressions) if conflict is not None else {}
    own = {
        name: value
        for name, value in sets.items()
        if not any(column.table.lower() == "excluded" for column in value.find_all(exp.Column))
    }
    table = _table(statement)
    if own and table is not None:
        yield table, list(own), exp.select(*_aliased(list(own.values()))).from_(table.copy()), []


def _update(statement: exp.Update) -> Flow:
    """UPDATE as the SELECT of the new values: the target beside what it is joined with.

    SQL Server names the target by its alias in FROM: then it is among what is joined.
    """
    from sqlglot import exp

    sets = _assignments(statement.expressions)
    source = statement.args.get("from_")
    name = statement.this.name if isinstance(statement.this, exp.Table) and not statement.this.db else ""
    joined = source.find_all(exp.Table) if source is not None else ()
    aliased = next((table for table in joined if name and table.alias == name), None)
    if source is None or aliased is None:
        return _table(statement), list(sets), _selecting(list(sets.values()), statement, _sources(source)), []
    aliased.meta[TARGET] = True
    query = _filtered(exp.select(*_aliased(list(sets.values()))).from_(source.this.copy()), statement)
    return aliased, list(sets), query, []


def _sources(source: exp.Expr | None) -> list[exp.Expr]:
    return [source.this] if source is not None else []


def _merge(statement: exp.Merge) -> Iterator[Flow]:
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

    sets: dict[str, exp.Expr] = {}
    for each in expressions:
        if isinstance(each, exp.EQ) and isinstance(each.this, exp.Tuple):
            names = [column.name for column in each.this.expressions]
            sets.update(zip(names, _elements(each.expression), strict=False))
        elif isinstance(each, exp.EQ):
            sets[each.this.name] = each.expression
    return sets


def _elements(value: exp.Expr) -> list[exp.Expr]:
    """The values of `(a, b) = (1, 2)` and of `(a, b) = (SELECT x, y …)`."""
    from sqlglot import exp

    if isinstance(value, exp.Tuple):
        return list(value.expressions)
    query = value.unnest()
    if not isinstance(query, exp.Select):
        return []
    return [exp.Subquery(this=query.copy().select(each.copy(), append=False)) for each in query.selects]


def _selecting(values: list[exp.Expr], statement: exp.Expr, others: list[exp.Expr]) -> exp.Select:
    """SELECT the values FROM the statement's target and other tables."""
    from sqlglot import exp

    _table(statement)
    query = exp.select(*(_aliased(values) or [exp.Literal.number(1)])).from_(statement.this.copy())
    for other in others:
        query = query.join(other.copy(), join_type="cross")
    return _filtered(query, statement)


def _filtered(query: exp.Select, statement: exp.Expr) -> exp.Select:
    """The query under the statement's WHERE and WITH."""
    if where := statement.args.get("where"):
        query = query.where(where.this.copy())
    if outer := statement.args.get("with_"):
        query.set("with_", outer.copy())
    return query


def _aliased(values: list[exp.Expr]) -> list[exp.Expr]:
    from sqlglot import exp

    return [exp.alias_(value.copy(), f"c{index}") for index, value in enumerate(values)]
