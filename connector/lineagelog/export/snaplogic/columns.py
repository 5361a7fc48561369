"""The columns of every dataset and where each comes from: demand runs upstream, columns run downstream.

A reader whose columns nobody lists (a Select without output fields, a parser, a topic) has the columns that
its successors use. So demand is carried from the Snaps that name fields back to their sources, then columns
with their origins forward. Three rounds: what is certain, then what a Join with two open sides leaves
undecided (asked of both sides), then the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .classes import Role
from .expression import MAPPING
from .graph import Edge, Graph, Key, Port, Vertex
from .names import DatasetName
from .paths import ROOT, Path, starts_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .rules import Assignment, JoinOn, Rule

type Ref = Port | DatasetName
type Source = tuple[Ref, Path]
type Wanted = dict[Port, dict[Path, bool]]
"""Which fields of a Snap's output are used later on; True = only perhaps (the other side of a Join may be
meant)."""

ORIGINAL = "original"
"""Where writing Snaps put the input document in their own output (SnapLogic's documentation)."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: where it comes from, how (see `Assignment`), its type if known; `maybe`: of this or of
    another dataset."""

    sources: tuple[Source, ...] = ()
    description: str = ""
    subtype: str = "IDENTITY"
    type: str = ""
    conditions: tuple[Source, ...] = ()
    maybe: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a dataset in order; `open`: it may have more than these."""

    columns: Mapping[Path, Column] = field(default_factory=dict)
    open: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a Snap reads and writes: its own output, its error views, its endpoints; `uses`: fields that
    decide about documents."""

    output: Shape
    errors: Mapping[str, Shape]
    reads: Mapping[DatasetName, Shape]
    writes: Mapping[DatasetName, Shape]
    uses: tuple[tuple[Source, str], ...]


@dataclass(frozen=True, slots=True)
class Input:
    """One edge into a Snap with the columns it brings and the label of the view it enters by."""

    edge: Edge
    shape: Shape
    label: str

    @property
    def port(self) -> Port:
        """Where the documents come from."""
        return self.edge.port

    @property
    def names(self) -> frozenset[str]:
        """What a row of a Join may call this input's view."""
        return frozenset({self.label, self.edge.dst_view})


@dataclass(frozen=True, slots=True)
class Step:
    """Everything about one Snap that its columns depend on."""

    vertex: Vertex
    rule: Rule
    inputs: tuple[Input, ...]
    wanted: Mapping[Path, bool]


def analyse(graph: Graph, rules: Mapping[Key, Rule]) -> dict[Key, Outcome]:
    """The outcome of every Snap of the graph."""
    wanted: Wanted = {}
    for undecided in (False, True):
        outcomes = _forward(graph, rules, wanted)
        wanted = _backward(graph, rules, outcomes, undecided)
    return _forward(graph, rules, wanted)


def shape_of(port: Port, outcomes: Mapping[Key, Outcome]) -> Shape:
    """The columns at a port; an open shape when the Snap was not looked at yet (a circle of links)."""
    outcome = outcomes.get(port.key)
    if outcome is None:
        return Shape()
    return outcome.errors.get(port.error_view, Shape()) if port.error_view else outcome.output


def _step(key: Key, graph: Graph, rules: Mapping[Key, Rule], outcomes: Mapping[Key, Outcome], wanted: Wanted) -> Step:
    vertex = graph.vertices[key]
    labels = {view.id: view.label for view in vertex.snap.inputs}
    inputs = tuple(
        Input(edge, shape_of(edge.port, outcomes), labels.get(edge.dst_view, edge.dst_view))
        for edge in graph.into.get(key, ())
    )
    return Step(vertex, rules[key], inputs, wanted.get(Port(key), {}))


def _forward(graph: Graph, rules: Mapping[Key, Rule], wanted: Wanted) -> dict[Key, Outcome]:
    outcomes: dict[Key, Outcome] = {}
    for key in graph.order:
        step = _step(key, graph, rules, outcomes, wanted)
        views = [view for view in graph.taken.get(key, ()) if view]
        errors = {view: _error_shape(step, wanted.get(Port(key, view), {})) for view in views}
        reads = {name: _read_shape(step) for name in step.rule.reads}
        writes = {name: _written(step) for name in step.rule.writes}
        outcomes[key] = Outcome(_OUTPUTS.get(step.rule.role, _unknown)(step), errors, reads, writes, _used(step))
    return outcomes


def _origins(path: Path, inputs: Iterable[Input]) -> tuple[Source, ...]:
    """Where a field of the input comes from: each input that has it or may have it; the whole document is all
    its columns."""
    found: dict[Source, None] = {}
    for item in inputs:
        if path == ROOT:
            found.update(dict.fromkeys((item.port, column) for column in item.shape.columns))
        else:
            found[(item.port, path)] = None
    return tuple(found)


def _used(step: Step) -> tuple[tuple[Source, str], ...]:
    uses = [(source, use.subtype) for use in step.rule.uses for source in _origins(use.path, step.inputs)]
    sides = _sides(step)
    for join in step.rule.joins:
        uses += [(source, "JOIN") for source in _origins(join.left, sides.left)]
        uses += [(source, "JOIN") for source in _origins(join.right, sides.named(join.view))]
    return tuple(dict.fromkeys(uses))


# --- columns downstream ---


def _united(step: Step) -> Shape:
    """Unchanged columns; the same column of several inputs has all of them as origin."""
    return _union(step.inputs) if step.inputs else _unknown(step)


def _union(inputs: Sequence[Input]) -> Shape:
    columns: dict[Path, Column] = {}
    for item in inputs:
        for path, column in item.shape.columns.items():
            before = columns.get(path)
            sources = (*(before.sources if before else ()), (item.port, path))
            kind = column.type if before is None or before.type == column.type else ""
            maybe = column.maybe and (before is None or before.maybe)
            columns[path] = Column(tuple(dict.fromkeys(sources)), MAPPING, type=kind, maybe=maybe)
    return Shape(columns, open=not inputs or any(item.shape.open for item in inputs))


def _mapped(step: Step) -> Shape:
    rule = step.rule
    columns = _passed(step)
    is_open = _united(step).open and (rule.passes or rule.root != ROOT)
    for assignment in rule.assignments:
        target = rule.root + assignment.target
        if target == ROOT:
            columns.update(_whole(assignment, step))
            is_open = True
        else:
            columns[target] = _column(assignment, rule.root, step.inputs)
    return Shape(columns, is_open)


def _passed(step: Step) -> dict[Path, Column]:
    """Columns that go through a Mapper untouched: with a mapping root and no pass-through, those outside the
    root (SnapLogic's documentation); never those that are mapped over or deleted."""
    rule = step.rule
    gone = {rule.root + path for path in rule.deletes} | {
        rule.root + item.target for item in rule.assignments if item.target
    }
    if not rule.passes and rule.root == ROOT:
        return {}
    return {
        path: column
        for path, column in _united(step).columns.items()
        if not any(starts_with(path, prefix) for prefix in gone) and (rule.passes or not starts_with(path, rule.root))
    }


def _column(assignment: Assignment, root: Path, inputs: Sequence[Input]) -> Column:
    sources = [source for path in assignment.reads for source in _origins(root + path, inputs)]
    conditions = [source for path in assignment.conditions for source in _origins(root + path, inputs)]
    kind = assignment.type
    if assignment.subtype == "IDENTITY" and len(sources) == 1:
        found = [item.shape.columns.get(sources[0][1]) for item in inputs if item.port == sources[0][0]]
        kind = kind or (found[0].type if found and found[0] else "")
    return Column(
        tuple(dict.fromkeys(sources)),
        assignment.description,
        assignment.subtype,
        kind,
        tuple(dict.fromkeys(conditions)),
    )


def _whole(assignment: Assignment, step: Step) -> dict[Path, Column]:
    """A document that is mapped to `$`: the columns below what was read, or else those that successors
    use."""
    columns: dict[Path, Column] = {}
    for read in assignment.reads:
        for item in step.inputs:
            below = {path for path in item.shape.columns if starts_with(path, read) and path != read}
            for path in sorted(below):
                columns[path[len(read) :]] = Column(((item.port, path),), assignment.description, assignment.subtype)
    for path in step.wanted:
        if path not in columns:
            columns[path] = _column(assignment, ROOT, step.inputs)
    return columns


@dataclass(frozen=True, slots=True)
class Sides:
    """The inputs of a Join: the left ones (no row names their view) and the right ones."""

    left: tuple[Input, ...]
    right: tuple[Input, ...]

    def named(self, view: str) -> tuple[Input, ...]:
        """The right input with that view label (or id); all right inputs when none has it."""
        return tuple(item for item in self.right if view in item.names) or self.right


def _sides(step: Step) -> Sides:
    named = {join.view for join in step.rule.joins if join.view}
    left = tuple(item for item in step.inputs if not named & item.names)
    if not named or not left:
        first = step.vertex.snap.inputs[0].label if step.vertex.snap.inputs else ""
        left = tuple(item for item in step.inputs if item.label == first) or step.inputs[:1]
    return Sides(left, tuple(item for item in step.inputs if item not in left))


def _joined(step: Step) -> Shape:
    """Left fields keep their names, a right field that clashes is prefixed with the label of its view."""
    sides = _sides(step)
    columns = dict(_union(sides.left).columns)
    for item in sides.right:
        for path, column in item.shape.columns.items():
            own = Column(((item.port, path),), MAPPING, type=column.type, maybe=column.maybe)
            before = columns.get(path)
            if before is None or (before.maybe and not own.maybe):
                columns[path] = own
            elif own.maybe and before.maybe:
                columns[path] = Column((*before.sources, *own.sources), MAPPING, maybe=True)
            elif not own.maybe:
                columns.setdefault(_prefixed(item.label, path), own)
    return Shape(columns, any(item.shape.open for item in step.inputs))


def _prefixed(label: str, path: Path) -> Path:
    return (f"{label}_{path[0]}", *path[1:])


def _split(step: Step) -> Shape:
    """The elements of an array: a used field lies below the split path, unless it is one of the included
    paths."""
    rule = step.rule
    known = {
        path[len(rule.split) :] for item in step.inputs for path in item.shape.columns if starts_with(path, rule.split)
    }
    columns: dict[Path, Column] = {}
    for path in dict.fromkeys((*sorted(known - {ROOT}), *step.wanted, *(item[-1:] for item in rule.includes))):
        columns[path] = Column(_origins(_before_split(rule, path), step.inputs), MAPPING)
    return Shape(columns)


def _before_split(rule: Rule, path: Path) -> Path:
    included = next((item for item in rule.includes if item[-1:] == path[:1]), None)
    return (*included, *path[1:]) if included else rule.split + path


def _generated(step: Step) -> Shape:
    return Shape({item.target: Column(type=item.type) for item in step.rule.columns}, open=False)


def _read_shape(step: Step) -> Shape:
    """The columns of a dataset that is read: those that are listed, else those that are used."""
    rule = step.rule
    if rule.role is Role.EXECUTE:
        return Shape()
    if rule.closed:
        return Shape({read: Column() for item in rule.columns for read in item.reads}, open=False)
    return Shape({path: Column(maybe=maybe) for path, maybe in step.wanted.items() if path[:1] != _echo(step)})


def _echo(step: Step) -> Path:
    """`("original",)` when the Snap puts its input there."""
    return (ORIGINAL,) if step.inputs and (step.rule.passes or step.rule.role is not Role.READ) else ()


def _read(step: Step) -> Shape:
    rule = step.rule
    if rule.closed:
        columns = {
            item.target: Column(tuple((name, item.reads[0]) for name in rule.reads), MAPPING) for item in rule.columns
        }
    else:
        columns = {
            path: Column(tuple((name, path) for name in rule.reads), MAPPING, maybe=column.maybe)
            for path, column in _read_shape(step).columns.items()
        }
    return Shape({**columns, **_echoed(step)}, open=not rule.closed)


def _echoed(step: Step) -> dict[Path, Column]:
    """The input under `original`."""
    if not _echo(step):
        return {}
    known = _union(step.inputs).columns
    below = [path[1:] for path in step.wanted if path[0] == ORIGINAL and len(path) > 1]
    paths = dict.fromkeys((*known, *below)) or dict.fromkeys([ROOT] if (ORIGINAL,) in step.wanted else [])
    return {(ORIGINAL, *path): Column(_origins(path, step.inputs), MAPPING) for path in paths}


def _called(step: Step) -> Shape:
    """What a writing or calling Snap puts out: its input under `original`, and whatever else successors use
    of it."""
    others = {path: Column() for path in step.wanted if path[0] != ORIGINAL}
    return Shape({**_echoed(step), **others})


def _written(step: Step) -> Shape:
    """The columns that a Snap writes: all of its input, or what a producer's message names."""
    payload = step.rule.payload
    if step.rule.role is Role.EXECUTE:
        return Shape()
    if payload is None:
        return _union(step.inputs)
    return Shape({path: Column(_origins(path, step.inputs), MAPPING) for path in payload}, open=False)


def _from_child(step: Step) -> Shape:
    """What comes back from the child pipeline, if its run is known; else columns without origin."""
    back = [item for item in step.inputs if item.edge.from_child]
    return _union(back) if back else _unknown(step)


def _unknown(step: Step) -> Shape:
    return Shape({path: Column() for path in step.wanted})


def _error_shape(step: Step, wanted: Mapping[Path, bool]) -> Shape:
    """An error document: what successors use of it; the failing input is under `original`."""
    columns = {path: _origins(path[1:], step.inputs) if path[0] == ORIGINAL and path[1:] else () for path in wanted}
    return Shape({path: Column(sources, MAPPING if sources else "") for path, sources in columns.items()})


_OUTPUTS: Mapping[Role, Callable[[Step], Shape]] = {
    Role.PASS: _united,
    Role.MAP: _mapped,
    Role.JOIN: _joined,
    Role.SPLIT: _split,
    Role.GENERATE: _generated,
    Role.READ: _read,
    Role.WRITE: _called,
    Role.CALL: _called,
    Role.CHILD: _from_child,
}


# --- demand upstream ---


class _Demand:
    """Collects which fields are wanted of which port; certain beats perhaps."""

    def __init__(self) -> None:
        self.wanted: Wanted = {}

    def ask(self, inputs: Iterable[Input], path: Path, maybe: bool = False) -> None:
        if path == ROOT:
            return
        for item in inputs:
            fields = self.wanted.setdefault(item.port, {})
            fields[path] = fields.get(path, True) and maybe


def _backward(graph: Graph, rules: Mapping[Key, Rule], outcomes: Mapping[Key, Outcome], undecided: bool) -> Wanted:
    demand = _Demand()
    for key in reversed(graph.order):
        step = _step(key, graph, rules, outcomes, demand.wanted)
        for use in step.rule.uses:
            demand.ask(step.inputs, use.path)
        for path in step.rule.payload or ():
            demand.ask(step.inputs, path)
        asker = _ASKERS.get(step.rule.role)
        if asker:
            asker(step, demand, undecided)
        for view in graph.taken.get(key, ()):
            if view:
                _ask_echo(step, demand, demand.wanted.get(Port(key, view), {}))
    return demand.wanted


def _ask_united(step: Step, demand: _Demand, _undecided: bool) -> None:
    for path, maybe in step.wanted.items():
        demand.ask((item for item in step.inputs if _may_have(item, path)), path, maybe)


def _may_have(item: Input, path: Path) -> bool:
    return item.shape.open or _covers(item.shape, path)


def _covers(shape: Shape, path: Path, certainly: bool = False) -> bool:
    """Whether the shape has the field, something in it, or the object that it is in (`certainly`: not only
    perhaps)."""
    return any(
        (starts_with(known, path) or starts_with(path, known)) and not (certainly and column.maybe)
        for known, column in shape.columns.items()
    )


def _ask_mapped(step: Step, demand: _Demand, _undecided: bool) -> None:
    rule = step.rule
    for assignment in rule.assignments:
        for path in (*assignment.reads, *assignment.conditions):
            demand.ask(step.inputs, rule.root + path)
        if assignment.target == ROOT:
            for below in assignment.reads:
                for path in step.wanted:
                    demand.ask(step.inputs, below + path, maybe=True)
    gone = {rule.root + path for path in rule.deletes} | {
        rule.root + item.target for item in rule.assignments if item.target
    }
    for path, maybe in step.wanted.items():
        through = rule.passes or (rule.root != ROOT and not starts_with(path, rule.root))
        if through and not any(starts_with(path, prefix) for prefix in gone):
            demand.ask(step.inputs, path, maybe)


def _ask_joined(step: Step, demand: _Demand, undecided: bool) -> None:
    sides = _sides(step)
    for join in step.rule.joins:
        demand.ask(sides.left, join.left)
        demand.ask(sides.named(join.view), join.right)
    for path, maybe in step.wanted.items():
        item, inner = _unprefixed(path, sides)
        if item is not None:
            demand.ask((item,), inner, maybe)
            continue
        found, certain = _owners(path, sides, step.rule.joins)
        if certain or undecided:
            demand.ask(found, path, maybe or not certain)


def _unprefixed(path: Path, sides: Sides) -> tuple[Input | None, Path]:
    """The right input that a prefixed name belongs to, and the name there."""
    if any(_has(item, path) for item in sides.left):
        return None, path
    for item in sides.right:
        rest = path[0].removeprefix(f"{item.label}_")
        if rest and rest != path[0]:
            return item, (rest, *path[1:])
    return None, path


def _has(item: Input, path: Path) -> bool:
    return _covers(item.shape, path, certainly=True)


def _owners(path: Path, sides: Sides, joins: Sequence[JoinOn]) -> tuple[list[Input], bool]:
    """Which inputs of a Join a field comes from, and whether that is certain: by columns, by join keys, by
    elimination."""
    if any(_has(item, path) for item in sides.left) or any(join.left == path for join in joins):
        return list(sides.left), True
    known = [item for item in sides.right if _has(item, path)]
    keyed = [item for join in joins if join.right == path for item in sides.named(join.view)]
    if known or keyed:
        return known or keyed, True
    candidates = [item for item in (*sides.left, *sides.right) if item.shape.open]
    return candidates, len(candidates) == 1


def _ask_split(step: Step, demand: _Demand, _undecided: bool) -> None:
    rule = step.rule
    for path in rule.includes:
        demand.ask(step.inputs, path)
    for path, maybe in step.wanted.items():
        demand.ask(step.inputs, _before_split(rule, path), maybe)
    if not step.wanted:
        demand.ask(step.inputs, rule.split)


def _ask_original(step: Step, demand: _Demand, _undecided: bool) -> None:
    if _echo(step):
        _ask_echo(step, demand, step.wanted)


def _ask_echo(step: Step, demand: _Demand, wanted: Mapping[Path, bool]) -> None:
    for path in wanted:
        if path[0] == ORIGINAL:
            demand.ask(step.inputs, path[1:])


def _ask_child(step: Step, demand: _Demand, _undecided: bool) -> None:
    for path, maybe in step.wanted.items():
        demand.ask((item for item in step.inputs if item.edge.from_child and _may_have(item, path)), path, maybe)


_ASKERS: Mapping[Role, Callable[[Step, _Demand, bool], None]] = {
    Role.PASS: _ask_united,
    Role.MAP: _ask_mapped,
    Role.JOIN: _ask_joined,
    Role.SPLIT: _ask_split,
    Role.READ: _ask_original,
    Role.WRITE: _ask_original,
    Role.CALL: _ask_original,
    Role.CHILD: _ask_child,
}


def undecided_joins(
    graph: Graph, rules: Mapping[Key, Rule], outcomes: Mapping[Key, Outcome]
) -> list[tuple[Vertex, list[Path]]]:
    """Joins with columns of which nobody can tell the side: the caller warns about them."""
    found = []
    for key in graph.order:
        columns = outcomes[key].output.columns
        doubtful = [
            path for path, column in columns.items() if column.maybe and len({ref for ref, _ in column.sources}) > 1
        ]
        if rules[key].role is Role.JOIN and doubtful:
            found.append((graph.vertices[key], doubtful))
    return found
