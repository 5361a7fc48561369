"""What an event says of its run, its job, its datasets, its assertions and its tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from lineagelog.spec.paths import json_path

from . import facets as table
from . import facts
from .decoding import RefusedError
from .model import AssertionResult, DatasetSighting, EntitySighting, Notice, Reason, RunSighting, TestResult
from .reading import MAX_NAME, UnreadableError, boolean, params, said, text_or_none

MAX_DATASETS: Final = 10_000
"""Entries of ``inputs`` and ``outputs`` together that reach the digest. Not a setting: the digest is a function of the
events, also where several programs write it."""
MAX_RESULTS: Final = 10_000
"""Assertions of one event, and tests, that reach it."""
MAX_NOTICES: Final = 50
"""More notices of one event than these tell nothing new."""

STATUSES: Final = frozenset(("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER", "UNKNOWN"))
_SIDES: Final = (("inputs", "I", ("inputFacets", "facets")), ("outputs", "O", ("outputFacets", "facets")))
_CONTAINER_SIDE: Final = {"inputFacets": "input", "outputFacets": "output", "facets": "dataset"}
_RUN: Final = ("run",)
_SKIPPED: Final = frozenset(("skip", "skipped"))
_NONE: Final = frozenset[str]()
JOB_MEMBERS: Final = tuple([register.member for register in facts.JOB_ENTITY])
DATASET_MEMBERS: Final = tuple([register.member for register in (*facts.DATASET_ENTITY, *facts.DATASET_NAMES)])

type Found = dict[str, Any]
"""Members of a sighting, as they are found."""
type Place = tuple[str | int, ...]
"""Steps of a JSON path; a notice makes the path of them, so that events without one never pay for it."""


class Notices(list[Notice]):
    """The notices of one event, up to MAX_NOTICES."""

    def note(self, code: str, *place: str | int) -> None:
        """Add a notice while there is room."""
        if len(self) < MAX_NOTICES:
            self.append(Notice(code, json_path(place)))


def run_and_job(
    tree: dict[str, Any], event_type: str, notices: Notices
) -> tuple[RunSighting | None, EntitySighting | None]:
    """What the event says of its run, itself and by the facets of run and job; and what of its job itself."""
    found: Found = {}
    for member, lines in (("run", table.RUN_TABLE), ("job", table.JOB_TABLE)):
        facets = (tree.get(member) or {}).get("facets")
        if facets is not None and _is_object(facets, notices, (member,), "facets"):
            _look_up(facets, lines, found, {}, notices, (member, "facets"))
    if "deleted" in found:
        found["deleted"] = found["deleted"].difference(found)
    job = _entity(found, JOB_MEMBERS)
    if tree.get("run") is None:
        return None, job
    return RunSighting(event_type if event_type in STATUSES else "OTHER", **found), job


def _entity(found: Found, members: tuple[str, ...]) -> EntitySighting | None:
    """Take what is said of the thing itself out of ``found``; None = nothing."""
    deleted: frozenset[str] = found.get("deleted", _NONE)
    found_nothing = found.keys().isdisjoint(members)
    if found_nothing and deleted.isdisjoint(members):
        return None
    own = {member: found.pop(member, None) for member in members}
    if deleted:
        found["deleted"] = deleted.difference(members)
        if not found["deleted"]:
            del found["deleted"]
    symlinks, renamed_from = own.pop("symlinks", None), own.pop("renamed_from", None)
    if deleted.intersection(members) == {"renamed_from"} and found_nothing:  # a rename is not taken back
        return None
    return EntitySighting(
        tuple(own.values()), deleted.intersection(own), symlinks or (), "symlinks" in deleted, renamed_from
    )


class DatasetGatherer:
    """What an event says of its datasets: one sighting per dataset and direction, and the assertions in their order."""

    __slots__ = ("_aborted", "_named", "_notices", "_seen", "_sightings", "assertions")

    def __init__(self, tree: dict[str, Any], event_type: str, notices: Notices) -> None:
        self._aborted = event_type == "ABORT"
        self.assertions: list[AssertionResult] = []
        self._notices = notices
        self._seen: dict[Any, int] = {}
        self._named: dict[Any, int] = {}
        self._sightings: dict[tuple[str, str, str], Found] = {}
        if type(own := tree.get("dataset")) is dict and tree.get("run") is None and tree.get("job") is None:
            self._add("", own, ("facets",), ("dataset",))
        rooms = _rooms(*(tree.get(side) for side, _, _ in _SIDES))
        for (side, direction, containers), room in zip(_SIDES, rooms, strict=True):
            entries = tree.get(side)
            if entries is not None:
                for index, entry in _entries(entries, notices, (side,), room, "too_many_datasets"):
                    self._add(direction, entry, containers, (side, index))

    def sightings(self) -> tuple[DatasetSighting, ...]:
        """The sightings, in the order of the first entry of each."""
        sightings = []
        for key, found in self._sightings.items():
            entity = _entity(found, DATASET_MEMBERS)
            sightings.append(DatasetSighting(*key, entity=entity, **found))
        return tuple(sightings)

    def _add(self, direction: str, entry: dict[str, Any], containers: tuple[str, ...], place: Place) -> None:
        names = _names(entry, self._notices, place)
        if names is None:
            return
        found: Found = {}
        used: dict[str, int] = {}
        asserted = False
        for container in containers:
            facets = entry.get(container)
            if facets is not None and _is_object(facets, self._notices, place, container):
                _look_up(facets, table.DATASET_TABLE, found, used, self._notices, (*place, container))
                if table.ASSERTIONS_FACET in facets and not asserted:
                    asserted = self._add_assertions(facets[table.ASSERTIONS_FACET], names, (*place, container))
        if "deleted" in found:
            found["deleted"] = found["deleted"].difference(found)  # a value beats a deletion of the same time
        key = (direction, *names)
        earlier = self._sightings.get(key)
        self._sightings[key] = found if earlier is None else _merge_entries(earlier, found)

    def _add_assertions(self, facet: Any, dataset: tuple[str, str], place: Place) -> bool:
        """Add the assertions of one facet; false if it has no list of them, so that the next container may have one."""
        listed = facet.get("assertions") if type(facet) is dict else None
        side = _CONTAINER_SIDE[str(place[-1])]
        if listed is None or (side == "dataset" and facet.get("_deleted") is True):
            return False
        place = (*place, table.ASSERTIONS_FACET, "assertions")
        room = MAX_RESULTS - len(self.assertions)
        for index, entry in _entries(listed, self._notices, place, room, "too_many_assertions"):
            assertion, name = text_or_none(entry, "assertion"), text_or_none(entry, "name")
            if assertion is None and name is None:
                self._notices.note("assertion_without_name", *place, index)
                continue
            success, severity = boolean(entry.get("success")), text_or_none(entry, "severity")
            column = text_or_none(entry, "column")
            row = (*dataset, assertion, column, success, severity, name)
            told = (said(entry, "expected"), said(entry, "actual"), params(entry), side)
            position = _occurrence(self._named, (*dataset, assertion, column, name))
            skipped = self._aborted and success is False and _never_ran(told[0], told[1])
            self.assertions.append(AssertionResult(*row, _occurrence(self._seen, row), *told, position, skipped))
        return True


def tests_of_run(tree: dict[str, Any], event_type: str, notices: Notices) -> tuple[TestResult, ...]:
    """The tests of the run's test facet."""
    facets = tree["run"].get("facets")
    facet = facets.get(table.TESTS_FACET) if type(facets) is dict else None
    if type(facet) is not dict or facet.get("tests") is None:
        return ()
    results: list[TestResult] = []
    seen: dict[Any, int] = {}
    named: dict[Any, int] = {}
    place = ("run", "facets", table.TESTS_FACET, "tests")
    for index, entry in _entries(facet["tests"], notices, place, MAX_RESULTS, "too_many_tests"):
        name, kind = text_or_none(entry, "name"), text_or_none(entry, "type")
        if name is None and kind is None:
            notices.note("test_without_name", *place, index)
            continue
        row = (name, text_or_none(entry, "status"), kind, text_or_none(entry, "severity"))
        told = (said(entry, "expected"), said(entry, "actual"), params(entry), _occurrence(named, (name, kind)))
        status = (row[1] or "").lower()
        skipped = status in _SKIPPED or (event_type == "ABORT" and status == "fail" and _never_ran(told[0], told[1]))
        results.append(TestResult(*row, _occurrence(seen, row), *told, skipped))
    return tuple(results)


