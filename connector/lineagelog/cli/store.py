"""`lineagelog store …`: the tables and their upkeep."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lineagelog.errors import StoreUnavailable
from lineagelog.shown import counted, line_for_people

from .command import FINDINGS, OK, command
from .printing import Json, print_json, put, put_exactly, text_of
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineagelog.store import Checked, Difference, LogStore

group = typer.Typer(no_args_is_help=True, help="Make, check, repair and purge the tables.")

_SHOWN: Final = 50
"""Differences that are shown to people; the others are counted."""


@command(
    group,
    "init",
    "lineagelog store init --database postgresql://owner@db/lineage --schema openlineage",
    "lineagelog store init --months 12   (from cron, where the writer's role does not own the tables)",
)
def _init(
    session: Session,
    months: Annotated[
        int, typer.Option(metavar="N", min=0, max=120, help="Also make the partitions of this month and so many more.")
    ] = 0,
) -> None:
    """Make the schema and its tables, or add what a newer version needs. Changes nothing that is there."""
    with session.store(create=True, check=False) as store:
        try:
            store.create()
        except StoreUnavailable:
            if months:  # they need none of the locks that were not to be had
                _make_months(store, months)
            raise
        put(f"the store is there: schema {store.database.schema}, version {store.check_version()}")
        if months:
            _make_months(store, months)


def _make_months(store: LogStore, months: int) -> None:
    from lineagelog.store.upkeep.health import make_partitions

    count = make_partitions(store.database, datetime.now(UTC), months + 1)
    put(f"partitions are there for {counted(count, 'months')}")


@command(group, "ddl", "lineagelog store ddl > schema.sql", "lineagelog store ddl --schema audit | psql mydb")
def _ddl(session: Session) -> None:
    """Print the SQL statements that `store init` runs. Needs no database."""
    from lineagelog.store import LogStoreSchema
    from lineagelog.store.definition import views

    schema = LogStoreSchema(session.settings.schema_name)
    for statement in (*schema.script(), "BEGIN", *views.statements(schema), "COMMIT"):
        put_exactly(f"{statement.strip()};\n\n")


@command(group, "verify", "lineagelog store verify", "lineagelog store verify --json | jq .difference_count")
def _verify(session: Session, json: Json = False) -> int:
    """Recompute the digest from the raw events and name what differs; changes nothing. Exit 1 on differences."""
    from lineagelog.store import Verifier

    with session.store() as store, _progress("verified") as progress:
        verifier = Verifier(store)
        return _report(verifier.verify(progress), verifier, "verified", as_json=json)


@command(group, "rebuild", "lineagelog store rebuild")
def _rebuild(session: Session, json: Json = False) -> int:
    """Recompute the digest from the raw events and put right what differs."""
    from lineagelog.store import Verifier

    with session.store() as store, _progress("rebuilt") as progress:
        verifier = Verifier(store)
        _report(verifier.rebuild(progress), verifier, "rebuilt", as_json=json)
    return OK


def _report(differences: Iterable[Difference], verifier: Any, verb: str, *, as_json: bool) -> int:
    shown: list[Difference] = []
    count = 0
    for difference in differences:
        count += 1
        if as_json or len(shown) < _SHOWN:
            shown.append(difference)
            if not as_json:
                put(line_for_people(str(difference)))
    checked: Checked = verifier.checked
    if as_json:
        print_json(_as_json(checked, shown))
        return FINDINGS if count else OK
    if count > len(shown):
        put(f"… and {count - len(shown)} more")
    kept = f", {checked.skipped} left alone (purged in part)" if checked.skipped else ""
    seen = f"{counted(checked.runs, 'runs')}, {counted(checked.events, 'events')}"
    put(f"{verb} {seen}{kept}: {counted(count, 'differences') if count else 'no differences'}")
    return FINDINGS if count else OK


def _as_json(checked: Checked, differences: list[Difference]) -> dict[str, Any]:
    from msgspec.structs import asdict

    return {
        **asdict(checked),
        "difference_count": len(differences),
        "differences": [asdict(difference) for difference in differences],
    }


@contextmanager
def _progress(verb: str) -> Iterator[Any]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{verb} 0 runs") as status:
        yield lambda runs, events: status.update(f"{verb} {counted(runs, 'runs')}, {counted(events, 'events')}")


@command(
    group,
    "purge",
    "lineagelog store purge --older-than 90d --dry-run",
    "lineagelog store purge --older-than 90d",
    "lineagelog store purge --older-than 2026-01-01",
    "lineagelog store purge --older-than 90d --even-unforwarded",
)
def _purge(
    session: Session,
    older_than: Annotated[str, typer.Option(metavar="AGE", help="An age such as 90d or 12h, or an ISO date.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing, and count what would go.")] = False,
    even_unforwarded: Annotated[
        bool, typer.Option("--even-unforwarded", help="Also what a target of `forward` has not got: it never will.")
    ] = False,
    json: Json = False,
) -> None:
    """Delete old events, and the runs that ended before. Older events that arrive later are not stored again.

    Refuses, with a count per target, where events would go that a target of `forward` has not got yet.
    """
    from lineagelog.forward.target import wishes_of
    from lineagelog.read.period import parse_age
    from lineagelog.store.upkeep.purge import count_purgeable, purge

    cutoff = parse_age(older_than, datetime.now(UTC))
    with session.store() as store:
        wishes = wishes_of(session.settings.forward)
        if dry_run:
            purged = count_purgeable(store, cutoff, wishes=wishes)
        else:
            purged = purge(store, cutoff, wishes=wishes, even_unforwarded=even_unforwarded)
    if json:
        from msgspec.structs import asdict

        print_json(asdict(purged))
        return
    verb = "would delete" if dry_run else "deleted"
    put(
        f"{verb} what is before {text_of(purged.cutoff)}: {counted(purged.events, 'events')} "
        f"({counted(len(purged.partitions), 'whole partitions')}), {counted(purged.runs, 'runs')}, "
        f"{counted(purged.run_datasets, 'run datasets')}, {counted(purged.assertions, 'assertions')}, "
        f"{counted(purged.tests, 'tests')}"
    )
    if purged.unforwarded:
        counts = ", ".join(f"{target} {events}" for target, events in purged.unforwarded.items())
        refused = ": without --even-unforwarded this is refused" if dry_run and not even_unforwarded else ""
        put(f"of the events were not forwarded: {counts}{refused}")
