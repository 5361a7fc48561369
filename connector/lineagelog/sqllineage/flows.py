"""What one statement reads and writes: (target, query) pairs.

An UPDATE, DELETE or MERGE becomes the SELECT that gives the written values, VALUES the SELECT of each row, a COPY to a
file the SELECT of what it copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sqlglot import exp

TARGET: Final = "lineagelog_target"
"""The key in `Expr.meta` that marks the table that a statement writes, also in the query that gives its values."""

type Flow = tuple[exp.Table | None, list[str], exp.Query | None, list[str]]
"""What is written, its columns as far as the statement names them, the query that gives them, files that are read."""


type Known = Callable[[exp.Table], list[str]]


def flows(statement: exp.Expr, known: Known = lambda _: []) -> Iterator[Flow]:
    """What one statement reads and writes; nothing for one that does neither (GRANT, SET …).

    ``known``: the columns of a table, where the statement leaves them out (`INSERT … VALUES`, `UPDATE SET *`).
    """
    yield from _in_common_tables(statement, known)
    for simplified in list(statement.find_all(_exp().Pivot)):
        _pivoted(simplified)
    yield from _own(statement, known)


def _exp() -> Any:
    """sqlglot's expressions; imported late, since the import takes long."""
    from sqlglot import exp

    return exp


def _own(statement: exp.Expr, known: Known) -> Iterator[Flow]:
    from sqlglot import exp

    if isinstance(statement, (exp.Create, exp.Insert, exp.Cache)):
        yield from _into(statement, known)
    elif isinstance(statement, exp.MultitableInserts):
        yield from _several(statement, known)
    elif isinstance(statement, exp.Query):
        into = statement.args.get("into")
        yield (_table(into) if into else None), [], statement, []
    elif isinstance(statement, exp.Update):
        yield _update(statement)
    elif isinstance(statement, exp.Delete):
        yield _delete(statement)
    elif isinstance(statement, exp.Merge):
        yield from _merge(statement, known)
    elif isinstance(statement, (exp.Copy, exp.LoadData, exp.Export)):
        yield from _copied(statement)
    elif isinstance(statement, exp.TruncateTable):
        for table in statement.expressions:
            yield table, [], None, []
    elif isinstance(statement, exp.Drop) and statement.args.get("kind") in ("TABLE", "VIEW"):
        for table in statement.args.get("tables") or []:
            yield table, [], None, []
    elif isinstance(statement, exp.Alter) and statement.args.get("kind") in ("TABLE", "VIEW"):
        yield _table(statement), [], None, []
        for other in statement.find_all(exp.SwapTable, exp.AlterRename):
            yield _table(other), [], None, []
    elif isinstance(statement, (exp.Block, exp.IfBlock, exp.WhileBlock, exp.LoopBlock)):
        for inner in statement.iter_expressions():
            if isinstance(inner, exp.Condition) and not isinstance(inner, exp.Query):
                yield from ((None, [], query.copy(), []) for query in inner.find_all(exp.Select))
            else:
                yield from flows(inner, known)


def _in_common_tables(statement: exp.Expr, known: Known) -> Iterator[Flow]:
    """What `WITH x AS (DELETE … RETURNING …)` writes; afterwards x is the SELECT of what it gives back."""
    from sqlglot import exp

    outer = statement.args.get("with_")
    inner = statement.expression if isinstance(statement, exp.Insert) else None
    before: list[exp.CTE] = []
    for holder in (outer, inner.args.get("with_") if isinstance(inner, exp.Query) else None):
        for common in holder.expressions if holder is not None else ():
            if isinstance(common.this, (exp.Insert, exp.Update, exp.Delete, exp.Merge)):
                changing = common.this.copy()
                if before and not changing.args.get("with_"):
                    changing.set("with_", exp.With(expressions=[each.copy() for each in before]))
                yield from flows(changing, known)
                common.set("this", _returned(common.this))
            before.append(common)


def _returned(changing: exp.Expr) -> exp.Select:
    """What a changing statement gives back: rows of its table, which a DELETE or UPDATE also reads."""
    from sqlglot import exp

    returning = changing.args.get("returning")
    values = [each.copy() for each in returning.expressions] if returning is not None else []
    query = exp.select(*(values or [exp.Literal.number(1)]))
    table = changing.this.this if isinstance(changing.this, exp.Schema) else changing.this
    if not isinstance(table, exp.Table):
        return query
    table = table.copy()
    if isinstance(changing, exp.Insert):
        table.meta[TARGET] = True
    others = [*_sources(changing.args.get("from_")), *(changing.args.get("using") or [])]
    query = query.from_(table)
    for other in others if isinstance(changing, (exp.Update, exp.Delete)) else ():
        query = query.join(other.copy(), join_type="cross")
    return query


