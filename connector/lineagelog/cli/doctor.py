"""`lineagelog doctor`: looks for what is wrong or will be, and says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import typer

from lineagelog.errors import LineageLogError, StoreNotCreated

from .command import FINDINGS, OK, command
from .output import Json, duration, print_json, text_of

if TYPE_CHECKING:
    from lineagelog.store import LogStore
    from lineagelog.store.health import Contents, Server

    from .session import Session

_MAJORS: Final = range(15, 19)
_SKEW: Final = timedelta(seconds=5)
_FUTURE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `advice` says what to do; without it all is well."""

    subject: str
    observed: str
    advice: str | None = None


def register(app: typer.Typer) -> None:
    """Mount the command."""
    command(app, "doctor", "lineagelog doctor", "lineagelog doctor --database postgresql://me@db/lineage --json")(_doctor)


def _doctor(session: Session, json: Json = False) -> int:
    """Check the database and the store, and say what to do for each finding. Exit 1 if there is one."""
    with session.store(check=False) as store:
        checks = list(_checks(store))
    findings = [check for check in checks if check.advice]
    if json:
        print_json({"findings": len(findings), "checks": [asdict(check) for check in checks]})
    else:
        _print(checks)
    return FINDINGS if findings else OK


def _print(checks: list[Check]) -> None:
    width = max(len(check.subject) for check in checks)
    for check in checks:
        print(f"{'!!' if check.advice else 'ok'}  {check.subject:<{width}}  {check.observed}")
        if check.advice:
            print(f"    {'':<{width}}  → {check.advice}")
    count = sum(1 for check in checks if check.advice)
    print(f"{count or 'no'} finding{'' if count == 1 else 's'}")


def _checks(store: LogStore) -> Iterator[Check]:
    from lineagelog.store.health import look_at_server, look_at_store

    server = look_at_server(store.engine, store.schema)
    yield from check_server(server)
    now = datetime.now(UTC)
    try:
        contents = look_at_store(store.engine, store.schema, now)
    except StoreNotCreated:
        can = "" if server.may_create_schema or server.has_schema else f" as a role with CREATE on {server.database}"
        yield Check("store", f"not in schema {store.schema.schema_name}", f"run `lineagelog store init`{can}")
        return
    except LineageLogError as error:
        yield Check("store", str(error), f"grant {server.role} what docs/operations.md lists under Roles")
        return
    yield from check_store(contents, server, now)


def check_server(server: Server) -> Iterator[Check]:
    """Judge the server."""
    in_range = server.major in _MAJORS
    yield Check(
        "PostgreSQL", server.version, None if in_range else f"use {_MAJORS[0]} to {_MAJORS[-1]}: others are not tested"
    )
    is_utf8 = server.encoding == "UTF8"
    yield Check(
        "encoding", server.encoding, None if is_utf8 else "make the database anew: CREATE DATABASE … ENCODING 'UTF8'"
    )
    lz4 = "use a server built with lz4: without it events take more room and time (pglz)"
    yield Check("compression", "lz4" if server.has_lz4 else "no lz4", None if server.has_lz4 else lz4)
    durable = "set fsync and synchronous_commit to on: acknowledged events may be lost in a crash"
    yield Check("durability", "on" if server.is_durable else "off", None if server.is_durable else durable)
    if server.is_standby or server.is_read_only:
        kind = "a standby" if server.is_standby else "read-only by default"
        yield Check("writing", f"the server is {kind}", "point --database to the primary to receive events")
    ahead = f"{duration(abs(server.skew))} {'ahead of' if server.skew > timedelta() else 'behind'} this machine's"
    off = abs(server.skew) > _SKEW
    yield Check("clock", f"{ahead} clock", "synchronise both clocks (NTP)" if off else None)


def check_store(contents: Contents, server: Server, now: datetime) -> Iterator[Check]:
    """Judge the store."""
    from lineagelog.store import tables

    old = contents.version < tables.VERSION or contents.missing_tables
    yield Check("store", f"version {contents.version}", "run `lineagelog store init` as the owner" if old else None)
    yield from _check_rights(contents, server)
    missing = ", ".join(contents.missing_months)
    locked = bool(missing) and not contents.may_make_partitions
    advice = "run `lineagelog store init --months 12` as the owner: this role cannot make partitions" if locked else None
    yield Check("partitions", f"{len(contents.partitions)}" + (f", none yet for {missing}" if missing else ""), advice)
    if contents.outside:
        many = "1000 or more" if contents.outside >= 1000 else str(contents.outside)
        when = "look at them: lineagelog list events --until 2000-01-01, or --since 2100-01-01"
        yield Check("event times", f"{many} events before the year 2000 or after 2099", when)
    newest = contents.last_event_time
    if newest is not None and newest.year < 2100 and newest > now + _FUTURE:
        yield Check("event times", f"the newest event is of {text_of(newest)}", "set the clock of its sender right")
    yield Check("received", _received(contents, now))
    floor = contents.retention_floor
    yield Check("retention", f"events before {text_of(floor)} were purged" if floor else "nothing was ever purged")
    letters = contents.new_dead_letters
    see = "see `lineagelog dead-letters list`, then retry or discard them"
    yield Check("dead letters", str(letters), see if letters else None)


def _check_rights(contents: Contents, server: Server) -> Iterator[Check]:
    grants = "grant it as docs/operations.md lists under Roles, if the role is to"
    if contents.unreadable:
        yield Check("reading", f"{server.role} may not read {', '.join(contents.unreadable)}", f"{grants} read")
    if contents.unwritable:
        yield Check("writing", f"{server.role} may not write {', '.join(contents.unwritable)}", f"{grants} receive events")
    if not contents.unreadable and not contents.unwritable:
        yield Check("rights", f"{server.role} may read and write")


def _received(contents: Contents, now: datetime) -> str:
    if contents.last_received is None:
        return "no event yet"
    ago = max(now - contents.last_received, timedelta())
    lag = f", lag {duration(contents.lag)} from event to store" if contents.lag is not None else ""
    return f"the last event {duration(ago)} ago{lag}"
