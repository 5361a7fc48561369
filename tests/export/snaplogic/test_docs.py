"""The commands and outputs in docs/export-snaplogic.md are what the command really prints."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.support import ROOT, run_here

from .build import SAMPLES
from .support import event, export

PAGE = ROOT / "docs" / "export-snaplogic.md"
TEXT = PAGE.read_text()
RUNS = re.findall(r"<!-- run: (.+?) -->\n```console\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def in_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the samples, as the current one."""
    folder = tmp_path / "samples"
    shutil.copytree(SAMPLES, folder)
    summary = json.loads((folder / "files.run.json").read_text())
    del summary["response_map"]["snap_map"]
    (folder / "summary.json").write_text(json.dumps(summary))
    monkeypatch.chdir(folder)
    return folder


def output(arguments: str, code: int = 0) -> str:
    """What the command prints: findings, then the summary."""
    ran = run_here("export", "snaplogic", *shlex.split(arguments))
    assert ran.code == code, ran.err
    return ran.err + ran.out


@pytest.mark.usefixtures("in_samples")
@pytest.mark.parametrize(("arguments", "shown"), RUNS, ids=[arguments.split()[0] for arguments, _ in RUNS])
def test_the_commands_print_what_the_page_shows(arguments: str, shown: str) -> None:
    """Command line and output, whole."""
    assert shown == f"$ lineagelog export snaplogic {arguments}\n{output(arguments)}"


def test_the_event_on_the_page_is_the_exported_one() -> None:
    """Whole, as it is in the file."""
    shown = re.search(r"<!-- event: Shape -->\n```json\n(.*?)```", TEXT, re.DOTALL)
    assert shown is not None
    assert json.loads(shown[1]) == event(export("files"), "Shape")


@pytest.mark.usefixtures("in_samples")
def test_the_error_on_the_page_is_the_real_one() -> None:
    """A summary instead of the detail."""
    assert output("files.slp --run summary.json --check", code=2).strip() in TEXT
    assert len(RUNS) == 2
