"""What the columns of datasets are kept in while they are followed, and where a field of a Snap's input comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .classes import Role
from .graph import Edge, Graph, Key, Port, Vertex
from .names import DatasetName
from .paths import ROOT, Path, starts_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .rule import Rule

type Ref = Port | DatasetName
type Source = tuple[Ref, Path]
type Wanted = dict[Port, dict[Path, bool]]
"""Which fields of a Snap's output are used later on; True = only perhaps (the other side of a Join may be
meant)."""

ORIGINAL = "original"
"""Where writing Snaps put the input document in their own output (SnapLogic's documentation)."""

CONTENT = "content"
"""The field of a document that becomes the bytes of a binary view, and the other way round."""


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
    """The columns of a dataset in order; `open`: it may have more than these; `answer`: no more than the answer of a
    Snap that writes or calls, such as a status."""

    columns: Mapping[Path, Column] = field(default_factory=dict)
    open: bool = True
    answer: bool = False


@dataclass(frozen=True, slots=True)
class SnapOutcome:
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
class SnapStep:
    """Everything about one Snap that its columns depend on."""

    vertex: Vertex
    rule: Rule
    inputs: tuple[Input, ...]
    wanted: Mapping[Path, bool]


def shape_of(port: Port, outcomes: Mapping[Key, SnapOutcome]) -> Shape:
    """The columns at a port; an open shape when the Snap was not looked at yet (a circle of links)."""
    outcome = outcomes.get(port.key)
    if outcome is None:
        return Shape()
    return outcome.errors.get(port.error_view, Shape()) if port.error_view else outcome.output


def step_of(
    key: Key, graph: Graph, rules: Mapping[Key, Rule], outcomes: Mapping[Key, SnapOutcome], wanted: Wanted
) -> SnapStep:
    """A Snap with what reaches it and what is wanted of it."""
    vertex = graph.vertices[key]
    labels = {view.id: view.label for view in vertex.snap.inputs}
    inputs = tuple(
        Input(edge, shape_of(edge.port, outcomes), labels.get(edge.dst_view, edge.dst_view))
        for edge in graph.into.get(key, ())
    )
    return SnapStep(vertex, rules[key], inputs, wanted.get(Port(key), {}))


def covers(shape: Shape, path: Path, certainly: bool = False) -> bool:
    """Whether the shape has the field, something in it, or the object that it is in (`certainly`: not only
    perhaps)."""
    exact = shape.columns.get(path)
    if exact is not None and not (certainly and exact.maybe):
        return True
    return any(not (certainly and shape.columns[known].maybe) for known in related(shape, path))


def may_have(item: Input, path: Path) -> bool:
    """Whether an input has a field, or could have it because nobody lists its columns."""
    return item.shape.open or covers(item.shape, path)


def related(shape: Shape, path: Path) -> list[Path]:
    """The columns that a field is made of: itself, else the object that it is in, else what lies below it."""
    for length in range(len(path), 0, -1):
        if path[:length] in shape.columns:
            return [path[:length]]
    return [known for known in shape.columns if starts_with(known, path)]


def origins(path: Path, inputs: Iterable[Input]) -> tuple[Source, ...]:
    """Where a field of the input comes from: the columns of each input that has it; the whole document is all its
    columns. Nothing where no input has it: then the field cannot be there."""
    found: dict[Source, None] = {}
    for item in inputs:
        columns = item.shape.columns if path == ROOT else related(item.shape, path)
        found.update(dict.fromkeys((item.port, column) for column in columns))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Sides:
    """The inputs of a Join: the left ones (of the first view that no row names) and the right ones."""

    left: tuple[Input, ...]
    right: tuple[Input, ...]

    def named(self, view: str) -> tuple[Input, ...]:
        """The right input with that view label (or id); all right inputs when none has it."""
        return tuple(item for item in self.right if view in item.names) or self.right


def sides_of(step: SnapStep) -> Sides:
    """Left is the first view that no row names as the right one."""
    named = {join.view for join in step.rule.joins if join.view}
    views = [view for view in step.vertex.snap.inputs if not named & {view.id, view.label}] or step.vertex.snap.inputs
    left = tuple(item for item in step.inputs if views and item.edge.dst_view == views[0].id) or step.inputs[:1]
    order = {view.id: at for at, view in enumerate(step.vertex.snap.inputs)}
    right = [item for item in step.inputs if item not in left]
    return Sides(left, tuple(sorted(right, key=lambda item: order.get(item.edge.dst_view, len(order)))))


def prefixed(label: str, path: Path) -> Path:
    """The name that a field of a right input has after a Join when another input has the name, too."""
    return (f"{label}_{path[0]}", *path[1:])


def echo(step: SnapStep) -> Path:
    """`("original",)` when the Snap puts its input there."""
    always = step.rule.role not in (Role.READ, Role.EXECUTE)
    return (ORIGINAL,) if step.inputs and (step.rule.passes or always) else ()


def before_split(step: SnapStep, path: Path) -> tuple[list[Path], bool]:
    """The fields of the input that a field of a JSON Splitter's output may be, and whether that is certain."""
    rule = step.rule
    for included in rule.includes:
        if starts_with(path, included):
            return [path], True
        if path[:1] == included[-1:]:
            return [included + path[1:]], True
    element = rule.split + path
    around = [rule.split[:level] + path for level in range(len(rule.split))] if rule.parents else []
    around = [each for each in around if not starts_with(each, rule.split) and not starts_with(rule.split, each)]
    for each in (element, *around):
        if any(_lists(item.shape, each) for item in step.inputs):
            return [each], True
    if not around or not any(item.shape.open for item in step.inputs):
        return [element], True
    return [element, *around], False


def _lists(shape: Shape, path: Path) -> bool:
    """Whether the shape certainly has a column for the field or below it."""
    return any(starts_with(known, path) and not shape.columns[known].maybe for known in related(shape, path))
