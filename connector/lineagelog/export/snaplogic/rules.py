"""What one configured Snap does, read from its settings: columns, fields it uses, datasets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import orjson

from .accounts import AccountBook, Reference, read_reference
from .classes import Place, Role, SnapClass
from .document import Finding, Node, Setting
from .expression import MAPPING, UNKNOWN, Expression, evaluate, read_expression
from .names import DatasetName, Naming, endpoint, file_name, object_name, table_name, table_parts
from .paths import ROOT, Path, parse_path
from .sql import select_list, soql, tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .pipeline import Snap


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
    """A row of a Join: fields of the left and of the right input, and the label of the right input's view."""

    left: Path
    right: Path
    view: str


@dataclass(frozen=True, slots=True)
class Rule:
    """What a Snap does. `columns`: what its source or target is known to have; `closed`: and nothing else.

    `passes`: input fields go on beside the mapped ones. `root`: the mapping root. `payload`: what a producer
    sends (None = all). `split` and `includes`: the paths of a JSON Splitter. `child`: the name of the
    pipeline that a Pipeline Execute runs.
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
    child: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """What a Snap's settings are read with: parameters of the run, accounts, naming, columns that a person
    told."""

    parameters: Mapping[str, str]
    accounts: AccountBook
    naming: Naming
    columns: Mapping[str, tuple[str, ...]]
    findings: list[Finding] = field(default_factory=list)

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

    def condition(self, node: Node) -> Expression:
        """The facts of a setting that can only be an expression, marked as one or not."""
        return self.facts(node, node.setting())

    def facts(self, node: Node, setting: Setting) -> Expression:
        """The facts of an expression; a finding when it could not be parsed."""
        if not setting.text.strip():
            return Expression()
        found = read_expression(setting.text)
        if found.problem:
            self.warn(node, f"expression not understood ({found.problem}); its fields were found word by word")
        return found


def read_rule(snap: Snap, known: SnapClass, context: Context) -> Rule:
    """What `snap` does; settings that cannot be resolved are findings in `context`, wrong types are
    InputErrors."""
    reader = {
        Role.PASS: _pass,
        Role.MAP: _mapper,
        Role.STRUCTURE: _structure,
        Role.CONDITIONAL: _conditional,
        Role.JOIN: _join,
        Role.AGGREGATE: _aggregate,
        Role.SPLIT: _split,
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
    uses += [Use(parse_path(_only_text(row)), "SORT") for row in settings.get("sortPaths").table()]
    listed = [_only_text(row) for row in settings.get("columnList").table()]
    if listed and not settings.get("containsHeader").unwrap().flag(True):
        return Rule(Role.MAP, tuple(_identity((column,)) for column in listed if column), uses=tuple(uses))
    return Rule(Role.PASS, uses=tuple(uses))


def _uses(expression: Expression, subtype: str) -> list[Use]:
    return [Use(path, subtype) for path in expression.reads if path]


def _identity(path: Path) -> Assignment:
    return Assignment(path, (path,), MAPPING, "IDENTITY")


def _mapper(snap: Snap, context: Context) -> Rule:
    table = snap.settings.get("transformations").unwrap()
    found: dict[Path, Assignment] = {}
    deletes: list[Path] = []
    for row in table.get("mappingTable").table():
        source, target = row.get("expression"), row.get("targetPath").setting().text
        if not target.strip():
            deletes.append(parse_path(source.setting().text))
            continue
        path = parse_path(target)
        found.pop(path, None)
        found[path] = _assigned(source, path, context)
    root = parse_path(table.get("mappingRoot").setting().text)
    passes = snap.settings.get("passThrough").unwrap().flag()
    return Rule(Role.MAP, tuple(found.values()), tuple(path for path in deletes if path), passes, root)


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


def _structure(snap: Snap, _context: Context) -> Rule:
    found: dict[Path, Assignment] = {}
    deletes: list[Path] = []
    passes = not snap.settings.get("passThrough").unwrap().text().lower().startswith(("none", "false"))
    for row in snap.settings.get("mappingTable").table():
        operation = row.get("operation").setting().text.lower()
        source, target = parse_path(_text(row, "sourcePath")), parse_path(_text(row, "targetPath"))
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
        target = parse_path(_text(row, "targetPath"))
        condition = context.condition(row.get("conditionalExpression"))
        value = _assigned(row.get("returnValue"), target, context)
        before = found.get(target, Assignment(target))
        reads = tuple(dict.fromkeys((*before.reads, *value.reads)))
        conditions = tuple(dict.fromkeys((*before.conditions, *condition.reads)))
        texts = dict.fromkeys(text for text in (before.description, value.description) if text)
        is_used = bool(reads or conditions)
        description = ", ".join(texts) or ("conditional" if is_used else "")
        found[target] = Assignment(target, reads, description, conditions=conditions)
    passes = snap.settings.get("passThrough").unwrap().flag(True)
    return Rule(Role.MAP, tuple(found.values()), passes=passes)


def _join(snap: Snap, context: Context) -> Rule:
    joins = tuple(
        JoinOn(_path(row, "leftPath", context), _path(row, "rightPath", context), _text(row, "rightInputView"))
        for row in snap.settings.get("joinPaths").table()
    )
    return Rule(Role.JOIN, joins=joins)


def _path(row: Node, key: str, context: Context) -> Path:
    setting = row.get(key).setting()
    is_parameter = setting.expression and setting.text.startswith("_")
    return parse_path(context.resolve(row.get(key)) if is_parameter else setting.text)


def _aggregate(snap: Snap, _context: Context) -> Rule:
    groups = [parse_path(_only_text(row)) for row in snap.settings.get("groupByFields").table()]
    found = [_identity(path) for path in groups if path]
    for row in snap.settings.get("aggregateFields").table():
        function, source = _text(row, "function") or "aggregate", parse_path(_text(row, "field"))
        target = parse_path(_text(row, "resultField")) or source
        kind = "integer" if function.lower().startswith("count") else ""
        found.append(Assignment(target, (source,) if source else (), function, "AGGREGATION", kind))
    assignments = {assignment.target: assignment for assignment in found if assignment.target}
    return Rule(Role.MAP, tuple(assignments.values()), uses=tuple(Use(path, "GROUP_BY") for path in groups if path))


def _only_text(row: Node) -> str:
    """The text of a row whose key is not documented: the first of its values that is a text."""
    if not isinstance(row.value, dict):
        return row.text()
    texts = [cell.unwrap().value for _, cell in row.items()]
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")


def _split(snap: Snap, _context: Context) -> Rule:
    settings = snap.settings
    includes = tuple(parse_path(_only_text(row)) for row in settings.get("includePaths").table())
    path = parse_path(settings.get("path").setting().text)
    return Rule(Role.SPLIT, split=path, includes=tuple(path for path in includes if path))


def _generate(snap: Snap, _context: Context) -> Rule:
    """A JSON Generator's content is literal JSON; where it is not (an expression, a template), the columns
    are unknown."""
    content = snap.settings.get("editable_content")
    try:
        value = orjson.loads(content.setting().text)
    except orjson.JSONDecodeError:
        return Rule(Role.OPAQUE)
    types: dict[Path, str] = {}
    for document in value if isinstance(value, list) else [value]:
        _leaves(document, types)
    columns = tuple(Assignment(path, type=kind) for path, kind in types.items())
    return Rule(Role.GENERATE, columns=columns, closed=True)


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
    """The tables of the statement; columns when it is a plain SELECT of one table."""
    node = next((snap.settings.get(key) for key in known.settings if not snap.settings.get(key).unwrap().empty), None)
    if node is None:
        return Rule(Role.EXECUTE)
    setting = node.setting()
    facts = context.facts(node, setting) if setting.expression else Expression(_bound(setting.text))
    statement = evaluate(setting.text, context.parameters) if setting.expression else setting.text
    found = tables(statement or "")
    if statement is None or any(UNKNOWN in name for name in (*found.reads, *found.writes)):
        context.warn(node, "a table of the statement depends on documents or unknown parameters; left out")
    reads, writes = (
        tuple(_table(snap, known, context, "", name) for name in names if UNKNOWN not in name)
        for names in (found.reads, found.writes)
    )
    rule = Rule(Role.EXECUTE, reads=reads, writes=writes, uses=tuple(_uses(facts, "FILTER")))
    listed = select_list(statement or "") if len(reads) == 1 and not writes else None
    if listed is None:
        return rule
    columns = tuple(Assignment((name,), ((source,),), MAPPING, "IDENTITY") for name, source in listed)
    return replace(rule, role=Role.READ, columns=columns, closed=bool(columns), passes=_passes(snap))


def _bound(statement: str) -> tuple[Path, ...]:
    """Fields that literal SQL binds: `$name`."""
    facts = read_expression(statement)
    return tuple(path for path in facts.reads if path)


def _passes(snap: Snap) -> bool:
    return snap.settings.get("passThrough").unwrap().flag()


def _endpoints(snap: Snap, known: SnapClass, context: Context, rule: Rule) -> Rule:
    """The datasets that a reader or writer names in its settings."""
    names, columns = _datasets(snap, known, context)
    if not names and known.place is not Place.NONE:
        context.warn(snap.settings, f"Snap {snap.label!r}: no {' or '.join(known.settings)}, so its dataset is unknown")
    if known.role is Role.WRITE:
        condition = [key for key in ("updateCondition", "deleteCondition") if snap.settings.has(key)]
        uses = [use for key in condition for use in _uses(context.expression(snap.settings.get(key)), "FILTER")]
        return replace(rule, writes=names, payload=_payload(snap, context), uses=tuple(uses))
    uses = _uses(context.expression(snap.settings.get("whereClause")), "FILTER")
    listed = [_column(_only_text(row)) for row in snap.settings.get("outputFields").table()] or list(columns)
    given = tuple(_identity(parse_path(name)) for name in listed if name)
    return replace(rule, reads=names, columns=given, closed=bool(given), passes=_passes(snap), uses=tuple(uses))


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
        entity, columns = soql(context.resolve(named))
        return ((_named(snap, known, context, entity),) if entity else ()), columns
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
