"""The graph around a job or dataset: what lies up- and downstream, up to a limit, the rest as groups with counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from .lineage import WORST, LineageEdge, LineageMap, LineageNode

DRAWN: Final = 300
MOST: Final = 2000
"""Nodes of one answer, where somebody asks for so many."""
DEEPEST: Final = 30
_NAMED: Final = 50
"""Members of a group that are named."""


class DrawnNode(Struct, frozen=True, kw_only=True):
    """A node of an answer."""

    id: str
    kind: str
    """job, dataset or column."""
    namespace: str
    name: str
    column: str | None = None
    state: str
    """failed, stale, stuck, late, running, fixed, aborted, completed; none: nothing is known of it."""
    said: str
    """What makes the state, in a few words; may be empty."""
    at: datetime | None
    run_id: str | None
    rows: int | None
    bytes: int | None
    hop: int
    """How many edges from the middle: below 0 upstream."""
    up: int
    """Neighbours upstream that are not in the answer."""
    down: int
    hidden: int
    """Jobs at it that the asker must not see."""
    findings: int
    change: str | None = None
    """Compared with the other time: new, gone or changed."""
    is_pipeline: bool = False


class GraphEdge(Struct, frozen=True):
    """An edge of an answer."""

    a: str
    b: str
    is_announced: bool
    change: str | None = None


class GraphGroup(Struct, frozen=True, kw_only=True):
    """Nodes that are not drawn one by one."""

    id: str
    kind: str
    hop: int
    count: int
    state: str
    """The worst of them."""
    members: tuple[str, ...]
    """Names of the first ones."""
    a: tuple[str, ...]
    """Nodes of the answer that lead into it."""
    b: tuple[str, ...]
    """Nodes that it leads into."""


class LineageGraph(Struct, frozen=True, kw_only=True):
    """The graph around a node."""

    focus: str
    nodes: tuple[DrawnNode, ...]
    edges: tuple[GraphEdge, ...]
    groups: tuple[GraphGroup, ...]
    shown: int
    total: int
    """Within the depth that was asked for."""
    downstream: int
    """Everything below the middle, at whatever depth."""
    as_of: datetime | None
    compared_with: datetime | None = None


class Depth(Struct, frozen=True):
    """How far is looked."""

    up: int = 1
    down: int = 1
    limit: int = DRAWN


def graph(
    lineage: LineageMap,
    focus: LineageNode,
    depth: Depth,
    *,
    as_of: datetime | None = None,
    before: LineageMap | None = None,
) -> LineageGraph:
    """What lies around a node; ``before`` is the lineage to compare with."""
    both = lineage if before is None else _together(lineage, before)
    hops = hops_around(both, focus.id, depth)
    order = sorted(hops, key=lambda key: (abs(hops[key]), WORST.index(both.nodes[key].state), both.nodes[key].name))
    drawn = dict.fromkeys(order[: depth.limit])
    nodes = tuple(_node(both, key, hops[key], drawn, _change_of(key, lineage, before)) for key in drawn)
    edges = tuple(
        GraphEdge(edge.a, edge.b, edge.is_announced, _change_of_edge(edge, lineage, before))
        for key in drawn
        for below in both.below.get(key, ())
        if below in drawn and (edge := both.edges[key, below])
    )
    return LineageGraph(
        focus=focus.id,
        nodes=nodes,
        edges=edges,
        groups=_groups(both, order[depth.limit :], hops, drawn),
        shown=len(nodes),
        total=len(hops),
        downstream=len(reach(lineage.below, focus.id)),
        as_of=as_of,
    )


def hops_around(lineage: LineageMap, focus: str, depth: Depth) -> dict[str, int]:
    """The nodes within the depth, each with its distance; those above are below 0."""
    hops = {focus: 0}
    for most, edges, sign in ((depth.down, lineage.below, 1), (depth.up, lineage.above, -1)):
        ring = [focus]
        for hop in range(1, most + 1):
            ring = list(dict.fromkeys(each for key in ring for each in edges.get(key, ()) if each not in hops))
            if not ring:
                break
            hops.update(dict.fromkeys(ring, sign * hop))
    return hops


def reach(edges: Mapping[str, Sequence[str]], start: str) -> set[str]:
    """All that can be reached, without the start."""
    found: set[str] = set()
    ring = [start]
    while ring:
        ring = [each for key in ring for each in edges.get(key, ()) if each not in found and each != start]
        ring = list(dict.fromkeys(ring))
        found.update(ring)
    return found


def worst(states: Sequence[str]) -> str:
    """The worst of some states."""
    return min(states, key=WORST.index, default="none")


def _node(lineage: LineageMap, key: str, hop: int, drawn: Mapping[str, None], change: str | None) -> DrawnNode:
    node = lineage.nodes[key]
    return DrawnNode(
        id=key,
        kind=node.kind,
        namespace=node.namespace,
        name=node.name,
        state=node.state,
        said=node.said,
        at=node.at,
        run_id=node.run_id,
        rows=node.rows,
        bytes=node.bytes,
        hop=hop,
        up=sum(each not in drawn for each in lineage.above.get(key, ())),
        down=sum(each not in drawn for each in lineage.below.get(key, ())),
        hidden=node.hidden,
        findings=node.findings,
        change=change,
        is_pipeline=node.is_pipeline,
    )


def _groups(
    lineage: LineageMap, rest: Sequence[str], hops: Mapping[str, int], drawn: Mapping[str, None]
) -> tuple[GraphGroup, ...]:
    members: dict[tuple[int, str], list[str]] = {}
    for key in rest:
        members.setdefault((hops[key], lineage.nodes[key].kind), []).append(key)
    groups = []
    for (hop, kind), own in members.items():
        into = dict.fromkeys(each for key in own for each in lineage.above.get(key, ()) if each in drawn)
        out = dict.fromkeys(each for key in own for each in lineage.below.get(key, ()) if each in drawn)
        groups.append(
            GraphGroup(
                id=f"group:{hop}:{kind}",
                kind=kind,
                hop=hop,
                count=len(own),
                state=worst([lineage.nodes[key].state for key in own]),
                members=tuple(lineage.nodes[key].name for key in own[:_NAMED]),
                a=tuple(into),
                b=tuple(out),
            )
        )
    return tuple(groups)


def _together(now: LineageMap, before: LineageMap) -> LineageMap:
    """Both: what is there now, and what was there then."""
    both = LineageMap(nodes={**before.nodes, **now.nodes}, jobs=now.jobs)
    for edge in (*before.edges.values(), *now.edges.values()):
        both.connect(edge.a, edge.b, is_announced=edge.is_announced)
    return both


def _change_of(key: str, now: LineageMap, before: LineageMap | None) -> str | None:
    if before is None:
        return None
    then, here = before.nodes.get(key), now.nodes.get(key)
    if then is None or here is None:
        return "new" if then is None else "gone"
    return "changed" if (then.state, then.schema_hash) != (here.state, here.schema_hash) else None


def _change_of_edge(edge: LineageEdge, now: LineageMap, before: LineageMap | None) -> str | None:
    if before is None:
        return None
    was, is_there = (edge.a, edge.b) in before.edges, (edge.a, edge.b) in now.edges
    return None if was and is_there else "new" if is_there else "gone"
