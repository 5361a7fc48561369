"""From bytes to a tree and a text that PostgreSQL takes: what is repaired, what is kept raw, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineagelog.event import Event, Reason, parse

from .event_samples import RUN_ID, accepted, notices, refused, run_event, text_of, with_output

PLAIN = text_of(run_event())


def with_member(text: bytes) -> bytes:
    """The plain event with one member more, spelled as given."""
    return PLAIN[:-1] + b', "extra": ' + text + b"}"


def nested(levels: int, innermost: bytes = b"") -> bytes:
    """An event whose deepest array stands at that level, the event itself being the first."""
    return with_member(b"[" * (levels - 1) + innermost + b"]" * (levels - 1))


def test_a_plain_event_is_kept_as_received() -> None:
    """No repair, no raw bytes, nothing to notice."""
    event = accepted(PLAIN)
    assert (event.body, event.raw, event.notices) == (PLAIN, None, ())


@pytest.mark.parametrize(
    "other",
    [
        json.dumps(run_event(), indent=2).encode(),
        b"\xef\xbb\xbf" + PLAIN,
        b"\n\t " + PLAIN + b"\r\n",
        json.dumps(dict(reversed(run_event().items()))).encode(),
        PLAIN.replace(b"load.orders", b"l\\u006fad\\u002eorders"),
        PLAIN.replace(b"example.invalid/", b"example.invalid\\/"),
        PLAIN.replace(b"https://", b"https\\u003a//").replace(b"https\\u003a//", b"https\\u003A//", 1),
    ],
)
def test_another_spelling_is_the_same_event(other: bytes) -> None:
    """White space, a byte order mark, key order and escapes do not count, and nothing has to be kept raw."""
    event = accepted(other)
    assert event.event_hash == accepted(PLAIN).event_hash
    assert event.raw is None
    assert event.notices == ()


@pytest.mark.parametrize(
    ("text", "last", "places"),
    [
        (b'{"a": 1, "a": 2}', b'{"a": 2}', [".a"]),
        (b'{"a": 1, "\\u0061": 2, "a": 3}', b'{"a": 3}', [".a"]),
        (b'{"a": {"x": 1}, "b": 0, "a": null}', b'{"a": null, "b": 0}', [".a"]),
        (b'[{"k\\u003a": 1, "a": ":", "a": "\\u003a"}]', b'[{"k:": 1, "a": ":"}]', ["[0].a"]),
        (b'{"a": 0, "a": "\\u003a"}', b'{"a": ":"}', [".a"]),
        (b'{"a": "\\u0000", "a": 1}', b'{"a": 1}', [".a"]),
        (
            b'{"a": [0, [{"b c": 1, "b c": 2}]], "d": 1, "d": {}}',
            b'{"a": [0, [{"b c": 2}]], "d": {}}',
            [".a[1][0]['b c']", ".d"],
        ),
    ],
)
def test_of_equal_keys_the_last_wins_and_the_bytes_are_kept(text: bytes, last: bytes, places: list[str]) -> None:
    """As jsonb has it; the first value is still in the raw bytes, and a notice names the place of each such key."""
    event = accepted(with_member(text))
    assert event.event_hash == accepted(with_member(last)).event_hash
    assert event.raw == with_member(text)
    assert b"u0000" not in event.body, "jsonb would refuse the dropped value"
    assert json.loads(event.body) == json.loads(with_member(last))
    assert notices(event) == [f"duplicate_keys at $.extra{place}" for place in places]
    assert accepted(with_member(last)).raw is None


def test_escaped_colons_alone_are_no_duplicate_keys() -> None:
    """The quick count differs, the careful look finds nothing."""
    event = accepted(with_member(b'{"a\\u003ab": "c\\u003Ad"}'))
    assert (event.raw, event.notices) == (None, ())


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        (b'"read \\u0000 bytes"', "read \ufffd bytes"),
        (b'"half \\ud83d emoji"', "half \ufffd emoji"),
        (b'"wrong order \\ude00\\ud83d"', "wrong order \ufffd\ufffd"),
        (b'{"k\\u0000": 1}', {"k\ufffd": 1}),
        (b'{"k\\ud800": 1}', {"k\ufffd": 1}),
        (b'["\\ud800", 1.50, 1e2]', ["\ufffd", 1.5, 100]),
        (b"[1e-4000, 5e-324]", [0, 5e-324]),
        (b'[0e99999999999, 1.5, "\\u00e9"]', [0, 1.5, "é"]),
    ],
)
def test_what_postgresql_refuses_is_repaired_and_the_bytes_are_kept(text: bytes, mended: Any) -> None:
    """NUL, lone surrogates, numbers of a scale beyond numeric; the repaired text is an event of its own right."""
    event = accepted(with_member(text))
    assert json.loads(event.body)["extra"] == mended
    assert event.raw == with_member(text)
    assert notices(event) == ["repaired_text at $"]
    again = accepted(event.body)
    assert again.event_hash == event.event_hash
    assert (again.raw, again.notices) == (None, ())


@pytest.mark.parametrize(
    "text", [b'"C:\\\\u0000dir"', b'"\\ud83d\\ude00"', b'"\xf0\x9f\x98\x80"', b'"\\\\ud800"', b'"\\u0001"']
)
def test_legitimate_text_is_left_alone(text: bytes) -> None:
    """A real backslash before u0000, whole emoji, control characters that jsonb holds."""
    event = accepted(with_member(text))
    assert (event.body, event.raw, event.notices) == (with_member(text), None, ())


@pytest.mark.parametrize(
    "text", [b"123456789012345678901234567890", b"0.1234567890123456789012345", b"1.7e308", b"9" * 300]
)
def test_large_and_long_numbers_need_no_repair(text: bytes) -> None:
    """jsonb keeps every digit of them."""
    event = accepted(with_member(text))
    assert (event.body, event.raw) == (with_member(text), None)


@pytest.mark.parametrize("innermost", [b"", b"1", b'"a"', b"{}"])
@pytest.mark.parametrize("levels", [252, 253, 254, 255, 256, 257, 258])
def test_256_levels_and_no_more(levels: int, innermost: bytes) -> None:
    """A level is an array or an object, the event the first; the serializer's own limit does not show."""
    text = nested(levels - (innermost == b"{}"), innermost)
    if levels <= 256:
        assert accepted(text).body == text
    else:
        outcome = refused(text)
        assert outcome.reason == Reason.TOO_DEEP
        assert outcome.path.startswith("$.extra[0][0]")
        assert outcome.run_id == RUN_ID


