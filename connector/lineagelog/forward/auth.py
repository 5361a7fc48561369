"""The headers that say who we are, with tokens fetched when they are needed and again when they are refused."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import httpx2

from lineagelog.shown import mask_text

from .target import Auth

_EARLY: Final = 30.0
"""Seconds before its end at which a token is renewed."""
_DEFAULT_LIFE: Final = 600.0


class TokenError(Exception):
    """No token could be had; ``status`` is the HTTP status of the answer, None if there was none."""

    def __init__(self, message: str, status: int | None) -> None:
        super().__init__(message)
        self.status = status


class Credentials:
    """The authorization headers of one target. Safe for many threads. Raises SettingsError for a missing secret."""

    def __init__(
        self, auth: Auth | None, client: httpx2.Client, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._auth, self._client, self._clock = auth, client, clock
        self._secret = auth.read() if auth is not None else ""
        self._lock = threading.Lock()
        self._token: str | None = None
        self._ends = 0.0

    @property
    def can_renew(self) -> bool:
        """Whether a refused token may be replaced by a new one."""
        return self._auth is not None and self._auth.type in ("oauth2", "egeria")

    def headers(self) -> dict[str, str]:
        """The headers of a request. Raises TokenError."""
        if self._auth is None:
            return {}
        if self._auth.type == "api_key":
            return {self._auth.header: self._secret}
        return {"Authorization": f"Bearer {self._fetched() if self.can_renew else self._secret}"}

    def forget(self) -> None:
        """The target has refused the token."""
        with self._lock:
            self._token = None

    def _fetched(self) -> str:
        with self._lock:
            if self._token is None or self._clock() >= self._ends:
                self._token, life = self._fetch()
                self._ends = self._clock() + max(life - _EARLY, life / 2)
            return self._token

    def _fetch(self) -> tuple[str, float]:
        assert self._auth is not None and self._auth.token_url is not None  # noqa: S101  # checked by Auth
        is_oauth = self._auth.type == "oauth2"
        try:
            if is_oauth:
                # RFC 6749 §4.4; the client's name and secret by HTTP Basic, which every server must take (§2.3.1)
                form = {"grant_type": "client_credentials"} | ({"scope": self._auth.scope} if self._auth.scope else {})
                basic = (self._auth.client_id or "", self._secret)
                response = self._client.post(self._auth.token_url, data=form, auth=basic)
            else:
                user = {"userId": self._auth.client_id, "password": self._secret}
                response = self._client.post(self._auth.token_url, json=user)
        except httpx2.HTTPError as error:
            raise TokenError(f"the token endpoint cannot be reached: {mask_text(str(error))}", None) from error
        if response.status_code != 200:
            raise TokenError(f"the token endpoint answered {response.status_code}", response.status_code)
        return _oauth_token(response) if is_oauth else _egeria_token(response)


def _oauth_token(response: httpx2.Response) -> tuple[str, float]:
    try:
        body: Any = response.json()
        return str(body["access_token"]), float(body.get("expires_in") or _DEFAULT_LIFE)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TokenError("the token endpoint answered without an access_token", response.status_code) from error


def _egeria_token(response: httpx2.Response) -> tuple[str, float]:
    """Egeria answers with the bare token, and with a JSON object when it refuses; a page is of somebody else."""
    token = response.text.strip()
    if not re.fullmatch(r"(?![{<])[\x21-\x7e]+", token):
        raise TokenError("Egeria's token endpoint answered without a token", 401)
    return token, _DEFAULT_LIFE
