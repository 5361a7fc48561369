"""A server without tokens: this machine's programs and pages are answered, foreign web pages and names are not."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from structlog.testing import capture_logs

from lineagelog.server import HttpServer, create_app
from lineagelog.store.ledgers.tokens import Tokens
from tests.support import PATIENCE

from .client import BATCH, LINEAGE, count, encoded, request

if TYPE_CHECKING:
    from lineagelog.store import LogStore

    from .conftest import Serve

PATHS = [
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/api/v1/runs",
    "/api/v1/runs/run-0",
    "/api/v1/status",
    "/x",
]
FOREIGN = {"Origin": "https://evil.example"}


def talk(url: str, *lines: str, body: bytes = b"") -> bytes:
    """One request over a raw socket, its head as given; the whole answer."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=PATIENCE) as connection:
        connection.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode() + body)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def status(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d+) ", answer)
    assert found, answer
    return int(found[1])


@pytest.mark.long
@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("localhost", 200),
        ("LocalHost.:5000", 200),
        ("127.0.0.1:80", 200),
        ("127.9.9.9", 200),
        ("[::1]:5000", 200),
        ("evil.example", 421),
        ("evil.example:5000", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("evil.example@localhost", 421),
        ("localhost/evil.example", 421),
        ("192.0.2.7", 421),
        ("0.0.0.0", 421),
        ("[2001:db8::1]", 421),
        ("", 421),
    ],
)
def test_open_server_answers_to_loopback_names(url: str, host: str, wanted: int) -> None:
    """Whatever the port. A page whose name is resolved to 127.0.0.1 is told that it has the wrong server."""
    answer = talk(url, "GET /healthz HTTP/1.1", f"Host: {host}")
    assert status(answer) == wanted
    assert (b"server.host_names" in answer) == (wanted == 421)


@pytest.mark.long
@pytest.mark.parametrize("path", PATHS)
def test_every_route_is_closed_to_foreign_names_and_pages(url: str, path: str) -> None:
    """Reads, metrics, health, and paths that are not there; with the setting that would open them."""
    assert status(talk(url, f"GET {path} HTTP/1.1", "Host: evil.example")) == 421
    answer = request(url, path, headers=FOREIGN)
    assert (answer.status, answer.json["reason"]) == (403, "foreign_origin")
    assert "server.cors_origins" in answer.json["message"]
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.long
@pytest.mark.parametrize(
    "headers",
    [
        FOREIGN,
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "chrome-extension://abcdef"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Content-Type": "text/plain"},
    ],
)
def test_a_foreign_page_stores_nothing(store: LogStore, url: str, headers: dict[str, str]) -> None:
    """A text/plain POST needs no preflight: it is refused, on each receiving path, and leaves no dead letter."""
    for path in (LINEAGE, BATCH, LINEAGE + "/", "/t/none" + LINEAGE):
        for body in (encoded(), b"{", b" " * 5_000_000):
            assert request(url, path, body, headers=headers).status == 403
    assert request(url, LINEAGE, encoded(), headers={"Host": "evil.example:5000"}).status == 421
    assert (count(store), count(store, "ol_dead_letter")) == (0, 0)


@pytest.mark.long
def test_own_pages_and_programs_are_answered(store: LogStore, url: str) -> None:
    """Those of the server itself, an address that a person typed, and whoever is no browser."""
    own = {"Origin": url, "Sec-Fetch-Site": "same-origin"}
    assert request(url, LINEAGE, encoded(1), headers=own).status == 201
    assert request(url, LINEAGE, encoded(2)).status == 201
    assert request(url, "/api/v1/runs", headers={"Sec-Fetch-Site": "none"}).status == 200
    assert status(talk(url, "GET /healthz HTTP/1.0")) == 200
    assert count(store) == 2


