"""`lineagelog export …`: what the exporters make can be stored or posted too."""

from __future__ import annotations

import typer

from lineagelog.errors import InputError, SettingsError

from . import export_satsuma
from .export_snaplogic import EPILOG, snaplogic_command
from .printing import tell
from .session import Session

group = typer.Typer(
    help="Make OpenLineage events from documents that describe lineage.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _load(events: list[bytes]) -> None:
    """Store the events in the log store that the settings name."""
    from lineagelog.intake import Delivery, Door, load

    session = Session.begin(None, {})
    deliveries = (Delivery(body, f"event {number}") for number, body in enumerate(events))
    counts: dict[str, int] = {}
    with session.store(create=True) as store:
        for outcomes in load(Door(store), deliveries, source="export"):
            for outcome in outcomes:
                counts[outcome.verdict] = counts.get(outcome.verdict, 0) + 1
                if outcome.rejected is not None:
                    raise InputError(f"an exported event was refused: {outcome.rejected}")
    tell(", ".join(f"{name} {number}" for name, number in sorted(counts.items())))


def _emit(events: list[bytes]) -> None:
    """Post the events to the backend that openlineage.yml or OPENLINEAGE_* configure."""
    try:
        from lineagelog.sdk.transport import send  # type: ignore[import-untyped,attr-defined,unused-ignore]
    except ImportError as error:
        raise SettingsError("--emit needs openlineage-python: pip install 'lineagelog[sdk]'") from error
    send(events)


export_satsuma.wiring.load, export_satsuma.wiring.emit = _load, _emit
group.add_typer(export_satsuma.app)
group.command("snaplogic", epilog=EPILOG)(snaplogic_command(_load, _emit))