def _pivoted(pivot: exp.Pivot) -> None:
    """Put a SELECT of the columns that can be known in the place of DuckDB's `PIVOT t ON …` and `UNPIVOT t ON …`."""
    from sqlglot import exp

    if not isinstance(pivot.this, (exp.Table, exp.Subquery)) or pivot.arg_key == "pivots":
        return
    into = pivot.args.get("into")
    if into is not None:
        value = into.expressions[0].name
        names = [each.this if isinstance(each, exp.Alias) else each for each in pivot.expressions]
        columns = [column for each in names for column in (each.expressions or [each])]
        branches = [exp.select(exp.alias_(column.copy(), value)).from_(pivot.this.copy()) for column in columns]
        query: exp.Query = exp.union(*branches, distinct=False) if len(branches) > 1 else branches[0]
    else:
        group = pivot.args.get("group")
        values = [column.copy() for column in group.expressions] if group is not None else []
        made = [
            exp.alias_(each.unalias().copy(), "_".join(filter(None, (key.name, each.alias))), quoted=True)
            for on in pivot.expressions
            for key in (on.expressions if isinstance(on, exp.In) else ())
            for each in pivot.args.get("using") or ()
        ]
        query = exp.select(*(values + made or [exp.Literal.number(1)])).from_(pivot.this.copy())
        query = query.group_by(*(value.copy() for value in values)) if values else query
    pivot.replace(query)


def prepared(query: exp.Query) -> exp.Query:
    """Ease what sqlglot cannot follow without knowing the tables' columns.

    A lateral subquery becomes a plain one (what it refers to outside only filters), and an unqualified column of a
    subquery on one table is that table's.
    """
    from sqlglot import exp

    _windows_named(query)
    for lateral in list(query.find_all(exp.Lateral)):
        if isinstance(lateral.this, exp.Subquery):
            lateral.replace(exp.Subquery(this=lateral.this.this, alias=lateral.args.get("alias")))
    for select in query.find_all(exp.Select):
        _qualified_alone(select, query)
    return query


def _qualified_alone(select: exp.Select, query: exp.Query) -> None:
    """Give an unqualified column to the one table there is beside what takes its values apart (UNNEST, EXPLODE)."""
    from sqlglot import exp

    source = select.args.get("from_")
    joined = [join.this for join in select.args.get("joins") or ()]
    apart = [*joined, *(select.args.get("laterals") or ())]
    if source is None or not isinstance(source.this, exp.Table) or (select is query and not apart):
        return
    if not all(isinstance(each, (exp.Unnest, exp.Lateral)) for each in apart):
        return
    aliases = {each.alias.lower() for each in select.expressions if isinstance(each, exp.Alias)}
    for each in apart:
        alias = each.args.get("alias")
        aliases |= {alias.name.lower(), *(column.name.lower() for column in alias.columns)} if alias else set()
    for column in select.find_all(exp.Column):
        own = column.find_ancestor(exp.Select) is select and column.name.lower() not in aliases
        if own and not column.table:
            column.set("table", exp.to_identifier(source.this.alias_or_name))


def _windows_named(query: exp.Query) -> None:
    """Write what `WINDOW w AS (…)` says in the place of each `OVER w`."""
    from sqlglot import exp

    for select in query.find_all(exp.Select):
        named: dict[str, exp.Expr] = {}
        for window in select.args.get("windows") or ():
            _window_filled(window, named)
            named[window.name.lower()] = window
        for window in list(select.find_all(exp.Window)) if named else ():
            if window.arg_key != "windows" and window.find_ancestor(exp.Select) is select:
                _window_filled(window, named)
        if named:
            select.set("windows", None)


def _window_filled(window: exp.Expr, named: dict[str, exp.Expr]) -> None:
    base = window.args.get("alias")
    meant = named.get(base.name.lower()) if base is not None else None
    if meant is None:
        return
    window.set("alias", None)
    if by := meant.args.get("partition_by"):
        window.set("partition_by", [each.copy() for each in by])
    if (order := meant.args.get("order")) and not window.args.get("order"):
        window.set("order", order.copy())


def _table(holder: exp.Expr) -> exp.Table | None:
    """The table or folder that a statement writes, marked so that it is not taken for one that is read."""
    from sqlglot import exp

    table = holder.this
    table = table.this if isinstance(table, exp.Schema) else table
    if isinstance(table, exp.Directory):
        table = _file(table.name)
    if not isinstance(table, exp.Table):
        return None
    table.meta[TARGET] = True
    return table


