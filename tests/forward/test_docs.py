"""docs/forwarding.md: its settings can be read and its commands do what the page says."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from lineagelog.forward import ForwardTarget, read_target
from lineagelog.store import LogStore
from tests.cli.conftest import Ran, no_settings_of_the_machine, run

from .conftest import event, store_all
from .receiver import receiving

__all__ = ["no_settings_of_the_machine", "run"]

PAGE = (Path(__file__).parents[2] / "docs" / "forwarding.md").read_text(encoding="utf-8")
TOML = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [
    line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) for line in block.splitlines()
]


def test_sections_can_be_read() -> None:
    """Every [forward.NAME] of the page is a target."""
    sections = {name: values for block in TOML for name, values in tomllib.loads(block)["forward"].items()}
    targets = {name: read_target(name, values) for name, values in sections.items()}
    assert {target.kind.value for target in targets.values()} == {"openlineage", "egeria", "kafka"}
    assert targets["marquez"].selection.not_namespaces == ("prod-test",)


def test_every_key_is_explained() -> None:
    """The table of keys has all of them, with their defaults."""
    table = PAGE.split("## All keys of a section")[1].split("## ")[0]
    keys = {key for cell in re.findall(r"^\| (.+?) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)`", cell)}
    assert keys == set(ForwardTarget.model_fields) - {"name"}
    defaults = dict(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]+) \|", table, re.MULTILINE))
    assert defaults["`attempts`"] == str(ForwardTarget.model_fields["attempts"].default)
    assert defaults["`batch_size`, `in_flight`"] == "500, 2"
    assert defaults["`hold_on`"] == ", ".join(map(str, ForwardTarget.model_fields["hold_on"].default))


def test_commands_work(log: LogStore, run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the page, against a receiver in the place of the example's."""
    store_all(log, [event(number) for number in range(3)])
    monkeypatch.chdir(tmp_path)
    with receiving() as receiver:
        example = TOML[0].replace("http://127.0.0.1:5001/api/v1/lineage", receiver.url)
        (tmp_path / "lineagelog.toml").write_text(example)
        monkeypatch.setenv("LINEAGELOG_CONFIG", "lineagelog.toml")
        for line in COMMANDS:
            _, *arguments = shlex.split(line.replace("http://127.0.0.1:5001/api/v1/lineage", receiver.url))
            ran = run(*arguments)
            assert (ran.code, ran.err) == (0, ""), line
    assert len(COMMANDS) == 10
    assert len(receiver.stored) == 6
    assert (tmp_path / "export" / "events.ndjson.zst").stat().st_size > 100
