"""How the tables, files and columns of a statement are called, and which columns are known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sqlglot import exp

_SPELLED: Final = "lineagelog_spelled"
_QUALIFIERS: Final = ("table", "db", "catalog")
_DIALECTS: Final = {
    "postgresql": "postgres",
    "mssql": "tsql",
    "sqlserver": "tsql",
    "sparksql": "spark",
    "mariadb": "mysql",
}
_FORMATS: Final = frozenset({"parquet", "orc", "avro", "csv", "json", "text", "delta", "iceberg", "binaryfile"})
_ENDINGS: Final = (".parquet", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".gz", ".zst", ".xlsx", ".arrow", ".avro")
_READERS: Final = frozenset({"read_parquet", "parquet_scan", "read_json", "read_json_auto", "read_ndjson", "read_text"})

_PURE: Final = re.compile(
    r"(?:json|jsonb|xml|regexp|string|strtok|generate|unnest|explode|posexplode|flatten|split|openjson|generator|range"
    r"|sequence|numbers|values|inline|stack|series|repeat|zeros)",
    re.IGNORECASE,
)


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
        from sqlglot.dialects.dialect import Dialect, NormalizationStrategy

        self.dialect = dialect
        self.sqlglot_dialect: Any = Dialect.get_or_raise(dialect)
        self.default_schema = default_schema
        self.known = {table.lower(): list(names) for table, names in known.items()}
        strategy = self.sqlglot_dialect.normalization_strategy
        insensitive = "INSENSITIVE" in NormalizationStrategy(strategy).name
        self._as_written = as_written or dialect is None or insensitive
        self._columns: dict[str, str] = {}
        self._tables: dict[tuple[str, ...], list[str]] = {}

    def normalized(self, statement: exp.Expr) -> exp.Expr:
        """The statement with its names folded; how they were spelled is remembered."""
        from sqlglot import exp
        from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

        for table in list(statement.find_all(exp.Table)):
            _named(table)
        for identifier in statement.find_all(exp.Identifier):
            if isinstance(identifier.parent, exp.Table):
                identifier.meta[_SPELLED] = identifier.name
            elif not isinstance(identifier.parent, exp.TableAlias) and identifier.arg_key not in _QUALIFIERS:
                self._columns.setdefault(identifier.name.lower(), identifier.name)
        return normalize_identifiers(statement, dialect=self.dialect)

    def spelled(self, name: str) -> str:
        """A column's name as the database stores it."""
        return self._columns.get(name.lower(), name) if self._as_written else name

    def parts(self, table: exp.Table) -> list[str]:
        """The parts of a table's name, outermost first, as the database stores them; of a file its one name."""
        if file := file_name(table):
            return [file]
        names = [_signed(part, part.name) for part in table.parts]
        if not self._as_written:
            return names
        spelled = [_signed(part, part.meta.get(_SPELLED, part.name)) for part in table.parts]
        return self._tables.setdefault(tuple(name.lower() for name in names), spelled)

    def name(self, table: exp.Table) -> str:
        """The dotted name of a table."""
        name = ".".join(self.parts(table))
        needs = self.default_schema and "." not in name and not file_name(table) and not is_temporary(table)
        return f"{self.default_schema}.{name}" if needs else name

    def columns(self, table: exp.Table) -> list[str]:
        """The known columns of a table, [] if they are not known."""
        return self.known.get(self.name(table).lower(), [])

    def learn(self, table: exp.Table, columns: Sequence[str]) -> None:
        """Remember the columns of a table that the text itself has made, unless they are known better."""
        if columns:
            self.known.setdefault(self.name(table).lower(), list(columns))


def is_table(table: exp.Table) -> bool:
    """Whether a table expression is a stored table or a file: no function, and not the one row of DUAL."""
    from sqlglot import exp

    one_row = (table.db.lower(), table.name.lower()) in (("", "dual"), ("sys", "dual"), ("sysibm", "sysdummy1"))
    return isinstance(table.this, (exp.Identifier, exp.Var, exp.Literal)) and bool(table.name) and not one_row


def is_temporary(table: exp.Table) -> bool:
    """Whether a table's name alone says that it is gone with the session: SQL Server's `#t`, `##t` and `@t`."""
    from sqlglot import exp

    return any(
        part.args.get("temporary")
        or part.args.get("global_")
        or (isinstance(part, exp.Identifier) and part.name[0] == "#")
        for part in table.parts
        if part.name
    )


def unknown_function(table: exp.Expr) -> str:
    """The function that stands for a table and may read anything; "" for none, or one that only takes values apart."""
    from sqlglot import exp

    own = table.this
    if isinstance(own, exp.Anonymous) and own.name.upper() == "TABLE" and own.expressions:
        own = own.expressions[0]
    own = own.this if isinstance(own, exp.Table) else own
    if isinstance(own, (exp.ReadCSV, exp.ReadParquet)):
        return own.sql_name()
    if not isinstance(own, exp.Anonymous) or _PURE.match(own.name):
        return ""
    return own.name


def file_name(table: exp.Table) -> str:
    """The file, folder or stage that a table expression names, "" for a table of the database."""
    from sqlglot import exp

    own = table.this
    name = table.name
    if isinstance(own, (exp.Literal, exp.Var)):
        return name
    if not isinstance(own, exp.Identifier) or not own.quoted:
        return ""
    alone = not table.db
    if (alone and ("://" in name or name.lower().endswith(_ENDINGS))) or (
        table.db.lower() in _FORMATS and not table.catalog and ("/" in name or ":" in name)
    ):
        return name
    return ""


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


def _named(table: exp.Table) -> None:
    """Give a name to what stands for a table without being one: SQL Server's `@t`, DuckDB's `read_csv('x')`."""
    from sqlglot import exp

    own = table.this
    if isinstance(own, exp.Parameter):
        table.set("this", exp.Identifier(this=f"@{own.name}", quoted=True, temporary=True))
    elif isinstance(own, (exp.ReadCSV, exp.ReadParquet)) or (
        isinstance(own, exp.Anonymous) and own.name.lower() in _READERS
    ):
        first = own.this if isinstance(own, exp.ReadCSV) else next(iter(own.expressions), None)
        if isinstance(first, exp.Literal) and first.is_string:
            table.set("this", exp.Literal.string(first.name))


def _signed(part: exp.Expr, name: str) -> str:
    """A name with the sign of SQL Server's temporary tables, which sqlglot keeps apart from it."""
    if name.startswith(("#", "@")):
        return name
    return f"##{name}" if part.args.get("global_") else f"#{name}" if part.args.get("temporary") else name
