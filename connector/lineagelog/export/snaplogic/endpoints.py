"""The datasets of Snaps that read, write or run SQL, and the columns that their settings name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .accounts import AccountReference, read_reference
from .classes import Addressing, Role, SnapClass
from .names import DatasetName, endpoint, file_name, object_name, table_name, table_parts
from .paths import ROOT, Path, parse_path
from .rule import Context, Rule, SqlColumn, Use, identity, only
from .sql import soql
from .statement import DIALECTS, Made, is_marked, read_statement, statement_text

if TYPE_CHECKING:
    from .document import Node
    from .pipeline import Snap


def read_sql(snap: Snap, known: SnapClass, context: Context) -> Rule:
    """The tables and columns of the statement (or statements), and the fields of the document that it uses."""
    nodes = [snap.settings.get(key) for key in known.settings if not snap.settings.get(key).unwrap().empty]
    if not nodes:
        return Rule(Role.EXECUTE, passes=True)
    target = context.accounts.target(_reference(snap, context), known.system)
    dialect = DIALECTS.get(target.system or known.system)
    rules = [_statement(snap, known, context, node, dialect, target.database) for node in _cells(nodes[0])]
    last = next(
        (rule for rule in reversed(rules) if rule.results or rule.rest), rules[-1] if rules else Rule(known.role)
    )
    written: dict[DatasetName, tuple[SqlColumn, ...]] = {}
    for rule in rules:
        for name, columns in rule.written.items():
            written[name] = (*written.get(name, ()), *columns)
    return replace(
        last,
        passes=bool(written) or _passes(snap) or not (last.results or last.rest),
        reads=tuple(dict.fromkeys(name for rule in rules for name in rule.reads)),
        writes=tuple(written),
        written=written,
        uses=tuple(dict.fromkeys(use for rule in rules for use in rule.uses)),
    )


def _cells(node: Node) -> list[Node]:
    """A setting, or each row's cell of a table of one column."""
    if not isinstance(node.unwrap().value, list):
        return [node]
    return [
        row if row.has("value") or not isinstance(row.value, dict) else cell
        for row in node.table()
        for cell in _first(row)
    ]


def _first(row: Node) -> list[Node]:
    cells = [cell for _, cell in row.items()] if isinstance(row.value, dict) else [row]
    return cells[:1]


def _statement(snap: Snap, known: SnapClass, context: Context, node: Node, dialect: str | None, database: str) -> Rule:
    setting = node.setting()
    text = statement_text(setting.text, setting.expression, context.parameters)
    found = read_statement(text, dialect, context.known_columns(database))
    for problem in found.problems:
        context.warn(node, f"Snap {snap.label!r}: SQL: {problem}")
    tables = dict.fromkeys((*found.reads, *found.rest, *found.written))
    names = {table: _table(snap, known, context, "", table) for table in tables}

    def column(made: Made) -> SqlColumn:
        sources = tuple((names[table], name) for table, name in made.tables)
        return SqlColumn((made.name,), sources, made.fields, made.description, made.subtype)

    return Rule(
        Role.EXECUTE,
        uses=tuple(Use(path, "FILTER") for path in found.filters),
        reads=tuple(names[table] for table in found.reads),
        results=tuple(column(made) for made in found.result),
        rest=tuple(names[table] for table in found.rest),
        written={names[table]: tuple(column(made) for made in columns) for table, columns in found.written.items()},
    )


def _passes(snap: Snap) -> bool:
    """Whether the input comes out under `original`: as the setting says, of a Lookup always."""
    return snap.kind.endswith("lookup") or snap.settings.get("passThrough").unwrap().flag()


def read_endpoints(snap: Snap, known: SnapClass, context: Context) -> Rule:
    """The datasets that a reader or writer names in its settings."""
    names, columns = _datasets(snap, known, context)
    is_set = any(not snap.settings.get(key).unwrap().empty for key in known.settings)
    if not names and not is_set and known.place is not Addressing.NONE:
        context.warn(snap.settings, f"Snap {snap.label!r}: no {' or '.join(known.settings)}, so its dataset is unknown")
    if known.role is Role.WRITE:
        uses = [*_clause(snap, "updateCondition", context), *_clause(snap, "deleteCondition", context)]
        return Rule(Role.WRITE, writes=names, payload=_payload(snap, context), uses=tuple(uses))
    uses = [*_clause(snap, "whereClause", context), *_clause(snap, "soqlQuery", context)]
    listed = [_column(only(row).setting().text) for row in snap.settings.get("outputFields").table()] or list(columns)
    given = tuple(identity(parse_path(name)) for name in listed if name)
    passes = _passes(snap)
    rule = Rule(Role.READ, reads=names, columns=given, closed=bool(given), passes=passes, uses=tuple(uses))
    return _with_columns(context, rule)


