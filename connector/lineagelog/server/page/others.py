"""The views of lineage, findings and search."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final
from uuid import UUID

from lineagelog.analysis import Finding, Severity
from lineagelog.read.explore.find import KINDS
from lineagelog.read.explore.graph import DEEPEST
from lineagelog.store.ledgers.episodes import FindingStatus
from lineagelog.store.ledgers.finding_rows import FindingRow

from . import address
from .asked import Asked, missing

_STATUSES: Final = {
    "open": ((FindingStatus.OPEN,), "Open"),
    "muted": ((FindingStatus.SUPPRESSED,), "Muted"),
    "closed": ((FindingStatus.CLOSED,), "Closed"),
}
_HITS: Final = 20
_PLAIN: Final = frozenset((*Finding.__struct_fields__, *FindingRow.__struct_fields__))
"""Members of a finding that have a place of their own; the others are listed."""


def lineage(asked: Asked) -> dict[str, Any]:
    """The graph around a job or dataset; it is drawn by the script, from the same answer as the API's."""
    kind = asked.parts.get("kind", "")
    if kind not in ("job", "dataset"):
        return _start(asked)
    found = asked.explorer.lineage(asked.instant("at"))
    node = asked.explorer.node(kind, *asked.named, found)
    if node is None:
        raise missing(f"{kind} with lineage")
    return {
        "node": node,
        "up": asked.number("up", 1, DEEPEST),
        "down": asked.number("down", 1, DEEPEST),
        "at": asked.text("at"),
        "compare": asked.text("compare"),
        "deepest": DEEPEST,
        "open_at": address.job(node.namespace, node.name)
        if kind == "job"
        else address.dataset(node.namespace, node.name),
        "name_key": node.id.partition(":")[2],
        "newest": asked.explorer.newest().began,
    }


def _start(asked: Asked) -> dict[str, Any]:
    """Without a middle: where one may begin. What most depends on comes first."""
    found = asked.explorer.lineage()
    datasets = [node for node in found.nodes.values() if node.kind == "dataset"]
    degree = {node.id: len(found.below.get(node.id, ())) + len(found.above.get(node.id, ())) for node in datasets}
    first = sorted(datasets, key=lambda node: (-degree[node.id], node.name))[:30]
    failed = [node for node in found.nodes.values() if node.state in ("failed", "stale", "late", "stuck")][:20]
    return {
        "node": None,
        "first": first,
        "degree": degree,
        "failed": failed,
        "total": len(found.nodes),
    }


def findings(asked: Asked) -> dict[str, Any]:
    """The list and one of them."""
    status = asked.text("status") if asked.text("status") in _STATUSES else "open"
    severity = asked.text("severity") if asked.text("severity") in tuple(Severity) else ""
    every = {name: asked.findings(statuses=statuses) for name, (statuses, _) in _STATUSES.items()}
    part = asked.text("q").lower()
    rows = [
        row
        for row in every[status]
        if (not severity or row.severity == severity)
        and (not part or part in f"{row.analysis} {row.subject} {row.content.get('explanation', '')}".lower())
    ]
    chosen = _chosen(asked, rows)
    runs = []
    if chosen is not None:
        for run_id in list(chosen.content.get("run_ids") or ())[:10]:
            found = asked.explorer.execution(str(run_id))
            runs.append((str(run_id), found.execution if found else None))
    return {
        "rows": rows,
        "status": status,
        "severity": severity,
        "q": asked.text("q"),
        "statuses": {name: (len(every[name]), word) for name, (_, word) in _STATUSES.items()},
        "severities": Counter(str(row.severity) for row in every[status]),
        "chosen": chosen,
        "more": {name: value for name, value in chosen.content.items() if name not in _PLAIN} if chosen else {},
        "runs": runs,
        "may_say": asked.may_say,
        "levels": [str(each) for each in reversed(Severity)],
    }


def _chosen(asked: Asked, rows: list[FindingRow]) -> FindingRow | None:
    """The finding that is asked for, else the first of the list."""
    try:
        wanted = UUID(asked.text("id"))
    except ValueError:
        return rows[0] if rows else None
    found = asked.reader.finding(wanted, within=asked.grant.namespaces)
    if found is None:
        raise missing("finding")
    return found


def search(asked: Asked) -> dict[str, Any]:
    """What a text is in, kind by kind."""
    text, kind = asked.text("q"), asked.text("kind")
    kinds = (kind,) if kind in KINDS else KINDS
    found = asked.explorer.find(text, kinds, 100 if kind in KINDS else _HITS) if text else None
    groups = {name: [hit for hit in found.items if hit.kind == name] if found else [] for name in kinds}
    return {"q": text, "kind": kind if kind in KINDS else "", "groups": groups, "found": found, "kinds": KINDS}
