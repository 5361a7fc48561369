"""What arrives is what was received: the same raw events and the same digest."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.generator import generate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from lineagelog.event.model import Event
from lineagelog.event.parse import parse
from lineagelog.event.received import as_received
from lineagelog.store import LogStore, open_engine
from tests.server.conftest import served
from tests.store.generated import events as generated_events

from .conftest import contents, count, event, fingerprints, store_all
from .receiver import receiving

if TYPE_CHECKING:
    from lineagelog.forward import Forwarder
    from lineagelog.postgres.embedded import EmbeddedPostgres

type Make = Callable[..., Forwarder]

ODD = (
    event(1, text="a\0b"),
    event(2).replace(b'"prod"', b'"\\ud800"'),
    event(3).replace(b'"producer"', b'"twice": 1, "twice": 2, "producer"'),
    b"\xef\xbb\xbf" + event(4),
    json.dumps(json.loads(event(5)), indent=2).encode(),
    event(6, eventTime="2026-03-01T08:00:00.1234567[Europe/Berlin]"),
    event(7, eventType=None),
    event(8, big=1e30, bigger=10**40, exact=2**53 + 1).replace(b'"exact"', b'"odd": 9007199254740993e0, "exact"'),
    event(9, numbers=[1.0, 1e2, -0.0, 1e-7, 0.1, 12345678901234567890, 1.7976931348623157e308]),
    event(10, name='ß 漢字 \U0001f600 " \\ / \u2028'),
    event(11, run=None, outputs=[{"name": "no namespace"}]),
    json.dumps({"eventTime": "1999-01-01T00:00:00Z", "dataset": {"namespace": "db", "name": "old"}}).encode(),
)


@pytest.mark.long
def test_odd_events_arrive_with_the_same_hash_and_bytes(log: LogStore, other: LogStore, forwarder: Make) -> None:
    """NUL, lone surrogates, keys that come twice, large numbers in any spelling: raw rows and digest are identical."""
    store_all(log, ODD)
    with receiving(other) as receiver:
        sent = forwarder(receiver.url, redact=False).run()
    assert sent.delivered == len(ODD)
    assert contents(other) == contents(log)


@pytest.mark.long
def test_a_real_server_takes_generated_events(log: LogStore, other: LogStore, forwarder: Make) -> None:
    """2,000 realistic events over HTTP into a second lineagelog, by its batch path."""
    from lineagelog.server import create_app

    for number in range(4):
        store_all(log, generate(500, seed=number))
    with served(create_app(other)) as server:
        sent = forwarder(f"{server.url}/api/v1/lineage", redact=False).run()
    assert sent.delivered == 2000
    assert contents(other) == contents(log)
    assert fingerprints(other) == fingerprints(log)


numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**25), 10**25)


@pytest.fixture(scope="module")
def scratch(postgres: EmbeddedPostgres) -> Any:
    engine = open_engine(postgres.url_of("postgres"))
    yield engine
    engine.dispose()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(numbers, max_size=6), generated_events)
def test_numbers_survive_the_database(scratch: Any, values: list[Any], body: bytes) -> None:
    """Whatever numbers an event has, the text that PostgreSQL gives leads back to its hash."""
    parsed = parse(json.dumps(json.loads(body) | {"numbers": values}).encode())
    assert isinstance(parsed, Event)
    with scratch.connect() as connection:
        stored = connection.execute(text("SELECT CAST(CAST(:body AS jsonb) AS text)"), {"body": parsed.body.decode()})
        again = parse(as_received(stored.scalar_one().encode(), parsed.event_hash))
    assert isinstance(again, Event)
    assert again.event_hash == parsed.event_hash


def test_exact_bytes_go_out_where_they_were_kept(log: LogStore, forwarder: Make) -> None:
    """An event with a NUL is sent with the bytes it was received with."""
    body = event(1, text="a\0b")
    store_all(log, [body])
    with receiving() as receiver:
        forwarder(receiver.url, redact=False).run()
    assert receiver.stored == [body]


@pytest.mark.long
def test_forwarding_again_sends_nothing(log: LogStore, other: LogStore, forwarder: Make) -> None:
    """The cursor is remembered: a second run finds only what is new."""
    store_all(log, [event(number) for number in range(10)])
    with receiving(other) as receiver:
        assert forwarder(receiver.url).run().delivered == 10
        assert forwarder(receiver.url).run().delivered == 0
        store_all(log, [event(99, eventTime="2001-01-01T00:00:00Z")])
        assert forwarder(receiver.url).run().delivered == 1
    assert count(other) == 11
    assert receiver.duplicates == 0
