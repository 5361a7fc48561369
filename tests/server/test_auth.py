"""Tokens: who may send, who may read, and that a token never shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from lineagelog.errors import SettingsError
from lineagelog.server import HttpServer, create_app
from lineagelog.store.ledgers.tokens import Tokens

from .client import BATCH, LINEAGE, count, encoded, event, request

if TYPE_CHECKING:
    from lineagelog.store import LogStore

    from .conftest import Serve


@pytest.fixture
def tokens(store: LogStore) -> Tokens:
    return Tokens(store.database)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("scope", ["ingest", "read", "admin"])
def test_token_scope_matrix(serve: Serve, tokens: Tokens, scope: str) -> None:
    """Each scope opens its own paths, admin all; /healthz, /openapi.json and preflights are open to everybody."""
    token, _ = tokens.create("t", [scope])
    url = serve(tokens=tokens)
    headers = bearer(token)
    may_send, may_read = scope in ("ingest", "admin"), scope in ("read", "admin")
    assert request(url, LINEAGE, encoded(), headers=headers).status == (201 if may_send else 403)
    assert request(url, BATCH, json.dumps([event()]), headers=headers).status == (204 if may_send else 403)
    for path in ("/metrics", "/readyz", "/api/v1/runs", "/api/v1/runs/run-0", "/api/v1/status", "/api/v1/summary"):
        assert (request(url, path, headers=headers).status != 403) == may_read
        assert request(url, path).status == 401
    assert request(url, "/healthz").status == 200
    assert request(url, "/openapi.json").status == 200
    assert request(url, LINEAGE, method="OPTIONS").status == 204


def test_ways_to_hand_in_a_token(serve: Serve, tokens: Tokens, store: LogStore) -> None:
    """Authorization: Bearer in any case, X-API-Key, and the path prefix for senders that can set no header."""
    token, _ = tokens.create("t", ["admin"])
    url = serve(tokens=tokens)
    for number, (path, headers) in enumerate(
        [
            (LINEAGE, {"Authorization": f"bearer  {token} "}),
            (LINEAGE, {"X-API-Key": token}),
            (LINEAGE, {"Authorization": "Basic eDp5", "X-API-Key": token}),
            (f"/t/{token}{LINEAGE}", {}),
        ]
    ):
        assert request(url, path, encoded(number), headers=headers).status == 201
    assert request(url, f"/t/{token}/api/v1/runs?limit=1").status == 200
    assert count(store) == 4


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer "}, {"Authorization": "Bearer llg_wrong"}, {"X-API-Key": "x" * 9000}]
)
def test_wrong_credentials_are_401(serve: Serve, tokens: Tokens, store: LogStore, headers: dict[str, str]) -> None:
    """With the challenge; nothing is stored, not even a dead letter."""
    tokens.create("t", ["ingest"])
    url = serve(tokens=tokens)
    for path in (LINEAGE, "/t/llg_wrong" + LINEAGE):
        answer = request(url, path, b"{", headers=headers)
        assert (answer.status, answer.json["reason"]) == (401, "unauthorized")
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert (count(store), count(store, "ol_dead_letter")) == (0, 0)


def test_401_is_read_by_a_client_that_still_sends(serve: Serve, tokens: Tokens) -> None:
    """Also with a body of several megabytes."""
    tokens.create("t", ["ingest"])
    assert request(serve(tokens=tokens), LINEAGE, b" " * 8_000_000).status == 401


def test_namespace_bound_token(serve: Serve, tokens: Tokens, store: LogStore) -> None:
    """Other namespaces: 403 for a single event, a failed member in a batch; reads are of the own namespaces only."""
    token, _ = tokens.create("t", ["ingest", "read"], namespaces=["shop"])
    url, headers = serve(tokens=tokens), bearer(token)
    other = event(1, job={"namespace": "bank", "name": "j"})
    assert request(url, LINEAGE, encoded(0), headers=headers).status == 201
    assert request(url, LINEAGE, json.dumps(other), headers=headers).status == 403
    answer = request(url, BATCH, json.dumps([other, event(2), {"no": "event"}]), headers=headers)
    assert answer.status == 200
    assert [(item["index"], item["reason"]) for item in answer.json["failed_events"]] == [
        (0, "forbidden"),
        (2, "not_an_event"),
    ]
    assert request(url, BATCH, json.dumps([other]), headers=headers).json["status"] == "failure"
    assert count(store) == 2
    assert len(request(url, "/api/v1/runs", headers=headers).json["items"]) == 2
    assert request(url, "/api/v1/runs?namespace=bank", headers=headers).status == 403
    assert request(url, "/api/v1/summary", headers=headers).status == 403
    assert request(url, "/api/v1/runs/run-0", headers=headers).status == 200


def test_bound_token_does_not_see_a_run_of_others(serve: Serve, tokens: Tokens) -> None:
    """A run of another namespace is not found."""
    token, _ = tokens.create("t", ["read"], namespaces=["bank"])
    sender, _ = tokens.create("s", ["ingest"])
    url = serve(tokens=tokens)
    assert request(url, LINEAGE, encoded(0), headers=bearer(sender)).status == 201
    assert request(url, "/api/v1/runs/run-0", headers=bearer(token)).status == 404


@pytest.fixture
def shared_run(serve: Serve, tokens: Tokens) -> str:
    """A server where two namespaces have sent events of one run id, with a dataset of both and one of each."""
    sender, _ = tokens.create("s", ["ingest"])
    url = serve(tokens=tokens)
    for number, name in enumerate(("shop", "bank")):
        rows = {"outputStatistics": {"rowCount": 7 + number, "size": None}}
        both = {"namespace": "db", "name": "both", "outputFacets": rows if number else {}}
        facets = {"dataQualityAssertions": {"assertions": [{"assertion": f"{name}-secret", "success": True}]}}
        mine = {"namespace": "" if number else None, "name": f"{name}-only", "inputFacets": facets}
        tests = {"test": {"tests": [{"name": f"{name}-test", "status": "pass"}]}}
        sent = event(
            number,
            run={"runId": "shared", "facets": tests},
            job={"namespace": name, "name": f"{name}-job"},
            inputs=[{key: value for key, value in mine.items() if value != ""}],
            outputs=[both, {"namespace": f"{name}-db", "name": "twice"}, {"name": "twice"} if number else {}],
        )
        assert request(url, LINEAGE, json.dumps(sent), headers=bearer(sender)).status == 201
    return url


@pytest.mark.parametrize(("mine", "other", "rows"), [("shop", "bank", None), ("bank", "shop", 8)])
def test_bound_reader_sees_its_part_of_a_shared_run(
    shared_run: str, tokens: Tokens, mine: str, other: str, rows: int | None
) -> None:
    """An event of another namespace with my run id neither hides my run nor shows me what the other said of it."""
    token, _ = tokens.create("t", ["read"], namespaces=[mine])
    found = request(shared_run, "/api/v1/runs/shared?content=true", headers=bearer(token))
    assert found.status == 200
    listed = request(shared_run, "/api/v1/run-datasets", headers=bearer(token)).json["items"]
    for datasets in (found.json["datasets"], listed):
        assert {row["dataset_name"]: row["row_count"] for row in datasets} == {
            f"{mine}-only": None,
            "both": rows,
            "twice": None,
        }
        assert len(datasets) == (4 if mine == "bank" else 3)
    names = ("runs", "assertions", "tests", "events")
    assert [[row["job_name"] for row in found.json[name]] for name in names] == [[f"{mine}-job"]] * 4
    for path in ("/api/v1/runs", "/api/v1/events?content=true", "/api/v1/assertions", "/api/v1/tests"):
        answer = request(shared_run, path, headers=bearer(token))
        assert len(answer.json["items"]) == 1
        assert f"{other}-" not in answer.body.decode()
    assert f"{other}-" not in found.body.decode()
    by_dataset = request(shared_run, f"/api/v1/runs?dataset={other}-only", headers=bearer(token))
    assert by_dataset.json["items"] == []


def test_pages_of_a_bound_reader_are_whole(shared_run: str, tokens: Tokens) -> None:
    """What is left out does not end a listing early."""
    token, _ = tokens.create("t", ["read"], namespaces=["shop"])
    names, cursor = [], ""
    while cursor is not None:
        more = f"&cursor={cursor}" if cursor else ""
        page = request(shared_run, f"/api/v1/run-datasets?limit=1{more}", headers=bearer(token)).json
        names += [row["dataset_name"] for row in page["items"]]
        cursor = page["next_cursor"]
    assert sorted(names) == ["both", "shop-only", "twice"]


def test_a_bound_reader_sees_its_jobs_and_their_datasets(shared_run: str, tokens: Tokens) -> None:
    """And finds no others by a search."""
    token, _ = tokens.create("t", ["read"], namespaces=["shop"])

    def names(path: str, member: str) -> list[str]:
        return sorted(row[member] for row in request(shared_run, path, headers=bearer(token)).json["items"])

    assert names("/api/v1/jobs", "job_name") == ["shop-job"]
    assert names("/api/v1/jobs?search=bank", "job_name") == []
    assert names("/api/v1/jobs?namespace=bank", "job_name") == []
    assert names("/api/v1/datasets", "dataset_name") == ["both", "shop-only", "twice"]
    assert names("/api/v1/datasets?search=BOTH", "dataset_name") == ["both"]
    assert names("/api/v1/datasets?search=bank", "dataset_name") == []


@pytest.mark.long
def test_an_unbound_reader_sees_a_shared_run_whole(shared_run: str, tokens: Tokens) -> None:
    """Both jobs, each with all its datasets; and what is about all namespaces."""
    token, _ = tokens.create("t", ["read"])
    found = request(shared_run, "/api/v1/runs/shared", headers=bearer(token)).json
    assert (len(found["runs"]), len(found["datasets"])) == (2, 7)
    for path in ("/metrics", "/api/v1/status", "/api/v1/summary"):
        assert request(shared_run, path, headers=bearer(token)).status == 200


def test_bound_reader_gets_no_figures_of_all(serve: Serve, tokens: Tokens) -> None:
    """Metrics, status and summary count what others have sent; whether the server is ready is no secret."""
    token, _ = tokens.create("t", ["admin"], namespaces=["shop"])
    url = serve(tokens=tokens)
    for path in ("/metrics", "/api/v1/status", "/api/v1/summary"):
        assert request(url, path, headers=bearer(token)).status == 403
    assert request(url, "/readyz", headers=bearer(token)).status == 200


def test_revoked_token_ends(serve: Serve, tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within seconds; and the last token's end does not open the doors."""
    monkeypatch.setattr("lineagelog.server.auth.FRESH", 0.0)
    token, listed = tokens.create("t", ["ingest"])
    url = serve(tokens=tokens)
    assert request(url, LINEAGE, encoded(), headers=bearer(token)).status == 201
    tokens.revoke(listed.id)
    assert request(url, LINEAGE, encoded(), headers=bearer(token)).status == 401
    assert request(url, LINEAGE, encoded()).status == 401


