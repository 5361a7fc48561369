"""What one configured Snap does, read from its settings: columns, fields it uses, datasets."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import orjson

from .accounts import AccountBook, Reference, read_reference
from .classes import Place, Role, SnapClass
from .document import Finding, Node, Setting
from .expression import MAPPING, UNKNOWN, Expression, evaluate, read_expression
from .names import DatasetName, Naming, endpoint, file_name, object_name, table_name, table_parts
from .paths import ROOT, Path, parse_path
from .shapes import CONTENT
from .sql import soql
from .statement import DIALECTS, Made, is_marked, read_statement, statement_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .pipeline import Snap


_PARAMETER = re.compile(r"_\w+")
_CALL = re.compile(r"[A-Za-z][\w.]*\s*\(")
_DYNAMIC = re.compile(r"\.?\[\(\s*_(\w+)\s*\)\]")


@dataclass(frozen=True, slots=True)
class Assignment:
    """One output column: where it goes, which input fields make it, and how.

    `subtype` is OpenLineage's (IDENTITY, TRANSFORMATION, AGGREGATION); `type` is a type name where the
    settings tell it; `conditions` are fields that decide about the value without being in it.
    """

    target: Path
    reads: tuple[Path, ...] = ()
    description: str = ""
    subtype: str = "TRANSFORMATION"
    type: str = ""
    conditions: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Use:
    """A field that decides about whole documents; `subtype`: FILTER, SORT, JOIN, GROUP_BY or CONDITIONAL."""

    path: Path
    subtype: str


@dataclass(frozen=True, slots=True)
class JoinOn:
    """A row of a Join: fields of the left and of the right input (none for a constant), and the label of the right
    input's view."""

    left: tuple[Path, ...]
    right: tuple[Path, ...]
    view: str


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column that a statement gives back or writes: columns of tables, and fields of the document (`reads`)."""

    target: Path
    sources: tuple[tuple[DatasetName, str], ...] = ()
    reads: tuple[Path, ...] = ()
    description: str = ""
    subtype: str = "IDENTITY"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a Snap does. `columns`: what its source or target is known to have; `closed`: and nothing else.

    `passes`: input fields go on beside the mapped ones. `root`: the mapping root. `payload`: what a producer
    sends (None = all). `split`, `includes` and `parents`: the paths of a JSON Splitter, and
    whether it keeps what is around them. `wrap`: the field under which whole documents go (none: the label of their
    view). `more`: other fields come out, too, of which nothing is known.
    `guards`: fields that the Snap asks for before it uses them. `child`: the name of the
    pipeline that a Pipeline Execute runs. Of a statement: `results` are the columns that come back, `rest` the tables
    whose other columns do, too (`*`), `written` the columns of each table that it writes.
    """

    role: Role
    assignments: tuple[Assignment, ...] = ()
    deletes: tuple[Path, ...] = ()
    passes: bool = False
    root: Path = ROOT
    uses: tuple[Use, ...] = ()
    joins: tuple[JoinOn, ...] = ()
    columns: tuple[Assignment, ...] = ()
    closed: bool = False
    reads: tuple[DatasetName, ...] = ()
    writes: tuple[DatasetName, ...] = ()
    payload: tuple[Path, ...] | None = None
    split: Path = ROOT
    includes: tuple[Path, ...] = ()
    parents: bool = False
    wrap: Path = ROOT
    more: bool = False
    guards: frozenset[Path] = frozenset()
    child: str = ""
    results: tuple[SqlColumn, ...] = ()
    rest: tuple[DatasetName, ...] = ()
    written: Mapping[DatasetName, tuple[SqlColumn, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """What a Snap's settings are read with: parameters of the run, accounts, naming, columns that a person
    told."""

    parameters: Mapping[str, str]
    accounts: AccountBook
    naming: Naming
    columns: Mapping[str, tuple[str, ...]]
    findings: list[Finding] = field(default_factory=list)
    guards: set[Path] = field(default_factory=set)

    def known_columns(self, database: str) -> dict[str, tuple[str, ...]]:
        """The columns that a person told, by each name that a statement may call their table."""
        inside = {name.removeprefix(f"{database}."): columns for name, columns in self.columns.items() if database}
        return {**inside, **self.columns}

    def warn(self, node: Node, message: str) -> None:
        """Note a finding at a place of a file."""
        self.findings.append(Finding(node.file, node.place, message))

    def resolve(self, node: Node) -> str:
        """A setting's text, parameters filled in; "" (and a finding) when only the run's documents could
        tell."""
        setting = node.setting()
        text = setting.text if not setting.expression else self._resolved(setting.text)
        if text is None or UNKNOWN in text:
            self.warn(node, f"{setting.text!r} cannot be resolved from the parameters of the run; left out")
            return ""
        return text

    def _resolved(self, text: str) -> str | None:
        value = evaluate(text, self.parameters)
        is_quoted = value is None and text[:1] in ('"', "`", "[") and not set(text) & set("$+(?")
        return text if is_quoted else value

    def expression(self, node: Node) -> Expression:
        """The facts of a setting that is an expression; a literal has none."""
        setting = node.setting()
        return self.facts(node, setting) if setting.expression else Expression()

    def paths(self, node: Node) -> tuple[Path, ...]:
        """The fields that a setting names: a path, or an expression such as `jsonPath($, "$.a[*].b")`; none for a
        constant."""
        setting = node.setting()
        text = setting.text.strip()
        if setting.expression and _PARAMETER.fullmatch(text):
            text = self.resolve(node)
        elif setting.expression or _CALL.match(text):
            return tuple(path for path in self.facts(node, setting).reads if path)
        path = parse_path(_DYNAMIC.sub(self._filled, text))
        return (path,) if path else ()

    def path(self, node: Node) -> Path:
        """The one field that a setting names; the whole document when it names none."""
        return next(iter(self.paths(node)), ROOT)

    def _filled(self, match: re.Match[str]) -> str:
        return f"[{self.parameters.get(match[1], '')!r}]"

    def condition(self, node: Node) -> Expression:
        """The facts of a setting that can only be an expression, marked as one or not."""
        return self.facts(node, node.setting())

    def facts(self, node: Node, setting: Setting) -> Expression:
        """The facts of an expression; a finding when it could not be parsed."""
        if not setting.text.strip():
            return Expression()
        found = read_expression(setting.text)
        self.guards.update(found.guards)
        if found.problem:
            self.warn(node, f"expression not understood ({found.problem}); its fields were found word by word")
        return found


def read_rule(snap: Snap, known: SnapClass, context: Context) -> Rule:
    """What `snap` does; settings that cannot be resolved are findings in `context`, wrong types are
    InputErrors."""
    context.guards.clear()
    rule = _rule(snap, known, context)
    return replace(rule, guards=frozenset(context.guards))


def _rule(snap: Snap, known: SnapClass, context: Context) -> Rule:
    reader = {
        Role.PASS: _pass,
        Role.MAP: _mapper,
        Role.STRUCTURE: _structure,
        Role.CONDITIONAL: _conditional,
        Role.JOIN: _join,
        Role.AGGREGATE: _aggregate,
        Role.SPLIT: _split,
        Role.PARSE: _parse,
        Role.WRAP: _wrap,
        Role.GENERATE: _generate,
        Role.CHILD: _child,
    }.get(known.role)
    if reader:
        return reader(snap, context)
    if known.role is Role.EXECUTE:
        return _execute(snap, known, context)
    rule = Rule(known.role)
    if known.role in (Role.READ, Role.WRITE):
        rule = _endpoints(snap, known, context, rule)
    return _with_columns(context, rule)


def _pass(snap: Snap, context: Context) -> Rule:
    settings, uses = snap.settings, []
    uses += _uses(context.condition(settings.get("filterExpression")), "FILTER")
    for route in settings.get("routes").table():
        uses += _uses(context.condition(route.get("expression")), "FILTER")
    for row in settings.get("sortPaths").table():
        uses += [Use(path, "SORT") for path in context.paths(_only(row, "sortPath"))]
    return Rule(Role.PASS, uses=tuple(uses))


def _parse(snap: Snap, context: Context) -> Rule:
    """A parser passes on what went into the bytes; without a header its list of columns tells."""
    if snap.kind.endswith("binarytodocument"):
        return Rule(Role.MAP, (Assignment((CONTENT,), (ROOT,), MAPPING),), more=True)
    listed = [_only(row).setting().text for row in snap.settings.get("columnList").table()]
    has_header = snap.settings.get("containsHeader").unwrap().flag(True)
    columns = tuple(_identity((column,)) for column in listed if column) if not has_header else ()
    return replace(_pass(snap, context), role=Role.PARSE, columns=columns, closed=bool(columns))


def _wrap(snap: Snap, context: Context) -> Rule:
    """Group By N and Group By Fields put whole documents below a target field, Gate below the label of each input."""
    settings = snap.settings
    target = next((path for key in ("targetField", "groupsOutput") for path in context.paths(settings.get(key))), ROOT)
    if target == ROOT and not snap.kind.endswith("gate"):
        target = ("group",)
    rows = [*settings.get("groupFields").table(), *settings.get("fields").table()]
    groups = tuple(path for row in rows for path in context.paths(_only(row)))
    return Rule(Role.WRAP, tuple(_identity(path) for path in groups), wrap=target, uses=_grouping(groups))


def _grouping(groups: tuple[Path, ...]) -> tuple[Use, ...]:
    return tuple(Use(path, "GROUP_BY") for path in groups)


def _uses(expression: Expression, subtype: str) -> list[Use]:
    return [Use(path, subtype) for path in expression.reads if path]


def _identity(path: Path) -> Assignment:
    return Assignment(path, (path,), MAPPING, "IDENTITY")


def _mapper(snap: Snap, context: Context) -> Rule:
    settings = snap.settings
    table = settings.get("transformations").unwrap() if settings.has("transformations") else settings
    found: dict[Path, Assignment] = {}
    deletes: list[Path] = []
    for row in table.get("mappingTable").table():
        source, target = row.get("expression"), row.get("targetPath")
        if not target.setting().text.strip():
            deletes += context.paths(source)
            continue
        path = context.path(target)
        found.pop(path, None)
        found[path] = _assigned(source, path, context)
    root = context.path(table.get("mappingRoot"))
    passes = settings.get("passThrough").unwrap().flag()
    return Rule(Role.MAP, tuple(found.values()), tuple(deletes), passes, root)


def _assigned(node: Node, target: Path, context: Context) -> Assignment:
    """A column from an expression or a constant."""
    if not node.setting().expression:
        return Assignment(target, type="string")
    facts = context.expression(node)
    if facts.direct:
        return Assignment(target, facts.reads, MAPPING, "IDENTITY")
    return Assignment(target, facts.reads, facts.description, type=_result_type(facts))


_RESULT_TYPES = {
    "toUpperCase": "string",
    "toLowerCase": "string",
    "trim": "string",
    "substr": "string",
    "substring": "string",
    "concat": "string",
    "toString": "string",
    "toFixed": "string",
    "JSON.stringify": "string",
    "parseInt": "integer",
    "parseFloat": "number",
    "length": "integer",
    "indexOf": "integer",
    "Date.parse": "timestamp",
    "Date.now": "timestamp",
    "LocalDate.parse": "date",
    "Math.round": "integer",
    "Math.floor": "integer",
    "Math.ceil": "integer",
}


def _result_type(facts: Expression) -> str:
    """The type of a value that one function alone makes; "" when it is not certain."""
    return _RESULT_TYPES.get(facts.functions[0], "") if len(facts.functions) == 1 and not facts.operators else ""


def _structure(snap: Snap, context: Context) -> Rule:
    found: dict[Path, Assignment] = {}
    deletes: list[Path] = []
    passes = not snap.settings.get("passThrough").unwrap().text().lower().startswith(("none", "false"))
    for row in snap.settings.get("mappingTable").table():
        operation = row.get("operation").setting().text.lower()
        source, target = context.path(row.get("sourcePath")), context.path(row.get("targetPath"))
        if operation in ("delete", "remove") or not _text(row, "targetPath"):
            deletes.append(source)
            continue
        found[target] = Assignment(target, (source,), MAPPING, "IDENTITY")
        if operation == "move" and source != target:
            deletes.append(source)
    return Rule(Role.MAP, tuple(found.values()), tuple(path for path in deletes if path), passes)


def _text(row: Node, key: str) -> str:
    return row.get(key).setting().text.strip()


def _conditional(snap: Snap, context: Context) -> Rule:
    """Rows `condition, value, target`: a nested conditional expression in table form, so the condition's
    fields count too."""
    found: dict[Path, Assignment] = {}
    for row in snap.settings.get("conditionalTable").table():
        target = context.path(row.get("targetPath"))
        condition = context.condition(row.get("conditionalExpression"))
        value = _assigned(row.get("returnValue"), target, context)
        before = found.get(target, Assignment(target))
        reads = tuple(dict.fromkeys((*before.reads, *value.reads)))
        conditions = tuple(dict.fromkeys((*before.conditions, *condition.reads)))
        texts = dict.fromkeys(text for text in (before.description, value.description) if text)
        is_used = bool(reads or conditions)
        description = ", ".join(texts) or ("conditional" if is_used else "")
        found[target] = Assignment(target, reads, description, conditions=conditions)
    default = snap.settings.get("defaultValueTable").unwrap()
    if target := context.path(default.get("defaultValuePath")):
        found.setdefault(target, _assigned(default.get("defaultValue"), target, context))
    passes = snap.settings.get("passThrough").unwrap().flag(True)
    return Rule(Role.MAP, tuple(found.values()), passes=passes)


def _join(snap: Snap, context: Context) -> Rule:
    rows = [*snap.settings.get("joinPaths").table(), *snap.settings.get("joinCondition").table()]
    joins = (
        JoinOn(context.paths(row.get("leftPath")), context.paths(row.get("rightPath")), _text(row, "rightInputView"))
        for row in rows
    )
    return Rule(Role.JOIN, joins=tuple(joins))


def _aggregate(snap: Snap, context: Context) -> Rule:
    rows = snap.settings.get("groupByFields").table()
    groups = tuple(path for row in rows for path in context.paths(_only(row)))
    found = [_identity(path) for path in groups]
    for row in snap.settings.get("aggregateFields").table():
        function, sources = _text(row, "function") or "aggregate", context.paths(row.get("field"))
        target = context.path(row.get("resultField")) or next(iter(sources), ROOT)
        kind = "integer" if function.lower().startswith("count") else ""
        found.append(Assignment(target, sources, function, "AGGREGATION", kind))
    assignments = {assignment.target: assignment for assignment in found if assignment.target}
    return Rule(Role.MAP, tuple(assignments.values()), uses=_grouping(groups))


def _only(row: Node, *known: str) -> Node:
    """The cell of a row whose keys are not documented: a known one, else the first that names a field, else the first
    text."""
    if not isinstance(row.value, dict) or row.has("value"):
        return row
    cells = [row.get(key) for key in known if row.has(key)] or [cell for _, cell in row.items()]
    texts = [cell for cell in cells if isinstance(cell.unwrap().value, str) and cell.unwrap().value.strip()]
    named = [cell for cell in texts if cell.unwrap().value.strip().startswith("$")]
    return next(iter([*named, *texts]), Node(row.file, row.place, None))


def _split(snap: Snap, context: Context) -> Rule:
    settings = snap.settings
    includes = tuple(path for row in settings.get("includePaths").table() for path in context.paths(_only(row)))
    named = next(
        (settings.get(key) for key in ("path", "jsonPath", "xpath") if settings.has(key)), settings.get("path")
    )
    path = context.path(named)
    parents = settings.get("includeParents").unwrap().flag()
    return Rule(Role.SPLIT, split=path, includes=includes, parents=parents)


def _generate(snap: Snap, _context: Context) -> Rule:
    """A generator's content is literal JSON, or CSV with a header; where it is not (an expression, a template), the
    columns are unknown."""
    content = snap.settings.get("editable_content")
    if snap.kind.endswith("csvgenerator"):
        names = _header(content.setting().text)
        return Rule(Role.GENERATE, columns=tuple(Assignment((name,), type="string") for name in names), closed=True)
    try:
        value = orjson.loads(content.setting().text)
    except orjson.JSONDecodeError:
        return Rule(Role.OPAQUE)
    types: dict[Path, str] = {}
    for document in value if isinstance(value, list) else [value]:
        _leaves(document, types)
    columns = tuple(Assignment(path, type=kind) for path, kind in types.items())
    return Rule(Role.GENERATE, columns=columns, closed=True)


def _header(text: str) -> list[str]:
    """The column names in the first line of CSV; the separator is the one that stands in it most often."""
    line = next(iter(text.replace("\\n", "\n").strip().splitlines()), "")
    separator = max(",;\t|", key=line.count)
    return [name.strip() for row in csv.reader([line], delimiter=separator) for name in row if name.strip()]


def _leaves(document: object, types: dict[Path, str]) -> None:
    todo: list[tuple[Path, object]] = [((), document)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict) and value:
            todo.extend((((*path, str(key)), inner) for key, inner in reversed(value.items())))
        elif path:
            types[path] = types.get(path) or _json_type(value)


def _json_type(value: object) -> str:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "")


def _child(snap: Snap, context: Context) -> Rule:
    setting = snap.settings.get("pipeline").setting()
    name = evaluate(setting.text, context.parameters) if setting.expression else setting.text
    return Rule(Role.CHILD, child="" if name is None or UNKNOWN in name else name)


def child_parameters(snap: Snap, parameters: Mapping[str, str]) -> dict[str, str]:
    """The parameters that a Pipeline Execute hands to its child, as far as they do not depend on
    documents."""
    found: dict[str, str] = {}
    for row in snap.settings.get("params").table():
        name, setting = _text(row, "paramName"), row.get("paramValue").setting()
        value = evaluate(setting.text, parameters) if setting.expression else setting.text
        if name and value is not None and UNKNOWN not in value:
            found[name] = value
    return found


def _execute(snap: Snap, known: SnapClass, context: Context) -> Rule:
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
    return snap.settings.get("passThrough").unwrap().flag()


def _endpoints(snap: Snap, known: SnapClass, context: Context, rule: Rule) -> Rule:
    """The datasets that a reader or writer names in its settings."""
    names, columns = _datasets(snap, known, context)
    is_set = any(not snap.settings.get(key).unwrap().empty for key in known.settings)
    if not names and not is_set and known.place is not Place.NONE:
        context.warn(snap.settings, f"Snap {snap.label!r}: no {' or '.join(known.settings)}, so its dataset is unknown")
    if known.role is Role.WRITE:
        uses = [*_clause(snap, "updateCondition", context), *_clause(snap, "deleteCondition", context)]
        return replace(rule, writes=names, payload=_payload(snap, context), uses=tuple(uses))
    uses = [*_clause(snap, "whereClause", context), *_clause(snap, "soqlQuery", context)]
    listed = [_column(_only(row).setting().text) for row in snap.settings.get("outputFields").table()] or list(columns)
    given = tuple(_identity(parse_path(name)) for name in listed if name)
    return replace(rule, reads=names, columns=given, closed=bool(given), passes=_passes(snap), uses=tuple(uses))


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
    if known.place is Place.TABLE:
        schema_key, table_key = known.settings
        table = context.resolve(settings.get(table_key))
        schema = context.resolve(settings.get(schema_key)) if len(table_parts(table)) == 1 else ""
        return ((_table(snap, known, context, schema, table),) if table else ()), ()
    if known.place is Place.OBJECT:
        bucket, key = (context.resolve(settings.get(name)) for name in known.settings)
        return ((object_name(bucket, key, known.system, context.naming),) if bucket else ()), ()
    named = next((settings.get(key) for key in known.settings if not settings.get(key).unwrap().empty), None)
    if named is None:
        return (), ()
    if known.place is Place.FILE:
        url = context.resolve(named)
        return ((file_name(url, context.naming),) if url else ()), ()
    if known.place is Place.SOQL:
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


def _reference(snap: Snap, context: Context) -> Reference:
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
    return replace(rule, columns=tuple(_identity((column,)) for column in told[0]), closed=True)


def _spellings(dataset: DatasetName) -> tuple[str, str]:
    """A dataset's name, and without its first part (the database)."""
    return dataset.name, dataset.name.partition(".")[2]
