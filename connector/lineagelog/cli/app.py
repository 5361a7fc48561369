"""The tree of commands: which module has which. A further one is one more line here."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, Final, cast

import typer
from typer.core import TyperGroup

from .command import internal
from .printing import put, settle_streams, tell

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
    "report": "report",
    "publish": "publish",
    "explain": "findings",
    "governance-actions": "governance_actions",
}
"""The module that registers each command."""
_GROUPS: Final = {
    "list": "lists",
    "findings": "findings",
    "store": "store",
    "dead-letters": "dead_letters",
    "tokens": "tokens",
    "export": "export",
    "forward": "forward",
    "publications": "publications",
    "egeria": "egeria",
}
"""The module whose `group` each group of commands is."""

_ABOUT = """The OpenLineage log store: receive, keep, digest and read OpenLineage events in PostgreSQL.

Without --database it keeps its own PostgreSQL in a data directory. Exit codes: 0 fine, 1 findings, 2 error.
"""

_ClickError: Final = cast(type[Exception], typer.BadParameter.__mro__[2])
"""The base of all that is wrong with a command line; its module is no public one."""


class _Root(TyperGroup):
    """Says what is wrong with a command line as all other errors are said: in one line on stderr, exit code 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that the arguments name."""
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except typer.Abort:
            if not standalone_mode:
                raise
            tell("lineagelog: aborted")
            sys.exit(1)
        except _ClickError as error:
            if not standalone_mode:
                raise
            _say(error)
            sys.exit(2)
        except Exception as error:
            if not standalone_mode or os.environ.get("LINEAGELOG_DEBUG", "") not in ("", "0"):
                raise
            tell(f"lineagelog: {internal(error)}")
            sys.exit(2)
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code


def _say(error: Any) -> None:
    if type(error).__name__ == "NoArgsIsHelpError":  # it is the help
        error.show()
        return
    context = getattr(error, "ctx", None)
    see = f" (see {context.command_path} --help)" if context is not None else ""
    tell(f"lineagelog: {error.format_message().rstrip('.')}{see}")


def make_app(only: str | None = None) -> typer.Typer:
    """The command line, or of it what ``only`` names: what the other commands bring in is not loaded then."""
    app = typer.Typer(
        cls=_Root,
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

        put(f"lineagelog {version('lineagelog')}")
        raise typer.Exit


def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the `lineagelog` command."""
    settle_streams()
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    is_known = first in _COMMANDS or first in _GROUPS or first == "--version"
    completes = any(name.endswith("_COMPLETE") for name in os.environ)
    make_app(first if is_known and not completes else None)()
