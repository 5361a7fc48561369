"""`lineagelog dead-letters …`: events that were refused, to look at, try again, or discard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lineagelog.errors import InputError
from lineagelog.shown import counted

from .command import FINDINGS, OK, command
from .lists import Limit, Reverse, Since, Until
from .printing import Csv, Form, Json, JsonLines, form_of, print_facts, print_json, print_rows, put, put_bytes
from .session import Session

if TYPE_CHECKING:
    from lineagelog.store.ledgers.dead_letters import DeadLetterRow, DeadLetters, Filter

group = typer.Typer(no_args_is_help=True, help="Look at refused events, try them again, discard them.")

_TABLE_LIMIT = 100
_PAGE = 1000
_COLUMNS = ("id", "state", "reason", "json_path", "count", "last_received_at", "source", "position", "detail")

Ids = Annotated[list[int] | None, typer.Argument(metavar="ID", help="Numbers that `dead-letters list` shows.")]
Reason = Annotated[str | None, typer.Option(metavar="REASON", help="Only those refused for it, such as bad_time.")]
Source = Annotated[str | None, typer.Option(metavar="SOURCE", help="Only those that came by it: http, file, …")]


@command(
    group,
    "list",
    "lineagelog dead-letters list",
    "lineagelog dead-letters list --reverse --limit 10",
    "lineagelog dead-letters list --state all --since -7d --reason bad_time --json",
)
def _list(
    session: Session,
    state: Annotated[str, typer.Option(metavar="STATE", help="new, retried, discarded or all.")] = "new",
    reason: Reason = None,
    source: Source = None,
    since: Since = None,
    until: Until = None,
    reverse: Reverse = False,
    limit: Limit = None,
    json: JsonLines = False,
    csv: Csv = False,
) -> None:
    """List refused events, oldest first or --reverse, each with the reason and the place that is wrong."""
    from lineagelog.store.ledgers.dead_letters import DeadLetters

    if state not in ("new", "retried", "discarded", "all"):
        raise InputError(f"--state {state!r} is none of new, retried, discarded, all")
    form = form_of(json=json, csv=csv)
    limit = (_TABLE_LIMIT if form is Form.TABLE else 0) if limit is None else limit
    wanted = _filter(None, None if state == "all" else state, reason, source, since, until)
    with session.store() as store:
        rows = map(_row, _all(DeadLetters(store), wanted, reverse=reverse))
        count = print_rows(form, _COLUMNS, islice(rows, limit) if limit else rows)
    if form is Form.TABLE:
        put(counted(count, "dead letters") + (": the first ones; --limit 0 shows all" if count == limit else ""))


@command(
    group,
    "show",
    "lineagelog dead-letters show 17",
    "lineagelog dead-letters show 17 --payload | jq .",
)
def _show(
    session: Session,
    letter_id: Annotated[int, typer.Argument(metavar="ID", help="The number that `dead-letters list` shows.")],
    payload: Annotated[bool, typer.Option("--payload", help="Print only the bytes, exactly as received.")] = False,
    json: Json = False,
) -> None:
    """Show why an event was refused, and its bytes as they were received."""
    from lineagelog.store.ledgers.dead_letters import DeadLetters

    with session.store() as store:
        found = DeadLetters(store).get(letter_id)
    if found is None:
        raise InputError(f"there is no dead letter {letter_id}: see `lineagelog dead-letters list --state all`")
    letter, content = found
    if payload:
        put_bytes(content)
        return
    facts = _row(letter)
    text = content.decode("utf-8", "replace")
    if json:
        print_json({**facts, "payload": text})
        return
    print_facts(facts)
    put(f"\n{text}")


@command(
    group,
    "retry",
    "lineagelog dead-letters retry",
    "lineagelog dead-letters retry 17 18",
    "lineagelog dead-letters retry --reason bad_time",
)
def _retry(
    session: Session,
    ids: Ids = None,
    reason: Reason = None,
    source: Source = None,
    json: Json = False,
) -> int:
    """Read refused events again and store those that are fine now; without numbers, all that are new.

    Of use after an update that reads more than the last version. Exit 1 if some are refused again.
    """
    from msgspec.structs import asdict

    from lineagelog.intake import Door
    from lineagelog.store.ledgers.dead_letters import DeadLetters

    wanted = _filter(ids, None if ids else "new", reason, source)
    with session.store() as store:
        limits = session.settings.intake
        door = Door(store, check=session.check(), max_event=limits.max_event, max_values=limits.max_event_values)
        retried = DeadLetters(store).retry(door.parse, wanted)
    if json:
        print_json(asdict(retried))
    else:
        put(
            f"stored {retried.stored} expired {retried.expired} refused again {retried.refused} "
            f"cut off, not tried {retried.truncated}"
        )
    return FINDINGS if retried.refused or retried.truncated else OK


@command(
    group,
    "discard",
    "lineagelog dead-letters discard 17 18",
    "lineagelog dead-letters discard --reason not_json",
    "lineagelog dead-letters discard --all",
)
def _discard(
    session: Session,
    ids: Ids = None,
    reason: Reason = None,
    source: Source = None,
    all_: Annotated[bool, typer.Option("--all", help="All that are new.")] = False,
    json: Json = False,
) -> None:
    """Mark refused events as dealt with. They are kept, and no longer counted as new."""
    from lineagelog.store.ledgers.dead_letters import DeadLetters

    if not (ids or reason or source or all_):
        raise InputError("which ones? Give numbers, --reason, --source or --all")
    with session.store() as store:
        count = DeadLetters(store).discard(_filter(ids, "new", reason, source))
    print_json({"discarded": count}) if json else put(f"discarded {count}")


def _filter(
    ids: list[int] | None,
    state: str | None,
    reason: str | None,
    source: str | None,
    since: str | None = None,
    until: str | None = None,
) -> Filter:
    from lineagelog.read.period import parse_instant
    from lineagelog.store.ledgers.dead_letters import Filter

    now = datetime.now(UTC)
    return Filter(
        ids=tuple(ids) if ids else None,
        state=state,
        reason=reason,
        source=source,
        since=parse_instant(since, now) if since is not None else None,
        until=parse_instant(until, now) if until is not None else None,
    )


def _all(letters: DeadLetters, wanted: Filter, *, reverse: bool) -> Iterator[DeadLetterRow]:
    after = None
    while rows := letters.list(wanted, limit=_PAGE, after=after, reverse=reverse):
        yield from rows
        after = rows[-1].id


def _row(letter: DeadLetterRow) -> Mapping[str, Any]:
    from msgspec.structs import asdict

    return asdict(letter)
