"""The inputs and outputs of a run: normalised, joined by name, namespaces filled in when an event is made."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from .facets import Dataset, as_dataset, complete_facet
from .guard import describe, warn_once

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineagelog.spec import Holder

type Side = Literal["inputs", "outputs"]

_OWN_FACETS: dict[Side, tuple[str, Holder]] = {
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
        holders: tuple[tuple[str, Holder], ...] = (("facets", "Dataset"), (own, own_kind))
        for place, kind in holders:
            for name, facet in (read.get(place) or {}).items():
                if facet is not None:
                    dataset.setdefault(place, {})[name] = complete_facet(name, facet, kind)
        self._by_key[key] = dataset
        return dataset

    def find(self, name: str) -> Dataset | None:
        """The dataset of that name, in the default namespace if several have it."""
        found = [dataset for (_, known), dataset in self._by_key.items() if known == name]
        return self._by_key.get((self.namespace, name)) or (found[0] if found else None)

    def statistics(self, dataset: Dataset, rows: Any, size: Any, files: Any) -> None:
        """Say how much was read or written. Raises TypeError or ValueError if a number is not whole."""
        given = {"rowCount": rows, "size": size, "fileCount": files}
        numbers = {name: int(value) for name, value in given.items() if value is not None}
        if not numbers:
            return
        place, kind = _OWN_FACETS[self.side]
        name = f"{self.side.removesuffix('s')}Statistics"
        facet = dataset.setdefault(place, {}).setdefault(name, complete_facet(name, {}, kind))
        facet.update(numbers)

    def snapshot(self, inputs: Datasets) -> list[Dataset]:
        """Copies that later changes do not reach.

        The source columns of column lineage get the namespace they lack: that of the input of this name, else the
        configured one.
        """
        copies = copy.deepcopy(list(self._by_key.values()))
        for dataset in copies:
            for source in _source_columns(dataset["facets"].get("columnLineage")):
                if not source.get("namespace"):
                    found = inputs.find(str(source.get("name")))
                    source["namespace"] = found["namespace"] if found else inputs.namespace
        return copies


def _source_columns(facet: Any) -> Iterator[Dataset]:
    """The columns that a column lineage facet names as sources."""
    if not isinstance(facet, dict):
        return
    fields = facet.get("fields")
    lists = [field.get("inputFields") for field in fields.values()] if isinstance(fields, dict) else []
    for sources in [*lists, facet.get("dataset")]:
        yield from (source for source in sources or () if isinstance(source, dict))
