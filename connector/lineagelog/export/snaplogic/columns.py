"""The columns of every dataset and where each comes from, Snap after Snap, sources first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .classes import Role
from .expression import MAPPING
from .graph import Graph, Key, Port
from .paths import ROOT, Path, starts_with
from .shapes import (
    CONTENT,
    ORIGINAL,
    Column,
    Shape,
    SnapOutcome,
    SnapStep,
    before_split,
    covers,
    echo,
    origins,
    prefixed,
    sides_of,
    step_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .names import DatasetName
    from .rule import Assignment, Rule, SqlColumn
    from .shapes import Input, Source, Wanted


def forward(graph: Graph, rules: Mapping[Key, Rule], wanted: Wanted) -> dict[Key, SnapOutcome]:
    """The outcome of every Snap when these fields are wanted."""
    outcomes: dict[Key, SnapOutcome] = {}
    for key in graph.order:
        step = step_of(key, graph, rules, outcomes, wanted)
        views = [view for view in graph.taken.get(key, ()) if view]
        errors = {view: _error_shape(step, wanted.get(Port(key, view), {})) for view in views}
        reads = {name: _read_shape(step, name) for name in step.rule.reads}
        writes = {name: _written(step, name) for name in step.rule.writes}
        outcomes[key] = SnapOutcome(_OUTPUTS.get(step.rule.role, _unknown)(step), errors, reads, writes, _used(step))
    return outcomes


def _used(step: SnapStep) -> tuple[tuple[Source, str], ...]:
    uses = [(source, use.subtype) for use in step.rule.uses for source in origins(use.path, step.inputs)]
    sides = sides_of(step)
    for join in step.rule.joins:
        uses += [(source, "JOIN") for path in join.left for source in origins(path, sides.left)]
        uses += [(source, "JOIN") for path in join.right for source in origins(path, sides.named(join.view))]
    return tuple(dict.fromkeys(uses))


def _united(step: SnapStep) -> Shape:
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
    open_ones = [item.shape for item in inputs if item.shape.open]
    return Shape(columns, not inputs or bool(open_ones), bool(open_ones) and all(shape.answer for shape in open_ones))


def _mapped(step: SnapStep) -> Shape:
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
    if rule.more:
        columns.update({path: Column() for path in step.wanted if not covers(Shape(columns), path)})
    return Shape(columns, is_open)


def _passed(step: SnapStep) -> dict[Path, Column]:
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


def _column(assignment: Assignment, root: Path, inputs: Sequence[Input], after: bool = False) -> Column:
    """The column of an assignment below `root` (`after`: `root` is what follows the path that is read)."""
    reads = [path + root if after else root + path for path in assignment.reads]
    sources = [source for path in reads for source in origins(path, inputs)]
    conditions = [source for path in assignment.conditions for source in origins(root + path, inputs)]
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


def _whole(assignment: Assignment, step: SnapStep) -> dict[Path, Column]:
    """A document that is mapped to `$`: the columns below what was read, or else those that successors
    use."""
    columns: dict[Path, Column] = {}
    for read in assignment.reads:
        for item in step.inputs:
            below = {path for path in item.shape.columns if starts_with(path, read) and path != read}
            for path in sorted(below):
                columns[path[len(read) :]] = Column(((item.port, path),), assignment.description, assignment.subtype)
    is_copy = assignment.subtype == "IDENTITY"
    for path in step.wanted:
        column = _column(assignment, path if is_copy else ROOT, step.inputs, after=is_copy)
        if not covers(Shape(columns), path) and (column.sources or not is_copy):
            columns[path] = column
    return columns


def _joined(step: SnapStep) -> Shape:
    """Left fields keep their names; a field of a right input whose name is taken is prefixed with its view's label."""
    sides = sides_of(step)
    columns = dict(_union(sides.left).columns)
    for item in sides.right:
        taken = _by_name(columns)
        for name, own in _by_name(_union((item,)).columns).items():
            before = taken.get(name, {})
            if not before or (_only_perhaps(before) and not _only_perhaps(own)):
                columns = {path: column for path, column in columns.items() if path not in before} | own
            elif _only_perhaps(before) and _only_perhaps(own):
                columns |= {path: _either(before.get(path), column) for path, column in own.items()}
            elif not _only_perhaps(own):
                columns |= {prefixed(item.label, path): column for path, column in own.items()}
    return Shape(columns, any(item.shape.open for item in step.inputs))


def _by_name(columns: Mapping[Path, Column]) -> dict[str, dict[Path, Column]]:
    """Columns by their first name: names clash as a whole."""
    found: dict[str, dict[Path, Column]] = {}
    for path, column in columns.items():
        found.setdefault(path[0], {})[path] = column
    return found


