"""Parsing holds for any input: an answer and no exception, the same after serialising and after jsonb."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lineagelog.event import Event, Rejected, parse
from lineagelog.event.canonical import canonical
from lineagelog.event.parse import decode
from tests.support import EXAMPLES, connect

from .event_samples import RUN_ID, run_event, text_of
from .json_text import JSON_TEXT, PLACES, REAL, event_text


def same_but_for_spelling(one: Event, other: Event) -> None:
    """All facts equal; body, raw and the notices of repair may differ."""

    def facts(event: Event) -> list[Any]:
        values = {name: getattr(event, name) for name in event.__struct_fields__ if name not in ("body", "raw")}
        repairs = ("repaired_text", "duplicate_keys")
        values["notices"] = [notice for notice in event.notices if notice.code not in repairs]
        return list(values.items())

    assert facts(one) == facts(other)


def check(data: bytes) -> Event | Rejected:
    """An answer for any bytes; an accepted event is stable."""
    outcome = parse(data)
    assert isinstance(outcome, Event | Rejected)
    if isinstance(outcome, Rejected):
        assert outcome.payload == data
        assert "\n" not in str(outcome)
        for name in ("path", "detail", "run_id", "job_namespace", "job_name", "event_type", "event_time"):
            assert "\x00" not in (getattr(outcome, name) or "").encode().decode(), "PostgreSQL would refuse it"
        return outcome
    if outcome.raw is None:
        assert outcome.body == data.removeprefix(b"\xef\xbb\xbf")
    else:
        assert outcome.raw == data
    again = parse(outcome.body)
    assert isinstance(again, Event)
    same_but_for_spelling(outcome, again)
    for dataset in outcome.datasets:
        (dataset.namespace + dataset.name).encode()
    return outcome


@given(st.binary(max_size=200))
@example(b"")
@example(b"[" * 100_000)
def test_any_bytes_get_an_answer(data: bytes) -> None:
    """Never an exception."""
    check(data)


@given(JSON_TEXT)
def test_any_json_gets_an_answer(text: str) -> None:
    """Whatever the value and its spelling."""
    check(text.encode("utf-8", "surrogatepass"))


@given(PLACES, JSON_TEXT)
@settings(max_examples=6 * EXAMPLES)
def test_an_event_with_anything_anywhere_gets_an_answer(place: str, value: str) -> None:
    """An accepted one parses to the same again from what the event column will hold."""
    check(event_text(place, value))


@given(st.sampled_from(REAL), st.data())
@settings(max_examples=6 * EXAMPLES)
def test_a_damaged_event_gets_an_answer(event: bytes, data: st.DataObject) -> None:
    """Bytes replaced, cut out, doubled or inserted at random places."""
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(event)))
        end = min(len(event), start + data.draw(st.integers(0, 40)))
        doubled, json_text = st.just(event[start:end] * 2), JSON_TEXT.map(lambda text: text.encode("utf-8", "replace"))
        middle = data.draw(st.one_of(st.binary(max_size=6), doubled, json_text))
        event = event[:start] + middle + event[end:]
    check(event)


@given(st.sampled_from(REAL), st.randoms(use_true_random=False), st.booleans(), st.sampled_from([None, 2]))
def test_the_hash_of_a_whole_event_is_blind_to_spelling(
    event: bytes, random: Any, ascii_only: bool, indent: Any
) -> None:
    """Key order, white space, integral numbers as floats, escapes: the same event with the same facts."""

    def respelled(value: Any) -> Any:
        if isinstance(value, dict):
            items = [(key, respelled(member)) for key, member in value.items()]
            random.shuffle(items)
            return dict(items)
        if isinstance(value, list):
            return [respelled(element) for element in value]
        return float(value) if type(value) is int and abs(value) < 2**53 and random.random() < 0.5 else value

    other = json.dumps(respelled(json.loads(event)), ensure_ascii=ascii_only, indent=indent).encode()
    one, two = parse(event), parse(other)
    assert isinstance(one, Event)
    assert isinstance(two, Event)
    assert one.event_hash == two.event_hash
    assert set(one.datasets) == set(two.datasets)
    assert (one.run, one.key) == (two.run, two.key)


@pytest.fixture
def database(database_url: str) -> Any:
    """A connection to an empty database."""
    with connect(database_url, autocommit=True) as connection:
        yield connection


@settings(max_examples=5 * EXAMPLES)
@given(place=PLACES, value=JSON_TEXT)
@example("extra", "[" * 255 + "1" + "]" * 255)
@example("extra", "[" * 254 + '{"a":1,"a":1e22}' + "]" * 254)
@example("extra", '{"a":"\\u0000","a":[1e-9999],"a":0}')
@example("extra", "1" * 600 + "e-300")
@example("extra", "[1e308, 1e-300, 1e-999, 5e-324, 0e999, 123456789012345678901234567890, 1e30]")
def test_jsonb_gives_back_the_same_event(database: psycopg.Connection, place: str, value: str) -> None:
    """PostgreSQL takes every accepted body, and what it prints parses to the same hash and the same facts."""
    event = check(event_text(place, value))
    if isinstance(event, Event):
        row = database.execute("SELECT (%s::text)::jsonb::text", [event.body.decode()]).fetchone()
        assert row is not None
        again = parse(row[0].encode())
        assert isinstance(again, Event)
        same_but_for_spelling(event, again)
        assert canonical(decode(row[0].encode())) == canonical(decode(event.body))


def test_jsonb_gives_back_generated_events(database: psycopg.Connection) -> None:
    """Events of the benchmark's shape, hash and facts."""
    for text in REAL:
        event = parse(text)
        assert isinstance(event, Event)
        row = database.execute("SELECT (%s::text)::jsonb::text", [event.body.decode()]).fetchone()
        assert row is not None
        again = parse(row[0].encode())
        assert isinstance(again, Event)
        same_but_for_spelling(Event(**{n: getattr(event, n) for n in event.__struct_fields__}), again)
    assert text_of(run_event()).count(RUN_ID.encode()) == 1
