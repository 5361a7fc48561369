"""One store as one asker looks at it: the questions of this room, with what they share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from lineagelog.errors import InputError
from lineagelog.event.run_ids import stored_run_id
from lineagelog.postgres.database import Database
from lineagelog.read.bound import Bound
from lineagelog.read.listing import Listing
from lineagelog.read.script import Stop

from . import columns, find, trends
from .executions import Execution, ExecutionDetails, WantedExecutions, execution, executions, key_of
from .graph import Depth, LineageGraph, graph
from .lineage import LineageMap, LineageNode, Lineages
from .scripts import Asking


class Newest(Struct, frozen=True):
    """How far the store is."""

    began: datetime | None
    """When the newest execution began."""
    arrival: int | None
    """The number of the newest event."""


class _Content(Struct, frozen=True):
    content: str


class _Schema(Struct, frozen=True):
    schema_hash: str
    fields: Any


class Explorer:
    """Made by `Reader.explore`, for one request. All calls raise StoreUnavailable, StoreNotCreated, StoreTooOld."""

    def __init__(
        self, database: Database, within: Iterable[str] | None, lineages: Lineages, stop: Stop | None = None
    ) -> None:
        self.asking = Asking(database, Bound(within), stop)
        self._lineages = lineages

    def executions(self, wanted: WantedExecutions) -> Listing[Execution]:
        """The executions that began in a window."""
        return executions(self.asking, wanted)

    def execution(self, run_id: str, job: tuple[str, str] | None = None) -> ExecutionDetails | None:
        """One execution with its attempts and what it started."""
        return execution(self.asking, run_id, job)

    def trends(self, wanted: WantedExecutions, step: int) -> trends.ExecutionTrend:
        """Executions span by span; ``step`` in seconds."""
        return trends.trends(self.asking, wanted, step)

    def lineage(self, as_of: datetime | None = None) -> LineageMap:
        """Who reads and writes what, now (at most some seconds ago) or as of a time."""
        return self._lineages.get(self.asking, as_of)

    def node(self, kind: str, namespace: str, name: str, lineage: LineageMap) -> LineageNode | None:
        """A job or dataset in it, by its name or, of a name ``~`` and its key, by that."""
        if name.startswith("~"):
            return lineage.nodes.get(f"{kind}:{as_key(name)}")
        return lineage.find(kind, namespace, name)

    def graph(
        self, focus: LineageNode, depth: Depth, as_of: datetime | None = None, compared_with: datetime | None = None
    ) -> LineageGraph:
        """What lies around a node."""
        before = None if compared_with is None else self.lineage(compared_with)
        return graph(self.lineage(as_of), focus, depth, as_of=as_of, before=before)

    def columns(
        self, focus: LineageNode, named: Iterable[str] | None, depth: Depth, lineage: LineageMap
    ) -> LineageGraph:
        """What feeds columns of a dataset and what they feed; of all its columns where none is named."""
        edges = columns.column_edges(self.asking, lineage)
        return columns.column_graph(lineage, edges, focus, edges.of(focus.id) if named is None else list(named), depth)

    def find(self, text: str, kinds: Iterable[str], limit: int) -> find.FoundHits:
        """What a text is in."""
        wanted = tuple(kinds)
        found = find.find(self.asking, text, wanted, limit)
        if "column" not in wanted:
            return found
        lineage = self.lineage()
        schemas = self.schemas(each.schema_hash for each in lineage.nodes.values())
        more = find.find_columns(lineage, schemas, text, limit)
        return find.FoundHits(found.items + more.items, found.more_of + more.more_of)

    def schemas(self, hashes: Iterable[str | None]) -> dict[Any, Any]:
        """The fields of schemas, by hash."""
        wanted = sorted({each for each in hashes if each})
        if not wanted:
            return {}
        given = {"hashes": "{" + ",".join(wanted) + "}"}
        return {each.schema_hash: each.fields for each in self.asking.rows("schemas", _Schema, given)}

    def content(self, run_id: str, at: datetime, arrival: int) -> str | None:
        """The JSON text of one event of a run, as PostgreSQL spells it."""
        given = {"run_id": stored_run_id(run_id), "at": at.isoformat(), "arrival": str(arrival)}
        return next((each.content for each in self.asking.rows("event_content", _Content, given)), None)

    def newest(self) -> Newest:
        """How far the store is."""
        return self.asking.rows("newest", Newest, {})[0]


def as_key(name: str) -> UUID:
    """The key that stands for a long name in an address. Raises InputError."""
    try:
        return UUID(name.removeprefix("~"))
    except ValueError:
        raise InputError(f"{name[:60]!r} is no key of a name") from None


def key_from(namespace: str, name: str) -> UUID:
    """The key of a name as it stands in an address."""
    return as_key(name) if name.startswith("~") else key_of(namespace, name)
