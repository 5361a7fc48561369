"""Which element of Egeria a job or dataset is, matched as Egeria's own OpenLineage connectors match.

Physical elements come before abstractions, the oldest of several is taken, and each name of a thing is tried
(openlineage-integration-connectors, open-lineage-cataloguing.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Protocol

from .element import Element, read_element
from .item import About

_PHYSICAL: Final = ("RelationalTable", "Topic", "DataFile", "DataFolder", "DataStore")
_DATA: Final = (*_PHYSICAL, "DataSet", "DataAsset", "SchemaAttribute")
_STEPS: Final = ("GovernanceActionProcessStep", "GovernanceActionProcess")
_JOBS: Final = ("Process", *_STEPS)


class Catalogue(Protocol):
    """Egeria, as `egeria.remote.Egeria` calls it."""

    def call(self, name: str, *, pages: bool = False, **arguments: Any) -> Any:
        """Make a call. Raises EgeriaUnavailable, EgeriaUnfit, EgeriaRefused."""


class ElementFinder:
    """Finds elements, and remembers them for as long as it lives."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._known: dict[About, Element | None] = {}

    def find(self, about: About) -> Element | None:
        """The element, or None where Egeria has none. Raises what calls raise."""
        if about not in self._known:
            self._known[about] = self._found(about)
        return self._known[about]

    def by_qualified_name(self, name: str) -> Element | None:
        """The element of that name."""
        return next(iter(self._with("qualifiedName", name)), None)

    def _found(self, about: About) -> Element | None:
        if about.kind == "element":
            return self.by_qualified_name(about.name)
        for namespace, name in ((about.namespace, about.name), *about.other_names):
            for types in _types(about.kind):
                if candidates := list(self._candidates(namespace, name, types)):
                    return min(candidates, key=_preference)
        return None

    def _candidates(self, namespace: str, name: str, types: tuple[str, ...]) -> Iterator[Element]:
        if namespace == "egeria":  # what Egeria's own events call a thing that has no better name
            yield from (each for each in self._with("qualifiedName", name) if each.is_a(*types))
            return
        found = [each for each in self._with("resourceName", name) if each.is_a(*types)]
        yield from (each for each in found if each.properties.get("namespacePath") == namespace)
        if types == _JOBS and not found:  # a run of a governance action: Egeria names its job by the step
            yield from (each for each in self._with("qualifiedName", name) if each.is_a(*_STEPS))
        if types == _DATA and (path := _path(namespace, name)):
            yield from (each for each in self._with("pathName", path) if each.is_a("DataFile", "DataFolder"))

    def _with(self, property_name: str, value: str) -> list[Element]:
        found = self._catalogue.call("find", pages=True, property_value=value, property_names=[property_name])
        return [read_element(each) for each in found]


def _types(kind: str) -> tuple[tuple[str, ...], ...]:
    return {"job": (_JOBS,), "dataset": (_DATA,), "test": (_DATA, _JOBS)}[kind]


def _path(namespace: str, name: str) -> str:
    """The path name that Egeria's file connectors give; '' for what is no file."""
    if namespace == "file" or namespace.startswith("file://"):
        return name
    scheme = namespace.partition("://")[0]
    return f"{namespace}/{name.lstrip('/')}" if scheme in ("s3", "s3a", "gs", "hdfs", "abfss", "wasbs") else ""


def _preference(element: Element) -> tuple[int, str, str]:
    is_physical = element.is_a(*_PHYSICAL)
    return (0 if is_physical else 1, element.created, element.guid)
