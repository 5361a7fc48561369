"""`lineagelog export …`: what the exporters make can be stored or posted too."""

from __future__ import annotations

import typer

from . import export_satsuma
from .export_delivery import emit_events, load_events
from .export_snaplogic import EPILOG, snaplogic_command
from .session import Session

group = typer.Typer(
    help="Make OpenLineage events from documents that describe lineage.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _load(events: list[bytes]) -> None:
    """Store the events in the log store that the settings name."""
    load_events(Session.begin(None, {}), events)


export_satsuma.register(group)
group.command("snaplogic", epilog=EPILOG)(snaplogic_command(_load, emit_events))