def _only_perhaps(columns: Mapping[Path, Column]) -> bool:
    return all(column.maybe for column in columns.values())


def _either(before: Column | None, own: Column) -> Column:
    return replace(own, sources=(*before.sources, *own.sources)) if before else own


def _split(step: SnapStep) -> Shape:
    """The elements of an array, beside them the included paths and, if the Snap includes parents, the fields around
    the array."""
    rule = step.rule
    known = {
        path[len(rule.split) :] for item in step.inputs for path in item.shape.columns if starts_with(path, rule.split)
    }
    included = [path for path in rule.includes if not any(starts_with(want, path[-1:]) for want in step.wanted)]
    columns: dict[Path, Column] = {}
    for path in dict.fromkeys((*sorted(known - {ROOT}), *_around(step), *step.wanted, *included)):
        found, certain = before_split(step, path)
        sources = tuple(dict.fromkeys(source for each in found for source in origins(each, step.inputs)))
        if sources or not any(covers(item.shape, rule.split) for item in step.inputs):
            columns[path] = Column(sources, MAPPING, maybe=not certain)
    return Shape(columns)


def _around(step: SnapStep) -> list[Path]:
    """The fields on the way to the array that are in each element's document, too: no objects, no arrays."""
    split = step.rule.split
    levels = range(len(split)) if step.rule.parents else ()
    return [
        path[level:]
        for level in levels
        for item in step.inputs
        for path, column in item.shape.columns.items()
        if len(path) == level + 1 and starts_with(path, split[:level]) and not starts_with(split, path)
        if column.type not in ("array", "object") and not column.maybe
    ]


def _parsed(step: SnapStep) -> Shape:
    """What a parser finds: the columns that went into the bytes; what else is used lies in the field `content` that
    became bytes, or nobody knows where."""
    rule = step.rule
    columns = {} if rule.closed else dict(_union(step.inputs).columns)
    for path in (item.target for item in rule.columns) if rule.closed else step.wanted:
        if path not in columns and not covers(Shape(columns), path):
            sources = origins(path, step.inputs) or origins((CONTENT,), step.inputs)
            columns[path] = Column(sources, MAPPING if sources else "")
    return Shape(columns, open=not rule.closed)


def _wrapped(step: SnapStep) -> Shape:
    """Whole documents below one field (or, per input, below the label of its view), beside the fields that group
    them."""
    columns: dict[Path, Column] = {}
    for item in step.inputs:
        below = step.rule.wrap or (item.label,)
        for path, column in item.shape.columns.items():
            own = Column(((item.port, path),), MAPPING, type=column.type, maybe=column.maybe)
            columns[below + path] = _either(columns.get(below + path), own)
        if not item.shape.columns:
            columns[below] = Column()
    groups = {item.target: _column(item, ROOT, step.inputs) for item in step.rule.assignments}
    return Shape(columns | groups, open=any(item.shape.open for item in step.inputs))


def _generated(step: SnapStep) -> Shape:
    return Shape({item.target: Column(type=item.type) for item in step.rule.columns}, open=False)


def _read_shape(step: SnapStep, name: DatasetName) -> Shape:
    """The columns of a dataset that is read: those that are listed, else those that are used."""
    rule = step.rule
    if rule.role is Role.EXECUTE:
        return _queried(step, name)
    if rule.closed:
        return Shape({read: Column() for item in rule.columns for read in item.reads}, open=False)
    return Shape(_unlisted(step))


def _unlisted(step: SnapStep) -> dict[Path, Column]:
    """The columns that successors use of a Snap whose columns nobody lists."""
    return {path: Column(maybe=maybe) for path, maybe in step.wanted.items() if path[:1] != echo(step)}


def _queried(step: SnapStep, name: DatasetName) -> Shape:
    """The columns of a table that a statement names, and those that `*` gives to successors."""
    rule = step.rule
    made = (*rule.results, *(column for columns in rule.written.values() for column in columns))
    named = dict.fromkeys(source for column in made for table, source in column.sources if table == name)
    columns: dict[Path, Column] = {(source,): Column() for source in named}
    if name in rule.rest:
        columns.update({path: column for path, column in _starred(step).items() if path not in columns})
    return Shape(columns)


def _starred(step: SnapStep) -> dict[Path, Column]:
    """The columns that `*` gives, as far as successors use them: of the one table, or perhaps of each."""
    named = {column.target[0].lower() for column in step.rule.results}
    return {
        path: Column(tuple((table, path) for table in step.rule.rest), MAPPING, maybe=maybe or len(step.rule.rest) > 1)
        for path, maybe in step.wanted.items()
        if step.rule.rest and path[0].lower() not in named and path[:1] != echo(step)
    }


