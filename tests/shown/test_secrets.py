"""Credentials in texts and nested values: which go, which texts stay, and that the time stays in bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineagelog.event.redaction import redact
from lineagelog.shown import MASK, mask_text, mask_tree, mask_url, names_a_secret
from tests.support import EXAMPLES

SECRET = "hunter2"
_JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dGhlLXNpZ25hdHVyZQ"

WITH_A_SECRET = [
    "postgres://app:hunter2@db:5432/x",
    "redis://:p@hunter2@cache",
    "at postgres://app:hun ter2 hunter2@db/x and so on",
    "postgres://app:a'hunter2@db/x",
    "postgres://app:a/hunter2?b#c@db/x",
    "mongodb://u:hunter2@h1:27017,h2:27017/x?replicaSet=r",
    "jdbc:oracle:thin:scott/hunter2@//h:1521/x",
    "jdbc:sqlserver://h;user=x;password={hunter2;a};encrypt=true",
    "jdbc:sqlserver://h;databaseName=d;Password=hunter2;x=1",
    "https://h/p?token=hunter2&x=1",
    "https://h/p?sv=1&sig=hunter2&se=2",
    "https://h?X-Amz-Credential=hunter2&X-Amz-Signature=hunter2&X-Amz-Expires=3",
    "https://h?X-Goog-Signature=hunter2",
    "https://h?access_token=hunter2",
    "https://h?api_key=hunter2",
    "sent Bearer hunter2",
    "Authorization: Bearer hunter2",
    "{'Authorization': 'Basic hunter2'}",
    "Authorization: AWS4-HMAC-SHA256 Credential=hunter2/x, SignedHeaders=host, Signature=hunter2",
    'o.a.k.PlainLoginModule required username="u" password="hunter2";',
    "-Djavax.net.ssl.keyStorePassword=hunter2",
    "spark-submit --conf spark.db.password=hunter2 --password hunter2 app.py",
    "mysql -u root -phunter2 shop",
    "curl -u me:hunter2 https://h",
    "host=h password=hunter2 dbname=x",
    "host=h password='it\\'s hunter2' dbname=x",
    "credential: hunter2",
    '{"password": "hunter2"}',
    '{\\"password\\":\\"hunter2\\"}',
    "CREATE USER x WITH ENCRYPTED PASSWORD 'hunter2'",
    "CREATE USER x IDENTIFIED BY 'hunter2'",
    "create user x identified by hunter2;",
    "ALTER USER x IDENTIFIED WITH caching_sha2_password BY 'hunter2'",
    "CREATE CREDENTIAL c WITH IDENTITY = 'u', SECRET = 'hunter2'",
    "COPY t FROM 's3://b' CREDENTIALS (AWS_KEY_ID='hunter2' AWS_SECRET_KEY='hunter2')",
    "COPY INTO t FROM 's3://b' CREDENTIALS=(AWS_KEY_ID='hunter2')",
    "COPY t FROM 's3://b' CREDENTIALS 'aws_secret_access_key=hunter2'",
    "COPY t FROM 's3://b' ACCESS_KEY_ID 'hunter2' SECRET_ACCESS_KEY 'hunter2'",
    "PASSWORD 'it''s hunter2'",
    "password 'hunter2",
    "fs.azure.account.key.acct.dfs.core.windows.net=hunter2",
    "Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey=hunter2=",
    "AccountKey=hunter2==;EndpointSuffix=core.windows.net",
    "password=a,hunter2 x",
    "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nhunter2",
]

SHAPES = [
    "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
    "gho_0123456789abcdefghijklmnopqrstuvwxyz",
    "github_pat_11ABCDEFG0123456789_abcdefghijk",
    "glpat-abcdefghij0123456789",
    "xoxb-0123456789-abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "sk-abcdefghij0123456789ABCDEFGHIJ",
    "sk-proj-abcdefghij0123456789",
    "sk_live_0123456789abcdefgh",
    "llg_" + "aB3-_" * 8,
    "dapi" + "0123456789abcdef" * 2,
    _JWT,
]

PLAIN = [
    "author=me",
    "tokenizer=x",
    "monkey=1",
    "passwordless=true",
    "mask=1 masking=full",
    "select count(*) from access_tokens where n = 1",
    "SELECT a.x FROM a JOIN b ON a.token = b.token",
    "a password is needed",
    "option --password is needed",
    "unexpected token 'x' at 3",
    "def log_in(password: str) -> None",
    "dbo.tokens",
    "raw_token_events",
    "registry.example.org/image:tag@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "0190e5a4-7d3c-7a52-9f0e-3b1f6f6d1f11",
    "http://api:8080/users/@me",
    "see http://h:80 and mail me@x",
    "s3://bucket/key@version",
    "postgres://db:5432/x?user=a@b",
    "mailto:me@example.invalid",
    "basic statistics of bearer instruments",
    "Basic JavaScript course",
    "Bearer authentication failed",
    "sk-learn-pipeline-for-production",
    "task-risk-disk-abcdefghijklmnopqrstuv",
    "token_type=Bearer max_tokens=5",
    "primary key: id",
    "arn:aws:iam::123456789012:role/reader",
]


@pytest.mark.parametrize("text", WITH_A_SECRET)
def test_no_secret_remains(text: str) -> None:
    """In a text alone, inside another one, and as a value of an event that is forwarded."""
    assert MASK in mask_text(text)
    assert SECRET not in mask_text(text)
    assert SECRET not in mask_text(f"it failed: {text}")
    assert SECRET.encode() not in redact(json.dumps({"job": {"facets": {"sql": {"query": text}}}}).encode())


@pytest.mark.parametrize("token", SHAPES)
@pytest.mark.parametrize("around", ["{}", "x {} y", "https://{}@h/x", "s3://b/{}/part", "name-{}"])
def test_tokens_are_known_by_their_shape(token: str, around: str) -> None:
    """Wherever they stand."""
    if token is _JWT and around == "name-{}":
        pytest.skip("the start of a JSON Web Token is looked for at the start of a word only")
    text = around.format(token)
    assert mask_text(text) == around.format(MASK)
    assert token.encode() not in redact(json.dumps({"job": {"name": text}}).encode())


@pytest.mark.parametrize("text", PLAIN)
def test_plain_texts_stay(text: str) -> None:
    """What only looks like a secret."""
    assert mask_text(text) == text
    tree = {"facets": {"x": {"value": text, "description": [text]}}, "name": text}
    assert mask_tree(tree) == tree


@given(st.text())
def test_any_text_can_be_masked(text: str) -> None:
    """Nothing raises, and a second time changes nothing."""
    masked = mask_text(text)
    assert mask_text(masked) == masked


_PIECES = (
    *("password", "token", "=", ": ", ":", "'", '"', '\\"', " ", "://", "@", "u:", "--", "Bearer ", "Authorization: "),
    *("x1", "***", "{", "}", "(", ")", ",", ";", "&", "?", "sig=", "CREDENTIALS", "IDENTIFIED BY ", "curl -u ", "\n"),
    *("mysql -p", "eyJabcdefg.", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "\\", "$$", "basic "),
)


@settings(max_examples=EXAMPLES * 8)
@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
def test_masking_twice_changes_nothing(text: str) -> None:
    """Also where one rule leaves what another looks for."""
    masked = mask_text(text)
    assert mask_text(masked) == masked


@given(st.text(min_size=1).filter(lambda text: not set(text) & set("/?#\n\r") and text != MASK))
def test_any_password_of_a_url_goes(password: str) -> None:
    """With spaces, quotes and bare @ too, where the whole text is known to be a URL."""
    assert mask_url(f"postgresql://me:{password}@h/db") == "postgresql://me:***@h/db"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("u:PW@host", "u:***@host"),
        ("postgresql://u:P W@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:12/P@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u@h/d?password=PW", "postgresql://u@h/d?password=***"),
        ("postgresql://h:5432/d", "postgresql://h:5432/d"),
    ],
)
def test_urls_that_are_none(url: str, shown: str) -> None:
    """What was given for a URL is shown without its password, whatever its form."""
    assert mask_url(url) == shown


_SIZE = min(10_000 * EXAMPLES, 1_000_000)


@pytest.mark.parametrize(
    "unit",
    [
        *("a", "-", "_", " ", "://", "://a:", "a:", "@", "://a:b@", "password", "password ", "password=", "password: "),
        *("password='", "password 'x", 'password="', '\\"', "token=a,", "account.key.", "account.key.a=", "eyJ-"),
        *("eyJ.", "eyJaaaaaaaa", "sk-", "sk-a-", "ghp_", "glpat-", "xoxb-", "AKIA", "--password ", "--a-", "mysql "),
        *("curl ", "mysql -p ", "Bearer ", "Basic ", "authorization", "authorization: ", "authorization: basic "),
        *("identified ", "identified by ", "identified with ", "credentials(", "credentials ", "credentials = ("),
        *("jdbc:oracle:thin:a/", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "$$", "''", "\\'", "password('"),
        *("{", "password $$", "'", "\n", "&sig=", "key ", "api key", "api_key=(", "secret:", "a.token = b.token "),
    ],
)  # fmt: skip
def test_the_time_grows_with_the_length(unit: str) -> None:
    """What is hostile to an expression is done with; a quadratic one would take hours for a long run's megabyte."""
    text = unit * (_SIZE // len(unit))
    mask_text(f"passwd identified credential authori racle curl mysql basic {text}\n = : ' @ ://")


def test_names_of_secrets() -> None:
    """By whole words, in any spelling; what tells of a secret is none."""
    secret = ["PGPASSWORD", "db.passwd", "privateKey", "x-auth", "proxy_authorization", "sasl.jaas.config", "secretKey"]
    harmless = ["author", "tokenizer", "monkey", "passwordless", "mask", "token_type", "fs.s3a.credentials.provider"]
    assert [name for name in secret if not names_a_secret(name)] == []
    assert [name for name in harmless if names_a_secret(name)] == []


def test_nested_values() -> None:
    """Objects, pairs, lists and argument lists; columns of such names stay."""
    tree: dict[str, Any] = {
        "credential": {"value": "s1", "type": "basic"},
        "auth": "s2",
        "password": 123,
        "tokens": {"token": 5},
        "properties": [{"name": "API_KEY", "value": "s3"}, {"key": "secret", "value": ["s4"]}],
        "arguments": ["--user", "me", "--password", "s5", "-Dx.password=s6"],
        "environment": {"PWD": "/home/me", "MYSQL_PWD": "s7"},
        "is_secret": {"secret": "true"},
        "fields": {"credential": {"inputFields": [{"namespace": "n", "name": "t", "field": "token"}]}},
    }
    masked = mask_tree(tree)
    assert not {f"s{number}" for number in range(1, 8)} & set(json.dumps(masked).replace('"', " ").split())
    assert masked["credential"] == {"value": MASK, "type": "basic"}
    assert masked["password"] == MASK
    assert masked["arguments"] == ["--user", "me", "--password", MASK, f"-Dx.password={MASK}"]
    assert masked["environment"] == {"PWD": "/home/me", "MYSQL_PWD": MASK}
    assert {name: masked[name] for name in ("tokens", "is_secret", "fields")} == {
        name: tree[name] for name in ("tokens", "is_secret", "fields")
    }
    assert mask_tree(masked) == masked
