"""Reads the arrows of the `satsuma` command: the tree from `mapping`, more sources and lines from `graph`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineagelog.export.satsuma.arrows import read_path
from lineagelog.export.satsuma.columns import Table, table_of
from lineagelog.export.satsuma.lineage import CONTAINERS
from lineagelog.export.satsuma.tree import Arrow, Path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lineagelog.export.satsuma.tree import Meta, Schema

type Json = dict[str, Any]

INFERRED = "nl-derived"


@dataclass(slots=True)
class _Record:
    """One arrow in the graph: its edges have one line and one target."""

    line: int
    target: str
    sources: list[str] = field(default_factory=list)
    transforms: tuple[str, ...] = ()


def read_arrows(
    arrows: list[Json],
    edges: list[Json],
    sources: list[Schema],
    metadata: Callable[[list[Json] | None], tuple[Meta, ...]],
) -> tuple[Arrow, ...]:
    """The arrows of a mapping as the own parser gives them."""
    reader = _Reader(_records(edges), [table_of(schema) for schema in sources], metadata)
    reader.positional = len(reader.records) == sum(1 for _ in _all(arrows))
    return tuple(reader.arrow(arrow, (), ()) for arrow in arrows)


def anonymous_arrows(edges: list[Json], sources: tuple[str, ...], targets: tuple[str, ...]) -> tuple[Arrow, ...]:
    """The arrows of a mapping without a name, which the command shows in the graph only.

    The graph also has an edge for each `each`, `flatten` and nested arrow; it leads to what others lead into.
    """
    records = _records(edges)
    inner = {record.target for record in records}
    found: list[Arrow] = []
    for record in records:
        holds = any(other.startswith(record.target + ".") for other in inner)
        if holds and not record.transforms:
            continue
        froms = tuple(_absolute(source, sources) for source in record.sources)
        body = " | ".join(record.transforms) if record.transforms else None
        kind = "map" if froms else "computed"
        found.append(Arrow(kind, froms, _absolute(record.target, targets), body, (), (), record.line, 0))
    return tuple(found)


def _records(edges: Iterable[Json]) -> list[_Record]:
    records: dict[tuple[int, str], _Record] = {}
    for edge in edges:
        if edge["classification"] == INFERRED or edge["to"] is None:
            continue
        record = records.setdefault((edge["line"], edge["to"]), _Record(edge["line"], edge["to"]))
        record.transforms = tuple(edge.get("transforms", ()))
        if edge["from"] is not None:
            record.sources.append(edge["from"])
    return sorted(records.values(), key=lambda record: record.line)


def _all(arrows: list[Json]) -> Iterable[Json]:
    for arrow in arrows:
        yield arrow
        yield from _all(arrow.get("children", []))


def _absolute(endpoint: str, keys: Iterable[str]) -> Path:
    """`namespace::schema.a.b` as a path that stands for itself wherever it is written."""
    plain = endpoint.replace("`", "")
    for key in keys:
        canonical = key if "::" in key else f"::{key}"
        if plain.startswith(canonical + "."):
            scope, _, name = canonical.rpartition("::")
            return Path((name, *plain[len(canonical) + 1 :].split(".")), scope)
    scope, _, rest = plain.rpartition("::")
    return Path(tuple(rest.split(".")), scope)


class _Reader:
    """Walks the tree of arrows beside the records of the graph."""

    def __init__(
        self,
        records: list[_Record],
        sources: list[Table],
        metadata: Callable[[list[Json] | None], tuple[Meta, ...]],
    ) -> None:
        self.records, self.positional = records, False
        self._sources, self._metadata = sources, metadata

    def arrow(self, arrow: Json, source: tuple[str, ...], target: tuple[str, ...]) -> Arrow:
        """One arrow with what is inside; `source` and `target` are the paths of the blocks around it."""
        into = read_path(arrow["tgt"])
        record = self._record((*target, *into.names))
        froms: tuple[Path, ...] = ()
        if arrow["src"] is not None:
            froms = (read_path(arrow["src"]), *self._further(record, source))
        kind = arrow["kind"]
        within = (*source, *froms[0].names) if froms else source
        children = tuple(self.arrow(child, within, (*target, *into.names)) for child in arrow.get("children", []))
        kind = "map" if kind == "nested" and not children else kind
        return Arrow(
            kind,
            froms if kind not in CONTAINERS else froms[:1],
            into,
            arrow.get("transform"),
            self._metadata(arrow.get("metadata")),
            children,
            record.line if record else 0,
            0,
        )

    def _record(self, target: tuple[str, ...]) -> _Record | None:
        """The graph's record of the next arrow; by its target where the graph has merged or added some."""
        if self.positional:
            return self.records.pop(0)
        wanted = ".".join(target)
        for record in self.records:
            if record.target.replace("`", "").endswith(wanted):
                self.records.remove(record)
                return record
        return None

    def _further(self, record: _Record | None, within: tuple[str, ...]) -> list[Path]:
        """The sources behind the first one, which is all that `mapping` shows."""
        return [self._source(text, within) for text in record.sources[1:]] if record else []

    def _source(self, endpoint: str, within: tuple[str, ...]) -> Path:
        """A bare field is resolved to the first source, declared there or not: undo that where it is not."""
        path = _absolute(endpoint, [table.schema.key for table in self._sources])
        first = self._sources[0]
        owner = f"{path.namespace}::{path.names[0]}" if path.namespace else path.names[0]
        if owner != first.schema.key or first.declares(".".join(path.names[1:])):
            return path
        names = path.names[1:]
        return Path(names[len(within) :] if names[: len(within)] == within else names)