def _executed(step: SnapStep) -> Shape:
    """What a statement gives back: the columns of its SELECT, else its status, of which nothing is known."""
    rule = step.rule
    spelled = {path[0].lower(): path[0] for path in step.wanted}
    columns: dict[Path, Column] = {
        (spelled.get(column.target[0].lower(), column.target[0]),): _made(column, step) for column in rule.results
    }
    is_query = bool(rule.results or rule.rest)
    status = {path: Column() for path in step.wanted if not is_query and path[:1] != echo(step)}
    return Shape({**columns, **_starred(step), **status, **_echoed(step)}, open=bool(rule.rest) or not is_query)


def _made(column: SqlColumn, step: SnapStep) -> Column:
    """A column that a statement makes of table columns and fields of the document."""
    fields = (source for path in column.reads for source in origins(path, step.inputs))
    tables = ((table, (name,)) for table, name in column.sources)
    return Column(tuple(dict.fromkeys((*tables, *fields))), column.description, column.subtype)


def _read(step: SnapStep) -> Shape:
    rule = step.rule
    if rule.closed:
        columns = {
            item.target: Column(tuple((name, item.reads[0]) for name in rule.reads), MAPPING) for item in rule.columns
        }
    else:
        columns = {
            path: Column(tuple((name, path) for name in rule.reads), MAPPING, maybe=column.maybe)
            for path, column in _unlisted(step).items()
        }
    return Shape({**columns, **_echoed(step)}, open=not rule.closed)


def _echoed(step: SnapStep) -> dict[Path, Column]:
    """The input under `original`: what reaches the Snap, nothing else."""
    if not echo(step):
        return {}
    known = _union(step.inputs).columns
    below = [
        path[1:] for path in step.wanted if path[0] == ORIGINAL and len(path) > 1 and not covers(Shape(known), path[1:])
    ]
    paths = dict.fromkeys((*known, *below)) or dict.fromkeys([ROOT] if (ORIGINAL,) in step.wanted else [])
    found = {(ORIGINAL, *path): origins(path, step.inputs) for path in paths}
    return {
        path: Column(sources, MAPPING if sources else "")
        for path, sources in found.items()
        if sources or path == (ORIGINAL,)
    }


def _called(step: SnapStep) -> Shape:
    """What a writing or calling Snap puts out: its input under `original`, and whatever else successors use
    of it."""
    others = {path: Column() for path in step.wanted if path[0] != ORIGINAL}
    return Shape({**_echoed(step), **others}, answer=True)


def _written(step: SnapStep, name: DatasetName) -> Shape:
    """The columns that a Snap writes: all of its input, or what a producer's message or a statement names."""
    payload = step.rule.payload
    if step.rule.role is Role.EXECUTE:
        return Shape({column.target: _made(column, step) for column in step.rule.written.get(name, ())})
    if payload is None:
        return _union(step.inputs)
    return Shape({path: Column(origins(path, step.inputs), MAPPING) for path in payload}, open=False)


def _from_child(step: SnapStep) -> Shape:
    """What comes back from the child pipeline, if its run is known; else columns without origin, and the input under
    `original` (so the Snap puts it out when its child has no open output)."""
    back = [item for item in step.inputs if item.edge.from_child]
    if back:
        return _union(back)
    below = (path for path in step.wanted if path[0] == ORIGINAL and path[1:])
    own = {path: Column(found, MAPPING) for path in below if (found := origins(path[1:], step.inputs))}
    return Shape({path: Column() for path in step.wanted} | own)


def _unknown(step: SnapStep) -> Shape:
    return Shape({path: Column() for path in step.wanted})


def _error_shape(step: SnapStep, wanted: Mapping[Path, bool]) -> Shape:
    """An error document: what successors use of it; the failing input is under `original`."""
    columns = {path: origins(path[1:], step.inputs) if path[0] == ORIGINAL and path[1:] else () for path in wanted}
    return Shape({path: Column(sources, MAPPING if sources else "") for path, sources in columns.items()})


_OUTPUTS: Mapping[Role, Callable[[SnapStep], Shape]] = {
    Role.PASS: _united,
    Role.MAP: _mapped,
    Role.JOIN: _joined,
    Role.SPLIT: _split,
    Role.PARSE: _parsed,
    Role.WRAP: _wrapped,
    Role.GENERATE: _generated,
    Role.READ: _read,
    Role.EXECUTE: _executed,
    Role.WRITE: _called,
    Role.CALL: _called,
    Role.CHILD: _from_child,
}
