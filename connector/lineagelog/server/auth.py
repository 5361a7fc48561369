"""Who may do what: the credential of a request, and the grant that the store knows for it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any, Final

import structlog

from lineagelog.errors import LineageLogError, SettingsError
from lineagelog.store.ledgers.tokens import Grant, Scope, Tokens

from .answers import Refusal, not_stored
from .waits import Waits

FRESH: Final = 2.0
"""Seconds for which an answer of Tokens counts without asking it again on another thread."""
_STALE: Final = 300.0
"""Seconds for which a known token still counts while the database cannot be asked."""
_MAX_KNOWN: Final = 10_000
_CHALLENGE: Final = ((b"www-authenticate", b'Bearer realm="lineagelog"'),)

_log = structlog.get_logger(__name__)


OPEN: Final = Grant(0, "everybody", frozenset(Scope), None)
"""The grant of everybody where there are no tokens."""


def credential(headers: Mapping[bytes, bytes]) -> str | None:
    """The token of ``Authorization: Bearer`` or ``X-API-Key``."""
    value = headers.get(b"authorization")
    if value is not None:
        kind, _, token = value.partition(b" ")
        if kind.lower() == b"bearer":
            return token.strip().decode("latin-1")
    key = headers.get(b"x-api-key")
    return None if key is None else key.strip().decode("latin-1")


class Guard:
    """Lets requests in by their tokens, asking the store only for what it was not asked lately."""

    def __init__(self, tokens: Tokens | None, waits: Waits) -> None:
        self._tokens, self._waits = tokens, waits
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="lineagelog-auth")
        self._known: dict[bytes, tuple[Grant | None, float]] = {}
        self._open: bool | None = True if tokens is None else None
        self._open_until = float("inf") if tokens is None else 0.0
        self.always_closed = False
        """Whether a token is needed even while none exists (the server is bound to more than loopback)."""

    def require_tokens(self, host: str) -> None:
        """From now on nobody comes in without a token. Raises SettingsError if there is none."""
        self.always_closed = True
        if self._tokens is None or not self._tokens.any():
            raise SettingsError(
                f"host {host!r} is open to others, and the log store has no tokens: create one with "
                "`lineagelog tokens create`, or listen on 127.0.0.1"
            )

    @property
    def is_open(self) -> bool:
        """Whether nobody needs a token, as far as is known: without a word from the store, yes."""
        return self._open is not False and not self.always_closed

    async def learn(self) -> None:
        """Ask the store whether there are tokens, unless that was asked lately. Raises Refusal: 503."""
        if not self.always_closed and (self._open is None or time.monotonic() >= self._open_until):
            await self._is_open()

    async def prepare(self) -> None:
        """Learn it before the first request; a store that cannot be asked now is asked again."""
        with contextlib.suppress(Refusal):
            await self.learn()

    def admit_known(self, token: str | None, scope: Scope) -> Grant | None:
        """The grant, if no question to the store is needed; else None. Raises Refusal."""
        now = time.monotonic()
        if self._open and now < self._open_until and not self.always_closed:
            return OPEN
        if token is None or now >= self._open_until:
            return None
        found = self._known.get(_digest(token))
        if found is None or now >= found[1]:
            return None
        return _judge(found[0], scope)

    async def admit(self, token: str | None, scope: Scope) -> Grant:
        """The grant. Raises Refusal: 401 without a valid token, 403 where it does not cover the scope."""
        grant = self.admit_known(token, scope)
        if grant is not None:
            return grant
        if await self._is_open():
            return OPEN
        if token is None:
            raise Refusal(401, "unauthorized", "a bearer token is needed", headers=_CHALLENGE)
        return _judge(await self._find(token), scope)

    async def _is_open(self) -> bool:
        if self._tokens is None:
            return not self.always_closed
        now = time.monotonic()
        if now >= self._open_until:
            if self._open is not None:
                self._open_until = now + FRESH  # one asks, the others go by what was known
            try:
                self._open = not await self._ask(self._tokens.any)
                self._open_until = now + FRESH
            except LineageLogError as error:
                if self._open is None:
                    raise not_stored(error) from error
                _log.warning("tokens cannot be read", action="auth", error=type(error).__name__)
        return bool(self._open) and not self.always_closed

    async def _find(self, token: str) -> Grant | None:
        key, now = _digest(token), time.monotonic()
        found = self._known.get(key)
        if found is not None and now < found[1]:
            return found[0]
        if self._tokens is None:
            return None
        if found is not None:
            self._known[key] = (found[0], now + FRESH)  # one asks, the others go by what was known
        try:
            grant: Grant | None = await self._ask(self._tokens.check, token)
        except LineageLogError as error:
            if found is None or found[0] is None or now > found[1] + _STALE:
                raise not_stored(error) from error
            return found[0]
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[key] = (grant, now + FRESH)
        return grant

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _ask(self, question: Any, *arguments: Any) -> Any:
        return await self._waits.ask(self._pool, question, *arguments)


def _digest(token: str) -> bytes:
    """What a token is remembered by: neither the token nor its order stays in memory."""
    return sha256(token.encode("utf-8", "replace")).digest()


def _judge(grant: Grant | None, scope: Scope) -> Grant:
    if grant is None:
        raise _unknown()
    if not grant.allows(scope):
        raise Refusal(403, "forbidden", f"the token has not the scope {scope}")
    return grant


def _unknown() -> Refusal:
    return Refusal(401, "unauthorized", "the token is unknown, expired or revoked", headers=_CHALLENGE)
