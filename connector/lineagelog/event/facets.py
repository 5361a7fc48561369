"""Where the facts of `facts.py` are looked up: by the names of facets, so that the cost follows those of the event.

Dataset facets are looked up where producers really put them: in `inputFacets` of inputs and `outputFacets` of outputs,
then in `facets`. Names and members are those of the OpenLineage specification and of its older versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from . import facts
from .facts import Place, Register

ASSERTIONS_FACET: Final = "dataQualityAssertions"
TESTS_FACET: Final = "test"

_AS_TEXT: Final = {
    "schema": {"_deleted": True, "fields": "text"},
    "columnLineage": {"_deleted": True, "fields": "text", "dataset": "text"},
    "ownership": {"_deleted": True, "owners": "text"},
    "tags": {"_deleted": True, "tags": "text"},
}
"""Facets whose members are only wanted as canonical text, so that a scanner need not make values of them."""

type Line = tuple[int, str, str | None, Callable[[Any], Any], bool]
"""Number, member, path, read, deletable: a plain tuple, because it is taken apart for every facet."""
type Table = dict[str, tuple[Line, ...]]
"""Facet name to lines; of several lines for one member that of the lowest number wins."""


def by_facet(found: Iterable[tuple[Register, Place]]) -> Table:
    """The places of registers as they are looked up."""
    table: Table = {}
    for number, (register, place) in enumerate(found):
        line = (number, register.member, place.path, place.read, register.deletable)
        table[place.facet] = (*table.get(place.facet, ()), line)
    return table


def _places(registers: tuple[Register, ...], of: str = "run") -> list[tuple[Register, Place]]:
    return [(register, place) for register in registers for place in register.places if place.of == of]


RUN_TABLE: Final = by_facet(_places(facts.RUN))
JOB_TABLE: Final = by_facet([*_places(facts.RUN, "job"), *_places(facts.JOB_ENTITY)])
DATASET_TABLE: Final = by_facet(_places((*facts.DATASET, *facts.DATASET_ENTITY, *facts.DATASET_NAMES)))


def _looked_at(table: Table) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    for facet, lines in table.items():
        paths = [path for _, _, path, _, _ in lines if path is not None]
        is_whole = len(paths) < len(lines)
        facets[facet] = True if is_whole else {"_deleted": True, **dict.fromkeys(paths, True)}
    return facets


_LISTS: Final = {facet: _AS_TEXT[facet] for facet in ("ownership", "tags")}
_DATASET_FACETS: Final = (
    _looked_at(DATASET_TABLE) | {ASSERTIONS_FACET: {"_deleted": True, "assertions": True}} | _AS_TEXT
)
_DATASET: Final = dict.fromkeys(("namespace", "name"), True) | dict.fromkeys(
    ("facets", "inputFacets", "outputFacets"), _DATASET_FACETS
)
LOOKED_AT: Final[dict[str, Any]] = {
    **dict.fromkeys(("eventTime", "eventType", "producer"), True),
    "run": {"runId": True, "facets": _looked_at(RUN_TABLE) | {TESTS_FACET: {"tests": True}}},
    "job": {"namespace": True, "name": True, "facets": _looked_at(JOB_TABLE) | _LISTS},
    "dataset": _DATASET,
    "inputs": _DATASET,
    "outputs": _DATASET,
}
"""What parsing looks at in an event, as a scanner wants to know it: all else need not be read into values."""
