"""The tree of commands. A further group of commands is one more line here."""

from __future__ import annotations

from typing import Annotated

import typer

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

_ABOUT = """The OpenLineage log store: receive, keep, digest and read OpenLineage events in PostgreSQL.

Without --database it keeps its own PostgreSQL in a data directory. Exit codes: 0 fine, 1 findings, 2 error.
"""

app = typer.Typer(
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

        print(f"lineagelog {version('lineagelog')}")
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
    app()
