"""The rows that readers get have the facts that are declared: `event/facts.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_type_hints

import pytest

from lineagelog.event import facts
from lineagelog.event.facts import Kind
from lineagelog.event.model import DatasetSighting, RunSighting
from lineagelog.read import Run, RunDataset
from lineagelog.store.definition import tables

if TYPE_CHECKING:
    from msgspec import Struct


@pytest.mark.parametrize(("row", "registers"), [(Run, facts.RUN), (RunDataset, facts.DATASET)])
def test_rows_have_the_facts(row: type[Struct], registers: tuple[facts.Register, ...]) -> None:
    """Each fact, in the order and with the type of its declaration, behind the row's own members."""
    declared = [fact for register in registers for fact in register.facts]
    types: dict[str, Any] = {name: Any if kind is Kind.JSON else kind.python | None for name, kind, _ in declared}
    members = get_type_hints(row)
    for computed in ("duration", "earlier_outcomes"):  # of a run
        members.pop(computed, None)
    assert list(members.items())[-len(declared) :] == list(types.items()), "read/rows.py is behind event/facts.py"


def test_the_declaration_is_sound() -> None:
    """No column and no member twice, none of a version to come, and no more than the merges know of."""
    for registers in (facts.RUN, facts.DATASET):
        columns = [fact.name for register in registers for fact in register.columns]
        assert len({*columns}) == len(columns)
        assert len({register.member for register in registers}) == len(registers)
        assert {register.since for register in registers} <= {*range(1, tables.VERSION + 1)}
        assert {fact.kind for register in registers for fact in register.columns} <= {*tables.TYPES}
    of_jobs = {r.name for r in facts.RUN if any(place.of == "job" for place in r.places)}
    assert {r.name for r in facts.RUN if r.deletable} == of_jobs
    assert all(len(r.facts) > 1 for r in facts.RUN if r.deletable)  # a single '' would be as great as a deletion
    assert {len(register.facts) for register in facts.DATASET} == {1}
    kinds = [{fact.kind for fact in register.facts} for register in facts.RUN if len(register.facts) > 1]
    kinds += [{fact.kind for register in facts.DATASET for fact in register.facts}]
    assert all(Kind.JSON not in each for each in kinds)


def test_sightings_have_the_members() -> None:
    """What facets give of a run and of a dataset; the producer is the event's own."""
    members = (r.member for r in facts.RUN if r.name != "producer")
    assert RunSighting.__struct_fields__ == ("status", *members, "deleted")
    assert DatasetSighting.__struct_fields__[3:-2] == tuple(register.member for register in facts.DATASET)
