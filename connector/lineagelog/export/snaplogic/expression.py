"""What an expression does: the fields it reads, its functions and operators, its value if it is constant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .parser import Tree, parse
from .paths import ROOT, Path, parse_path
from .tokens import GAP, ExpressionError, TokenKind, tokenize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MAPPING = "Mapping"
"""SnapLogic's description of a column that is taken over unchanged."""

_BY_NAME = frozenset({"get", "hasOwnProperty", "hasPath"})
"""Methods whose first argument names a field of what they are called on."""

_PLACE = re.compile("%[sd]")
_LENGTH = "length"
_MAX_CHAIN = 50


@dataclass(frozen=True, slots=True)
class Expression:
    """The facts of one expression text.

    `reads`: fields, each once, in source order (`()` = the whole document). `functions`: called names, dotted
    for library and static ones (`Date.parse`, `lib.x.f`). `operators`: as written, `?:` for the conditional.
    `direct`: nothing but a path. `problem`: why the text could not be parsed; reads and functions are then
    found word by word. `guards`: fields that are asked whether they are there (`$.hasPath("x")`).
    """

    reads: tuple[Path, ...] = ()
    functions: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    direct: bool = False
    problem: str = ""
    guards: tuple[Path, ...] = ()

    @property
    def description(self) -> str:
        """ "Mapping", or the functions that make the value, or else the operators; "" for a constant."""
        if not self.reads:
            return ""
        if self.direct:
            return MAPPING
        return ", ".join(self.functions) or " ".join(self.operators) or "expression"


def read_expression(text: str) -> Expression:
    """The facts of `text`. Never fails: see `Expression.problem`."""
    try:
        return _facts(parse(text))
    except ExpressionError as error:
        return _scan(text, str(error))


def _facts(tree: Tree) -> Expression:
    collector = _Collector()
    collector.walk(tree)
    steps, base = _chain(tree)
    plain = base.kind == "root" and all(step.kind != "call" for step in steps)
    direct = plain and len(collector.reads) == 1 and not collector.functions
    return Expression(
        _once(collector.reads),
        _once(collector.functions),
        _once(collector.operators),
        direct,
        guards=_once(collector.guards),
    )


def _once[T](found: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(found))


def _chain(tree: Tree) -> tuple[list[Tree], Tree]:
    """The steps (member, index, call) from a base to `tree`, first step first, and the base."""
    steps: list[Tree] = []
    while tree.kind in ("member", "index", "call"):
        steps.append(tree)
        tree = tree.children[0]
    return steps[::-1], tree


