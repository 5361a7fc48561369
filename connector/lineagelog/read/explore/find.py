"""Search: jobs, datasets, columns, and runs by their id or the text of their error."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from .executions import state_of
from .jobs import escaped
from .lineage import LineageMap
from .scripts import Asking

KINDS: Final = ("job", "dataset", "column", "run")


class Hit(Struct, frozen=True, kw_only=True):
    """Something that was found."""

    kind: str
    """job, dataset, column or run."""
    namespace: str
    """'' where there is none; of a run and a column that of its job and dataset."""
    name: str
    column: str | None = None
    type: str | None = None
    """Of the column."""
    run_id: str | None = None
    at: datetime | None = None
    """Of a job or dataset the last event, of a run the first."""
    state: str | None = None
    error: str | None = None


class FoundHits(Struct, frozen=True):
    """What was found, kind by kind; more_of names the kinds of which there is more."""

    items: tuple[Hit, ...]
    more_of: tuple[str, ...]


class _Row(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    at: datetime
    outcome: str | None
    run_id: str | None = None
    error: str | None = None


def find(asking: Asking, text: str, kinds: Iterable[str], limit: int) -> FoundHits:
    """At most so many of each kind but columns, which `find_columns` finds."""
    given = {"text": text, "like": f"%{escaped(text)}%", "limit": str(limit + 1)}
    hits: list[Hit] = []
    more = []
    for kind in kinds:
        if kind == "column":
            continue
        rows = asking.rows(f"find_{kind}s", _Row, given)
        if len(rows) > limit:
            more.append(kind)
        for row in rows[:limit]:
            state = None if row.outcome is None else state_of(row.outcome)
            hits.append(
                Hit(
                    kind=kind,
                    namespace=row.namespace,
                    name=row.name,
                    run_id=row.run_id,
                    at=row.at,
                    state=state,
                    error=row.error,
                )
            )
    return FoundHits(tuple(hits), tuple(more))


def find_columns(lineage: LineageMap, schemas: dict[Any, Any], text: str, limit: int) -> FoundHits:
    """The columns that a text is in, of what was read and written last."""
    part = text.lower()
    hits = [
        Hit(
            kind="column",
            namespace=node.namespace,
            name=node.name,
            column=column,
            type=kind,
            at=node.at,
            state=node.state,
        )
        for node in lineage.nodes.values()
        if node.kind == "dataset" and node.schema_hash is not None
        for column, kind in fields_of(schemas.get(node.schema_hash))
        if part in column.lower()
    ]
    hits.sort(key=lambda hit: (not (hit.column or "").lower().startswith(part), hit.column, hit.name))
    return FoundHits(tuple(hits[:limit]), ("column",) if len(hits) > limit else ())


def fields_of(content: Any) -> list[tuple[str, str | None]]:
    """Name and type of the fields of a schema, those of structures too (as ``a.b``)."""
    found: list[tuple[str, str | None]] = []

    def walk(members: Any, before: str) -> None:
        for each in members if isinstance(members, list) else ():
            if not isinstance(each, dict) or not isinstance(each.get("name"), str):
                continue
            kind = each.get("type")
            found.append((before + each["name"], kind if isinstance(kind, str) else None))
            walk(each.get("fields"), f"{before}{each['name']}.")

    walk(content, "")
    return found
