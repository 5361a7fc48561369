"""The documentation of the exporter: its input gives its output, word for word."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner

from lineagelog.cli.export import group
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

BLOCK = re.compile(
    r"<!-- (?P<kind>file|run|excerpt|python)(?:: (?P<about>.*?))? -->\n```\w+\n(?P<text>.*?)```\n",
    re.DOTALL,
)
COMMAND = re.compile(r"\$ lineagelog export satsuma (?P<arguments>(?:.*\\\n)*.*\n)")


def shown(kind: str, about: str, text: str) -> str:
    """What the documentation must show for a block."""
    if kind == "run":
        command = COMMAND.match(text)
        assert command is not None
        done = CliRunner().invoke(group, ["satsuma", *shlex.split(command["arguments"].replace("\\\n", " "))])
        assert "Traceback" not in done.output
        return command.group() + done.output
    if kind == "excerpt":
        file, _, keys = about.partition(" ")
        with open(file, encoding="utf-8") as opened:  # noqa: PTH123
            value: Any = json.load(opened)
        for key in keys.split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return text


def follow(text: str, folder: Path) -> str:
    """The documentation as it must be: every block filled with what really comes out."""

    def fill(found: re.Match[str]) -> str:
        kind, about, body = found["kind"], found["about"] or "", found["text"]
        if kind == "file":
            (folder / about).write_text(body)
        if kind == "python":
            exec(compile(body, "docs", "exec"), {})
        return text[found.start() : found.start("text")] + shown(kind, about, body) + "```\n"

    return BLOCK.sub(fill, text)


def test_the_documentation_shows_what_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its specs are exported with its commands; outputs and excerpts are the real ones."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "export-satsuma.md").read_text()
    assert len(BLOCK.findall(text)) >= 12
    assert follow(text, tmp_path) == text
