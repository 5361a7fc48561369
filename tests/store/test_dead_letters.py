"""Dead letters: listed, discarded, and tried again without losing any."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.event.model import Event, Reason, Rejected
from lineagelog.event.parse import parse
from lineagelog.store.append.log import LogStore
from lineagelog.store.ledgers import dead_letters
from lineagelog.store.ledgers.dead_letters import DeadLetters, Filter, Retried
from lineagelog.store.upkeep.purge import purge
from lineagelog.store.upkeep.verify import Verifier

from .contents import ids, rows

if TYPE_CHECKING:
    pass


def payload(run: str, time: str = "2026-03-01T00:00:00Z") -> bytes:
    tree = {"eventTime": time, "eventType": "START", "run": {"runId": run}, "job": {"namespace": "n", "name": "j"}}
    return json.dumps(tree).encode()


def refuse(data: bytes, reason: Reason = Reason.SCHEMA, size: int | None = None) -> Rejected:
    return Rejected(reason, "$.run", "refused for a test", data, run_id="r", size=size)


def states(store: LogStore) -> dict[str, str]:
    return {row.position: row.state for row in DeadLetters(store).list()}


def test_letters_are_listed_by_what_they_are(store: LogStore) -> None:
    """Filters narrow the list, paging goes on after an id, and a letter comes with its bytes."""
    store.append([refuse(b"a"), refuse(b"b", Reason.BAD_TIME)], source="http", positions=["1", "2"])
    store.append([refuse(b"c")], source="file", positions=["x.json:3"])
    letters = DeadLetters(store)
    everything = letters.list()
    assert {row.position for row in everything[:2]} == {"1", "2"} and everything[2].position == "x.json:3"
    assert [row.position for row in letters.list(limit=2)] == [row.position for row in everything[:2]]
    assert letters.list(after=everything[1].id) == everything[2:]
    assert letters.list(reverse=True) == everything[::-1]
    assert letters.list(reverse=True, after=everything[2].id, limit=1) == everything[1:2]
    assert [row.position for row in letters.list(Filter(reason="bad_time"))] == ["2"]
    assert [row.position for row in letters.list(Filter(source="file", state="new"))] == ["x.json:3"]
    now = datetime.now(UTC)
    assert len(letters.list(Filter(since=now - timedelta(hours=1), until=now + timedelta(hours=1)))) == 3
    assert letters.list(Filter(since=now + timedelta(hours=1))) == []
    row, data = letters.get(everything[2].id) or (None, b"")
    assert (row, data) == (everything[2], b"c")
    assert row is not None and (row.reason, row.json_path, row.run_id, row.truncated) == ("schema", "$.run", "r", False)
    assert letters.get(10**9) is None


def test_discarding_marks_new_letters(store: LogStore) -> None:
    """Chosen letters, or all that match, are marked; the others stay new."""
    store.append([refuse(b"a"), refuse(b"b"), refuse(b"c", Reason.BAD_TIME)], positions=["a", "b", "c"])
    letters = DeadLetters(store)
    first = letters.list(Filter(reason="schema"), limit=1)[0]
    assert letters.discard(Filter(ids=(first.id,))) == 1
    assert letters.discard(Filter(ids=(first.id,))) == 0
    assert letters.discard(Filter(reason="bad_time")) == 1
    assert sorted(states(store).values()) == ["discarded", "discarded", "new"]
    assert letters.discard(Filter()) == 1


def test_what_is_fine_now_is_stored(store: LogStore) -> None:
    """Letters that parse now are stored and marked; the rest keeps its bytes and gets its new reason."""
    store.append([parse(payload("there"))])
    bodies = [payload("good"), payload("there"), b'{"run": {}}', b"not json"]
    store.append([refuse(body) for body in bodies], positions=["good", "there", "no time", "no json"])
    letters = DeadLetters(store)
    assert letters.retry(parse) == Retried(stored=2, expired=0, refused=2, truncated=0)
    assert states(store) == {"good": "retried", "there": "retried", "no time": "new", "no json": "new"}
    reasons = {row.position: row.reason for row in letters.list(Filter(state="new"))}
    assert reasons == {"no time": "missing_field", "no json": "not_json"}
    assert ids(store, "ol_event") == ids(store, "ol_run") == {"good", "there"}
    assert list(Verifier(store).verify()) == []
    assert letters.retry(parse) == Retried(0, 0, 2, 0)


def test_a_truncated_letter_cannot_be_tried(store: LogStore) -> None:
    """Of an oversize event only the start was kept: it is counted and left as it is, even if its start is an event."""
    store.append([refuse(payload("start"), Reason.TOO_LARGE, size=10**8)], positions=["big"])
    letters = DeadLetters(store)
    assert letters.list()[0].truncated
    assert letters.retry(parse) == Retried(0, 0, 0, truncated=1)
    assert states(store) == {"big": "new"}
    assert not rows(store, "ol_event")


def test_what_is_too_old_by_now_is_discarded(store: LogStore) -> None:
    """An event older than the retention floor is not stored, and its letter is done with."""
    store.append([refuse(payload("old", "2026-01-01T00:00:00Z")), refuse(payload("new"))], positions=["old", "new"])
    purge(store, datetime(2026, 2, 1, tzinfo=UTC))
    assert DeadLetters(store).retry(parse) == Retried(stored=1, expired=1, refused=0, truncated=0)
    assert states(store) == {"old": "discarded", "new": "retried"}


def test_two_letters_with_the_same_bytes_become_one(store: LogStore) -> None:
    """Where another letter of the same bytes has the new reason already, the two become one, known by this place."""
    store.append([refuse(b"[]"), refuse(b"[]", Reason.NOT_AN_EVENT)], positions=["a", "b"])
    assert DeadLetters(store).retry(parse, Filter(reason="schema")).refused == 1
    assert states(store) == {"a": "new"}


def test_an_event_that_the_database_refuses_stays_a_letter(store: LogStore) -> None:
    """One event that PostgreSQL does not take costs the others nothing and stays, with the database's reason."""
    bodies = [payload("good"), payload("bad"), payload("fine")]
    store.append([refuse(body) for body in bodies], positions=["good", "bad", "fine"])

    def parse_badly(data: bytes) -> Event | Rejected:
        event = parse(data)
        assert isinstance(event, Event)
        if event.run_id != "bad":
            return event
        values: dict[str, Any] = {name: getattr(event, name) for name in event.__struct_fields__}
        return Event(**values | {"body": b'{"nul": "\\u0000"}', "raw": data})

    letters = DeadLetters(store)
    assert letters.retry(parse_badly) == Retried(stored=2, expired=0, refused=1, truncated=0)
    assert ids(store, "ol_event") == {"good", "fine"}
    for _ in range(2):
        (left,) = letters.list(Filter(state="new"))
        assert (left.reason, left.position) == ("refused_by_database", "bad")
        assert letters.get(left.id) == (left, bodies[1])
        assert letters.retry(parse_badly).refused == 1


def test_many_letters_are_tried_in_bounded_batches(store: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """More letters than one batch holds, by number and by bytes, are all tried, each once."""
    monkeypatch.setattr(dead_letters, "RETRY_AT_ONCE", 7)
    monkeypatch.setattr(dead_letters, "RETRY_BYTES", 400)
    store.append([refuse(payload(f"run{n}")) for n in range(30)])
    tried: list[bytes] = []

    def note(data: bytes) -> Event | Rejected:
        tried.append(data)
        return parse(data)

    assert DeadLetters(store).retry(note).stored == 30
    assert len(tried) == len(set(tried)) == 30
