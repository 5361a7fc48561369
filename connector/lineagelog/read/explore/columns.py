"""Column lineage: which columns feed which, as the last writes of the datasets have it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from lineagelog.read.script import text_array

from .executions import key_of
from .graph import Depth, DrawnNode, GraphEdge, LineageGraph
from .lineage import LineageMap, LineageNode
from .scripts import Asking

_MOST: Final = 5000
"""Lineage contents that are looked at."""


class _Feed(Struct, frozen=True, kw_only=True):
    lineage_hash: str
    column_name: str | None
    from_namespace: str | None
    from_name: str | None
    from_column: str | None


class ColumnEdges(Struct):
    """Columns by (dataset id, column), and what feeds them; the column '' is the whole dataset."""

    below: dict[tuple[str, str], list[tuple[str, str]]]
    above: dict[tuple[str, str], list[tuple[str, str]]]

    def of(self, dataset: str) -> list[str]:
        """The columns of a dataset that have lineage."""
        found = {column for each in (self.below, self.above) for key, column in each if key == dataset}
        return sorted(found)


def column_edges(asking: Asking, lineage: LineageMap) -> ColumnEdges:
    """The edges between columns of datasets that the asker sees."""
    writers = {node.lineage_hash: node for node in lineage.nodes.values() if node.lineage_hash}
    of_hash: dict[str, list[LineageNode]] = {}
    for node in lineage.nodes.values():
        if node.lineage_hash:
            of_hash.setdefault(node.lineage_hash, []).append(node)
    hashes = list(writers)[:_MOST]
    edges = ColumnEdges({}, {})
    if not hashes:
        return edges
    for feed in asking.rows("columns", _Feed, {"hashes": text_array([str(each) for each in hashes])}):
        source = _source(lineage, feed)
        if source is None:
            continue
        for node in of_hash[feed.lineage_hash]:
            a, b = (source.id, feed.from_column or ""), (node.id, feed.column_name or "")
            edges.below.setdefault(a, []).append(b)
            edges.above.setdefault(b, []).append(a)
    return edges


def _source(lineage: LineageMap, feed: _Feed) -> LineageNode | None:
    if feed.from_name is None:
        return None
    return lineage.nodes.get(f"dataset:{key_of(feed.from_namespace or '', feed.from_name)}") or lineage.find(
        "dataset", feed.from_namespace or "", feed.from_name
    )


def column_graph(
    lineage: LineageMap, edges: ColumnEdges, focus: LineageNode, columns: Iterable[str], depth: Depth
) -> LineageGraph:
    """What feeds some columns of a dataset, and what they feed."""
    starts = [(focus.id, column) for column in columns]
    hops: dict[tuple[str, str], int] = dict.fromkeys(starts, 0)
    for most, ways, sign in ((depth.down, edges.below, 1), (depth.up, edges.above, -1)):
        ring = starts
        for hop in range(1, most + 1):
            ring = list(dict.fromkeys(each for key in ring for each in ways.get(key, ()) if each not in hops))
            hops.update(dict.fromkeys(ring, sign * hop))
    drawn = dict(sorted(hops.items(), key=lambda pair: abs(pair[1]))[: depth.limit])
    nodes = tuple(_node(lineage, key, hop, edges, drawn) for key, hop in drawn.items())
    found = tuple(
        GraphEdge(_id(key), _id(below), False)
        for key in drawn
        for below in dict.fromkeys(edges.below.get(key, ()))
        if below in drawn
    )
    return LineageGraph(
        focus=focus.id,
        nodes=nodes,
        edges=found,
        groups=(),
        shown=len(nodes),
        total=len(hops),
        downstream=sum(hop > 0 for hop in hops.values()),
        as_of=None,
    )


def _id(key: tuple[str, str]) -> str:
    return f"{key[0]}#{key[1]}"


def _node(lineage: LineageMap, key: tuple[str, str], hop: int, edges: ColumnEdges, drawn: dict[Any, int]) -> DrawnNode:
    node = lineage.nodes[key[0]]
    return DrawnNode(
        id=_id(key),
        kind="column",
        namespace=node.namespace,
        name=node.name,
        column=key[1],
        state=node.state,
        said=node.said,
        at=node.at,
        run_id=node.run_id,
        rows=None,
        bytes=None,
        hop=hop,
        up=sum(each not in drawn for each in edges.above.get(key, ())),
        down=sum(each not in drawn for each in edges.below.get(key, ())),
        hidden=0,
        findings=0,
    )