class _Collector:
    """Walks a tree without recursion and notes what it finds, in source order."""

    def __init__(self) -> None:
        self.reads: list[Path] = []
        self.guards: list[Path] = []
        self.functions: list[str] = []
        self.operators: list[str] = []

    def walk(self, tree: Tree) -> None:
        todo = [tree]
        while todo:
            node = todo.pop()
            steps, base = _chain(node)
            following = self._steps(base, steps)
            if base.kind in ("binary", "unary", "ternary"):
                self.operators.append(str(base.value))
            elif base.kind in ("match", "template", "object", "array"):
                self.operators.append(base.kind)
            todo.extend(reversed([*base.children, *following]))

    def _steps(self, base: Tree, steps: list[Tree]) -> list[Tree]:
        """Note the path or the function that a chain is; give back the trees in it that are still to be
        walked."""
        names: list[str] = []
        open_path = True
        rest: list[Tree] = []
        at = 0
        while at < len(steps):
            step = steps[at]
            called = at + 1 < len(steps) and steps[at + 1].kind == "call"
            if step.kind == "call":
                rest.extend(self._call(base, names, open_path, None, step.children[1:]))
                open_path = False
            elif step.kind == "member" and called:
                rest.extend(self._call(base, names, open_path, str(step.value), steps[at + 1].children[1:]))
                open_path = False
                at += 1
            elif open_path:
                rest.extend(self._step(step, names))
            elif step.kind == "index":
                rest.append(step.children[1])
            at += 1
        if open_path and base.kind == "root":
            self._read(names)
        return rest

    def _step(self, step: Tree, names: list[str]) -> list[Tree]:
        if step.kind == "member":
            names.append(str(step.value))
            return []
        index = step.children[1]
        if index.kind == "literal":
            if isinstance(index.value, str) and index.value != "*":
                names.append(index.value)
            return []
        return [index]

    def _call(
        self, base: Tree, names: list[str], first: bool, method: str | None, arguments: tuple[Tree, ...]
    ) -> list[Tree]:
        """One call in a chain; `first` = nothing was called before, so `names` is still a path from the
        base."""
        if base.kind == "root":
            return self._method(names, first, method, arguments)
        if base.kind != "name" or not first:
            self._function(method)
            return list(arguments)
        own = str(base.value)
        dotted = [own, *names, *([method] if method else [])]
        static = not own.startswith("_")
        self._function(".".join(dotted) if static else method)
        if own == "jsonPath" and len(dotted) == 1:
            return self._json_path(arguments)
        return list(arguments)

    def _method(self, names: list[str], first: bool, method: str | None, arguments: tuple[Tree, ...]) -> list[Tree]:
        self._function(method)
        if not first:
            return list(arguments)
        named = arguments[0].value if arguments and arguments[0].kind == "literal" else None
        if method in _BY_NAME and isinstance(named, str):
            self._read([*names, *parse_path(named)])
            self.guards.append((*names, *parse_path(named)))
            return list(arguments[1:])
        self._read(names)
        return list(arguments)

    def _json_path(self, arguments: tuple[Tree, ...]) -> list[Tree]:
        """`jsonPath($a, "$.b[*].c")` reads a.b.c, not all of a."""
        if len(arguments) >= 2 and arguments[1].kind == "literal" and isinstance(arguments[1].value, str):
            steps, base = _chain(arguments[0])
            if base.kind == "root" and all(step.kind == "member" for step in steps):
                self._read([*(str(step.value) for step in steps), *parse_path(arguments[1].value)])
                return list(arguments[2:])
        return list(arguments)

    def _function(self, name: str | None) -> None:
        if name:
            self.functions.append(name)

    def _read(self, names: list[str]) -> None:
        if len(names) > 1 and names[-1] == _LENGTH:
            self._function(_LENGTH)
            names = names[:-1]
        self.reads.append(tuple(names))


def _scan(text: str, problem: str) -> Expression:
    """Fields and called names word by word, for text that is no expression."""
    tokens, _ = tokenize(text)
    reads: list[Path] = []
    functions: list[str] = []
    for at, token in enumerate(tokens):
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if token.kind is TokenKind.NAME and following and following.text == "(":
            functions.append(token.text)
        if token.kind is TokenKind.ROOT:
            named = following is not None and following.kind is TokenKind.NAME and following.at == token.at + 1
            reads.append((following.text,) if named and following else ROOT)
    return Expression(_once(reads), _once(functions), problem=problem)


UNKNOWN = "\ufffc"
"""Stands in a partly known text for what only a run could tell."""


def evaluate(text: str, parameters: Mapping[str, str]) -> str | None:
    """The text that an expression gives when pipeline parameters (`_name`) are its only inputs; parts that
    cannot be known without data become `UNKNOWN`. None when nothing of it is known or the text is no
    expression."""
    try:
        value = _value(parse(text), parameters)
    except ExpressionError:
        return None
    return None if value is UNKNOWN or value is None else _as_text(value)


def pieces(text: str, parameters: Mapping[str, str]) -> list[str | Expression]:
    """The operands of a text that is put together with `+`: their text where parameters are enough to know it, else
    their facts. A text that is no expression is one piece with what was found in it word by word."""
    try:
        todo = [parse(text)]
    except ExpressionError as error:
        return [_scan(text, str(error))]
    found: list[str | Expression] = []
    while todo:
        tree = todo.pop()
        if tree.kind == "binary" and tree.value == "+":
            todo.extend(reversed(tree.children))
            continue
        if tree.kind == "template" and tree.children:
            todo.extend(reversed(_template_parts(tree)))
            continue
        value = _value(tree, parameters)
        is_known = not (isinstance(value, str) and UNKNOWN in value)
        found.append(_as_text(value) if is_known else _facts(tree))
    return found


