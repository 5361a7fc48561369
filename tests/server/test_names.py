"""Names in paths: whatever characters they have, they arrive as they were sent."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from lineagelog.read import Reader
from lineagelog.server import create_app
from lineagelog.server.reading import path_to_match
from lineagelog.store.ledgers.tokens import Tokens

from .client import BATCH, LINEAGE, encoded, event, request
from .conftest import served

if TYPE_CHECKING:
    from starlette.requests import Request

    from lineagelog.store import LogStore

    from .conftest import Serve

NAMES = (
    *("s3://b/c", "postgres://h:5432", "a:b", "50%", "a%2Fb", "%252F", "x#y", "what?", "two words", " lead", "+plus"),
    *("ünï/çødé ☃ 𝄞", "..", ".", "//", "a//b/", "a;b", "a&b=c", "{run_id}", "~tilde", "%2%35", "tab\there", "l\nf"),
)


def test_run_ids_of_any_characters(url: str) -> None:
    """Encoded wholly, in small letters, and with what is allowed in a path as it is."""
    sent = [event(number, run={"runId": name}) for number, name in enumerate(NAMES)]
    assert request(url, BATCH, json.dumps(sent)).status == 204
    for name in NAMES:
        whole = quote(name, safe="")
        for path in (whole, whole.lower() if name.isascii() and name.islower() else whole, quote(name, safe="/:;+&=")):
            answer = request(url, f"/api/v1/runs/{path}")
            assert (answer.status, answer.json.get("run_id")) == (200, name), path


def test_nothing_but_names_is_encoded_in_other_ways(url: str) -> None:
    """Letters, digits and marks that need no encoding mean themselves; an encoded slash never parts a path."""
    for path in ("/api/v1/run%2ddatasets", "/api/v1/run%73", "/health%7A", "/t/x/%61pi/v1/runs"):
        assert request(url, path).status == 200
    for path in ("/api%2Fv1%2Fruns", "/%2Fhealthz", "/healthz%00", "/api/v1/runs%3Flimit=1", "/api/v1/runs/"):
        answer = request(url, path)
        assert (answer.status, answer.json["reason"]) == (404, "not_found")
    assert request(url, "/api/v1/line%61ge", encoded()).status == 201


def test_what_is_no_utf_8_is_not_found(url: str) -> None:
    """And no defect."""
    for path in ("%ff", "%C3%28", "%ED%A0%80", "%"):
        assert request(url, f"/api/v1/runs/{path}").status == 404


async def ask(app: Any, path: str) -> tuple[int, Any]:
    """What an ASGI application says to a GET of an encoded path, as uvicorn would ask it."""
    told: list[Any] = []

    async def send(message: Any) -> None:
        told.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "method": "GET",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    await app(scope, receive, send)
    return told[0]["status"], json.loads(b"".join(message.get("body", b"") for message in told[1:]))


async def matched(path: str) -> Any:
    """The two names that a route with two names finds in a path."""

    async def names(request: Request) -> JSONResponse:
        return JSONResponse(request.path_params)

    inner = Starlette(routes=[Route("/n/{namespace:name}/d/{dataset:name}", names)])

    async def outer(scope: Any, receive: Any, send: Any) -> None:
        await inner({**scope, "path": path_to_match(scope)}, receive, send)

    return (await ask(outer, path))[1]


@given(st.tuples(*[st.text(st.characters(exclude_categories=("Cs",)), min_size=1) | st.sampled_from(NAMES)] * 2))
def test_two_names_in_one_path(names: tuple[str, str]) -> None:
    """Each is one segment, whatever it holds."""
    namespace, dataset = names
    path = f"/n/{quote(namespace, safe='')}/d/{quote(dataset, safe='')}"
    assert asyncio.run(matched(path)) == {"namespace": namespace, "dataset": dataset}


@pytest.mark.long
@pytest.mark.parametrize("part", ["a", "/", "☃"])
def test_names_of_64_kib(store: LogStore, part: str) -> None:
    """As long as a stored name may be; on the wire the bound of a request's head comes first, with an answer."""
    name = part * (65536 // len(part.encode()))
    path = f"/n/{quote(name, safe='')}/d/{quote(name, safe='')}"
    assert asyncio.run(matched(path)) == {"namespace": name, "dataset": name}
    app = create_app(store, reader=Reader(store.database))
    status, answer = asyncio.run(ask(app, f"/api/v1/runs/{quote(name, safe='')}"))
    assert (status, answer["reason"]) == (404, "not_found")
    with served(app) as server:
        assert request(server.url, f"/api/v1/runs/{'a' * 60_000}").status == 404
        assert request(server.url, f"/api/v1/runs/{quote(name, safe='')}").status == 400


# --- the framework and what stands before it --------------------------------------------------------------------------


@pytest.mark.long
def test_receiving_goes_past_the_framework(store: LogStore) -> None:
    """Events are stored where everything that reads is broken; a defect there is a 500 in the usual form."""

    async def broken(*_: Any) -> None:
        raise RuntimeError("secret of an event")

    app = create_app(store, cors_origins=["*"])
    app.reading._app = broken  # type: ignore[assignment]
    with served(app) as server:
        assert request(server.url, LINEAGE, encoded()).status == 201
        assert request(server.url, f"/t/x{BATCH}", encoded(1)).status == 204


def test_a_defect_of_a_read_is_500_and_counted(
    store: LogStore, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With the body that all refusals have, seen by pages that may see answers; its text goes nowhere."""

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret of an event")

    monkeypatch.setattr(Reader, "status", broken)
    with served(create_app(store, reader=Reader(store.database), cors_origins=["*"])) as server:
        answer = request(server.url, "/api/v1/status", headers={"Origin": "https://ui.example.org"})
        metrics = request(server.url, "/metrics").body.decode()
    assert (answer.status, answer.json["reason"]) == (500, "internal_error")
    assert answer.headers["access-control-allow-origin"] == "https://ui.example.org"
    assert 'lineagelog_http_requests_total{route="/api/v1/status",status="500"} 1.0' in metrics
    assert "secret" not in answer.body.decode() + "".join(capfd.readouterr())


def test_refused_reads_are_counted_by_route(serve: Serve, store: LogStore) -> None:
    """Also those without a token; what is at no route is other."""
    tokens = Tokens(store.database)
    token, _ = tokens.create("t", ["read"])
    url = serve(tokens=tokens)
    headers = {"Authorization": f"Bearer {token}"}
    for path in ("/api/v1/runs", "/api/v1/runs/x", "/nowhere", "/api/v1/analyses/schema_drift"):
        request(url, path)
    request(url, "/api/v1/analyses/nothing", headers=headers)
    metrics = request(url, "/metrics", headers=headers).body.decode()
    for line in (
        '{route="/api/v1/runs",status="401"}',
        '{route="/api/v1/runs/",status="401"}',
        '{route="/api/v1/analyses/schema_drift",status="401"}',
        '{route="other",status="404"}',
    ):
        assert f"lineagelog_http_requests_total{line}" in metrics


@pytest.mark.long
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/openapi.json", "/api/v1/runs", "/api/v1/runs/x"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_another_method_is_405(url: str, path: str, method: str) -> None:
    """With those that are allowed."""
    answer = request(url, path, b"{}", method=method)
    assert (answer.status, answer.json["reason"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
