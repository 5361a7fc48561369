"""The shared example, compared by the checker beside it (skipped where the shared folder is absent)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lineagelog.export.snaplogic import (
    AccountBook,
    Naming,
    Nested,
    PipelineExportOptions,
    Source,
    VirtualNames,
    export_snaplogic,
    read_accounts,
    read_namespaces,
)
from tests.support import ROOT

SHARED = Path(os.environ.get("LINEAGELOG_SHARED", ROOT.parent / "shared")) / "snaplogic"

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared folder with the SnapLogic example is absent")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"modern": True},
        {"virtual_names": VirtualNames.SNAPLOGIC},
        {"naming": Naming.OPENLINEAGE},
        {"nested": Nested.PATH, "modern": True, "naming": Naming.OPENLINEAGE},
    ],
    ids=["documented", "modern", "real names", "openlineage", "all"],
)
@pytest.mark.parametrize("with_namespaces", [True, False], ids=["namespaces", "accounts only"])
def test_the_checker_finds_nothing(options: dict[str, Any], with_namespaces: bool, tmp_path: Path) -> None:
    """No error and no warning, whichever way endpoints and virtual datasets are named."""
    folder = SHARED / "example"
    accounts = read_accounts((folder / "accounts.json").read_bytes(), "accounts.json")
    mapped = read_namespaces((folder / "namespaces.json").read_bytes(), "namespaces.json") if with_namespaces else {}
    pipeline, run = (Source(name, (folder / name).read_bytes()) for name in ("pipeline.slp", "run.json"))
    exported = export_snaplogic(
        [pipeline], [run], PipelineExportOptions(accounts=AccountBook(accounts, mapped), **options)
    )
    (tmp_path / "events.json").write_text(json.dumps(exported.events))
    command = [
        sys.executable,
        SHARED / "check_snaplogic.py",
        tmp_path / "events.json",
        folder / "expected.json",
        "--json",
    ]
    done = subprocess.run([*command, *(["--modern"] if options.get("modern") else [])], capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert (done.returncode, found["errors"], found["warnings"]) == (0, [], [])