def test_depth_is_limited_on_the_lenient_way_too() -> None:
    """A lone surrogate or a big integer opens no way around the limit."""
    for text in (b'"\\ud800"', b"1" + b"0" * 40, b'"\\u0000"'):
        assert accepted(nested(256, text))
        assert refused(nested(257, text)).reason == Reason.TOO_DEEP


@pytest.mark.parametrize("levels", [1_000, 10_000, 200_000])
def test_deeper_nesting_than_any_stack_is_refused(levels: int) -> None:
    """Objects or arrays, closed or not: an answer, no crash."""
    assert refused(nested(levels)).reason == Reason.TOO_DEEP
    assert refused(with_member(b'{"a":' * levels + b"1" + b"}" * levels)).reason == Reason.TOO_DEEP
    assert refused(b"[" * levels).reason in (Reason.TOO_DEEP, Reason.NOT_JSON)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"1e400", Reason.NUMBER_OUT_OF_RANGE),
        (b"-1e400", Reason.NUMBER_OUT_OF_RANGE),
        (b"1e99999999999999999999", Reason.NUMBER_OUT_OF_RANGE),
        (b"9" * 309, Reason.NUMBER_OUT_OF_RANGE),
        (b"9" * 5000, Reason.NUMBER_OUT_OF_RANGE),
        (b"-" + b"9" * 5000, Reason.NUMBER_OUT_OF_RANGE),
        (b'["\\ud800", 1e400]', Reason.NUMBER_OUT_OF_RANGE),
        (b"NaN", Reason.NOT_JSON),
        (b"Infinity", Reason.NOT_JSON),
        (b"-Infinity", Reason.NOT_JSON),
        (b'["\\ud800", NaN]', Reason.NOT_JSON),
        (b'"\xff"', Reason.NOT_UTF8),
        (b'"\xed\xa0\x80"', Reason.NOT_UTF8),
        (b'"\xc0\x80"', Reason.NOT_UTF8),
        (b'"caf\xe9"', Reason.NOT_UTF8),
    ],
)
def test_a_bad_value_refuses_the_event_and_its_names_survive(text: bytes, reason: Reason) -> None:
    """The dead letter still says which run it was."""
    outcome = refused(with_member(text))
    assert outcome.reason == reason
    assert outcome.payload == with_member(text)
    assert (outcome.run_id, outcome.job_name, outcome.event_type) == (RUN_ID, "load.orders", "COMPLETE")
    if reason is not Reason.NOT_UTF8:
        assert outcome.path.startswith("$.extra")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" \n",
        b"{",
        b"nul",
        b"\x00",
        b"{} {}",
        b"{'a': 1}",
        b'{"a": 01}',
        b'{"a": "\t"}',
        b'{"a": 1,}',
        b'{"a": "\\ud80"}',
        b'{"a": "\\x"}',
        b"\x1f\x8b\x08",
        b"\xff\xfe{\x00}\x00",
        b'\xef\xbb\xbf\xef\xbb\xbf{"a": 1}',
    ],
)
def test_what_is_no_json_is_refused_in_one_line(text: bytes) -> None:
    """Empty, cut off, trailing text, other notations, other encodings."""
    outcome = refused(text)
    assert outcome.reason in (Reason.NOT_JSON, Reason.NOT_UTF8)
    assert outcome.detail
    assert "\n" not in str(outcome)
    assert outcome.payload == text


