"""Credentials do not leave the log unless the target says so; everything else does, value for value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.generator import generate
from hypothesis import assume, given
from hypothesis import strategies as st

from lineagelog.event.parse import parse
from lineagelog.event.redaction import redact
from lineagelog.shown import MASK, mask_text, names_a_secret
from lineagelog.store import LogStore
from tests.store.generated import events as generated_events

from .conftest import event, store_all
from .receiver import receiving

if TYPE_CHECKING:
    from lineagelog.forward import Forwarder


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgres://app:hunter2@db:5432/x", "postgres://app:***@db:5432/x"),
        ("redis://:p@ss@cache", "redis://:***@cache"),
        ("jdbc:postgresql://h/db?user=u&password=hunter2&ssl=true", "jdbc:postgresql://h/db?user=u&password=***&ssl=true"),
        ("host=h user=u password='hunter 2' port=1", "host=h user=u password=*** port=1"),
        ("jdbc:sqlserver://h;databaseName=d;Password=hunter2;x=1", "jdbc:sqlserver://h;databaseName=d;Password=***;x=1"),
        ("https://b.blob.core.windows.net/c?sv=1&sig=a%2Bb&se=2", "https://b.blob.core.windows.net/c?sv=1&sig=***&se=2"),
        ("CREDENTIALS 'aws_secret_access_key=abc'", "CREDENTIALS 'aws_secret_access_key=***'"),
        ("CREATE USER x PASSWORD 'it''s'", "CREATE USER x PASSWORD '***'"),
        ("Authorization: Bearer abcdefgh.ijkl", "Authorization: Bearer ***"),
        ("curl -H 'Authorization: Basic dXNlcjpwYXNz' h", "curl -H 'Authorization: Basic ***' h"),
        ("sent Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc", "sent Bearer ***"),
    ],
)  # fmt: skip
def test_texts_are_masked(text: str, masked: str) -> None:
    """Passwords in URIs and connection strings, signatures, SQL, headers."""
    assert mask_text(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "postgres://db:5432/x",
        "s3://bucket/key@version",
        "select count(*) from tokens where n = 1",
        "https://h/path?page=1&max_tokens_count=3",
        "mailto:me@example.invalid",
        "a password is needed",
        "basic statistics of bearer instruments",
    ],
)
def test_other_texts_stay(text: str) -> None:
    """What only looks like it."""
    assert mask_text(text) == text


def test_names_that_mean_a_secret() -> None:
    """By whole words, in any spelling."""
    secret = [
        "password",
        "DB_PASSWORD",
        "apiKey",
        "x-api-key",
        "fs.azure.account.key.h",
        "AWS_SECRET_ACCESS_KEY",
        "token",
    ]
    harmless = [
        "maxTokens",
        "tokenizer",
        "secretary",
        "key",
        "primary_key",
        "passwords_changed_at_key",
        "partition_key",
    ]
    assert all(map(names_a_secret, secret))
    assert not any(map(names_a_secret, harmless))


def test_event_keeps_everything_but_the_secrets() -> None:
    """Columns called password stay; values of keys and of name/value pairs go, and nothing else changes."""
    tree: dict[str, Any] = json.loads(event(1))
    tree["run"]["facets"] = {
        "environmentVariables": {
            "environmentVariables": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "HOME", "value": "/h"}]
        },
        "spark_properties": {
            "properties": {"spark.db.password": "hunter2", "spark.app": "x", "big": 12345678901234567890}
        },
    }
    tree["outputs"][0]["facets"] = {
        "schema": {"fields": [{"name": "password", "type": "string"}, {"name": "token", "type": "int"}]},
        "columnLineage": {
            "fields": {"password": {"inputFields": [{"namespace": "n", "name": "t", "field": "secret"}]}}
        },
        "dataSource": {"uri": "postgres://app:hunter2@db/x"},
    }
    redacted = redact(json.dumps(tree).encode())
    assert b"hunter2" not in redacted
    variables = tree["run"]["facets"]["environmentVariables"]["environmentVariables"]
    variables[0]["value"] = tree["run"]["facets"]["spark_properties"]["properties"]["spark.db.password"] = MASK
    tree["outputs"][0]["facets"]["dataSource"]["uri"] = "postgres://app:***@db/x"
    assert json.loads(redacted) == tree


@pytest.mark.parametrize(
    "spelling", [r'"p\u0061ssword": "hunter2"', r'"u": "db:\/\/a:hunter2@h"', '"a":"\\ud800","pwd":"hunter2"']
)
def test_escapes_do_not_hide_a_secret(spelling: str) -> None:
    """However the JSON is spelt."""
    redacted = redact(b"{" + spelling.encode() + b"}")
    assert b"hunter2" not in redacted
    assert MASK.encode() in redacted


@given(generated_events)
def test_event_without_secrets_stays_as_it_is(body: bytes) -> None:
    """The very bytes."""
    assert redact(body) == body


@given(st.text(min_size=1))
def test_any_uri_password_goes(password: str) -> None:
    """Whatever it consists of that a URI may have there, and the event can still be read."""
    assume(not set(password) & set("/?#\"'@") and not any(map(str.isspace, password)) and password != MASK)
    body = event(1, uri=f"db://user:{password}@host/")
    redacted = redact(body)
    assert json.loads(redacted)["uri"] == "db://user:***@host/"
    assert not hasattr(parse(redacted), "reason")


def test_realistic_events_are_passed_without_reading_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event without secrets is looked at as bytes only."""

    def refuse(_: bytes) -> None:
        raise AssertionError("an event without a secret is read")

    monkeypatch.setattr("lineagelog.event.redaction._decode", refuse)
    bodies = list(generate(300))
    assert [redact(body) for body in bodies] == bodies


@pytest.mark.parametrize("is_redacting", [True, False])
def test_target_decides(log: LogStore, forwarder: Callable[..., Forwarder], is_redacting: bool) -> None:
    """Masked unless redact = false; the log itself keeps what it received."""
    store_all(log, [event(1, connection={"password": "hunter2"})])
    with receiving() as receiver:
        forwarder(receiver.url, **({} if is_redacting else {"redact": False})).run()
    assert (b"hunter2" in receiver.stored[0]) is not is_redacting
