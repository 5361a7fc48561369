"""`lineagelog egeria …`: is Egeria there as the settings say, and the connectors of its integration daemon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from lineagelog.errors import SettingsError

from .checks import check_egeria, print_checks
from .command import ERROR, FINDINGS, OK, command
from .printing import Form, Json, print_facts, print_json, print_rows, put, tell
from .session import Session

if TYPE_CHECKING:
    from lineagelog.egeria.daemons import IntegrationDaemon

group = typer.Typer(no_args_is_help=True, help="Look at the Egeria that results are published to, and its daemon.")
connectors = typer.Typer(no_args_is_help=True, help="Look at an integration daemon's connectors, and steer them.")
group.add_typer(connectors, name="connectors")

Daemon = Annotated[
    str | None, typer.Option("--daemon", metavar="NAME", help="The daemon's server, or its GUID; else egeria.daemon.")
]
Name = Annotated[str | None, typer.Argument(metavar="CONNECTOR", help="As `connectors list` shows it.")]
All = Annotated[bool, typer.Option("--all", help="All connectors of the daemon.")]


@command(group, "check", "lineagelog egeria check", "lineagelog egeria check --json")
def _check(session: Session, json: Json = False) -> int:
    """Check that Egeria can be used: platform, certificate, token, view server, daemon. Exit 2 if not.

    A connector of the daemon that failed is exit 2, too. Nothing is changed in Egeria.
    """
    if not print_checks(list(check_egeria(session.settings.egeria)), json=json):
        return OK
    tell("Egeria cannot be used as it is set up")
    return ERROR


@command(
    connectors, "list", "lineagelog egeria connectors list", "lineagelog egeria connectors list --daemon qs-daemon"
)
def _list(session: Session, daemon: Daemon = None, json: Json = False) -> int:
    """List the connectors that a daemon runs, and what is wrong with them. Exit 1 if something is."""
    from msgspec.structs import asdict

    with _daemon(session, daemon) as found:
        states = [asdict(each) for each in found.connectors()]
    if json:
        print_json(states)
    else:
        print_rows(Form.TABLE, ("name", "status", "last_refresh", "problem"), states)
    return FINDINGS if any(each["problem"] for each in states) else OK


@command(connectors, "restart", "lineagelog egeria connectors restart lineagelog")
def _restart(session: Session, connector: Name = None, every: All = False, daemon: Daemon = None) -> None:
    """Restart a connector of the daemon, or all of them."""
    name = _chosen(connector, every=every)
    with _daemon(session, daemon) as found:
        found.restart(name)
        put(f"{name or 'all connectors'} of {found.name}: told to restart")


@command(connectors, "refresh", "lineagelog egeria connectors refresh lineagelog")
def _refresh(session: Session, connector: Name = None, every: All = False, daemon: Daemon = None) -> None:
    """Have a connector of the daemon do its work now, or all of them."""
    name = _chosen(connector, every=every)
    with _daemon(session, daemon) as found:
        found.refresh(name)
        put(f"{name or 'all connectors'} of {found.name}: told to refresh")


@command(
    connectors,
    "config",
    "lineagelog egeria connectors config lineagelog",
    "lineagelog egeria connectors config lineagelog --set strict=true",
)
def _config(
    session: Session,
    connector: Annotated[str, typer.Argument(metavar="CONNECTOR", help="As `connectors list` shows it.")],
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Set this property; several times for several."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="With --set: all other properties go.")] = False,
    daemon: Daemon = None,
    json: Json = False,
) -> None:
    """Show a connector's configuration properties, or set some; the others stay as they are.

    What is set so holds until the daemon restarts: Egeria keeps it in memory. What is to last belongs into the
    connector's connection (config/egeria).
    """
    from lineagelog.shown.trees import mask_tree

    if replace and not given:
        raise SettingsError("--replace goes with --set")
    wanted = dict(map(_pair, given or ()))
    with _daemon(session, daemon) as found:
        if wanted:
            found.configure(connector, wanted, replace=replace)
            tell("set until the daemon restarts")
        properties = mask_tree(found.properties(connector))
    print_json(properties) if json else print_facts(dict(sorted(properties.items())), 32)


@contextmanager
def _daemon(session: Session, name: str | None) -> Iterator[IntegrationDaemon]:
    from lineagelog.egeria.daemons import find_daemon
    from lineagelog.egeria.remote import Egeria

    settings = session.settings.egeria
    if not (name or settings.daemon):
        raise SettingsError("which daemon? give --daemon, or set egeria.daemon")
    with Egeria(settings) as egeria:
        yield find_daemon(egeria, name or str(settings.daemon))


def _chosen(connector: str | None, *, every: bool) -> str | None:
    """The connector's name; None for all, which Egeria takes where no name is given: only if it was asked for."""
    if bool(connector) == every:
        raise SettingsError("name one connector, or give --all")
    return connector


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (sign and name):
        raise SettingsError(f"--set takes NAME=VALUE, not {text[:60]!r}")
    return name, value