def _file(name: str) -> exp.Table:
    """A file, folder or stage in the place of a table."""
    from sqlglot import exp

    return exp.Table(this=exp.Literal.string(name))


def _copied(statement: exp.Expr) -> Iterator[Flow]:
    """COPY from and to files and stages, LOAD DATA, EXPORT DATA."""
    from sqlglot import exp

    if isinstance(statement, exp.Export):
        options = statement.args.get("options")
        files = _locations(options, "uri")
        yield _marked(_file(files[0]) if files else None), [], statement.this, []
        return
    if isinstance(statement, exp.LoadData):
        inpath = statement.args.get("inpath")
        files = [inpath.name] if inpath else _locations(statement.args.get("files"), "uris")
        yield _table(statement), [], None, files
        return
    own, files = statement.this, statement.args.get("files") or []
    names = [each.name for each in own.expressions] if isinstance(own, exp.Schema) else []
    if statement.args.get("kind") is False:
        table = own.this if isinstance(own, exp.Schema) else own
        query = _unnested(table) or exp.select(*(names or ["*"])).from_(table.copy())
        literal = next((file for file in files if isinstance(file, exp.Literal)), None)
        yield _marked(_file(literal.name) if literal else None), [], query, []
        return
    target = _table(statement)
    for file in files:
        if inner := _unnested(file):
            yield target, names, inner, []
        elif isinstance(file, exp.Table):
            yield target, names, exp.select("*").from_(file.copy()), []
    yield target, [], None, [file.name for file in files if isinstance(file, (exp.Literal, exp.Var))]


def _unnested(source: Any) -> exp.Query | None:
    """The query in parentheses, None for what is none."""
    from sqlglot import exp

    inner = source.unnest() if isinstance(source, exp.Subquery) else None
    return inner if isinstance(inner, exp.Query) else None


def _locations(options: exp.Expr | None, key: str) -> list[str]:
    """The addresses among BigQuery's options."""
    from sqlglot import exp

    for option in options.find_all(exp.Property) if options is not None else ():
        if option.name.lower() == key:
            return [each.name for each in option.args["value"].find_all(exp.Literal)]
    return []


def _marked(table: exp.Table | None) -> exp.Table | None:
    if table is not None:
        table.meta[TARGET] = True
    return table


def _several(statement: exp.MultitableInserts, known: Known) -> Iterator[Flow]:
    """Oracle's and Snowflake's INSERT ALL … SELECT, and Hive's FROM … INSERT … INSERT …"""
    from sqlglot import exp

    source = statement.args["source"]
    query = _unnested(source) or source
    for each in statement.expressions:
        if isinstance(each, exp.ConditionalInsert):
            yield from _selected_into(each.this, query)
            continue
        if isinstance(each.expression, exp.Select) and not each.expression.args.get("from_"):
            each.expression.set("from_", exp.From(this=source.copy()))
        yield from _own(each, known)


def _selected_into(insert: exp.Insert, query: Any) -> Iterator[Flow]:
    """One INTO of an INSERT ALL: its VALUES are columns of the SELECT, without them all of its columns."""
    from sqlglot import exp

    names = [each.name for each in insert.this.expressions] if isinstance(insert.this, exp.Schema) else []
    rows = insert.expression.expressions if insert.expression else []
    if not rows:
        yield _table(insert), names, query.copy(), []
    for row in rows:
        values = row.expressions if isinstance(row, exp.Tuple) else [row]
        for column in (column for value in values for column in value.find_all(exp.Column)):
            column.set("table", exp.to_identifier("lineagelog_source"))
        picked = exp.select(*_aliased(values)).from_(query.copy().subquery("lineagelog_source"))
        if not names:
            picked = exp.select(*(value.copy() for value in values)).from_(picked.args["from_"].this.copy())
        yield _table(insert), names, picked, []


