"""Who may speak to a server without tokens: this machine's own programs and pages, not any page that a browser shows.

A browser is on this machine too, and sends what a foreign page tells it to. Such a page's own name may even be
resolved to 127.0.0.1 (DNS rebinding), so the name by which the server is addressed counts as well as the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from lineagelog.loopback import host_name, is_local_name

from .answers import Headers, Refusal

ANY: Final = "*"
_ORIGIN: Final = re.compile(r"https?://([^/?#@]+)", re.IGNORECASE)
_OWN_SITE: Final = frozenset((b"same-origin", b"none"))
"""What `Sec-Fetch-Site` says of our own pages, and of an address that a person typed."""
_PREFLIGHT: Final = (
    (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
    (b"access-control-allow-headers", b"authorization, content-type, content-encoding, x-api-key"),
    (b"access-control-max-age", b"86400"),
)
_TO_PRIVATE: Final = (b"access-control-allow-private-network", b"true")
_VARY: Final = (b"vary", b"origin")


def check_host(scope: Any) -> None:
    """Refuse (400) a request that does not say, once, whom it is for: RFC 9112 wants that of every HTTP/1.1 request."""
    hosts = sum(1 for name, _ in scope["headers"] if name == b"host")
    if hosts > 1 or (not hosts and scope.get("http_version", "1.1") == "1.1"):
        problem = "has more than one Host header" if hosts else "has no Host header"
        raise Refusal(400, "bad_request", f"the request {problem}")


class Visitors:
    """Judges requests by `Host`, `Origin` and `Sec-Fetch-Site`.

    ``origins`` are the web origins whose pages may send and read (`server.cors_origins`; ``*`` = all), ``names`` the
    names beside loopback's by which an open server may be addressed (`server.host_names`; ``*`` = any).
    """

    def __init__(self, origins: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        self._names = frozenset(name.rstrip(".").lower() for name in names)

    def check(self, headers: dict[bytes, bytes]) -> None:
        """For a server that is open to everybody. Raises Refusal: 421 for a foreign name, 403 for a foreign page."""
        host = headers.get(b"host")
        if host is not None and not self._is_ours(host.decode("latin-1")):
            raise Refusal(
                421,
                "foreign_host",
                "while there are no tokens the server answers to localhost and loopback addresses only: add the Host "
                "to server.host_names, or create a token with `lineagelog tokens create`",
            )
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
        if origin is not None:
            if self._is_allowed(origin) or _is_same(origin, host):
                return
        elif site is None or site.strip().lower() in _OWN_SITE:
            return
        raise Refusal(
            403,
            "foreign_origin",
            "while there are no tokens the server answers no pages of other web sites: add the page's origin to "
            "server.cors_origins, or create a token with `lineagelog tokens create`",
        )

    @staticmethod
    def check_own_page(headers: dict[bytes, bytes]) -> None:
        """For what a browser says by its cookie: only a page of this server may. Raises Refusal: 403."""
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
        is_own = site.strip().lower() == b"same-origin" if site is not None else origin is not None
        if not is_own or (origin is not None and not _is_same(origin, headers.get(b"host"))):
            raise Refusal(403, "foreign_origin", "only a page of this server may say this")

    def cors(self, headers: dict[bytes, bytes], *, is_open: bool, receiving: bool) -> Headers:
        """What tells a browser that the page may see the answer.

        Pages of the configured origins may see all. Where tokens are needed events may be posted from any page: it
        needs a token of its own.
        """
        origin = headers.get(b"origin")
        if origin is None:
            return ()
        if self._is_allowed(origin):
            return ((b"access-control-allow-origin", origin), _VARY)
        return ((b"access-control-allow-origin", b"*"),) if receiving and not is_open else ()

    def preflight(self, headers: dict[bytes, bytes]) -> Headers:
        """What a page may send, for the question that a browser asks first."""
        if b"access-control-request-private-network" in headers and self._is_allowed(headers.get(b"origin", b"")):
            return (*_PREFLIGHT, _TO_PRIVATE)
        return _PREFLIGHT

    def _is_allowed(self, origin: bytes) -> bool:
        return ANY in self._origins or origin.decode("latin-1").lower() in self._origins

    def _is_ours(self, host: str) -> bool:
        name = host_name(host)
        return name is not None and (is_local_name(name) or ANY in self._names or name in self._names)


def _is_same(origin: bytes, host: bytes | None) -> bool:
    """Whether a page of ours asks: its origin is the name that the request is addressed to."""
    match = _ORIGIN.fullmatch(origin.decode("latin-1"))
    return match is not None and host is not None and match[1].lower() == host.decode("latin-1").strip().lower()
