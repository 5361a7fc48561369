"""What a Snap does with documents, read from its settings; its datasets: `endpoints`."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from .classes import Role, SnapClass
from .endpoints import read_endpoints, read_sql
from .expression import MAPPING, UNKNOWN, Expression, evaluate
from .paths import ROOT, Path
from .rule import Assignment, Context, JoinOn, Rule, Use, identity, only
from .shapes import CONTENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .document import Node
    from .pipeline import Snap


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
        return read_sql(snap, known, context)
    if known.role in (Role.READ, Role.WRITE):
        return read_endpoints(snap, known, context)
    return Rule(known.role)


def _pass(snap: Snap, context: Context) -> Rule:
    settings, uses = snap.settings, []
    uses += _uses(context.condition(settings.get("filterExpression")), "FILTER")
    for route in settings.get("routes").table():
        uses += _uses(context.condition(route.get("expression")), "FILTER")
    for row in settings.get("sortPaths").table():
        uses += [Use(path, "SORT") for path in context.paths(only(row, "sortPath"))]
    return Rule(Role.PASS, uses=tuple(uses))


def _parse(snap: Snap, context: Context) -> Rule:
    """A parser passes on what went into the bytes; without a header its list of columns tells."""
    if snap.kind.endswith("binarytodocument"):
        return Rule(Role.MAP, (Assignment((CONTENT,), (ROOT,), MAPPING),), more=True)
    listed = [only(row).setting().text for row in snap.settings.get("columnList").table()]
    has_header = snap.settings.get("containsHeader").unwrap().flag(True)
    columns = tuple(identity((column,)) for column in listed if column) if not has_header else ()
    return replace(_pass(snap, context), role=Role.PARSE, columns=columns, closed=bool(columns))


def _wrap(snap: Snap, context: Context) -> Rule:
    """Group By N and Group By Fields put whole documents below a target field, Gate below the label of each input."""
    settings = snap.settings
    target = next((path for key in ("targetField", "groupsOutput") for path in context.paths(settings.get(key))), ROOT)
    if target == ROOT and not snap.kind.endswith("gate"):
        target = ("group",)
    rows = [*settings.get("groupFields").table(), *settings.get("fields").table()]
    groups = tuple(path for row in rows for path in context.paths(only(row)))
    return Rule(Role.WRAP, tuple(identity(path) for path in groups), wrap=target, uses=_grouping(groups))


def _grouping(groups: tuple[Path, ...]) -> tuple[Use, ...]:
    return tuple(Use(path, "GROUP_BY") for path in groups)


def _uses(expression: Expression, subtype: str) -> list[Use]:
    return [Use(path, subtype) for path in expression.reads if path]


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
    groups = tuple(path for row in rows for path in context.paths(only(row)))
    found = [identity(path) for path in groups]
    for row in snap.settings.get("aggregateFields").table():
        function, sources = _text(row, "function") or "aggregate", context.paths(row.get("field"))
        target = context.path(row.get("resultField")) or next(iter(sources), ROOT)
        kind = "integer" if function.lower().startswith("count") else ""
        found.append(Assignment(target, sources, function, "AGGREGATION", kind))
    assignments = {assignment.target: assignment for assignment in found if assignment.target}
    return Rule(Role.MAP, tuple(assignments.values()), uses=_grouping(groups))


def _split(snap: Snap, context: Context) -> Rule:
    settings = snap.settings
    includes = tuple(path for row in settings.get("includePaths").table() for path in context.paths(only(row)))
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
