"""The inputs and outputs of a run: normalised, joined by name, namespaces filled in when an event is made."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from .facets import Dataset, as_dataset, complete_facet
from .guard import describe, warn_once

if TYPE_CHECKING:
    from collections.abc import Iterator

type Side = Literal["inputs", "outputs"]

_OWN_FACETS: dict[Side, tuple[str, str]] = {
    "inputs": ("inputFacets", "InputDataset"),
    "outputs": ("outputFacets", "OutputDataset"),
}


class Datasets:
    """One side of a run: datasets by namespace and name, in the order in which they were named."""

    def __init__(self, side: Side, namespace: str) -> None:
        self.side: Side = side
        self.namespace = namespace
        """The namespace of datasets that name none."""
        self._by_key: dict[tuple[str, str], Dataset] = {}

    def __iter__(self) -> Iterator[Dataset]:
        return iter(self._by_key.values())

    def add_all(self, given: Any) -> None:
        """Add what a caller passed as inputs or outputs; one that cannot be read is logged and left out."""
        if given is None:
            return
        if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
            given = [given]
        for dataset in given:
            try:
                self.add(dataset)
            except Exception as problem:
                warn_once(f"lineage: one of the {self.side} is left out: {describe(problem)}")

    def add(self, given: Any) -> Dataset:
        """Add one dataset, or its facets to the one of the same name. Raises TypeError or ValueError."""
        read = as_dataset(given)
        key = (read.get("namespace") or self.namespace, read["name"])
        dataset = self._by_key.get(key) or {"namespace": key[0], "name": key[1], "facets": {}}
        own, own_kind = _OWN_FACETS[self.side]
        for place, kind in (("facets", "Dataset"), (own, own_kind)):
            for name, facet in (read.get(place) or {}).items():
                if facet is not None:
                    dataset.setdefault(place, {})[name] = complete_facet(name, facet, kind)
        for facet in dataset["facets"].values():
            _fill_namespaces(facet, key[0] if read.get("namespace") else self.namespace)
        self._by_key[key] = dataset
        return dataset

    def find(self, name: str) -> Dataset | None:
        """The dataset of that name, in the default namespace if several have it."""
        found = [dataset for (_, known), dataset in self._by_key.items() if known == name]
        return self._by_key.get((self.namespace, name)) or (found[0] if found else None)

    def statistics(self, dataset: Dataset, rows: Any, size: Any, files: Any) -> None:
        """Say how much was read or written. Raises TypeError or ValueError if a figure is no whole number."""
        given = {"rowCount": rows, "size": size, "fileCount": files}
        figures = {name: int(value) for name, value in given.items() if value is not None}
        if not figures:
            return
        place, kind = _OWN_FACETS[self.side]
        name = f"{self.side.removesuffix('s')}Statistics"
        facet = dataset.setdefault(place, {}).setdefault(name, complete_facet(name, {}, kind))
        facet.update(figures)

    def snapshot(self) -> list[Dataset]:
        """Copies that later changes do not reach."""
        return copy.deepcopy(list(self._by_key.values()))


def _fill_namespaces(facet: Any, namespace: str) -> None:
    """Give the source columns of a column lineage facet the namespace they lack."""
    members = facet.get("fields") if isinstance(facet, dict) else None
    for member in members.values() if isinstance(members, dict) else ():
        for source in (member.get("inputFields") or ()) if isinstance(member, dict) else ():
            if isinstance(source, dict) and not source.get("namespace"):
                source["namespace"] = namespace