def _into(statement: exp.Expr, known: Known) -> Iterator[Flow]:
    """CREATE … AS, CREATE … CLONE, CACHE … AS and INSERT."""
    from sqlglot import exp

    kind = statement.args.get("kind") if isinstance(statement, exp.Create) else "TABLE"
    if kind in ("PROCEDURE", "FUNCTION", "TRIGGER") or (
        kind not in ("TABLE", "VIEW") and not isinstance(statement.expression, exp.Query)
    ):
        return
    target = _table(statement)
    if clone := statement.args.get("clone"):
        yield _table(statement), [], exp.select("*").from_(clone.this.copy()), []
        return
    names = []
    if isinstance(statement.this, exp.Schema):
        names = [
            column.name for column in statement.this.expressions if isinstance(column, (exp.Identifier, exp.ColumnDef))
        ]
    query = statement.expression or statement.args.get("source")
    if isinstance(query, exp.Table):
        query = exp.select("*").from_(query.copy())
    if isinstance(query, exp.Subquery):
        query = query.unnest()
    if isinstance(query, exp.Query) and not isinstance(query, exp.Values):
        if outer := statement.args.get("with_"):
            query.set("with_", outer)
        yield _table(statement), names, query, []
        properties = statement.args.get("properties")
        for fed in properties.find_all(exp.ToTableProperty) if properties is not None else ():
            yield _table(fed), names, query.copy(), []
        yield from _on_conflict(statement)
    elif isinstance(query, exp.Values) and (names := names or known(target) if target is not None else names):
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
    own = {name: value for name, value in sets.items() if not _is_inserted(value)}
    table = _table(statement)
    if not own or table is None:
        return
    for column in (column for value in own.values() for column in value.find_all(exp.Column)):
        if not column.table and column.find_ancestor(exp.Select) is None:
            column.set("table", exp.to_identifier(table.alias_or_name))
    query = exp.select(*_aliased(list(own.values()))).from_(table.copy())
    source = statement.expression
    if isinstance(source, exp.Select) and source.args.get("from_"):
        for each in (source.args["from_"].this, *(join.this for join in source.args.get("joins") or ())):
            query = query.join(each.copy(), join_type="cross")
    yield table, list(own), query, []


def _is_inserted(value: exp.Expr) -> bool:
    """Whether a value is that of `EXCLUDED.a` or MySQL's `VALUES(a)`."""
    from sqlglot import exp

    return any(column.table.lower() == "excluded" for column in value.find_all(exp.Column)) or any(
        isinstance(each, exp.Values) or each.name.upper() == "VALUES"
        for each in value.find_all(exp.Values, exp.Anonymous)
    )


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


def _delete(statement: exp.Delete) -> Flow:
    """DELETE as a SELECT of what it looks at; the target may be named by its alias in FROM or USING."""
    from sqlglot import exp

    using = statement.args.get("using") or []
    named = statement.args.get("tables") or ([statement.this] if using else [])
    looked_at = [statement.this] if statement.args.get("tables") else using
    for name in named:
        for table in (table for source in looked_at for table in source.find_all(exp.Table)):
            if not name.db and name.name in (table.alias, table.name) and table is not name:
                table.meta[TARGET] = True
                query = exp.select("1").from_(looked_at[0].copy())
                for other in looked_at[1:]:
                    query = query.join(other.copy(), join_type="cross")
                return table, [], _filtered(query, statement), []
    return _table(statement), [], _selecting([], statement, using), []


def _sources(source: exp.Expr | None) -> list[exp.Expr]:
    return [source.this] if source is not None else []


def _merge(statement: exp.Merge, known: Known) -> Iterator[Flow]:
    """Each branch of a MERGE as the SELECT of the values it writes."""
    from sqlglot import exp

    using = statement.args["using"]
    for when in statement.args["whens"].expressions:
        then = when.args.get("then")
        sets: dict[str, exp.Expr] = {}
        inserted = then.this if isinstance(then, exp.Insert) else None
        if (isinstance(inserted, exp.Star) or (isinstance(inserted, exp.Var) and inserted.name.upper() == "ROW")) or (
            isinstance(then, exp.Update) and any(isinstance(each, exp.Star) for each in then.expressions)
        ):
            sets = _all_columns(using, known)
        elif isinstance(then, exp.Update):
            sets = _assignments(then.expressions)
        elif isinstance(then, exp.Insert) and isinstance(then.expression, exp.Tuple):
            target = _table(statement)
            names = [column.name for column in inserted.expressions] if isinstance(inserted, exp.Tuple) else []
            names = names or (known(target) if target is not None else [])
            sets = dict(zip(names, then.expression.expressions, strict=False))
        yield _table(statement), list(sets), _selecting(list(sets.values()), statement, [using]), []


def _all_columns(source: exp.Expr, known: Known) -> dict[str, exp.Expr]:
    """The columns that a subquery gives, by name: what `UPDATE SET *` sets."""
    from sqlglot import exp

    query = source.unnest() if isinstance(source, exp.Subquery) else None
    names = known(source) if isinstance(source, exp.Table) else []
    if isinstance(query, exp.Query) and not query.is_star:
        names = query.named_selects
    return {name: exp.column(name, table=source.alias_or_name or None) for name in names if name}


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
