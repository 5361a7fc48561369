"""What a run event says of its run, its datasets, its assertions and its tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from . import facets as table
from .decoding import RefusedError
from .facets import text_or_none
from .model import AssertionResult, DatasetSighting, Notice, Reason, RunSighting, TestResult

MAX_NAME: Final = 64 * 1024
"""Bytes of a name or a namespace."""
MAX_NOTICES: Final = 50
"""More notices of one event than these tell nothing new."""

STATUSES: Final = frozenset(("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER", "UNKNOWN"))
_SIDES: Final = (("inputs", "I", "inputFacets"), ("outputs", "O", "outputFacets"))
_RUN_TABLE: Final = table.by_facet(table.RUN_FACTS)
_JOB_TABLE: Final = table.by_facet(table.JOB_FACTS)
_DATASET_TABLE: Final = table.by_facet(table.DATASET_FACTS)

type Found = dict[str, Any]
"""Members of a sighting, as they are found."""


class Notices(list[Notice]):
    """The notices of one event, up to MAX_NOTICES."""

    def note(self, code: str, path: str) -> None:
        """Add a notice while there is room."""
        if len(self) < MAX_NOTICES:
            self.append(Notice(code, path))


def run_sighting(tree: dict[str, Any], event_type: str, notices: Notices) -> RunSighting:
    """What the event says of its run, itself and by the facets of run and job."""
    found: Found = {}
    for member, lines in (("run", _RUN_TABLE), ("job", _JOB_TABLE)):
        facets = tree[member].get("facets")
        if facets is not None:
            _look_up(facets, lines, f"$.{member}.facets", found, {}, set(), notices)
    return RunSighting(event_type if event_type in STATUSES else "OTHER", **found)


def dataset_sightings(
    tree: dict[str, Any], notices: Notices
) -> tuple[tuple[DatasetSighting, ...], tuple[AssertionResult, ...]]:
    """One sighting per dataset and direction, and the assertions about the datasets in the order of the event."""
    sightings: dict[tuple[str, str, str], Found] = {}
    assertions: list[AssertionResult] = []
    seen: dict[Any, int] = {}
    for side, direction, own in _SIDES:
        entries = tree.get(side)
        if entries is None:
            continue
        for index, entry in _entries(entries, f"$.{side}", notices):
            path = f"$.{side}[{index}]"
            named = _names(entry, path, notices)
            if named is None:
                continue
            found = _dataset_facts(entry, own, path, notices)
            key = (direction, *named)
            earlier = sightings.get(key)
            sightings[key] = found if earlier is None else _merge_entries(earlier, found)
            for container in (own, "facets"):
                facets = entry.get(container)
                if facets and type(facets) is dict and table.ASSERTIONS_FACET in facets:
                    place = f"{path}.{container}.{table.ASSERTIONS_FACET}"
                    if _assertions(facets[table.ASSERTIONS_FACET], place, named, assertions, seen, notices):
                        break
    return tuple([DatasetSighting(*key, **found) for key, found in sightings.items()]), tuple(assertions)


def test_results(tree: dict[str, Any], notices: Notices) -> tuple[TestResult, ...]:
    """The tests of the run's test facet."""
    facets = tree["run"].get("facets")
    facet = facets.get(table.TESTS_FACET) if type(facets) is dict else None
    if type(facet) is not dict or facet.get("tests") is None:
        return ()
    results, seen = [], dict[Any, int]()
    path = f"$.run.facets.{table.TESTS_FACET}.tests"
    for index, entry in _entries(facet["tests"], path, notices):
        name, kind = text_or_none(entry, "name"), text_or_none(entry, "type")
        if name is None and kind is None:
            notices.note("test_without_name", f"{path}[{index}]")
            continue
        row = (name, text_or_none(entry, "status"), kind, text_or_none(entry, "severity"))
        results.append(TestResult(*row, _occurrence(seen, row)))
    return tuple(results)


def limit_name(name: str, path: str) -> None:
    """Refuse the event whose name is longer than the log keeps."""
    if len(name) * 4 > MAX_NAME and len(name.encode()) > MAX_NAME:
        raise RefusedError(Reason.TOO_LONG, path, f"is longer than {MAX_NAME} bytes")


