"""`lineagelog tokens …`: who may send events, read, and administer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lineagelog.errors import InputError

from .command import command
from .printing import Csv, Json, JsonLines, form_of, print_json, print_rows, put, put_exactly, tell, text_of
from .session import Session

if TYPE_CHECKING:
    from lineagelog.store.ledgers.tokens import Token

group = typer.Typer(no_args_is_help=True, help="Make, list and end bearer tokens of the HTTP server.")

_COLUMNS = ("id", "name", "state", "scopes", "namespaces", "created_at", "expires_at", "revoked_at", "last_used_at")


@command(
    group,
    "create",
    "lineagelog tokens create airflow",
    "lineagelog tokens create dashboards --scope read --expires 90d",
    "lineagelog tokens create finance --scope ingest --scope read --namespace finance --namespace billing",
)
def _create(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who gets it.")],
    scope: Annotated[
        list[str] | None, typer.Option(metavar="SCOPE", help="ingest, read or admin; several times for several.")
    ] = None,
    namespace: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Bind it to this job namespace; several times for several.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it ends: 90d from now, or an ISO date. Else never.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a token (scope ingest unless said otherwise) and print it. It is shown this once: only its hash is kept.

    From the first token on, the server lets nobody in without one.
    """
    from lineagelog.store.ledgers.tokens import Tokens

    ends = _expiry(expires, datetime.now(UTC))
    with session.store(create=session.is_embedded) as store:  # before the first start that others may reach
        tokens = Tokens(store.database)
        text, token = tokens.create(name, scope or ["ingest"], namespaces=namespace or None, expires_at=ends)
    _show(text, token, json=json)


@command(group, "list", "lineagelog tokens list", "lineagelog tokens list --json | jq .name")
def _list(session: Session, json: JsonLines = False, csv: Csv = False) -> None:
    """List tokens, also those that have ended; never the secret itself."""
    from lineagelog.store.ledgers.tokens import Tokens

    with session.store() as store:
        found = Tokens(store.database).list()
    print_rows(form_of(json=json, csv=csv), _COLUMNS, map(_row, found))


@command(group, "revoke", "lineagelog tokens revoke 3")
def _revoke(
    session: Session,
    token_id: Annotated[int, typer.Argument(metavar="ID", help="The number that `tokens list` shows.")],
) -> None:
    """End a token; servers that run notice within seconds."""
    from lineagelog.store.ledgers.tokens import Tokens

    with session.store() as store:
        ended = Tokens(store.database).revoke(token_id)
    if not ended:
        raise InputError(f"there is no valid token {token_id}: see `lineagelog tokens list`")
    put(f"revoked token {token_id}")


@command(group, "rotate", "lineagelog tokens rotate 3", "lineagelog tokens rotate 3 --overlap 7d")
def _rotate(
    session: Session,
    token_id: Annotated[int, typer.Argument(metavar="ID", help="The number that `tokens list` shows.")],
    overlap: Annotated[
        str, typer.Option(metavar="TIME", help="How long the old one goes on, such as 1h or 7d.")
    ] = "1d",
    json: Json = False,
) -> None:
    """Make a token like one that is valid, for the same time, and end that one after a while: swap it meanwhile."""
    from lineagelog.store.ledgers.tokens import Tokens

    now = datetime.now(UTC)
    ends = _expiry(overlap, now, "--overlap") or now
    with session.store() as store:
        text, token = Tokens(store.database).rotate(token_id, ends - now)
    _show(text, token, json=json)


def _show(text: str, token: Token, *, json: bool) -> None:
    if json:
        print_json({**_row(token), "token": text})
        return
    put_exactly(f"{text}\n")
    tell(f"token {token.id} for {token.name}: {text_of(sorted(token.scopes))}; keep it, it is not shown again")


def _expiry(text: str | None, now: datetime, option: str = "--expires") -> datetime | None:
    from lineagelog.read.period import parse_end

    try:
        return None if text is None else parse_end(text, now)
    except InputError as problem:
        raise InputError(f"{option} {problem}") from None


def _row(token: Token) -> dict[str, Any]:
    from msgspec.structs import asdict

    is_over = token.expires_at is not None and token.expires_at <= datetime.now(UTC)
    return {
        **asdict(token),
        "scopes": sorted(token.scopes),
        "namespaces": None if token.namespaces is None else sorted(token.namespaces),
        "state": "revoked" if token.revoked_at else "expired" if is_over else "valid",
    }
