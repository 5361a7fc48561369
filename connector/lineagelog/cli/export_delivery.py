"""Where exported events go beside files: into the log store, as `lineagelog load` would store them, or to a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineagelog.errors import InputError, SettingsError

from .printing import tell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineagelog.store import LogStore

    from .session import Session


def load_events(session: Session, events: Iterable[bytes]) -> None:
    """Store the events in the log store that the settings name. Raises InputError when one is refused."""
    with session.store(create=True, pool_size=session.settings.intake.writers) as store:
        load_into(store, session, events)


def load_into(store: LogStore, session: Session, events: Iterable[bytes]) -> None:
    """Store the events with the limits and the strict mode of the settings, and say what became of them."""
    from lineagelog.intake import Delivery, Door, load

    settings = session.settings.intake
    door = Door(store, check=session.check(), max_event=settings.max_event, max_values=settings.max_event_values)
    deliveries = (Delivery(body, f"event {number}") for number, body in enumerate(events, 1))
    counts: dict[str, int] = {}
    refused = None
    for outcomes in load(door, deliveries, source="export", batch=settings.batch, connections=settings.writers):
        for outcome in outcomes:
            counts[outcome.verdict.value] = counts.get(outcome.verdict.value, 0) + 1
            refused = refused or outcome.rejected
    tell(", ".join(f"{name} {number}" for name, number in sorted(counts.items())))
    if refused is not None:
        raise InputError(f"an exported event was refused and is kept as a dead letter: {refused}")


def emit_events(events: list[bytes]) -> None:
    """Post the events to the backend that openlineage.yml or OPENLINEAGE_* configure."""
    try:
        from lineagelog.sdk.transport import send  # type: ignore[import-untyped,attr-defined,unused-ignore]
    except ImportError as error:
        raise SettingsError("--emit needs openlineage-python: pip install 'lineagelog[sdk]'") from error
    send(events)
