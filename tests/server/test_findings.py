"""Recorded findings over HTTP: lists, pages, one by its id, and what people say of one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import jsonschema_rs
import pytest

from lineagelog.analysis import Severity, Subject
from lineagelog.store.ledgers.tokens import Tokens
from tests.findings.support import finding, kept, record, statuses

from .client import Response, request

if TYPE_CHECKING:
    from lineagelog.store import LogStore

    from .conftest import Serve

PATH = "/api/v1/findings"


def listed(url: str, headers: dict[str, str] | None = None, **parameters: Any) -> Response:
    return request(url, f"{PATH}?{urlencode(parameters)}", headers=headers)


def names(response: Response) -> list[str]:
    assert response.status == 200, response.body
    return [each["subject"]["name"] for each in response.json["items"]]


@pytest.fixture
def found(store: LogStore) -> LogStore:
    """Three findings: of a job, a critical one of a job, and one of a dataset of another namespace."""
    bad = finding("b", 3, severity=Severity.CRITICAL)
    record(store, 0, 5, finding("a", 2), bad, finding("c", 4, subject=Subject("dataset", "other", "c")))
    return store


def test_lists_and_pages(found: LogStore, url: str) -> None:
    """The document of `analyse` with what became of it; by status, severity and subject; page by page, either way."""
    assert names(listed(url)) == ["a", "b", "c"]
    assert names(listed(url, severity="high")) == ["b"]
    assert names(listed(url, subject="c", namespace="other", status="open")) == ["c"]
    assert names(listed(url, since="2026-03-05", analysis="made-up")) == ["c"]
    assert names(listed(url, status="closed")) == []
    first = listed(url, limit=2, reverse="true")
    assert names(first) == ["c", "b"]
    assert names(listed(url, limit=2, reverse="true", cursor=first.json["next_cursor"])) == ["a"]
    (row,) = listed(url, subject="a").json["items"]
    assert (row["status"], row["change"], row["explanation"], row["reopened"]) == ("OPEN", "odd", "a is odd.", 0)
    assert request(url, f"{PATH}/{row['finding_id']}").json == row
    assert request(url, f"{PATH}/nothing").status == 404
    assert listed(url, severity="worst").json["parameter"] == "severity"
    assert listed(url, status="new").status == 400
    assert listed(url, cursor="x").status == 400


def test_what_people_say(found: LogStore, url: str) -> None:
    """Acknowledged, muted and no longer muted; the finding as it is then is the answer."""
    row = kept(found)["a"]
    one = f"{PATH}/{row.finding_id}"
    said = request(url, f"{one}/acknowledge", json.dumps({"by": "ada", "until": "7d", "why": "in work"}))
    assert said.status == 200
    assert (said.json["status"], said.json["acknowledged_by"], said.json["acknowledged_why"]) == (
        "OPEN",
        "ada",
        "in work",
    )
    assert request(url, f"{one}/mute", "").json["status"] == "SUPPRESSED"
    assert names(listed(url)) == ["b", "c"]
    assert names(listed(url, status="suppressed")) == ["a"]
    assert request(url, f"{one}/unmute", "").json["status"] == "OPEN"
    for body in ("[]", "{", '{"until": "2020-01-01"}', '{"whom": "x"}', '{"why": "\\u0000"}'):
        refused = request(url, f"{one}/mute", body)
        assert (refused.status, refused.json["reason"]) == (400, "bad_body"), body
    assert request(url, f"{one}/mute", "x" * 20_000).status == 413
    assert request(url, f"{one}/mute").status == 405
    assert request(url, f"{PATH}/00000000-0000-0000-0000-000000000000/mute", "").status == 404
    assert statuses(found)["a"] == "OPEN"


def test_tokens(found: LogStore, serve: Serve) -> None:
    """Reading needs read, saying admin; who is bound to namespaces sees, and speaks of, what is of them."""
    tokens = Tokens(found.database)
    made = {
        name: {"Authorization": f"Bearer {tokens.create(name, [scope], namespaces=bound)[0]}"}
        for name, scope, bound in (
            ("reader", "read", None),
            ("sender", "ingest", None),
            ("theirs", "admin", ["tests"]),
        )
    }
    url = serve(tokens=tokens)
    ours, other = kept(found)["a"].finding_id, kept(found)["c"].finding_id
    assert listed(url).status == 401
    assert listed(url, made["sender"]).status == 403
    assert names(listed(url, made["reader"])) == ["a", "b", "c"]
    assert names(listed(url, made["theirs"])) == ["a", "b"]
    assert request(url, f"{PATH}/{other}", headers=made["theirs"]).status == 404
    assert request(url, f"{PATH}/{ours}/mute", "", headers=made["reader"]).status == 403
    assert request(url, f"{PATH}/{other}/mute", "", headers=made["theirs"]).status == 404
    muted = request(url, f"{PATH}/{ours}/mute", "", headers=made["theirs"])
    assert (muted.status, muted.json["muted_by"]) == (200, "theirs")


@pytest.mark.long
def test_it_is_described(found: LogStore, url: str) -> None:
    """OpenAPI has the lists, one, and the three things to say, with their bodies; the answers are as it says."""
    document = request(url, "/openapi.json").json
    schema = {"$ref": "#/components/schemas/FindingRow", "components": document["components"]}
    for each in listed(url).json["items"]:
        jsonschema_rs.Draft202012Validator(schema).validate(each)
    assert {"get"} == document["paths"][PATH].keys()
    for what in ("acknowledge", "mute", "unmute"):
        body = document["paths"][f"{PATH}/{{finding_id}}/{what}"]["post"]["requestBody"]
        assert body["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/FindingRemark"}
    row = document["components"]["schemas"]["FindingRow"]["properties"]
    assert {"finding_id", "status", "explanation", "muted_by", "reopened"} <= row.keys()
    assert "content" not in row