def _clause(snap: Snap, key: str, context: Context) -> list[Use]:
    """The fields of a WHERE clause: `$field` in its text, and what an expression puts in."""
    setting = snap.settings.get(key).setting()
    text = statement_text(setting.text, setting.expression, context.parameters)
    paths = dict.fromkeys(path for facts in text.marked for path in facts.reads if path)
    return [Use(path, "FILTER") for path in paths]


def _column(text: str) -> str:
    return (table_parts(text.lstrip("$.")) or [""])[-1]


def _payload(snap: Snap, context: Context) -> tuple[Path, ...] | None:
    """What a producer sends: the fields of `valueMessage` and `keyMessage`, None for whole documents."""
    message = snap.settings.get("valueMessage")
    if message.unwrap().empty:
        return None
    facts = [context.expression(snap.settings.get(key)) for key in ("valueMessage", "keyMessage")]
    reads = tuple(dict.fromkeys(path for fact in facts for path in fact.reads))
    return None if ROOT in reads or not facts[0].reads else reads


def _datasets(snap: Snap, known: SnapClass, context: Context) -> tuple[tuple[DatasetName, ...], tuple[str, ...]]:
    settings = snap.settings
    if known.place is Addressing.TABLE:
        schema_key, table_key = known.settings
        table = context.resolve(settings.get(table_key))
        schema = context.resolve(settings.get(schema_key)) if len(table_parts(table)) == 1 else ""
        return ((_table(snap, known, context, schema, table),) if table else ()), ()
    if known.place is Addressing.OBJECT:
        bucket, key = (context.resolve(settings.get(name)) for name in known.settings)
        return ((object_name(bucket, key, known.system, context.naming),) if bucket else ()), ()
    named = next((settings.get(key) for key in known.settings if not settings.get(key).unwrap().empty), None)
    if named is None:
        return (), ()
    if known.place is Addressing.FILE:
        url = context.resolve(named)
        return ((file_name(url, context.naming),) if url else ()), ()
    if known.place is Addressing.SOQL:
        setting = named.setting()
        entity, columns = soql(statement_text(setting.text, setting.expression, context.parameters).sql)
        if not entity or is_marked(entity):
            context.warn(named, f"Snap {snap.label!r}: the object of the query is not known; left out")
            return (), ()
        return (_named(snap, known, context, entity),), columns
    texts = _names(named, context)
    return tuple(_named(snap, known, context, name) for name in texts), ()


def _names(node: Node, context: Context) -> list[str]:
    """One name, a list of names or a table of rows with one name each."""
    if isinstance(node.unwrap().value, list):
        cells = [
            row if not isinstance(row.value, dict) or row.has("value") else row.items()[0][1] for row in node.table()
        ]
        return [name for cell in cells if (name := context.resolve(cell))]
    name = context.resolve(node)
    return [name] if name else []


def _reference(snap: Snap, context: Context) -> AccountReference:
    return read_reference(snap.account, context.parameters, context.findings)


def _named(snap: Snap, known: SnapClass, context: Context, name: str) -> DatasetName:
    target = context.accounts.target(_reference(snap, context), known.system)
    return endpoint(known.system, name, target, context.naming)


def _table(snap: Snap, known: SnapClass, context: Context, schema: str, table: str) -> DatasetName:
    target = context.accounts.target(_reference(snap, context), known.system)
    if not target.known:
        context.warn(
            snap.account,
            f"Snap {snap.label!r}: its account is unknown, so the table's name has no database;"
            " give the account in --accounts or --namespaces",
        )
    name = table_name(schema, table, target.system or known.system, target)
    return endpoint(known.system, name, target, context.naming)


def _with_columns(context: Context, rule: Rule) -> Rule:
    """Columns that a person told for the dataset (`--columns`) win over what the pipeline leaves open."""
    told = [context.columns[name] for dataset in rule.reads for name in _spellings(dataset) if name in context.columns]
    if not told or rule.closed:
        return rule
    return replace(rule, columns=tuple(identity((column,)) for column in told[0]), closed=True)


def _spellings(dataset: DatasetName) -> tuple[str, str]:
    """A dataset's name, and without its first part (the database)."""
    return dataset.name, dataset.name.partition(".")[2]
