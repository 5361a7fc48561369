"""`lineagelog publications …`: the outbox of publishing."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from lineagelog.errors import InputError

from .command import command
from .lists import Limit
from .printing import Csv, Form, Json, JsonLines, form_of, print_facts, print_json, print_rows, put, tell
from .session import Session

if TYPE_CHECKING:
    from lineagelog.store.ledgers.publications import OutboxItem

group = typer.Typer(no_args_is_help=True, help="Look at what is published into Egeria, and try again what it refused.")

_TABLE_LIMIT = 100
_COLUMNS = ("id", "kind", "subject_kind", "namespace", "name", "day", "state", "attempts", "confirmed_at", "problem")


@command(
    group,
    "list",
    "lineagelog publications list",
    "lineagelog publications list --state parked --state unknown",
)
def _list(
    session: Session,
    state: Annotated[
        list[str] | None,
        typer.Option(metavar="STATE", help="planned, sent, confirmed, failed, parked, unknown or retired."),
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="run_metrics, data_scope, quality_report, findings, …")
    ] = None,
    limit: Limit = None,
    json: JsonLines = False,
    csv: Csv = False,
) -> None:
    """List what Egeria is to hold, and how far that has come."""
    from lineagelog.store.ledgers.publications import Publications, state_of

    form = form_of(json=json, csv=csv)
    limit = (_TABLE_LIMIT if form is Form.TABLE else 0) if limit is None else limit
    states = [state_of(each) for each in state or ()]
    with session.store() as store:
        outbox = Publications(store.database)
        rows = map(_row, outbox.list(states, kind or ()))
        print_rows(form, _COLUMNS, islice(rows, limit) if limit else rows)
        counts = outbox.counts()
    if form is Form.TABLE:
        put(", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing was published yet")


@command(group, "show", "lineagelog publications show 6f1d…")
def _show(
    session: Session,
    item_id: Annotated[str, typer.Argument(metavar="ID", help="As `publications list` shows it.")],
    json: Json = False,
) -> None:
    """Show one of them: its content, what Egeria says of it, and the GUIDs that it has there."""
    from lineagelog.store.ledgers.publications import Publications

    number = _id(item_id)
    with session.store() as store:
        item = Publications(store.database).get(number)
    if item is None:
        raise InputError(f"there is no publication {item_id}: see `lineagelog publications list`")
    from msgspec.structs import asdict

    if json:
        print_json(asdict(item))
        return
    facts = asdict(item)
    content = facts.pop("content")
    print_facts(facts)
    put("")
    print_json(content)


@command(group, "retry", "lineagelog publications retry", "lineagelog publications retry 6f1d…")
def _retry(
    session: Session,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="As `publications list` shows them.")] = None,
    json: Json = False,
) -> None:
    """Let those that were refused, failed or are unknown be sent again; without an ID, all of them."""
    from lineagelog.store.ledgers.publications import Publications

    with session.store() as store:
        count = Publications(store.database).retry([_id(each) for each in ids] if ids else None)
    if json:
        print_json({"planned": count})
        return
    put(f"{count} to be sent again")
    if count:
        tell("`lineagelog publish` sends them")


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InputError(f"{text[:60]!r} is no ID of a publication: see `lineagelog publications list`") from None


def _row(item: OutboxItem) -> dict[str, Any]:
    from msgspec.structs import asdict

    return asdict(item)
