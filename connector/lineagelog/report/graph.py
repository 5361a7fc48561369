"""The graph of what a bad dataset or run reached: laid out in columns by distance, drawn as SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from .markup import Markup, short, tag
from .model import Blast

_ROWS: Final = 9
"""Things that a column shows; the others are one."""
_COLUMNS: Final = 13
_BOX, _GAP, _ROW = (196, 30), 40, 42


class GraphNode(Struct, frozen=True):
    """A dataset or a job, and where it stands."""

    key: str
    is_job: bool
    column: int
    row: int
    hidden: int = 0
    """It stands for so many that are not drawn."""

    @property
    def x(self) -> float:
        """Of its left edge."""
        return 8 + self.column * (_BOX[0] + _GAP)

    @property
    def y(self) -> float:
        """Of its middle."""
        return 28 + self.row * _ROW


class BlastGraph(Struct, frozen=True):
    """All that is drawn: nodes, and the pairs of places in them that are joined."""

    nodes: Sequence[GraphNode]
    edges: Sequence[tuple[int, int]]


def layout(blast: Blast) -> BlastGraph:
    """Jobs between the datasets that they read and wrote; each thing once, as near to the start as it was reached."""
    columns: dict[str, int] = {}
    pairs: dict[tuple[str, str], None] = {}
    for step in sorted(blast.steps, key=lambda each: each.depth):
        source, job = f"d {step.source}", f"j {step.job}"
        columns.setdefault(source, 2 * step.depth - 2)
        columns.setdefault(job, 2 * step.depth - 1)
        pairs[source, job] = None
        if step.target is not None:
            columns.setdefault(f"d {step.target}", 2 * step.depth)
            pairs[job, f"d {step.target}"] = None
    nodes, places = _placed(columns)
    joined = {(places[a], places[b]): None for a, b in pairs if a in places and b in places and places[a] != places[b]}
    return BlastGraph(nodes, list(joined))


def _placed(columns: dict[str, int]) -> tuple[list[GraphNode], dict[str, int]]:
    nodes: list[GraphNode] = []
    places: dict[str, int] = {}
    for column in range(_COLUMNS):
        keys = [key for key, of in columns.items() if of == column]
        shown = keys if len(keys) <= _ROWS else keys[: _ROWS - 1]
        for row, key in enumerate(shown):
            places[key] = len(nodes)
            nodes.append(GraphNode(key[2:], key.startswith("j"), column, row))
        if rest := keys[len(shown) :]:
            places.update(dict.fromkeys(rest, len(nodes)))
            nodes.append(GraphNode("", column % 2 == 1, column, len(shown), len(rest)))
    return nodes, places


def graph(blast: Blast) -> Markup:
    """Rectangles are datasets, round boxes jobs; what was reached has a red edge at its left."""
    laid = layout(blast)
    width = 16 + max((node.x for node in laid.nodes), default=0) + _BOX[0]
    height = 24 + max((node.y for node in laid.nodes), default=28)
    edges = [tag("path", d=_way(laid.nodes[a], laid.nodes[b]), class_="way") for a, b in laid.edges]
    boxes = [_node(node) for node in laid.nodes]
    label = "What was reached, from left to right"
    box = f"0 0 {width:.0f} {height:.0f}"
    return tag(
        "svg", edges, boxes, viewBox=box, width=width, height=height, role="img", aria_label=label, class_="graph"
    )


def _way(a: GraphNode, b: GraphNode) -> str:
    x, end = a.x + _BOX[0], b.x
    bend = max(18.0, (end - x) / 2)
    return f"M{x:.0f} {a.y:.0f}C{x + bend:.0f} {a.y:.0f} {end - bend:.0f} {b.y:.0f} {end:.0f} {b.y:.0f}"


def _node(node: GraphNode) -> Markup:
    kind = "job" if node.is_job else "dataset"
    text = f"{node.hidden} more {kind}s" if node.hidden else short(node.key.rpartition("/")[2] or node.key, 26)
    width, height = _BOX
    top = node.y - height / 2
    is_start = node.column == 0
    box = tag("rect", x=node.x, y=top, width=width, height=height, rx=15 if node.is_job else 3, class_=f"box {kind}")
    edge = tag("path", d=f"M{node.x + 1.5:.1f} {top + 3:.1f}v{height - 6}", class_="hit" if is_start else "risk")
    said = tag("text", text, x=node.x + (14 if node.is_job else 10), y=node.y + 4, class_="on", direction="ltr")
    return tag("g", box, None if node.is_job else edge, said, tag("title", f"{kind} {node.key}" if node.key else text))