def _never_ran(expected: str | None, actual: str | None) -> bool:
    """Whether a check told as failed in an ABORT was skipped: dbt then counts nothing, or as many as are fine."""
    return actual is None or actual == expected


def limit_name(name: str, *place: str | int) -> None:
    """Refuse the event whose name is longer than the log keeps."""
    if len(name) * 4 > MAX_NAME and len(name.encode()) > MAX_NAME:
        raise RefusedError(Reason.TOO_LONG, json_path(place), f"is longer than {MAX_NAME} bytes")


def _is_object(value: Any, notices: Notices, place: Place, name: str) -> bool:
    if type(value) is dict:
        return True
    notices.note("not_an_object", *place, name)
    return False


def _look_up(
    facets: dict[str, Any],
    lines: table.Table,
    found: Found,
    used: dict[str, int],
    notices: Notices,
    place: Place,
) -> None:
    """Fill ``found`` from one facets object; ``used`` remembers which line of the table gave each member.

    Facets go by name, in whatever order they were sent: what is said of an event must not depend on that either.
    `_deleted` is a word of dataset and job facets: it counts among those, and on what is one wherever it stands.
    """
    deletes = place[-1] == "facets" and place[:-1] != _RUN
    names = [name for name in facets if name in lines]
    names.sort()
    for name in names:
        facet = facets[name]
        if facet is None:
            continue
        if type(facet) is not dict:
            notices.note("not_an_object", *place, name)
            continue
        for line, member, step, read, deletable in lines[name]:
            if member in found and used[member] <= line:
                continue  # an earlier line, or the same line in an earlier container, has a value
            if (deletable or deletes) and facet.get("_deleted") is True:
                found["deleted"] = found.get("deleted", frozenset()) | {member}
                continue
            value = facet if step is None else facet.get(step)
            if value is None:
                continue
            try:
                value = read(value)
            except UnreadableError as unread:
                for code, below in unread.problems:
                    notices.note(code, *place, name, *filter(None, (step, below)))
                value = unread.value
            if value is not None:
                found[member] = value
                used[member] = line


