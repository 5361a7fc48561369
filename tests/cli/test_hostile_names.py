"""Names with control characters and credentials: shown to people, obeyed by no terminal, kept exactly by the store."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from lineagelog.shown import json_visible, one_line, visible
from tests.support import COMMAND, ROOT, Ran, encode, event

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = "gull\x1b[2J\x1b]0;owned\x07\x9b31m\u202etxt.\u2066\x7f\u200b[bold red]x[/bold red]"
SHOWN = r"gull\x1b[2J\x1b]0;owned\x07\x9b31m\u202etxt.\u2066\x7f\u200b[bold red]x[/bold red]"
NAMESPACE = "postgres://me:hunter2@db"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]")
STYLE = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\r\x1b\[2K|\r(?=\n)")
"""What our own tables consist of on a terminal."""

FAILED = event(
    "11111111-1111-4111-8111-111111111111",
    "FAIL",
    producer="https://me:hunter2@example.invalid/x",
    job={"namespace": NAMESPACE, "name": NAME},
    run={
        "runId": "11111111-1111-4111-8111-111111111111",
        "facets": {"errorMessage": {"message": "boom \x1b[8mhidden password=hunter2", "programmingLanguage": "x"}},
    },
    outputs=[{"namespace": NAMESPACE, "name": NAME}],
)
BAD = event("22222222-2222-4222-8222-222222222222", job={"namespace": "n", "name": NAME}, eventTime="\x1b[2J")
COMMANDS = [
    ("list", "runs"),
    ("list", "run-datasets"),
    ("list", "jobs"),
    ("list", "datasets"),
    ("list", "events"),
    ("list", "assertions"),
    ("list", "tests"),
    ("show", FAILED["run"]["runId"]),
    ("analyse", "blast-radius", "--run-id", FAILED["run"]["runId"]),
    ("analyse", "blast-radius", "--dataset", NAME),
    ("analyse", "incomplete-lifecycle"),
    ("analyse", "exposed-credentials"),
    ("analyse", "incomplete-lifecycle", "--record"),
    ("findings", "list"),
    ("dead-letters", "list"),
    ("dead-letters", "list", "--reverse"),
    ("dead-letters", "show", "1"),
    ("status",),
    ("doctor",),
    ("forward", "status"),
    ("forward", "parked", "list"),
    ("tokens", "list"),
    ("store", "verify"),
    ("show", NAME),
    ("list", NAME),
    ("list", "runs", "--since", NAME),
    ("list", "runs", f"--{NAME}"),
    ("forward", re.sub("[/.]", "", NAME)),
    ("dead-letters", "list", "--state", NAME),
    ("load", f"/nowhere/{NAME}"),
    ("list", "runs", "--database", NAME),
    ("list", "runs", "--schema", NAME),
    ("config", "--config", NAME),
]


ON_TERMINAL = [
    ("list", "runs"),
    ("show", FAILED["run"]["runId"]),
    ("dead-letters", "list"),
    ("dead-letters", "show", "1"),
    ("show", NAME),
    ("forward", re.sub("[/.]", "", NAME)),
]


@pytest.fixture
def filled(run: Callable[..., Ran]) -> Callable[..., Ran]:
    """A store with such names, and a dead letter."""
    loaded = run("load", "-", stdin=encode(FAILED, BAD))
    assert loaded.code == 1
    assert not OBEYED.search(loaded.err)
    return run


def on_terminal(arguments: tuple[str, ...], folder: Path) -> str:
    """What a command writes on a terminal."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": "400", "TERM": "xterm", "HOME": str(folder)}
    with subprocess.Popen(
        [COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            parts.append(part)
        process.wait()
    os.close(ours)
    return b"".join(parts).decode()


@pytest.mark.long
def test_into_a_pipe(filled: Callable[..., Ran]) -> None:
    """Tables, CSV, facts, explanations, errors: escapes for people, and no credential."""
    for arguments in COMMANDS:
        for form in ((), ("--csv",)) if arguments[0] in ("list", "analyse") else ((),):
            ran = filled(*arguments, *form)
            assert not OBEYED.search(ran.out + ran.err), arguments
            assert "hunter2" not in ran.out + ran.err, arguments
            assert "internal error" not in ran.err, arguments
    for arguments in (("list", "runs"), ("analyse", "incomplete-lifecycle", "--since", "2026-03-01")):
        assert SHOWN in filled(*arguments).out
    assert "postgres://me:***@db" in filled("list", "runs").out
    assert r"boom \x1b[8mhidden password=***" in filled("show", FAILED["run"]["runId"]).out


@pytest.mark.long
@pytest.mark.parametrize("arguments", ON_TERMINAL)
def test_on_a_terminal(filled: Callable[..., Ran], arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Nothing but the table's own styles."""
    said = on_terminal(arguments, tmp_path)
    assert r"\x1b" in said
    assert not OBEYED.search(STYLE.sub("", said)), arguments
    assert "hunter2" not in said


def test_json_is_data(filled: Callable[..., Ran]) -> None:
    """The exact names, escaped in JSON's way; raw events can be loaded again."""
    for arguments in [(*command, "--json") for command in COMMANDS[:2]] + [("list", "events", "--raw")]:
        ran = filled(*arguments)
        assert not OBEYED.search(ran.out)
    assert filled("list", "runs", "--json").rows[0]["job_name"] == NAME
    assert filled("show", FAILED["run"]["runId"], "--json").json["datasets"][0]["dataset_name"] == NAME
    raw = filled("list", "events", "--raw").out
    assert json.loads(raw)["job"]["name"] == NAME
    assert filled("load", "-", stdin=raw.encode()).out.startswith("read 1 stored 0 duplicate 1")


def test_visible() -> None:
    """Escapes by code point; newlines, tabs and what scripts need stay."""
    assert visible(NAME) == SHOWN
    assert visible("a\r\nb\tc\rd \ud800 \U000e0041 \u2028") == "a\nb\tc\\x0dd \\ud800 \\U000e0041 \\u2028"
    assert visible("نیم\u200cفاصله 👩\u200d🌾 naïve") == "نیم\u200cفاصله 👩\u200d🌾 naïve"
    assert one_line("a\n\tb \x1b") == r"a b \x1b"
    assert json.loads(json_visible(json.dumps(NAME, ensure_ascii=False))) == NAME
    assert json_visible('"\x7f\u202e\U000e0041"') == r'"\u007f\u202e\udb40\udc41"'


def test_nothing_is_printed_past_the_one_place() -> None:
    """Commands print by `printing`, whose functions mask and escape; the linter refuses `print`."""
    folder = ROOT / "connector" / "lineagelog" / "cli"
    others = [file for file in folder.glob("*.py") if file.name not in ("printing.py", "logs.py")]
    assert others
    past = re.compile(r"typer\.echo|sys\.stdout\.(?:write|buffer)|sys\.stderr\.write|click\.echo|secho")
    assert [file.name for file in others if past.search(file.read_text(encoding="utf-8"))] == []