def _template_parts(tree: Tree) -> list[Tree]:
    """The texts and the expressions of a template, in order."""
    texts = str(tree.value).split(GAP)
    found = [Tree("literal", texts[0])]
    for text, part in zip(texts[1:], tree.children, strict=False):
        found += [part, Tree("literal", text)]
    return found


type _Value = str | float | bool | None


def _value(tree: Tree, parameters: Mapping[str, str]) -> _Value:
    if tree.kind == "binary":
        return _binary(tree, parameters)
    if tree.kind == "literal":
        return tree.value
    if tree.kind == "name" and isinstance(tree.value, str) and tree.value.startswith("_"):
        return parameters.get(tree.value[1:], UNKNOWN)
    if tree.kind == "template":
        return "".join(_as_text(_value(part, parameters)) for part in _template_parts(tree))
    if tree.kind == "ternary":
        return _chosen(tree, parameters)
    if tree.kind == "unary" and tree.value == "!":
        inner = _value(tree.children[0], parameters)
        return UNKNOWN if inner == UNKNOWN else not inner
    if tree.kind == "call":
        return _called(tree, parameters)
    return UNKNOWN


def _binary(tree: Tree, parameters: Mapping[str, str]) -> _Value:
    """Operators of equal rank lean left, thousands deep when generated: unrolled, not recursive."""
    todo: list[Tree] = []
    while tree.kind == "binary":
        todo.append(tree)
        tree = tree.children[0]
    value = _value(tree, parameters)
    for node in reversed(todo):
        value = _operated(str(node.value), value, _value(node.children[1], parameters))
    return value


def _operated(operator: str, left: _Value, right: _Value) -> _Value:
    if operator == "+":
        if isinstance(left, float) and isinstance(right, float):
            return left + right
        return _as_text(left) + _as_text(right)
    if any(isinstance(side, str) and UNKNOWN in side for side in (left, right)):
        return UNKNOWN
    if operator in ("==", "==="):
        return left == right
    if operator in ("!=", "!=="):
        return left != right
    if operator == "&&":
        return left and right
    if operator in ("||", "??"):
        return left or right
    return UNKNOWN


def _chosen(tree: Tree, parameters: Mapping[str, str]) -> _Value:
    condition = _value(tree.children[0], parameters)
    if isinstance(condition, str) and UNKNOWN in condition:
        return UNKNOWN
    return _value(tree.children[1 if condition else 2], parameters)


_TEXT_METHODS: Mapping[str, Callable[[str], str]] = {
    "toUpperCase": str.upper,
    "toLowerCase": str.lower,
    "trim": str.strip,
    "toString": str,
}


def _called(tree: Tree, parameters: Mapping[str, str]) -> _Value:
    """The few text methods that names are built with."""
    target = tree.children[0]
    if target.kind != "member" or len(_chain(tree)[0]) > _MAX_CHAIN:
        return UNKNOWN
    value = _value(target.children[0], parameters)
    given = [_as_text(_value(argument, parameters)) for argument in tree.children[1:]]
    if given and target.value == "sprintf":
        return _formatted(_as_text(value), given)
    if given:
        return _as_text(value) + "".join(given) if target.value == "concat" else UNKNOWN
    known = isinstance(value, str) and UNKNOWN not in value
    method = _TEXT_METHODS.get(str(target.value))
    return method(value) if known and method and isinstance(value, str) else UNKNOWN


def _formatted(text: str, values: list[str]) -> str:
    """`sprintf` with nothing but `%s` and `%d`."""
    texts = _PLACE.split(text)
    if len(texts) != len(values) + 1 or any("%" in each for each in texts):
        return UNKNOWN
    return texts[0] + "".join(value + each for value, each in zip(values, texts[1:], strict=True))


def _as_text(value: _Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return "null" if value is None else value