def _look_up(
    facets: Any,
    lines: table.Table,
    path: str,
    found: Found,
    places: dict[str, int],
    deleted: set[str],
    notices: Notices,
) -> None:
    """Fill ``found`` from one facets object; ``places`` remembers which line of the table gave each member."""
    if type(facets) is not dict:
        notices.note("not_an_object", path)
        return
    for name, facet in facets.items():
        if name not in lines or facet is None:
            continue
        if type(facet) is not dict:
            notices.note("not_an_object", f"{path}.{name}")
            continue
        for place, member, step, read, deletable in lines[name]:
            if member in found and places[member] <= place:
                continue  # an earlier line, or the same line in an earlier container, has a value
            if deletable and facet.get("_deleted") is True:
                deleted.add(member)
                continue
            value = facet if step is None else facet.get(step)
            if value is None:
                continue
            try:
                value = read(value)
            except table.UnreadableError as problem:
                notices.note(str(problem), f"{path}.{name}.{step}")
                continue
            if value is not None:
                found[member] = value
                places[member] = place


def _names(entry: dict[str, Any], path: str, notices: Notices) -> tuple[str, str] | None:
    """Namespace ('' for a missing one) and name; None, with a notice, for an entry that cannot be named."""
    namespace, name = entry.get("namespace"), entry.get("name")
    if type(name) is not str or not name:
        notices.note("dataset_without_name", f"{path}.name")
        return None
    if namespace is None:
        namespace = ""
    elif type(namespace) is not str or not namespace:
        notices.note("dataset_without_namespace", f"{path}.namespace")
        return None
    limit_name(name, f"{path}.name")
    limit_name(namespace, f"{path}.namespace")
    return namespace, name


def _dataset_facts(entry: dict[str, Any], own: str, path: str, notices: Notices) -> Found:
    """What one entry of inputs or outputs carries; the facets of its own kind come before the common ones."""
    found: Found = {}
    places: dict[str, int] = {}
    deleted: set[str] = set()
    for container in (own, "facets"):
        facets = entry.get(container)
        if facets is not None:
            _look_up(facets, _DATASET_TABLE, f"{path}.{container}", found, places, deleted, notices)
    if deleted:
        deleted.difference_update(found)  # a value beats a deletion at the same time
        if deleted:
            found["deleted"] = frozenset(deleted)
    return found


def _merge_entries(earlier: Found, later: Found) -> Found:
    """One dataset twice on one side (a self join): each member from the last entry that carries it."""
    merged = earlier | later
    deleted = (earlier.get("deleted", frozenset()) | later.get("deleted", frozenset())) - merged.keys()
    merged.pop("deleted", None)
    return merged | ({"deleted": deleted} if deleted else {})


def _assertions(
    facet: Any,
    path: str,
    dataset: tuple[str, str],
    results: list[AssertionResult],
    seen: dict[Any, int],
    notices: Notices,
) -> bool:
    """Add the assertions of one facet; false if it has no list of them, so that the next container may have one."""
    listed = facet.get("assertions") if type(facet) is dict else None
    if listed is None:
        return False
    for index, entry in _entries(listed, f"{path}.assertions", notices):
        assertion, name = text_or_none(entry, "assertion"), text_or_none(entry, "name")
        if assertion is None and name is None:
            notices.note("assertion_without_name", f"{path}.assertions[{index}]")
            continue
        success, severity = table.boolean(entry.get("success")), text_or_none(entry, "severity")
        row = (*dataset, assertion, text_or_none(entry, "column"), success, severity, name)
        results.append(AssertionResult(*row, _occurrence(seen, row)))
    return True


def _entries(value: Any, path: str, notices: Notices) -> Iterator[tuple[int, dict[str, Any]]]:
    if type(value) is not list:
        notices.note("not_an_array", path)
        return
    for index, entry in enumerate(value):
        if type(entry) is dict:
            yield index, entry
        else:
            notices.note("not_an_object", f"{path}[{index}]")


def _occurrence(seen: dict[Any, int], row: Any) -> int:
    number = seen.get(row, 0)
    seen[row] = number + 1
    return number
