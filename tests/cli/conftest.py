"""Runs commands: in this process where that is enough, as a process of its own where it matters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from lineagelog.cli import app

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = str(Path(sys.executable).with_name("lineagelog"))


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the user's settings file nor variables of ours reach a test."""
    for name in list(os.environ):
        if name.startswith("LINEAGELOG_") and "TEST" not in name and "POSTGRES_BIN" not in name:
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))


def run_here(*arguments: str, stdin: bytes | None = None) -> Ran:
    """Run a command in this process."""
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def run_process(*arguments: str, stdin: bytes | None = None, **variables: str) -> Ran:
    """Run a command as a process."""
    environment = os.environ | variables
    done = subprocess.run([COMMAND, *arguments], input=stdin, env=environment, capture_output=True, timeout=120)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def run(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs commands on an empty database of this test."""
    monkeypatch.setenv("LINEAGELOG_DATABASE", database_url)
    return run_here


def event(run_id: str = "r1", event_type: str = "COMPLETE", **more: Any) -> dict[str, Any]:
    """A small event; `more` replaces members."""
    return {
        "eventType": event_type,
        "eventTime": "2026-03-01T08:00:00Z",
        "producer": "https://example.invalid/tests",
        "run": {"runId": run_id},
        "job": {"namespace": "tests", "name": "job"},
        **more,
    }


def encode(*events: dict[str, Any]) -> bytes:
    """NDJSON."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)
