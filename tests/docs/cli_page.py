"""Writes docs/cli.md from the commands: `python -m tests.docs.cli_page`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from lineagelog.cli import make_app
from tests.support import ROOT

PAGE = ROOT / "docs" / "cli.md"

_INTRODUCTION = """# Commands

Made from the commands themselves (`python -m tests.docs.cli_page`); a test keeps it current.

Exit codes: 0 fine, 1 findings (something was refused, `verify` differs, `doctor` advises), 2 error: one line on stderr.
130 after Ctrl-C. `LINEAGELOG_DEBUG=1` shows where an error came from.

Output: lists are a table on a terminal and tab-separated lines with a header into a pipe; `--csv` is CSV with all
columns; `--json` is NDJSON with all columns, one object per line. Commands that answer with one thing print one JSON
document with `--json`. Times are UTC, ISO 8601. TIME is `2026-03-01`, `2026-03-01T08:00:00Z`, `now`, or a distance from
now: `-7d` (s, m, h, d, w). Messages for people go to stderr.

Commands that need the store take these options, too:

{store}

`lineagelog --install-completion` installs completion for your shell. `python -m lineagelog` is the same command.
"""


def page() -> str:
    """The whole page."""
    root: Any = typer.main.get_command(make_app())
    example = root.commands["status"]
    common = [parameter for parameter in example.params if parameter.name in _COMMON]
    parts = [_INTRODUCTION.format(store=_table(common))]
    parts += [_section(path, command) for path, command in _commands(root, ())]
    return "\n".join(parts)


_COMMON = ("database", "schema", "data_dir", "config")


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, child in command.commands.items():
        if getattr(child, "commands", None):
            yield from _commands(child, (*path, name))
        else:
            yield (*path, name), child


def _section(path: tuple[str, ...], command: Any) -> str:
    own = [parameter for parameter in command.params if parameter.name not in (*_COMMON, "help")]
    lines = [f"## lineagelog {' '.join(path)}", "", command.help.strip(), ""]
    if own:
        lines += [_table(own), ""]
    _, *examples = (command.epilog or "\n").replace("\\[", "[").splitlines()
    shown = [f"    {example.strip()}" if example.strip() else "" for example in examples]
    return "\n".join([*lines, *shown, ""])


def _table(parameters: list[Any]) -> str:
    rows = []
    for parameter in parameters:
        is_argument = parameter.param_type_name == "argument"
        value = "" if is_argument or getattr(parameter, "is_flag", False) else f" {parameter.metavar or 'VALUE'}"
        name = (parameter.metavar or parameter.name.upper()) if is_argument else parameter.opts[0]
        shown = getattr(parameter, "show_default", None)
        default = shown if isinstance(shown, str) else parameter.default
        said = " ".join(parameter.help.split()).rstrip(".") + "."
        if default not in (None, False, ...) and not is_argument:
            said += f" Default: `{default}`."
        rows.append("| `{}` | {} |".format(*(text.replace("|", "\\|") for text in (name + value, said))))
    return "\n".join(["| option | |", "|---|---|", *rows])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
