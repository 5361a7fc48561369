"""`lineagelog doctor`: looks for what is wrong or will be, and says what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Final

import typer

from lineagelog import compiled
from lineagelog.errors import StoreTooOld
from lineagelog.shown import duration

from .checks import Check, check_egeria, print_checks
from .command import FINDINGS, OK, command
from .printing import Json, text_of
from .session import TO_BEGIN, Session

if TYPE_CHECKING:
    from lineagelog.read import Status
    from lineagelog.store import LogStore
    from lineagelog.store.ledgers.kafka_offsets import OffsetRow
    from lineagelog.store.upkeep.health import Access, Server

_MAJORS: Final = range(15, 19)
_ENCODING: Final = "UTF8"
_SKEW: Final = timedelta(seconds=5)
_FUTURE: Final = timedelta(hours=1)
_UNSEEN: Final = timedelta(minutes=10)


def register(app: typer.Typer) -> None:
    """Mount the command."""
    command(app, "doctor", "lineagelog doctor", "lineagelog doctor --database postgresql://me@db/lineage --json")(
        _doctor
    )


def _doctor(session: Session, json: Json = False) -> int:
    """Check the database and the store, and say what to do for each finding. Exit 1 if there is one.

    Where publishing into Egeria is set up ([egeria] in the settings), that Egeria, too, as `lineagelog egeria check`.
    """
    checks = list(_looked_at(session))
    return FINDINGS if print_checks(checks, json=json) else OK


def _looked_at(session: Session) -> Iterator[Check]:
    if (missing := session.missing_database()) is not None:
        yield Check("store", f"there is none yet in {missing}", TO_BEGIN)
        return
    with session.store(check=False) as store:
        yield from _checks(store)
    if session.settings.egeria.platform_url:
        yield from check_egeria(session.settings.egeria)


def _checks(store: LogStore) -> Iterator[Check]:
    from lineagelog.read import Reader
    from lineagelog.store.upkeep.health import look_at_access, look_at_server, look_at_version

    yield check_compiled(compiled.status, compiled.unusable)
    server = look_at_server(store.database)
    yield from check_server(server)
    try:
        look_at_version(store.database)
    except StoreTooOld as error:  # the tables that it lacks are no finding of their own
        yield Check("store", str(error).partition(": ")[0], _init(server, " as the owner"))
        return
    now = datetime.now(UTC)
    access = look_at_access(store.database, now)
    yield from check_access(access, server, store.database.schema)
    if not access.missing and not access.unreadable:
        yield from check_status(Reader(store.database).status(), now)


def check_compiled(status: str, unusable: str | None) -> Check:
    """Judge this installation: without compiled forms is slower and well, with some that cannot be loaded is not."""
    reinstall = f"install lineagelog again on this machine, from its sources ({unusable})"
    return Check("compiled forms", status, reinstall if unusable else None)


def _init(server: Server, how: str = "") -> str:
    """The advice to run `store init`, unless it would refuse here."""
    if server.encoding != _ENCODING:
        return f"first a database with the encoding {_ENCODING}: `lineagelog store init` refuses this one"
    if server.is_standby or server.is_read_only:
        return f"run `lineagelog store init`{how} with --database of the primary: this server refuses writes"
    return f"run `lineagelog store init`{how}"


def check_server(server: Server) -> Iterator[Check]:
    """Judge the server."""
    in_range = server.major in _MAJORS
    yield Check(
        "PostgreSQL", server.version, None if in_range else f"use {_MAJORS[0]} to {_MAJORS[-1]}: others are not tested"
    )
    utf8 = f"CREATE DATABASE … TEMPLATE template0 ENCODING '{_ENCODING}', then point --database to that one"
    yield Check("encoding", server.encoding, None if server.encoding == _ENCODING else utf8)
    lz4 = "use a server built with lz4: without it events take more room and time (pglz)"
    yield Check("compression", "lz4" if server.has_lz4 else "no lz4", None if server.has_lz4 else lz4)
    durable = "set fsync and synchronous_commit to on: acknowledged events may be lost in a crash"
    yield Check("durability", "on" if server.is_durable else "off", None if server.is_durable else durable)
    pooled = "through a pooler of transactions: consume, forward, purge and migrations need session pooling"
    yield Check("connections", pooled if server.is_pooled else "direct, or through a pooler of sessions")
    if server.is_standby or server.is_read_only:
        kind = "a standby" if server.is_standby else "read-only by default"
        yield Check("writing", f"the server is {kind}", "point --database to the primary to receive events")
    ahead = f"{duration(abs(server.skew))} {'ahead of' if server.skew > timedelta() else 'behind'} this machine's"
    off = abs(server.skew) > _SKEW
    yield Check("clock", f"{ahead} clock", "synchronise both clocks (NTP)" if off else None)


def check_access(access: Access, server: Server, schema: str) -> Iterator[Check]:
    """Judge the tables and the rights on them."""
    if access.missing:
        can = "" if server.has_schema or server.may_create_schema else f" as a role with CREATE on {server.database}"
        what = f"schema {schema}: " + (", ".join(access.missing) if server.has_schema else "is not there")
        yield Check("tables", what, _init(server, can))
        return
    grants = "grant it as docs/operations.md lists under Roles, if the role is to"
    if access.unreadable:
        yield Check("reading", f"{server.role} may not read {', '.join(access.unreadable)}", f"{grants} read")
    if access.unwritable:
        yield Check(
            "writing", f"{server.role} may not write {', '.join(access.unwritable)}", f"{grants} receive events"
        )
    if not access.unreadable and not access.unwritable:
        yield Check("rights", f"{server.role} may read and write")
    missing = ", ".join(access.missing_months)
    owner = f"{_init(server)} with --months 12 as the owner: this role cannot make partitions"
    is_stuck = missing and not access.may_make_partitions and not access.unwritable
    yield Check("next partitions", f"not yet: {missing}" if missing else "are there", owner if is_stuck else None)


def check_status(status: Status, now: datetime) -> Iterator[Check]:
    """Judge what the store says of itself."""
    yield Check("store", f"version {status.version}")
    first, last = status.first_event_time, status.last_event_time
    if first is not None and first.year < 2000:
        see = "look at them: lineagelog list events --until 2000-01-01"
        yield Check("event times", f"there are events of {text_of(first)}", see)
    if last is not None and last > now + _FUTURE:
        yield Check("event times", f"there are events of {text_of(last)}, in the future", "set their sender's clock")
    yield Check("received", _received(status, now))
    floor = status.retention_floor
    yield Check("retention", f"events before {text_of(floor)} were purged" if floor else "nothing was ever purged")
    letters = status.dead_letters.get("new", 0)
    see = "see `lineagelog dead-letters list`, then retry or discard them"
    yield Check("dead letters", str(letters), see if letters else None)
    yield from check_kafka(status.kafka, now)


def check_kafka(rows: Sequence[OffsetRow], now: datetime) -> Iterator[Check]:
    """Judge the consumer groups: a worker tells every ten seconds that it lives."""
    for (group, topic), some in groupby(rows, key=lambda row: (row.consumer_group, row.topic)):
        known = list(some)
        lag, seen = sum(row.lag or 0 for row in known), min(row.seen_at for row in known)
        observed = f"group {group}, topic {topic}: lag {lag}, seen {duration(max(now - seen, timedelta()))} ago"
        start = "start `lineagelog consume`, or delete the group's rows from ol_kafka_offset if it is no more"
        yield Check("kafka", observed, start if now - seen > _UNSEEN else None)


def _received(status: Status, now: datetime) -> str:
    if status.last_received_at is None:
        return "no event yet"
    ago = duration(max(now - status.last_received_at, timedelta()))
    lag = f", {duration(timedelta(seconds=status.lag.p50_seconds))} after it happened (median)" if status.lag else ""
    return f"the last event {ago} ago{lag}"
