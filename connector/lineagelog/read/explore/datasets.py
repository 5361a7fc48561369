"""Datasets: the list, and one of them with its writes, schemas and assertions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from msgspec import Struct

from lineagelog.read import cursor
from lineagelog.read.rows import Page

from .executions import instant, key_of
from .find import fields_of
from .jobs import HistoryPoint, TestHistory, escaped, with_bands
from .lineage import LineageMap, LineageNode
from .scripts import Asking

COUNTED: Final = 10_000
"""Datasets are counted up to so many."""
WRITES: Final = 150
"""Executions of each writer that are looked at."""
_LISTING: Final = "datasets, with findings first"
_KINDS: Final = (int, datetime, UUID)
_NEVER: Final = datetime(1, 1, 1, tzinfo=UTC)


class SeenDataset(Struct, frozen=True, kw_only=True):
    """A dataset in the list."""

    identity_key: UUID
    dataset_namespace: str
    dataset_name: str
    names: int
    last_seen: datetime
    first_seen: datetime
    dataset_type: str | None
    owners: Any
    tags: Any
    findings: int
    rank: int


class OneDataset(Struct, frozen=True, kw_only=True):
    """A dataset by what was said of it last."""

    identity_key: str
    dataset_namespace: str
    dataset_name: str
    names: list[dict[str, str]]
    first_seen: datetime
    last_seen: datetime
    description: str | None
    owners: Any
    tags: Any
    dataset_type: str | None
    dataset_sub_type: str | None
    storage_layer: str | None
    file_format: str | None


class DatasetWrite(Struct, frozen=True, kw_only=True):
    """What an execution did to the dataset."""

    run_id: str
    at: datetime
    outcome: str
    job_namespace: str
    job_name: str
    direction: str
    rows: int | None
    bytes: int | None
    files: int | None
    schema_hash: str | None
    dataset_version: str | None
    lifecycle_state_change: str | None


class SchemaVersion(Struct, frozen=True, kw_only=True):
    """A schema that the dataset had, from its first sight on; newest first in lists."""

    number: int
    at: datetime
    run_id: str
    job_namespace: str
    job_name: str
    fields: list[tuple[str, str | None]]
    changes: list[tuple[str, str, str | None, str | None]]
    """Sign (+, − or ~), column, type before, type now; compared with the version before."""


def datasets(
    asking: Asking, search: str, namespace: str | None, limit: int, after: str | None = None
) -> Page[SeenDataset]:
    """Datasets, those with the worst findings first. Raises InputError for a cursor that is none."""
    key: tuple[Any, ...] = (0, _NEVER, "") if after is None else cursor.decode(_LISTING, _KINDS, after)
    given = _sought(search, namespace) | {
        "after_rank": str(key[0]),
        "after_at": instant(key[1]),
        "after_key": str(key[2]),
        "limit": str(limit + 1),
    }
    found = asking.rows("datasets", SeenDataset, given)
    rows = tuple(found[:limit])
    if len(found) <= limit:
        return Page(rows, None)
    last = rows[-1]
    return Page(rows, cursor.encode(_LISTING, (last.rank, last.last_seen, last.identity_key)))


def dataset_count(asking: Asking, search: str, namespace: str | None) -> int:
    """How many there are, counted up to COUNTED."""
    given = _sought(search, namespace) | {"limit": str(COUNTED)}
    return int(asking.dicts("dataset_count", given)[0]["n"])


def _sought(search: str, namespace: str | None) -> dict[str, str]:
    return {
        "like": f"%{escaped(search)}%" if search else "",
        "namespace_given": "" if namespace is None else "y",
        "namespace": namespace or "",
    }


def dataset(asking: Asking, key: UUID) -> OneDataset | None:
    """One dataset by the key of one of its names; None if there is none to be seen."""
    return next(iter(asking.rows("dataset", OneDataset, {"key": str(key)})), None)


def keys_of(row: OneDataset) -> list[str]:
    """The keys of all its names."""
    return [str(key_of(each["namespace"], each["name"])) for each in row.names]


def writes(asking: Asking, row: OneDataset, jobs: Sequence[LineageNode], until: datetime) -> list[DatasetWrite]:
    """What the last executions of some jobs did to it, oldest first."""
    if not jobs:
        return []
    given = {
        "jobs": "{" + ",".join(each.id.partition(":")[2] for each in jobs) + "}",
        "keys": "{" + ",".join(keys_of(row)) + "}",
        "to": instant(until),
        "limit": str(WRITES),
    }
    return asking.rows("writes", DatasetWrite, given)


def volumes(written: Sequence[DatasetWrite]) -> tuple[str, list[HistoryPoint]]:
    """Rows (or bytes, where nobody tells rows) of each write, with what was expected of it; and which it is."""
    outputs = [each for each in written if each.direction == "O"]
    unit = "rows" if any(each.rows is not None for each in outputs) else "bytes"
    points = [
        HistoryPoint(
            at=each.at,
            value=None if value is None else float(value),
            state="failed" if each.outcome in ("FAIL", "ABORT") else "completed",
            run_id=each.run_id,
        )
        for each in outputs
        for value in (each.rows if unit == "rows" else each.bytes,)
        if value is not None or each.outcome in ("FAIL", "ABORT")
    ]
    return unit, with_bands(points)


def versions(seen: Sequence[DatasetWrite], schemas: dict[Any, Any]) -> list[SchemaVersion]:
    """The schemas that writers gave it (or readers, where no writer does), newest first."""
    told = [each for each in seen if each.schema_hash and each.direction == "O"] or [
        each for each in seen if each.schema_hash
    ]
    found: list[SchemaVersion] = []
    before: list[tuple[str, str | None]] | None = None
    for each in told:
        fields = fields_of(schemas.get(each.schema_hash))
        if fields == before:
            continue
        found.append(
            SchemaVersion(
                number=len(found) + 1,
                at=each.at,
                run_id=each.run_id,
                job_namespace=each.job_namespace,
                job_name=each.job_name,
                fields=fields,
                changes=[] if before is None else changes(before, fields),
            )
        )
        before = fields
    return found[::-1]


def changes(
    before: Sequence[tuple[str, str | None]], now: Sequence[tuple[str, str | None]]
) -> list[tuple[str, str, str | None, str | None]]:
    """Columns that are gone, new, or of another type."""
    was, are = dict(before), dict(now)
    gone = [("−", name, kind, None) for name, kind in before if name not in are]
    new = [("+", name, None, kind) for name, kind in now if name not in was]
    other = [("~", name, was[name], kind) for name, kind in now if name in was and was[name] != kind]
    return gone + new + other


def dataset_assertions(asking: Asking, row: OneDataset) -> list[TestHistory]:
    """Its assertions, those that fail first."""
    return asking.rows("dataset_assertions", TestHistory, {"keys": "{" + ",".join(keys_of(row)) + "}"})


def neighbours(lineage: LineageMap, node: LineageNode) -> tuple[list[LineageNode], list[LineageNode]]:
    """Who writes it, and who reads it, last first."""

    def of(keys: Sequence[str]) -> list[LineageNode]:
        nodes = [lineage.nodes[key] for key in keys]
        return sorted(nodes, key=lambda each: (each.at or _NEVER, each.name), reverse=True)

    return of(lineage.above.get(node.id, [])), of(lineage.below.get(node.id, []))
