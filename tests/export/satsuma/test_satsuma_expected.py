"""The handed expectations: what the export of five specs must hold, checked by the handed checker."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from lineagelog.export.satsuma import ExportOptions, OwnEngine, export

from .support import WHEN

NAMES = ("seabird", "nested-iteration", "multi-source-arrows", "merge-strategies", "governance")


@pytest.mark.parametrize("name", NAMES)
def test_a_handed_expectation_is_met(name: str, shared: Path) -> None:
    """Every dataset, job, facet and column lineage entry is as expected, and nothing else is there."""
    place = importlib.util.spec_from_file_location("check_expected", shared / "check_expected.py")
    assert place is not None
    assert place.loader is not None
    checker = importlib.util.module_from_spec(place)
    place.loader.exec_module(checker)
    expected = json.loads((shared / "expected" / f"{name}.json").read_text())
    options = ExportOptions(
        event_time=WHEN,
        dataset_namespace=expected["options"]["dataset_namespace"],
        job_namespace=expected["options"]["job_namespace"],
    )
    spec = OwnEngine(lambda path: Path(path).read_bytes()).read([str(shared / expected["stm"])])
    made = export(spec, options)
    assert list(checker.check(expected, [item.event for item in made.events])) == []
    assert made.problems == ()
