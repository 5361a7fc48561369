"""The forms of the output: files, array, NDJSON and a script that emits the same events."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from lineagelog.export.satsuma import as_array, as_files, as_lines, as_ndjson, as_script
from tests.support import PATIENCE

from .support import Exports, run_export

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """
schema a (note "It's a \\"note\\" with ''' and \\\\ and {braces} 😀") { x INT (pii) }
schema b (dimension, scd 2) { y INT }
schema gone (report) { v INT }
schema board (report, source {b}, tool looker) { v INT }
mapping `load b` (merge append) { source { a } target { b } x -> y { "@x in \\"quotes\\"" } }
namespace n { mapping `load/b: 1` { source { a } target { b } -> y { now } } }
"""


@pytest.fixture
def made() -> Exports:
    """Events of every kind of facet, and a dataset event."""
    return run_export(SPEC, standalone_consumers=True)


def test_one_file_per_event(made: Exports) -> None:
    """The file is called by its job, made safe, and holds its event."""
    files = as_files(made.made.events)
    assert list(files) == ["load-b.json", "n.load-b-1.json", "gone.dataset.json", "board.json"]
    assert [json.loads(text) for text in files.values()] == made.events


def test_array_and_lines_hold_the_same_events(made: Exports) -> None:
    """One array, or one line per event with a line end behind each."""
    assert json.loads(as_array(made.made.events)) == made.events
    text = as_ndjson(made.made.events)
    assert [json.loads(line) for line in text.splitlines()] == made.events
    assert text == b"".join(line + b"\n" for line in as_lines(made.made.events))


def test_outputs_are_the_same_bytes_again() -> None:
    """Every form, from a fresh read of the spec."""
    for form in (as_array, as_ndjson, as_files):
        assert form(run_export(SPEC).made.events) == form(run_export(SPEC).made.events)
    assert as_script(run_export(SPEC).made.events, "e.py") == as_script(run_export(SPEC).made.events, "e.py")


def test_file_names_are_safe_and_unique() -> None:
    """Names that differ in case only, that are long or odd, become files of their own in one folder."""
    head = "schema s { x INT }\n"
    mappings = [
        f"schema {name} (report, source {{s}}) {{ v INT }}" for name in ("Board", "board", "`a/b c`", f"`{'x' * 300}`")
    ]
    files = list(as_files(run_export(head + "\n".join(mappings)).made.events))
    assert files[:3] == ["Board.json", "board~2.json", "a-b-c.json"]
    assert len(files[3]) < 150


@pytest.mark.parametrize("kind", ["complete", "start-complete", "job"])
def test_the_script_emits_the_same_events(kind: str, tmp_path: Path) -> None:
    """Run with the file transport of the OpenLineage client, the script writes the events of the export."""
    made = run_export(SPEC, standalone_consumers=True, event_kind=kind)
    script, log = tmp_path / "emit.py", tmp_path / "events.ndjson"
    script.write_bytes(as_script(made.made.events, "emit.py"))
    transport = {"type": "file", "log_file_path": str(log), "append": True}
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("OPENLINEAGE")},
        "OPENLINEAGE__TRANSPORT": json.dumps(transport),
    }
    subprocess.run([sys.executable, str(script)], check=True, env=environment, cwd=tmp_path, timeout=PATIENCE)
    assert [json.loads(line) for line in log.read_text().splitlines()] == made.events