def test_open_on_loopback_until_the_first_token(serve: Serve, tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any token everything is open; the first token closes it, while the server runs."""
    monkeypatch.setattr("lineagelog.server.auth.FRESH", 0.0)
    url = serve(tokens=tokens)
    assert request(url, LINEAGE, encoded()).status == 201
    assert request(url, "/metrics").status == 200
    tokens.create("t", ["ingest"])
    assert request(url, LINEAGE, encoded()).status == 401


def test_other_addresses_need_tokens(store: LogStore, tokens: Tokens) -> None:
    """Without tokens the server refuses to listen beyond loopback; with one it listens, and asks for it."""
    for given in (None, tokens):
        with pytest.raises(SettingsError, match="tokens create"):
            HttpServer(create_app(store, tokens=given), host="0.0.0.0", port=0)
    tokens.create("t", ["ingest"])
    server = HttpServer(create_app(store, tokens=tokens), host="0.0.0.0", port=0)
    server.close()


def test_no_token_and_no_event_in_a_log(serve: Serve, tokens: Tokens, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever happens to a request, neither its token nor its content is written anywhere; each line has an action."""
    token, _ = tokens.create("t", ["ingest"])
    with capture_logs() as lines:
        url = serve(tokens=tokens)
        for path in (f"/t/{token}{LINEAGE}", f"/t/{token}/nowhere", f"/t/{token}/metrics"):
            request(url, path, encoded(job={"namespace": "shop", "name": "secret-job"}))
            request(url, path)
        request(url, LINEAGE, b'{"secret-job": ', headers=bearer(token))
    out = "".join(capfd.readouterr()) + repr(lines)
    assert token not in out
    assert "secret-job" not in out
    assert all(line.get("action") for line in lines)


def test_token_in_a_path_is_not_in_the_metrics(serve: Serve, tokens: Tokens) -> None:
    """Metrics name routes, not paths."""
    token, _ = tokens.create("t", ["admin"])
    url = serve(tokens=tokens)
    request(url, f"/t/{token}/nowhere")
    assert token.encode() not in request(url, "/metrics", headers=bearer(token)).body
