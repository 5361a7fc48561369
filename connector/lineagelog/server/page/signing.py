"""Signing in with a token: it is kept in a cookie that no script reads and no other site sends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lineagelog.server.answers import Headers

SIGNING: Final = ("/sign-in", "/sign-out")
"""Paths that only our own pages may post to."""
_NAME: Final = b"lineagelog_token"
_TOKEN: Final = re.compile(rb"[A-Za-z0-9_\-.~]{1,256}")
_COOKIE: Final = re.compile(rb"(?:^|;\s*)lineagelog_token=([A-Za-z0-9_\-.~]{1,256})(?=;|$)")
_DAYS: Final = 30


def from_cookie(headers: Mapping[bytes, bytes]) -> str | None:
    """The token of a browser that has signed in."""
    found = _COOKIE.search(headers.get(b"cookie", b""))
    return None if found is None else found[1].decode("ascii")


def remember(token: str, *, is_secure: bool) -> Headers:
    """What makes a browser keep a token; nothing for a text that is none."""
    data = token.encode("ascii", "replace")
    if not _TOKEN.fullmatch(data):
        return ()
    return ((b"set-cookie", _cookie(data, _DAYS * 86400, is_secure=is_secure)),)


def forget(*, is_secure: bool) -> Headers:
    """What makes a browser forget it."""
    return ((b"set-cookie", _cookie(b"", 0, is_secure=is_secure)),)


def _cookie(value: bytes, seconds: int, *, is_secure: bool) -> bytes:
    secure = b"; Secure" if is_secure else b""
    return b"%b=%b; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%b" % (_NAME, value, seconds, secure)
