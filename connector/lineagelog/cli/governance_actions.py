"""`lineagelog governance-actions`: Egeria's engine actions as OpenLineage events, into the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from lineagelog.errors import SettingsError

from .command import FINDINGS, OK, command
from .printing import Json, print_json, put, tell
from .session import Session

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lineagelog.egeria.remote import Egeria
    from lineagelog.intake import Door
    from lineagelog.publish.governance import EngineEvent
    from lineagelog.store import LogStore


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(
        app,
        "governance-actions",
        "lineagelog governance-actions --since -1d --dry-run",
        "lineagelog governance-actions --since -1h",
        "lineagelog governance-actions --since all --to-daemon",
    )(_governance_actions)


def _governance_actions(
    session: Session,
    since: Annotated[str, typer.Option(metavar="TIME", help="Events from then on: a date, -7d or all.")] = "-1d",
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="Namespace of their jobs, as in Egeria's own connector.")
    ] = "GovernanceActions",
    to_daemon: Annotated[
        bool, typer.Option("--to-daemon", help="Hand them to the integration daemon, too, for its other connectors.")
    ] = False,
    daemon: Annotated[
        str | None, typer.Option(metavar="NAME", help="The daemon's server, or its GUID; else egeria.daemon.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the events that would be stored.")] = False,
    json: Json = False,
) -> int:
    """Store what governance actions Egeria has run, as the events that Egeria's own connector makes of them.

    Each engine action is a run, with the facet egeria_governanceAction: a START, and a COMPLETE, FAIL or ABORT. A run
    and type that is stored already is passed over, whoever sent it: so it does not matter where Egeria's connector
    runs, too, or since when. With --to-daemon an event goes to the daemon first and into the store then: if this is
    stopped in between, the daemon gets it again. Exit 1 if an action could not be read, or an event was refused.
    """
    from lineagelog.read.period import parse_start

    name = daemon or session.settings.egeria.daemon
    if to_daemon and not name:
        raise SettingsError("which daemon? give --daemon, or set egeria.daemon")
    start = parse_start(since, datetime.now(UTC))
    with _egeria(session) as egeria, _store(session, dry_run=dry_run) as store:
        taken = _Taken(egeria, None if store is None else session.door(store), name if to_daemon else None)
        for event in taken.events(start, namespace):
            taken.take(event, dry_run=dry_run)
    taken.tell(json=json, dry_run=dry_run)
    return FINDINGS if taken.problems else OK


class _Taken:
    """What became of the actions so far."""

    def __init__(self, egeria: Egeria, door: Door | None, daemon: str | None) -> None:
        from lineagelog.egeria.daemons import find_daemon

        self._egeria, self._door = egeria, door
        self._daemon = find_daemon(egeria, daemon) if daemon else None
        self._printed: list[object] = []
        self.actions = self.stored = self.known = self.problems = 0

    def events(self, start: datetime, namespace: str) -> Iterator[EngineEvent]:
        """Those of the window that the store lacks, by action."""
        from lineagelog.publish.governance import engine_events

        for listed in self._egeria.call("engine_actions", pages=True, search_string="*"):
            guid = str((listed.get("elementHeader") or {}).get("guid") or "")
            try:
                wanted = [event.type for event in engine_events(listed, namespace) if event.time >= start]
                if not wanted:
                    continue
                self.actions += 1
                stored = self._stored_types(engine_events(listed, namespace)[0].run_id)
                missing = [each for each in wanted if each not in stored]
                self.known += len(wanted) - len(missing)
                if missing:  # lists leave out what an action is related to
                    whole = engine_events(self._egeria.call("get", guid=guid) or listed, namespace)
                    yield from (event for event in whole if event.type in missing)
            except ValueError as error:
                self.problems += 1
                tell(f"passed over: engine action {guid or 'without a GUID'}: {error}")

    def take(self, event: EngineEvent, *, dry_run: bool) -> None:
        """To the daemon, if it is to have it; into the store."""
        import orjson

        if dry_run or self._door is None:
            self._printed.append(event.body)
            return
        if self._daemon is not None:
            self._daemon.publish_event(event.body)
        (outcome,) = self._door.take([orjson.dumps(event.body)], source="egeria", positions=[event.run_id])
        if outcome.rejected:
            self.problems += 1
            tell(f"refused: {event.run_id} {event.type}: {outcome.rejected}")
        else:
            self.stored += 1

    def _stored_types(self, run_id: str) -> set[str | None]:
        from lineagelog.read import Reader

        if self._door is None:
            return set()
        return {event.event_type for event in Reader(self._door.store.database).run_events(run_id)}

    def tell(self, *, json: bool, dry_run: bool) -> None:
        if dry_run:
            print_json(self._printed)
            tell(f"{len(self._printed)} events would be stored; nothing was")
        elif json:
            told = {"actions": self.actions, "stored": self.stored, "known": self.known, "problems": self.problems}
            print_json(told)
        else:
            put(f"{self.actions} engine actions: {self.stored} events stored, {self.known} were there")


def _egeria(session: Session) -> AbstractContextManager[Egeria]:
    from lineagelog.egeria.remote import Egeria

    return Egeria(session.settings.egeria)


def _store(session: Session, *, dry_run: bool) -> AbstractContextManager[LogStore | None]:
    """Nothing is made for a dry run: what is not there holds no events."""
    if dry_run and session.missing_database() is not None:
        return nullcontext()
    return session.store(create=not dry_run)
