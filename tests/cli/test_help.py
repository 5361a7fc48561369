"""Help: every command says what it does, with an example that is a command line of ours."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
import typer.main

from lineagelog.cli import make_app
from tests.support import run_here


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, child in getattr(command, "commands", {}).items():
        if getattr(child, "commands", None):
            yield from _commands(child, (*path, name))
        else:
            yield (*path, name), child


ROOT: Any = typer.main.get_command(make_app())
COMMANDS = dict(_commands(ROOT))


def test_the_commands_there_are() -> None:
    """None is missing."""
    wanted = (
        "serve load show status doctor config list:runs list:datasets list:assertions list:tests list:events "
        "store:init store:ddl store:verify store:rebuild store:purge dead-letters:list dead-letters:show "
        "dead-letters:retry dead-letters:discard tokens:create tokens:list tokens:revoke"
    )
    assert set(wanted.split()) <= {":".join(path) for path in COMMANDS}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_has_a_sentence_and_an_example(path: tuple[str, ...]) -> None:
    """`--help` works, begins with a sentence and shows an example whose command and options exist."""
    command = COMMANDS[path]
    assert run_here(*path, "--help").code == 0
    assert command.help.split("\n\n")[0].rstrip().endswith(".")
    text = f"{command.help}\n{command.epilog or ''}"
    own = [line for line in text.splitlines() if f"lineagelog {' '.join(path)}" in line]
    assert "Example" in text
    assert own
    options = {option for parameter in command.params for option in parameter.opts}
    for line in own:
        words = shlex.split(line.split("lineagelog ", 1)[1].split("|")[0].split("(")[0])
        assert {word.split("=")[0] for word in words if word.startswith("--")} <= options


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_is_explained(path: tuple[str, ...]) -> None:
    """No option or argument is without help."""
    assert [parameter.name for parameter in COMMANDS[path].params if not getattr(parameter, "help", None)] == []


def test_the_version() -> None:
    """`--version` prints it and needs no command."""
    assert f"lineagelog {version('lineagelog')}\n" == run_here("--version").out


def test_the_module_is_the_command() -> None:
    """`python -m lineagelog` prints, refuses and ends as `lineagelog` does, under the name it was called by."""
    module = [sys.executable, "-m", "lineagelog"]
    told = subprocess.run([*module, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"lineagelog {version('lineagelog')}\n"
    refused = subprocess.run([*module, "list", "nonsense"], capture_output=True, text=True)
    assert (refused.returncode, "(see python -m lineagelog list --help)" in refused.stderr) == (2, True)


def test_an_unknown_option_is_an_error() -> None:
    """Exit code 2, and the option is named."""
    ran = run_here("list", "runs", "--nonsense")
    assert (ran.code, "--nonsense" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "unneeded"),
    [
        ("--version", {"pydantic", "sqlalchemy", "psycopg", "lineagelog.settings"}),
        ("list runs --database postgresql://nobody@127.0.0.1:1/x", {"lineagelog.server", "lineagelog.forward"}),
        ("store ddl", {"lineagelog.server", "lineagelog.forward", "lineagelog.read"}),
    ],
)
def test_a_command_loads_what_it_needs_and_no_more(words: str, unneeded: set[str]) -> None:
    """Starting is quick because of what is not imported: what prints tables, logs, serves, exports and forwards."""
    never = {"rich", "structlog", "uvicorn", "prometheus_client", "sqlglot", "requests", "httpx2", "lineagelog.export"}
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "lineagelog", *words.split()], capture_output=True, text=True
    ).stderr
    loaded = {line.rpartition("|")[2].strip() for line in told.splitlines() if line.startswith("import time:")}
    assert "lineagelog.cli.app" in loaded
    assert loaded & (never | unneeded) == set()
