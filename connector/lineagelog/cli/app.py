"""The tree of commands. A further group of commands is one more line here."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final, cast

import typer
from typer.core import TyperGroup

from . import (
    analyse,
    config,
    consume,
    daemon,
    dead_letters,
    doctor,
    export,
    forward,
    lists,
    load,
    serve,
    show,
    status,
    store,
    tokens,
)
from .command import internal
from .printing import put, settle_streams, tell

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


app = typer.Typer(
    cls=_Root,
    name="lineagelog",
    help=_ABOUT,
    epilog="Start here:\n  lineagelog serve\n  lineagelog load examples/\n  lineagelog list runs",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

serve.register(app)
daemon.register(app)
load.register(app)
consume.register(app)
show.register(app)
status.register(app)
doctor.register(app)
config.register(app)
app.add_typer(lists.group, name="list")
app.add_typer(analyse.group, name="analyse")
app.add_typer(store.group, name="store")
app.add_typer(dead_letters.group, name="dead-letters")
app.add_typer(tokens.group, name="tokens")
app.add_typer(export.group, name="export")
app.add_typer(forward.group, name="forward")


def _print_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        put(f"lineagelog {version('lineagelog')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the `lineagelog` command."""
    settle_streams()
    app()
