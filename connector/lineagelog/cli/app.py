"""The tree of commands: which module has which. A further one is one more line here."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, Final

import typer

_COMMANDS: Final = {
    "serve": "serve",
    "daemon": "daemon",
    "load": "load",
    "consume": "consume",
    "show": "show",
    "status": "status",
    "doctor": "doctor",
    "config": "config",
    "analyse": "analyse",
    "analyses": "analyse",
}
"""The module that registers each command."""
_GROUPS: Final = {
    "list": "lists",
    "store": "store",
    "dead-letters": "dead_letters",
    "tokens": "tokens",
    "export": "export",
    "forward": "forward",
}
"""The module whose `group` each group of commands is."""

_ABOUT = """The OpenLineage log store: receive, keep, digest and read OpenLineage events in PostgreSQL.

Without --database it keeps its own PostgreSQL in a data directory. Exit codes: 0 fine, 1 findings, 2 error.
"""


def make_app(only: str | None = None) -> typer.Typer:
    """The command line, or of it what ``only`` names: what the other commands bring in is not loaded then."""
    app = typer.Typer(
        name="lineagelog",
        help=_ABOUT,
        epilog="Start here:\n  lineagelog serve\n  lineagelog load examples/\n  lineagelog list runs",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name in dict.fromkeys(_COMMANDS.values()):
        if only is None or _COMMANDS.get(only) == name:
            import_module(f".{name}", __package__).register(app)
    for group, name in _GROUPS.items():
        if only in (None, group):
            app.add_typer(import_module(f".{name}", __package__).group, name=group)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"lineagelog {version('lineagelog')}")
        raise typer.Exit


def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the `lineagelog` command."""
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    is_known = first in _COMMANDS or first in _GROUPS or first == "--version"
    completes = any(name.endswith("_COMPLETE") for name in os.environ)
    make_app(first if is_known and not completes else None)()
