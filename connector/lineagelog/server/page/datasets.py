"""The list of datasets, and one of them: volume, schema and its drift, column lineage, assertions, jobs at it."""

from __future__ import annotations

from typing import Any, Final

from lineagelog.errors import InputError
from lineagelog.read.explore.columns import column_edges
from lineagelog.read.explore.datasets import (
    COUNTED,
    dataset,
    dataset_assertions,
    dataset_count,
    datasets,
    neighbours,
    versions,
    volumes,
    writes,
)
from lineagelog.read.explore.executions import ALL
from lineagelog.read.explore.find import fields_of
from lineagelog.read.explore.graph import reach
from lineagelog.read.explore.lineage import LineageMap, LineageNode
from lineagelog.server.answers import Refusal

from .asked import Asked, missing
from .jobs import history_chart, said_schedule

_PAGE: Final = 50
_WRITERS: Final = 10
_COLUMNS: Final = 10


def listed(asked: Asked) -> dict[str, Any]:
    """The list."""
    namespace = asked.query.get("ns")
    try:
        page = datasets(asked.explorer.asking, asked.text("q"), namespace, _PAGE, asked.after)
    except InputError as problem:
        raise Refusal(400, "bad_parameter", str(problem), parameter="after") from None
    lineage = asked.explorer.lineage()
    nodes = {row.identity_key: lineage.nodes.get(f"dataset:{row.identity_key}") for row in page.rows}
    schemas = asked.explorer.schemas(node.schema_hash for node in nodes.values() if node)
    fields = {key: len(fields_of(schemas.get(node.schema_hash))) for key, node in nodes.items() if node}
    return {
        "rows": page.rows,
        "next": page.next,
        "total": dataset_count(asked.explorer.asking, asked.text("q"), namespace),
        "counted": COUNTED,
        "q": asked.text("q"),
        "ns": namespace,
        "nodes": nodes,
        "fields": fields,
        "readers": {key: len(lineage.below.get(node.id, ())) for key, node in nodes.items() if node},
        "writers": {key: len(lineage.above.get(node.id, ())) for key, node in nodes.items() if node},
    }


def one(asked: Asked) -> dict[str, Any]:
    """One dataset."""
    explorer = asked.explorer
    row = dataset(explorer.asking, asked.key)
    if row is None:
        raise missing("dataset")
    lineage = explorer.lineage()
    node = lineage.nodes.get(f"dataset:{row.identity_key}")
    writers, readers = neighbours(lineage, node) if node else ([], [])
    seen = writes(explorer.asking, row, [*writers[:_WRITERS], *([] if writers else readers[:_WRITERS])], ALL.end)
    schemas = explorer.schemas({each.schema_hash for each in seen} | {node.schema_hash if node else None})
    known = versions(seen, schemas)
    unit, points = volumes(seen)
    wanted = asked.number("version", 0, 10_000)
    version = next((each for each in known if each.number == wanted), known[0] if known else None)
    outputs = [each for each in seen if each.direction == "O" and each.outcome not in ("FAIL", "ABORT")]
    return {
        "row": row,
        "node": node,
        "writers": writers,
        "readers": readers,
        "versions": known,
        "version": version,
        "fields": version.fields if version else fields_of(schemas.get(node.schema_hash)) if node else [],
        "unit": unit,
        "points": points,
        "chart": history_chart(points, unit),
        "last": outputs[-1] if outputs else None,
        "rhythm": said_schedule([each.at.timestamp() for each in outputs]),
        "writes": len(outputs),
        "downstream": len(reach(lineage.below, node.id)) if node else 0,
        "assertions": dataset_assertions(explorer.asking, row),
        "findings": asked.findings(subject=row.dataset_name, namespace=row.dataset_namespace),
        "columns": _columns(asked, lineage, node) if node else ([], 0),
        "hidden": node.hidden if node else 0,
    }


def _columns(asked: Asked, lineage: LineageMap, node: LineageNode) -> tuple[list[dict[str, Any]], int]:
    """Columns with what feeds them and what they feed; and how many there are."""
    edges = column_edges(asked.explorer.asking, lineage)
    names = edges.of(node.id)
    part = asked.text("column").lower()
    chosen = [name for name in names if part in name.lower()]
    shown = chosen if asked.text("columns") == "all" else chosen[:_COLUMNS]

    def ends(keys: list[tuple[str, str]]) -> list[tuple[LineageNode, str]]:
        return [(lineage.nodes[key], column) for key, column in dict.fromkeys(keys)]

    rows = [
        {
            "name": name,
            "above": ends(edges.above.get((node.id, name), [])),
            "below": ends(edges.below.get((node.id, name), [])),
        }
        for name in shown
    ]
    return rows, len(names)