def _names(entry: dict[str, Any], notices: Notices, place: Place) -> tuple[str, str] | None:
    """Namespace ('' for a missing one) and name; None, with a notice, for an entry that cannot be named."""
    namespace, name = entry.get("namespace"), entry.get("name")
    if type(name) is not str or not name:
        notices.note("dataset_without_name", *place, "name")
        return None
    if namespace is None:
        namespace = ""
    elif type(namespace) is not str or not namespace:
        notices.note("dataset_without_namespace", *place, "namespace")
        return None
    if len(name) + len(namespace) > MAX_NAME // 4:
        limit_name(name, *place, "name")
        limit_name(namespace, *place, "namespace")
    return namespace, name


def _merge_entries(earlier: Found, later: Found) -> Found:
    """One dataset twice on one side (a self join): each member from the last entry that carries it."""
    merged = earlier | later
    if "deleted" in merged:
        merged["deleted"] = (earlier.get("deleted", _NONE) | later.get("deleted", _NONE)).difference(merged)
    return merged


def _rooms(inputs: Any, outputs: Any) -> tuple[int, int]:
    """How many entries of either side reach the digest: what one side leaves of its half, the other may have."""
    wanted = [len(side) if type(side) is list else 0 for side in (inputs, outputs)]
    if sum(wanted) <= MAX_DATASETS:
        return MAX_DATASETS, MAX_DATASETS
    first = max(MAX_DATASETS - wanted[1], MAX_DATASETS // 2)
    return first, MAX_DATASETS - min(first, wanted[0])


def _entries(value: Any, notices: Notices, place: Place, room: int, code: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of an array up to ``room`` entries, with their places; a notice by ``code`` where that is not all."""
    if type(value) is not list:
        notices.note("not_an_array", *place)
        return
    if len(value) > room:
        notices.note(code, *place, room)
    for index, entry in enumerate(value[:room]):
        if type(entry) is dict:
            yield index, entry
        else:
            notices.note("not_an_object", *place, index)


def _occurrence(seen: dict[Any, int], row: Any) -> int:
    number = seen.get(row, 0)
    seen[row] = number + 1
    return number
