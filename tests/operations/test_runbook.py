"""docs/runbook.md: every command in it runs; the files for services and containers are what their readers take."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.findings.support import finding, kept, record
from tests.support import PATIENCE, ROOT, run_here

if TYPE_CHECKING:
    from pathlib import Path

    from lineagelog.store import LogStore

COMMANDS = [
    line.removeprefix("lineagelog ").partition(" > ")[0]
    for block in re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines()
]
AWAY = ("forward TARGET --probe", "egeria check")
"""What asks others, who are not there: 2 with a line that says so."""


@pytest.fixture
def known(store: LogStore, tmp_path: Path, closed_port: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a finding and a dead letter, and settings with a target and an Egeria that are away."""
    record(store, 0, 5, finding("a", 2))
    away = f"http://127.0.0.1:{closed_port}"
    config = tmp_path / "lineagelog.toml"
    egeria = f"platform_url = '{away}'\nuser = 'me'\npassword_file = '{tmp_path / 'password'}'"
    config.write_text(f"[forward.somewhere]\nurl = '{away}'\n[egeria]\n{egeria}\n")
    (tmp_path / "password").write_text("secret")
    monkeypatch.setenv("LINEAGELOG_CONFIG", str(config))
    monkeypatch.setenv("LINEAGELOG_DATABASE", store.engine.url.render_as_string(hide_password=False))
    assert run_here("load", "-", stdin=b"nonsense").code == 1
    (row,) = kept(store).values()
    return str(row.finding_id)


def test_every_command_runs(known: str) -> None:
    """With the names of the store that is there; none is refused for how it is spelled."""
    assert len(COMMANDS) > 30
    for command in dict.fromkeys(COMMANDS):
        arguments = shlex.split(command.replace("FINDING", known).replace("TARGET", "somewhere"))
        ran = run_here(*arguments)
        expected = (2,) if command in AWAY else (0, 1)
        assert ran.code in expected, (command, ran.err)
        assert "--help" not in ran.err, (command, ran.err)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_the_unit_is_one(tmp_path: Path) -> None:
    """With a program at its place."""
    text = (ROOT / "config" / "systemd" / "lineagelog.service").read_text(encoding="utf-8")
    unit = tmp_path / "lineagelog.service"
    unit.write_text(text.replace("/opt/lineagelog/bin/lineagelog", "/bin/true"))
    command = ["systemd-analyze", "verify", "--man=no", str(unit)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    said = [line for line in ran.stderr.splitlines() if "lineagelog.service" in line]
    assert said == []


def test_containers_name_what_is_there() -> None:
    """The compose file runs commands and sets variables that exist, and builds from the container file beside it."""
    folder = ROOT / "config" / "container"
    services = yaml.safe_load((folder / "compose.yaml").read_text(encoding="utf-8"))["services"]
    template = run_here("config", "--template").out
    for service in services.values():
        if "build" in service:
            assert (folder / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
            assert run_here(*service.get("command", ["serve"]), "--help").code == 0
            for variable in service["environment"]:
                key = variable.removeprefix("LINEAGELOG_").lower().split("__")[-1]
                assert re.search(rf"^#? ?{key} = ", template, re.MULTILINE), variable
