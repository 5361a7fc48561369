"""What the SQL of an Execute Snap reads, gives back and writes, by column: from tables and from the document.

Values of the document stand in the statement as `$field`, or are put into it by an expression (`"... = " + $id`). Both
become marks that sqlglot takes for columns; where they turn up again tells which column they make.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineagelog.sqllineage import TARGET, SqlNaming, flows, is_table, known_schema, prepared

from .expression import MAPPING, Expression, evaluate, pieces, read_expression
from .sql import tables

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.lineage import Node
    from sqlglot.optimizer.scope import Scope

    from .paths import Path

_MARK = re.compile(r"lineagelog_field_(\d+)_", re.IGNORECASE)
_PLACED = re.compile(rf"[:@%]?{_MARK.pattern}", re.IGNORECASE)
_STEP = r"""(?:\[\s*(?:'[^']*'|"[^"]*"|\d+|\*)\s*\])"""
_FIELD = rf"""(?<![\w$#])\$(?:\.?[A-Za-z_]\w*|{_STEP})(?:\.[A-Za-z_]\w*|{_STEP})*(?!\w*\s*\()"""
_EVAL = r"""\$\.eval\((?P<eval>(?:[^()]|\([^()]*\))*)\)"""
_SKIPPED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*.*?(?:\*/|\Z)|\$\$.*?\$\$"""
_VALUES = re.compile(rf"(?P<skipped>{_SKIPPED})|{_EVAL}|(?P<field>{_FIELD})", re.DOTALL)
_USES = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
_NO_TABLES = frozenset({"DUAL", "SYSDUMMY1"})

DIALECTS: Mapping[str, str] = {
    "Postgres": "postgres",
    "AlloyDB": "postgres",
    "SQL Server": "tsql",
    "Azure SQL": "tsql",
    "Azure Synapse": "tsql",
    "Oracle": "oracle",
    "MySQL": "mysql",
    "Snowflake": "snowflake",
    "Redshift": "redshift",
    "BigQuery": "bigquery",
    "Databricks": "databricks",
    "Hive": "hive",
    "Teradata": "teradata",
}
"""sqlglot's name of each system's SQL; the others are read without a dialect."""


@dataclass(frozen=True, slots=True)
class Text:
    """A statement with a mark for each value of the document; `marked[n]` is what mark n reads."""

    sql: str
    marked: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Made:
    """A column that a statement gives back or writes: columns of tables (quoted names) and fields of the document."""

    name: str
    tables: tuple[tuple[str, str], ...] = ()
    fields: tuple[Path, ...] = ()
    description: str = ""
    subtype: str = "IDENTITY"


@dataclass(frozen=True, slots=True)
class SnapStatement:
    """What a statement does. `rest`: tables whose other columns come out, too (`*`). `filters`: fields of the document
    that are in no column. `problems`: what could not be read, a sentence each."""

    reads: tuple[str, ...] = ()
    result: tuple[Made, ...] = ()
    rest: tuple[str, ...] = ()
    written: Mapping[str, tuple[Made, ...]] = field(default_factory=dict)
    filters: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()


def statement_text(text: str, expression: bool, parameters: Mapping[str, str]) -> Text:
    """The statement of a setting: an expression is put together as far as it is known, `$field` becomes a mark."""
    marked: list[Expression] = []

    def mark(facts: Expression) -> str:
        marked.append(facts)
        return f"lineagelog_field_{len(marked) - 1}_"

    def replaced(match: re.Match[str]) -> str:
        if match["skipped"]:
            return match[0]
        if match["field"]:
            return mark(read_expression(match["field"]))
        value = evaluate(match["eval"], parameters)
        return mark(read_expression(match["eval"])) if value is None else "'" + value.replace("'", "''") + "'"

    parts = pieces(text, parameters) if expression else [text]
    if isinstance(parts[0], Expression) and parts[0].problem:  # marked as an expression, yet bare SQL
        parts = [text]
    sql = "".join(part if isinstance(part, str) else mark(part) for part in parts)
    return Text(_VALUES.sub(replaced, sql), tuple(marked))


def is_marked(name: str) -> bool:
    """Whether a value of the document is part of a name."""
    return _MARK.search(name) is not None


def read_statement(text: Text, dialect: str | None, known: Mapping[str, Sequence[str]]) -> SnapStatement:
    """What the statement (or several) does; `known`: table to its columns. Never fails: see `problems`."""
    try:
        with _quiet():
            return _read(text, dialect, known)
    except ImportError:
        return _by_words(text, "columns of SQL need sqlglot: pip install 'lineagelog[export]'")
    except Exception as problem:
        told = str(problem).strip().splitlines() or [type(problem).__name__]
        return _by_words(text, f"not understood ({_plain(told[0])}); its tables were found word by word, columns not")


def _read(text: Text, dialect: str | None, known: Mapping[str, Sequence[str]]) -> SnapStatement:
    import sqlglot
    from sqlglot import exp

    script = _Statements(SqlNaming(dialect, None, known, as_written=True), text)
    for parsed in sqlglot.parse(text.sql, dialect=dialect):
        if isinstance(parsed, (exp.Command, exp.Execute, exp.Column, exp.Alias)):
            return _by_words(text, "not understood; its tables were found word by word, columns not")
        if parsed is not None:
            script.read(script.naming.normalized(parsed.transform(_placeholder)))
    return script.statement()


def _by_words(text: Text, problem: str) -> SnapStatement:
    """Tables only; every field of the document decides about the statement."""
    found = tables(text.sql)
    fields = [path for facts in text.marked for path in facts.reads if path]
    unknown = any(is_marked(name) for name in (*found.reads, *found.writes)) or _MARK.fullmatch(text.sql.strip())
    problem = "the statement depends on documents or unknown parameters; left out" if unknown else problem
    reads = tuple(name for name in found.reads if not is_marked(name))
    written = {name: () for name in found.writes if not is_marked(name)}
    return SnapStatement(reads, written=written, filters=tuple(dict.fromkeys(fields)), problems=(problem,))


@contextmanager
def _quiet() -> Iterator[None]:
    """sqlglot logs what it cannot parse; here that is a finding."""
    log = logging.getLogger("sqlglot")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _plain(text: str) -> str:
    """A message of sqlglot's without the codes that underline."""
    return re.sub(r"\x1b\[\d*m", "", text).rstrip(". ")


def _placeholder(node: exp.Expr) -> exp.Expr:
    """A mark that stands alone is a value, not a column of some table."""
    from sqlglot import exp

    is_mark = isinstance(node, exp.Column) and not node.table and _MARK.fullmatch(node.name)
    return exp.Placeholder(this=node.name) if is_mark else node


class _Statements:
    """The statements of one text, one after the other."""

    def __init__(self, naming: SqlNaming, text: Text) -> None:
        self.naming = naming
        self.text = text
        self.reads: dict[str, None] = {}
        self.result: dict[str, Made] = {}
        self.rest: dict[str, None] = {}
        self.written: dict[str, dict[str, Made]] = {}
        self.used: set[int] = set()
        self.unnamed: dict[str, str] = {}
        self.problems: dict[str, None] = {}

    def statement(self) -> SnapStatement:
        """Everything that was read."""
        unused = [facts for number, facts in enumerate(self.text.marked) if number not in self.used]
        return SnapStatement(
            tuple(self.reads),
            tuple(self.result.values()),
            tuple(self.rest),
            {name: tuple(columns.values()) for name, columns in self.written.items()},
            tuple(dict.fromkeys(path for facts in unused for path in facts.reads if path)),
            tuple(self.problems),
        )

    def read(self, statement: exp.Expr) -> None:
        """Add what one statement does."""
        from sqlglot import exp

        for target, names, query, files in flows(statement):
            self.reads.update(dict.fromkeys(files))
            name = self.table(target) if target is not None else ""
            if name:
                self.written.setdefault(name, {})
            if query is not None:
                is_value = isinstance(statement, (exp.Insert, exp.Create, exp.Query)) or bool(names)
                self.query(query, names, target, name if is_value else "")
        values = isinstance(statement, exp.Insert) and isinstance(statement.expression, exp.Values)
        if values and not isinstance(statement.this, exp.Schema):
            self.problems["INSERT … VALUES names no columns, so they are unknown"] = None

    def table(self, table: exp.Table) -> str:
        """The quoted name of a table; "" for one that only a run could name, for temporary tables and no tables."""
        parts = self.naming.parts(table) if is_table(table) else []
        if any(is_marked(part) for part in parts):
            self.problems["a table depends on documents or unknown parameters; left out"] = None
            return ""
        temporary = any(part.args.get("temporary") for part in table.parts)
        if not parts or temporary or parts[-1].startswith("#") or (len(parts) == 1 and parts[0].upper() in _NO_TABLES):
            return ""
        return ".".join('"' + part.replace('"', '""') + '"' for part in parts)

    def query(self, query: exp.Query, names: list[str], target: exp.Table | None, name: str) -> None:
        """Note the tables of a query, and its columns as those of what it is for."""
        from sqlglot.optimizer.qualify import qualify
        from sqlglot.optimizer.scope import build_scope, traverse_scope

        self.unnamed = _unnamed(query, self.naming.dialect)
        query = qualify(
            prepared(query),
            dialect=self.naming.dialect,
            schema=known_schema(self.naming),
            validate_qualify_columns=False,
            identify=False,
            quote_identifiers=False,
        )
        for inner in traverse_scope(query):
            for source in inner.sources.values():
                self.read_table(source)
        scope = build_scope(query)
        if scope is None:
            self.problems["its columns could not be followed"] = None
            return
        if target is None:
            columns, rest = self.spread(scope)
            self.result.update(columns)
            self.rest.update(rest)
        elif name:
            self.assign(scope, names or self.naming.columns(target), self.written[name])

    def read_table(self, source: Any) -> None:
        from sqlglot import exp

        if isinstance(source, exp.Table) and not source.meta.get(TARGET) and (name := self.table(source)):
            self.reads[name] = None

    def assign(self, scope: Scope, names: list[str], written: dict[str, Made]) -> None:
        """The columns of a written table; `*` of a table whose columns nobody told cannot be followed."""
        from sqlglot import exp

        selects = scope.expression.selects  # type: ignore[attr-defined]
        if any(isinstance(select, exp.Star) or select.is_star for select in selects):
            columns, rest = self.spread(scope)
            if rest:
                listed = ", ".join(rest).replace('"', "")
                self.problems[f"the columns of {listed} are not known, so * is not followed; tell --columns"] = None
            elif names:
                columns = dict(zip(names, columns.values(), strict=False))
            written.update(columns)
            return
        for index, select in enumerate(selects):
            name = self.naming.spelled(names[index]) if index < len(names) else self.output(select, target=True)
            if name:
                _merge(written, name, self.made(index, scope))

    def output(self, select: exp.Expr, target: bool = False) -> str:
        """The name of a column that a SELECT gives; "" for one that has none of its own in this database, or none that
        a written table (`target`) could have."""
        from sqlglot import exp

        named = select.alias_or_name if isinstance(select, (exp.Alias, exp.Column)) else select.output_name
        name = self.unnamed.get(named.lower(), self.naming.spelled(named))
        name = "" if target and named.lower() in self.unnamed else name
        if not name:
            self.problems["a column without a name of its own is left out; give it an alias"] = None
        return name

    def spread(self, scope: Scope) -> tuple[dict[str, Made], dict[str, None]]:
        """The columns that a query gives, and the tables whose columns nobody told (`*`)."""
        from sqlglot import exp

        columns: dict[str, Made] = {}
        rest: dict[str, None] = {}
        expression = scope.expression
        if isinstance(expression, exp.SetOperation) and expression.is_star:
            for branch in scope.set_operation_scopes:
                _add(columns, rest, *self.spread(branch))
            return columns, rest
        for index, select in enumerate(expression.selects):  # type: ignore[attr-defined]
            if not (isinstance(select, exp.Star) or select.is_star):
                if name := self.output(select):
                    _merge(columns, name, self.made(index, scope))
                continue
            only = select.table if isinstance(select, exp.Column) else ""
            for alias, source in scope.sources.items():
                if not only or alias == only:
                    _add(columns, rest, *self.everything(source))
        return columns, rest

    def everything(self, source: Any) -> tuple[dict[str, Made], dict[str, None]]:
        """All columns of one source of a query."""
        from sqlglot import exp

        if not isinstance(source, exp.Table):
            return self.spread(source)
        name = self.table(source)
        return {}, ({name: None} if name else {})

    def made(self, index: int, scope: Scope) -> Made:
        """Where a column comes from, through all subqueries."""
        from sqlglot.lineage import to_node

        root = to_node(index, scope, self.naming.dialect, schema=known_schema(self.naming), trim_selects=False)
        found = _Trail(self)
        found.walk(root)
        return found.made()


class _Trail:
    """The way of one column down to tables and marks."""

    def __init__(self, script: _Statements) -> None:
        self.script = script
        self.tables: dict[tuple[str, str], None] = {}
        self.marks: dict[int, None] = {}
        self.words: dict[str, None] = {}
        self.use = "IDENTITY"

    def walk(self, root: Node) -> None:
        """Collect what is below a node; each once."""
        from sqlglot import exp

        todo: list[tuple[Node, str]] = [(root, "")]
        seen: set[int] = set()
        while todo:
            node, wanted = todo.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            name = exp.to_column(node.name).name if node.name != "*" else wanted
            if isinstance(node.source, exp.Table) and not node.downstream:
                table = self.script.table(node.source)
                if table and name and name != "*":
                    self.tables[table, self.script.naming.spelled(name)] = None
                    self.script.reads[table] = None
                continue
            if not isinstance(node.expression, (exp.Query, exp.Table)):
                self.look(node.expression)
            todo += [(below, name) for below in reversed(node.downstream)]

    def look(self, expression: exp.Expr) -> None:
        """Note the marks and the functions of one step."""
        from sqlglot import exp

        inner = expression.unalias()
        for node in inner.find_all(exp.Placeholder, exp.Literal, exp.Func, exp.Binary):
            if isinstance(node, (exp.Placeholder, exp.Literal)):
                self.marks.update((int(number), None) for number in _MARK.findall(str(node.this)))
            elif word := _word(node):
                self.words[word] = None
        if inner.find(exp.AggFunc) is not None:
            self.use = "AGGREGATION"
        elif not isinstance(inner, (exp.Column, exp.Star, exp.Placeholder)) and self.use == "IDENTITY":
            self.use = "TRANSFORMATION"

    def made(self) -> Made:
        """The column, still without a name."""
        self.script.used.update(self.marks)
        facts = [self.script.text.marked[number] for number in self.marks]
        fields = tuple(dict.fromkeys(path for fact in facts for path in fact.reads))
        words = [*self.words, *(word for fact in facts if not fact.direct for word in fact.functions)]
        is_direct = self.use == "IDENTITY" and not words and all(fact.direct for fact in facts)
        description = MAPPING if is_direct else ", ".join(dict.fromkeys(words)) or "expression"
        use = "TRANSFORMATION" if self.use == "IDENTITY" and not is_direct else self.use
        made = bool(self.tables or fields)
        return Made("", tuple(sorted(self.tables)), fields, description if made else "", use)


def _unnamed(query: exp.Query, dialect: str | None) -> dict[str, str]:
    """What databases call columns without alias, by the name that sqlglot gives them: Postgres by the function, SQL
    Server not at all, the others by the text."""
    from sqlglot import exp

    selects = query.selects
    if any(isinstance(select, exp.Star) or select.is_star for select in selects):
        return {}
    unnamed = {
        f"_col_{at}": select
        for at, select in enumerate(selects)
        if not isinstance(select, (exp.Alias, exp.Column)) and not select.output_name
    }
    if dialect in ("postgres", "redshift"):
        return {
            key: select.sql_name().lower() if isinstance(select, exp.Func) else "?column?"
            for key, select in unnamed.items()
        }
    return {key: "" if dialect == "tsql" else _PLACED.sub("?", select.sql(dialect)) for key, select in unnamed.items()}


_OPERATORS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%", "DPipe": "||", "IntDiv": "/"}


def _word(node: exp.Expr) -> str:
    """The name of a function, or an operator's sign; "" for what is neither (AND, comparisons)."""
    from sqlglot import exp

    if isinstance(node, (exp.Connector, exp.If)):
        return ""
    if isinstance(node, exp.Anonymous):
        return str(node.this)
    if isinstance(node, exp.Func):
        return str(node.meta.get("name") or node.sql_name())
    return _OPERATORS.get(type(node).__name__, "")


def _merge(columns: dict[str, Made], name: str, made: Made) -> None:
    """Add a column; one of that name (another row of VALUES, another branch of MERGE) is united with it."""
    before = columns.get(name, Made(name))
    texts = dict.fromkeys(text for text in (before.description, made.description) if text)
    columns[name] = Made(
        name,
        tuple(dict.fromkeys((*before.tables, *made.tables))),
        tuple(dict.fromkeys((*before.fields, *made.fields))),
        ", ".join(texts),
        max(before.subtype, made.subtype, key=_USES.index),
    )


def _add(
    columns: dict[str, Made], rest: dict[str, None], more: Mapping[str, Made], more_rest: Mapping[str, None]
) -> None:
    for name, made in more.items():
        _merge(columns, name, made)
    rest.update(more_rest)
