"""Bearer tokens: made once, stored as their hash, checked in constant time."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Column, ColumnElement, func, insert, literal, or_, select, update

from lineagelog.errors import LineageLogError, SettingsError
from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.version import keep_to_version

PREFIX: Final = "llg_"
"""What every token begins with, so that scanners for leaked secrets can tell it."""
REMEMBERED_SECONDS: Final = 3.0
"""How long an answer is taken from memory: a revocation takes effect within this time."""
MAX_REMEMBERED: Final = 10_000
MAX_TOKEN_LENGTH: Final = 256
_NOTED_EVERY: Final = timedelta(hours=1)


class Scope(StrEnum):
    """What a token allows; admin includes the others."""

    INGEST = "ingest"
    READ = "read"
    ADMIN = "admin"


class Token(Struct, frozen=True):
    """A token as it is listed: without the secret."""

    id: int
    name: str
    scopes: frozenset[Scope]
    namespaces: frozenset[str] | None
    """Job namespaces it is bound to; None = all."""
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    """To the hour; None where it was never used, or the server may not write it down."""


class Grant(Struct, frozen=True):
    """What the bearer of a valid token may do."""

    token_id: int
    name: str
    scopes: frozenset[Scope]
    namespaces: frozenset[str] | None

    def allows(self, scope: Scope, namespace: str | None = None) -> bool:
        """Whether it has the scope, and, if a job namespace is given, whether it is not bound to others."""
        scoped = scope in self.scopes or Scope.ADMIN in self.scopes
        return scoped and (namespace is None or self.namespaces is None or namespace in self.namespaces)


class Tokens:
    """The tokens of one store. Safe for many threads. All calls raise StoreUnavailable and StoreNotCreated."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = database.engine
        self._table = keep_to_version(database).t(tables.TOKEN_TABLE)
        self._clock = clock
        self._remembered: dict[bytes, tuple[float, Grant | None]] = {}

    def create(
        self,
        name: str,
        scopes: Iterable[str],
        *,
        namespaces: Iterable[str] | None = None,
        expires_at: datetime | None = None,
    ) -> tuple[str, Token]:
        """Make a token: its text, which is nowhere stored, and how it is listed.

        Raises SettingsError for a scope that there is not, for none, for an empty name, and for an expiry without a
        time zone.
        """
        wanted = _scopes(scopes)
        if not name.strip() or "\0" in name:
            raise SettingsError("a token needs a name, so that it can be told from others")
        if expires_at is not None and expires_at.tzinfo is None:
            raise SettingsError(f"the expiry {expires_at.isoformat()} names no time zone")
        bound = None if namespaces is None else sorted(set(namespaces))
        if bound == []:
            raise SettingsError("a token that is bound to namespaces needs at least one")
        text = PREFIX + secrets.token_urlsafe(32)
        values = {"scopes": sorted(wanted), "namespaces": bound, "expires_at": expires_at}
        statement = insert(self._table).values(name=name, sha256=_hash(text), **values).returning(*self._listed())
        with translated_errors(), self._engine.begin() as connection:
            row = connection.execute(statement).one()
        self._remembered.pop(_hash(text), None)
        return text, _token(row)

    def list(self) -> list[Token]:
        """All tokens, also the revoked and expired ones, oldest first."""
        with translated_errors(), self._engine.connect() as connection:
            return [_token(row) for row in connection.execute(select(*self._listed()).order_by(self._table.c.id))]

    def revoke(self, token_id: int) -> bool:
        """End a token, here at once and in other processes within REMEMBERED_SECONDS; False if there is none to end."""
        valid = self._table.c.id == token_id, self._table.c.revoked_at.is_(None)
        with translated_errors(), self._engine.begin() as connection:
            ended = connection.execute(update(self._table).where(*valid).values(revoked_at=func.now())).rowcount
        self._remembered.clear()
        return ended > 0

    def rotate(self, token_id: int, overlap: timedelta) -> tuple[str, Token]:
        """A new token like one that is valid, for as long as that was made for; the old one ends after ``overlap``.

        Returns what `create` returns. Raises SettingsError where there is no such valid token.
        """
        table, text = self._table.c, PREFIX + secrets.token_urlsafe(32)
        ends, renewed = func.now() + overlap, func.now() + (table.expires_at - table.created_at)
        old = select(table.name, literal(_hash(text)), table.scopes, table.namespaces, renewed)
        columns = ["name", "sha256", "scopes", "namespaces", "expires_at"]
        copied = insert(self._table).from_select(columns, old.where(table.id == token_id, *self._valid()))
        ended = update(self._table).where(table.id == token_id).values(expires_at=func.least(table.expires_at, ends))
        with translated_errors(), self._engine.begin() as connection:
            row = connection.execute(copied.returning(*self._listed())).first()
            if row is None:
                raise SettingsError(f"there is no valid token {token_id}: see `lineagelog tokens list`")
            connection.execute(ended)
        self._remembered.clear()
        return text, _token(row)

    def any(self) -> bool:
        """Whether a token was ever made. (Not whether one is valid: the last one's end must not open the doors.)"""
        with translated_errors(), self._engine.connect() as connection:
            return connection.execute(select(self._table.c.id).limit(1)).first() is not None

    def check(self, token: str) -> Grant | None:
        """What the token grants; None if it is unknown, revoked or expired."""
        if not token.startswith(PREFIX) or len(token) > MAX_TOKEN_LENGTH:
            return None
        digest, now = _hash(token), self._clock()
        known = self._remembered.get(digest)
        if known is not None and now < known[0]:
            return known[1]
        grant = self._look_up(digest)
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered.clear()
        self._remembered[digest] = (now + REMEMBERED_SECONDS, grant)
        return grant

    def _look_up(self, digest: bytes) -> Grant | None:
        table = self._table.c
        is_noted = table.last_used_at > func.now() - _NOTED_EVERY
        statement = select(table.sha256, is_noted, *self._listed()).where(table.sha256 == digest, *self._valid())
        with translated_errors(), self._engine.connect() as connection:
            row = connection.execute(statement).first()
        if row is None or not hmac.compare_digest(row.sha256, digest):
            return None
        token = _token(row[2:])
        if not row[1]:
            self._note_use(token.id)
        return Grant(token.id, token.name, token.scopes, token.namespaces)

    def _note_use(self, token_id: int) -> None:
        """That it was used now; where that cannot be written (a standby, rights), the token is as good as ever."""
        used = update(self._table).where(self._table.c.id == token_id).values(last_used_at=func.now())
        with suppress(LineageLogError), translated_errors(), self._engine.begin() as connection:
            connection.execute(used)

    def _valid(self) -> tuple[ColumnElement[bool], ...]:
        table = self._table.c
        return table.revoked_at.is_(None), or_(table.expires_at.is_(None), table.expires_at > func.now())

    def _listed(self) -> tuple[Column[Any], ...]:
        table = self._table.c
        dates = table.created_at, table.expires_at, table.revoked_at, table.last_used_at
        return table.id, table.name, table.scopes, table.namespaces, *dates


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


def _scopes(names: Iterable[str]) -> set[Scope]:
    found = set()
    for name in names:
        try:
            found.add(Scope(name))
        except ValueError:
            raise SettingsError(f"there is no scope {name!r}: use {', '.join(Scope)}") from None
    if not found:
        raise SettingsError(f"a token needs at least one scope: {', '.join(Scope)}")
    return found


def _token(row: Any) -> Token:
    number, name, scopes, namespaces, *dates = row
    bound = None if namespaces is None else frozenset(namespaces)
    return Token(number, name, frozenset(map(Scope, scopes)), bound, *dates)