def test_configured_origins_and_names(serve: Serve, store: LogStore) -> None:
    """They may ask first (preflight), send and read, and the browser is told so; others still may not."""
    url = serve(cors_origins=["https://ui.example.org/"], host_names=["lineage.example.org"])
    page = {"Origin": "https://ui.example.org", "Sec-Fetch-Site": "cross-site", "Host": "lineage.example.org"}
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Private-Network": "true"}
    for path in (LINEAGE, "/api/v1/runs"):
        before = request(url, path, method="OPTIONS", headers=page | asked)
        assert (before.status, before.headers["access-control-allow-origin"]) == (204, "https://ui.example.org")
        assert "authorization" in before.headers["access-control-allow-headers"]
        assert before.headers["access-control-allow-private-network"] == "true"
        refused = request(url, path, method="OPTIONS", headers=asked | FOREIGN)
        assert (refused.status, "access-control-allow-origin" in refused.headers) == (403, False)
    sent = request(url, LINEAGE, encoded(), headers=page)
    read = request(url, "/api/v1/runs", headers=page)
    assert (sent.status, read.status, len(read.json["items"])) == (201, 200, 1)
    assert {answer.headers["access-control-allow-origin"] for answer in (sent, read)} == {"https://ui.example.org"}
    assert request(url, LINEAGE, encoded(1), headers=page | FOREIGN).status == 403
    assert count(store) == 1


@pytest.mark.long
def test_with_tokens_the_token_decides(serve: Serve, store: LogStore) -> None:
    """Behind a proxy the Host is the proxy's; a page that holds a token may send, and without one nobody may."""
    token, _ = Tokens(store.database).create("t", ["admin"])
    url = serve(tokens=Tokens(store.database))
    headers = {"Host": "lineage.example.org", "Authorization": f"Bearer {token}"} | FOREIGN
    assert request(url, "/healthz", headers={"Host": "lineage.example.org"}).status == 200
    sent = request(url, LINEAGE, encoded(), headers=headers)
    assert (sent.status, sent.headers["access-control-allow-origin"]) == (201, "*")
    read = request(url, "/api/v1/runs", headers=headers)
    assert (read.status, "access-control-allow-origin" in read.headers) == (200, False)
    assert request(url, LINEAGE, encoded(1), headers=FOREIGN).status == 401


def test_the_first_token_opens_the_door_to_proxies(
    serve: Serve, store: LogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when all that comes is addressed to the proxy's name."""
    monkeypatch.setattr("lineagelog.server.auth.FRESH", 0.0)
    url = serve(tokens=Tokens(store.database))
    assert request(url, LINEAGE, encoded(), headers={"Host": "lineage.example.org"}).status == 421
    token, _ = Tokens(store.database).create("t", ["ingest"])
    headers = {"Host": "lineage.example.org", "Authorization": f"Bearer {token}"}
    assert request(url, LINEAGE, encoded(), headers=headers).status == 201


@pytest.mark.parametrize(
    "hosts", [[], ["Host: localhost", "Host: localhost"], ["Host: localhost", "Host: evil.example"]]
)
@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_not_exactly_one_host_is_400(url: str, hosts: list[str], method: str) -> None:
    """With and without tokens; which of two a proxy would have gone by, nobody knows."""
    assert status(talk(url, f"{method} /healthz HTTP/1.1", *hosts)) == 400
    body = encoded()
    assert status(talk(url, f"POST {LINEAGE} HTTP/1.1", *hosts, f"Content-Length: {len(body)}", body=body)) == 400


def test_tokens_in_the_clear_are_warned_of(store: LogStore) -> None:
    """At the start, on an address beyond loopback without TLS; on loopback there is nothing to warn of."""
    tokens = Tokens(store.database)
    tokens.create("t", ["ingest"])
    with capture_logs() as logs:
        HttpServer(create_app(store, tokens=tokens), host="0.0.0.0", port=0).close()
        warned = [line for line in logs if line["log_level"] == "warning"]
        HttpServer(create_app(store, tokens=tokens), host="127.0.0.1", port=0).close()
    assert len(warned) == len([line for line in logs if line["log_level"] == "warning"]) == 1
    assert "server.tls_cert" in warned[0]["event"]
