"""Deliveries of too many events are refused before each is made an object, by every way in; others are taken apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lineagelog.errors import InputError
from lineagelog.event.model import Reason, Rejected
from lineagelog.event.parse import parse
from lineagelog.intake import TooManyEventsError, framing, read_paths, split
from lineagelog.intake.framing import has_more_values
from lineagelog.kafka.records import items_of

from .client import event

if TYPE_CHECKING:
    from pathlib import Path

ONE = json.dumps(event(1)).encode()
FORMS = {
    "array": lambda members: b"[" + b",".join(members) + b"]",
    "envelope": lambda members: b'{"events": [' + b" , ".join(members) + b"]}",
    "lines": lambda members: b"\n\n".join(members),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("odd", [[], [b"null"], [b'[1, {"a": [2]}]'], [b'"],[{"'], [b"{}"]])
def test_the_limit_is_exact(form: str, odd: list[bytes]) -> None:
    """One more is refused, whatever the members are; as many as the limit are given as they were sent."""
    members = [ONE] * 6 + odd
    if form == "lines" and odd and odd[0][:1] == b"[":  # a document of its own, with members of its own
        members = [ONE] * 7
    body = FORMS[form](members)
    assert split(body, len(members)).events == tuple(members)
    with pytest.raises(TooManyEventsError) as caught:
        split(body, len(members) - 1)
    assert caught.value.rejected.reason is Reason.TOO_LARGE


@pytest.mark.parametrize("body", [b"[{},{},{},{},{}", b"[1,2,3,4,5", b'{"events": [1,2,3,4', b"[" * 5000 + b",,,,"])
def test_what_is_broken_is_broken(body: bytes) -> None:
    """Not taken apart, where it is not refused for what was counted before the break."""
    try:
        framed = split(body, 3)
    except TooManyEventsError:
        return
    assert framed.events == (body,)


def test_one_event_is_no_batch_however_long() -> None:
    """Its own arrays are not members of a batch."""
    long = json.dumps(event(1, inputs=[{"namespace": "n", "name": f"d{n}"} for n in range(50)]), indent=1).encode()
    assert split(long, 3).events == (long,)


@pytest.mark.parametrize(
    ("text", "most", "more"),
    [
        (b"[1,2,3]", 2, True),
        (b"[1,2,3]", 3, False),
        (b'["a,b,{[", 1]', 2, False),
        (b'["\\",\\",", 1]', 2, False),
        (b"[{},{},{}]", 5, True),
        (b'["' + b"," * 100, 3, False),
    ],
)
def test_values_are_counted_outside_texts(text: bytes, most: int, more: bool) -> None:
    """Commas, objects and arrays; an upper bound decides most, and a text full of commas is no tree."""
    assert has_more_values(text, most) == more


def test_a_record_of_kafka_and_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A record becomes one dead letter, a document is refused with the way out."""
    monkeypatch.setattr("lineagelog.intake.files.MAX_DOCUMENT_EVENTS", 3)
    body = b"[" + b",".join([ONE] * (framing.MAX_EVENTS + 1)) + b"]"
    (item,) = items_of(body, None, parse)
    assert isinstance(item, Rejected)
    assert (item.reason, len(item.payload)) == (Reason.TOO_LARGE, framing.KEPT)
    file = tmp_path / "all.json"
    file.write_bytes(b"[" + b",\n".join([ONE] * 4) + b"]")
    with pytest.raises(InputError, match=r"more than 3 events.*NDJSON"):
        list(read_paths([str(file)]))