@pytest.mark.parametrize("text", [b"null", b"1", b"true", b'"event"', b"[]", b"[{}]", b"1e5"])
def test_json_that_is_no_object_is_no_event(text: bytes) -> None:
    """An array on the single path is the intake's to take apart."""
    assert refused(text).reason == Reason.NOT_AN_EVENT


def test_the_names_that_facts_use_are_the_repaired_ones() -> None:
    """A dataset's name with NUL, and texts of facets, are those that the database holds."""
    event = accepted(with_output(name="tide\x00gauge", facets={"version": {"datasetVersion": "\ud800"}}))
    assert (event.datasets[0].name, event.datasets[0].dataset_version) == ("tide\ufffdgauge", "\ufffd")


@pytest.mark.parametrize(
    "text",
    [
        rb'"\u0000"',
        rb'"\\u0000"',
        rb'"\\\u0000 \\\\u0000"',
        rb'"\ud800"',
        rb'"\ud83d\ude00 \ude00\ud83d"',
        rb'"\ud800\ud83d\ude00\udc00"',
        rb'"\\ud800"',
        rb'"\\\uD800"',
        rb'{"\u0000": 1, "\ud800": 2}',
        '"\U0001f600 \\u0000"'.encode(),
        rb'[1e400, "\u0000"]',
        rb'[NaN, "\ud800"]',
        b'"\\u0000',
    ],
)
def test_large_texts_are_repaired_like_small_ones(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    """Those are repaired as bytes, for the sake of memory: the result, or the reason, is the same."""
    found = []
    for limit in (1 << 30, 0):
        monkeypatch.setattr("lineagelog.event.decoding._LARGE", limit)
        event = parse(with_member(text))
        found.append((event.event_hash, event.body, event.raw, event.notices) if isinstance(event, Event) else event)
    assert found[0] == found[1]
