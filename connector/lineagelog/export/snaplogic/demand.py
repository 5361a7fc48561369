"""What every Snap needs of those before it, and with that the columns of all datasets.

A reader whose columns nobody lists (a Select without output fields, a parser, a topic) has the columns that
its successors use. So demand is carried from the Snaps that name fields back to their sources, then columns
with their origins forward (`columns.forward`). Three rounds: what is certain, then what a Join with two open
sides leaves undecided (asked of both sides), then the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .classes import Role
from .columns import forward
from .graph import Graph, Key, Port, Vertex
from .paths import ROOT, Path, starts_with
from .shapes import ORIGINAL, before_split, covers, echo, may_have, sides_of, step_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .rule import JoinOn, Rule
    from .shapes import Input, Sides, SnapOutcome, SnapStep, Wanted


@dataclass(frozen=True, slots=True)
class FlowAnalysis:
    """The outcome of every Snap, and the fields that Snaps use although nothing that reaches them has these."""

    outcomes: Mapping[Key, SnapOutcome]
    missing: Mapping[Key, tuple[Path, ...]]


def analyse(graph: Graph, rules: Mapping[Key, Rule]) -> FlowAnalysis:
    """The outcome of every Snap of the graph, and what is missing in it."""
    wanted: Wanted = {}
    for undecided in (False, True):
        wanted = _backward(graph, rules, forward(graph, rules, wanted), undecided).wanted
    outcomes = forward(graph, rules, wanted)
    missing: dict[Key, tuple[Path, ...]] = {}
    for key, path in _backward(graph, rules, outcomes, undecided=True).missing:
        missing[key] = (*missing.get(key, ()), path)
    return FlowAnalysis(outcomes, missing)


class _Demand:
    """Collects which fields are wanted of which port; certain beats perhaps. `missing`: fields that a Snap uses and no
    input of it has."""

    def __init__(self) -> None:
        self.wanted: Wanted = {}
        self.missing: dict[tuple[Key, Path], None] = {}

    def ask(self, step: SnapStep, inputs: Iterable[Input], path: Path, maybe: bool = False) -> None:
        if path == ROOT:
            return
        asked = list(inputs)
        for item in asked:
            fields = self.wanted.setdefault(item.port, {})
            fields[path] = fields.get(path, True) and maybe
        if asked and not maybe and not any(covers(item.shape, path) for item in asked):
            self.missing[step.vertex.key, path] = None


def _backward(graph: Graph, rules: Mapping[Key, Rule], outcomes: Mapping[Key, SnapOutcome], undecided: bool) -> _Demand:
    demand = _Demand()
    for key in reversed(graph.order):
        step = step_of(key, graph, rules, outcomes, demand.wanted)
        for use in step.rule.uses:
            demand.ask(step, step.inputs, use.path)
        for path in step.rule.payload or ():
            demand.ask(step, step.inputs, path)
        asker = _ASKERS.get(step.rule.role)
        if asker:
            asker(step, demand, undecided)
        for view in graph.taken.get(key, ()):
            if view:
                _ask_echo(step, demand, demand.wanted.get(Port(key, view), {}))
    return demand


def _ask_united(step: SnapStep, demand: _Demand, _undecided: bool) -> None:
    for path, maybe in step.wanted.items():
        demand.ask(step, (item for item in step.inputs if may_have(item, path)), path, maybe)


def _ask_mapped(step: SnapStep, demand: _Demand, _undecided: bool) -> None:
    rule = step.rule
    for assignment in rule.assignments:
        for path in (*assignment.reads, *assignment.conditions):
            demand.ask(step, step.inputs, rule.root + path)
        if assignment.target == ROOT:
            for below in assignment.reads:
                for path in step.wanted:
                    demand.ask(step, step.inputs, below + path, maybe=True)
    gone = {rule.root + path for path in rule.deletes} | {
        rule.root + item.target for item in rule.assignments if item.target
    }
    for path, maybe in step.wanted.items():
        through = rule.passes or (rule.root != ROOT and not starts_with(path, rule.root))
        if through and not any(starts_with(path, prefix) for prefix in gone):
            demand.ask(step, (item for item in step.inputs if may_have(item, path)), path, maybe)


def _ask_joined(step: SnapStep, demand: _Demand, undecided: bool) -> None:
    sides = sides_of(step)
    for join in step.rule.joins:
        for path in join.left:
            demand.ask(step, sides.left, path)
        for path in join.right:
            demand.ask(step, sides.named(join.view), path)
    behind = {path: place for path in step.wanted if (place := _unprefixed(path, sides))}
    clashing = {inner[0]: before for before, _, inner in behind.values()}
    for path, maybe in step.wanted.items():
        if path in behind:
            before, right, inner = behind[path]
            demand.ask(step, (right,), inner, maybe)
            plain = next((each for each in before if _has(each, inner[:1])), before[0])
            demand.ask(step, (plain,), inner[:1], maybe)
            continue
        found, certain = _owners(path, sides, step.rule.joins, clashing)
        if certain or undecided:
            demand.ask(step, found, path, maybe or not certain)


def _unprefixed(path: Path, sides: Sides) -> tuple[list[Input], Input, Path] | None:
    """For a name that a Join has prefixed: the inputs of which one has the plain name, the right input that it belongs
    to, and the name there."""
    if any(_has(item, path) for item in sides.left):
        return None
    for at, item in enumerate(sides.right):
        rest = path[0].removeprefix(f"{item.label}_")
        inner = (rest, *path[1:])
        before = [each for each in (*sides.left, *sides.right[:at]) if may_have(each, inner[:1])]
        if rest and rest != path[0] and before and may_have(item, inner):
            return before, item, inner
    return None


def _has(item: Input, path: Path) -> bool:
    return covers(item.shape, path, certainly=True)


def _owners(
    path: Path, sides: Sides, joins: Sequence[JoinOn], clashing: Mapping[str, list[Input]]
) -> tuple[list[Input], bool]:
    """Which inputs of a Join a field comes from, and whether that is certain: by columns, by join keys, because the
    prefixed name is used, too (then the plain one is of the input before), by elimination."""
    if any(_has(item, path) for item in sides.left) or any(path in join.left for join in joins):
        return list(sides.left), True
    if path[0] in clashing:
        return clashing[path[0]][:1], True
    known = [item for item in sides.right if _has(item, path)]
    keyed = [item for join in joins if path in join.right for item in sides.named(join.view)]
    if known or keyed:
        return known or keyed, True
    candidates = [item for item in (*sides.left, *sides.right) if item.shape.open]
    rather = [item for item in candidates if not item.shape.answer] or candidates
    return rather, len(rather) == 1


def _ask_split(step: SnapStep, demand: _Demand, _undecided: bool) -> None:
    for path in step.rule.includes:
        demand.ask(step, step.inputs, path)
    for path, maybe in step.wanted.items():
        found, certain = before_split(step, path)
        for each in found:
            demand.ask(step, (item for item in step.inputs if may_have(item, each)), each, maybe or not certain)
    if not step.wanted or not any(item.shape.open for item in step.inputs):
        demand.ask(step, step.inputs, step.rule.split)


def _ask_wrapped(step: SnapStep, demand: _Demand, _undecided: bool) -> None:
    for assignment in step.rule.assignments:
        for path in assignment.reads:
            demand.ask(step, step.inputs, path)
    for path, maybe in step.wanted.items():
        for item in step.inputs:
            below = step.rule.wrap or (item.label,)
            if starts_with(path, below) and may_have(item, path[len(below) :]):
                demand.ask(step, (item,), path[len(below) :], maybe)


def _ask_original(step: SnapStep, demand: _Demand, _undecided: bool) -> None:
    if echo(step):
        _ask_echo(step, demand, step.wanted)


def _ask_executed(step: SnapStep, demand: _Demand, undecided: bool) -> None:
    made = (*step.rule.results, *(column for columns in step.rule.written.values() for column in columns))
    for column in made:
        for path in column.reads:
            demand.ask(step, step.inputs, path)
    _ask_original(step, demand, undecided)


def _ask_echo(step: SnapStep, demand: _Demand, wanted: Mapping[Path, bool]) -> None:
    for path in wanted:
        if path[0] == ORIGINAL:
            demand.ask(step, (item for item in step.inputs if may_have(item, path[1:])), path[1:])


def _ask_child(step: SnapStep, demand: _Demand, _undecided: bool) -> None:
    for path, maybe in step.wanted.items():
        demand.ask(step, (item for item in step.inputs if item.edge.from_child and may_have(item, path)), path, maybe)
    if not any(item.edge.from_child for item in step.inputs):
        _ask_echo(step, demand, step.wanted)


_ASKERS: Mapping[Role, Callable[[SnapStep, _Demand, bool], None]] = {
    Role.PASS: _ask_united,
    Role.MAP: _ask_mapped,
    Role.JOIN: _ask_joined,
    Role.SPLIT: _ask_split,
    Role.PARSE: _ask_united,
    Role.WRAP: _ask_wrapped,
    Role.READ: _ask_original,
    Role.EXECUTE: _ask_executed,
    Role.WRITE: _ask_original,
    Role.CALL: _ask_original,
    Role.CHILD: _ask_child,
}


def undecided(
    graph: Graph, rules: Mapping[Key, Rule], outcomes: Mapping[Key, SnapOutcome]
) -> list[tuple[Vertex, list[Path]]]:
    """Snaps with columns of which nobody can tell from which of several places they come: the caller warns."""
    found = []
    for key in graph.order:
        columns = outcomes[key].output.columns
        doubtful = [path for path, column in columns.items() if column.maybe and len(column.sources) > 1]
        if rules[key].role in (Role.JOIN, Role.SPLIT, Role.EXECUTE) and doubtful:
            found.append((graph.vertices[key], doubtful))
    return found
