"""Bearer tokens: what they grant, and when they stop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from lineagelog.errors import SettingsError
from lineagelog.store.append.log import LogStore
from lineagelog.store.ledgers.tokens import REMEMBERED_SECONDS, Scope, Tokens

if TYPE_CHECKING:
    pass


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_token_grants_its_scopes(store: LogStore) -> None:
    """A token allows what it was made for, in its namespaces; admin allows all; others get nothing."""
    tokens = Tokens(store.database)
    assert not tokens.any()
    text_of, listed = tokens.create("airflow", ["ingest"], namespaces=["prod", "dev"])
    admin, _ = tokens.create("boss", ["admin"])
    assert tokens.any()
    assert text_of.startswith("llg_") and len(text_of) == 47
    grant = tokens.check(text_of)
    assert grant is not None and (grant.token_id, grant.name) == (listed.id, "airflow")
    assert grant.allows(Scope.INGEST) and grant.allows(Scope.INGEST, "prod")
    assert not grant.allows(Scope.READ) and not grant.allows(Scope.INGEST, "test")
    boss = tokens.check(admin)
    assert boss is not None and all(boss.allows(scope, "any") for scope in Scope)
    for wrong in ("", "llg_", text_of[:-1], text_of + "x", "Bearer", "llg_" + "x" * 10_000, "llg_\udfff\0"):
        assert tokens.check(wrong) is None
    assert [(token.name, token.namespaces) for token in tokens.list()] == [
        ("airflow", frozenset(("prod", "dev"))),
        ("boss", None),
    ]


def test_the_token_itself_is_not_stored(store: LogStore) -> None:
    """Who reads the table cannot use what is there."""
    secret, _ = Tokens(store.database).create("airflow", ["ingest"])
    with store.engine.connect() as connection:
        row = connection.execute(text("SELECT t::text FROM openlineage.ol_token t")).scalar_one()
    assert secret not in row and secret.removeprefix("llg_") not in row


def test_a_revocation_takes_effect_within_seconds(store: LogStore) -> None:
    """Another process asks the database again after a few seconds, not at every request; here it ends at once."""
    clock = Clock()
    here, elsewhere = Tokens(store.database, clock=clock), Tokens(store.database, clock=clock)
    secret, listed = here.create("airflow", ["ingest"])
    assert here.check(secret) and elsewhere.check(secret)
    assert here.revoke(listed.id) and not here.revoke(listed.id) and not here.revoke(10**9)
    assert here.check(secret) is None
    clock.now = REMEMBERED_SECONDS - 0.01
    assert elsewhere.check(secret) is not None
    clock.now = REMEMBERED_SECONDS
    assert elsewhere.check(secret) is None
    assert here.any(), "the last token's end must not open the doors"
    assert here.list()[0].revoked_at is not None


def test_a_token_expires(store: LogStore) -> None:
    """A token is good until its expiry and listed after it."""
    tokens = Tokens(store.database)
    late, _ = tokens.create("late", ["read"], expires_at=datetime.now(UTC) - timedelta(seconds=1))
    good, _ = tokens.create("good", ["read"], expires_at=datetime.now(UTC) + timedelta(hours=1))
    assert tokens.check(late) is None and tokens.check(good) is not None
    assert len(tokens.list()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scopes": ["write"]}, "no scope 'write': use ingest, read, admin"),
        ({"scopes": []}, "at least one scope"),
        ({"scopes": ["read"], "name": " "}, "needs a name"),
        ({"scopes": ["read"], "namespaces": []}, "at least one"),
        ({"scopes": ["read"], "expires_at": datetime(2027, 1, 1)}, "no time zone"),  # noqa: DTZ001
    ],
)
def test_tokens_that_cannot_be_made(store: LogStore, arguments: dict, message: str) -> None:
    """Wrong input is refused in one line that says what is right, and nothing is made."""
    tokens = Tokens(store.database)
    with pytest.raises(SettingsError, match=message):
        tokens.create(**{"name": "t", **arguments})
    assert not tokens.any()


def test_a_token_is_rotated(store: LogStore) -> None:
    """The new one may do what the old one may, for as long; the old one ends after a while, and works until then."""
    tokens = Tokens(store.database)
    ends = datetime.now(UTC) + timedelta(days=90)
    old, listed = tokens.create("airflow", ["ingest", "read"], namespaces=["prod"], expires_at=ends)
    new, rotated = tokens.rotate(listed.id, timedelta(days=1))
    assert (rotated.name, rotated.scopes, rotated.namespaces) == (listed.name, listed.scopes, listed.namespaces)
    assert rotated.expires_at is not None and ends - timedelta(hours=1) < rotated.expires_at < ends + timedelta(hours=1)
    assert tokens.check(old) is not None and tokens.check(new) is not None
    first, second = tokens.list()
    assert first.expires_at is not None and first.expires_at < datetime.now(UTC) + timedelta(days=1, hours=1)
    assert second.id == rotated.id
    forever, kept = tokens.create("forever", ["read"])
    _, again = tokens.rotate(kept.id, timedelta())
    assert again.expires_at is None and tokens.check(forever) is None
    for gone in (kept.id, 99):
        with pytest.raises(SettingsError, match=f"there is no valid token {gone}"):
            tokens.rotate(gone, timedelta())
    assert len(tokens.list()) == 4


def test_when_a_token_was_used(store: LogStore) -> None:
    """To the hour: not every look-up writes; and one that cannot write lets the bearer in all the same."""
    clock = Clock()
    tokens = Tokens(store.database, clock=clock)
    secret, listed = tokens.create("airflow", ["ingest"])
    assert listed.last_used_at is None
    assert tokens.check(secret) is not None
    (used,) = tokens.list()
    assert used.last_used_at is not None
    clock.now += REMEMBERED_SECONDS + 1
    assert tokens.check(secret) is not None
    assert tokens.list() == [used]
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE openlineage.ol_token SET last_used_at = NULL"))
        connection.execute(
            text("ALTER DATABASE " + connection.engine.url.database + " SET default_transaction_read_only = on")
        )
    store.engine.dispose()
    clock.now += REMEMBERED_SECONDS + 1
    assert tokens.check(secret) is not None
    assert tokens.list()[0].last_used_at is None
