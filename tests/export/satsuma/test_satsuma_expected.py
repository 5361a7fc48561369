"""The shared expectations: what the export of five specs must hold, checked by the checker beside them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lineagelog.export.satsuma import ExportOptions, OwnEngine, as_array, export
from tests.support import PATIENCE

from .support import WHEN

NAMES = ("seabird", "nested-iteration", "multi-source-arrows", "merge-strategies", "governance")


@pytest.mark.parametrize("name", NAMES)
def test_an_expectation_is_met(name: str, shared: Path, tmp_path: Path) -> None:
    """Every dataset, job, facet and column lineage entry is as expected, and nothing else is there."""
    expected = shared / "expected" / f"{name}.json"
    given = json.loads(expected.read_text())
    options = ExportOptions(
        event_time=WHEN,
        dataset_namespace=given["options"]["dataset_namespace"],
        job_namespace=given["options"]["job_namespace"],
    )
    made = export(OwnEngine(lambda path: Path(path).read_bytes()).read([str(shared / given["stm"])]), options)
    events = tmp_path / "events.json"
    events.write_bytes(as_array(made.events))
    checker = [sys.executable, str(shared / "check_expected.py"), str(expected), str(events)]
    done = subprocess.run(checker, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert made.problems == ()


@pytest.mark.parametrize("folder", ["kimball", "datavault", "reports", "namespaces"])
def test_the_other_shared_specs_export_without_a_finding(folder: str, shared: Path) -> None:
    """Every spec of the folder, each as the one to begin with: no problem, valid events."""
    from lineagelog.export.satsuma import validate

    for file in sorted((shared / "stm" / folder).glob("*.stm")):
        spec = OwnEngine(lambda path: Path(path).read_bytes()).read([str(file)])
        made = export(spec, ExportOptions(event_time=WHEN, dataset_namespace="snowflake://acme"))
        # ns-merging has one field that two of its sources declare
        assert all("is declared in 'staging::stg_gl_entries' and in" in str(it) for it in made.problems), file.name
        assert validate(made.events) == [], file.name
        assert len(made.events) >= len(spec.mappings)
