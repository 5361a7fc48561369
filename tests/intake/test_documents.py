"""Streams of JSON documents: each document once, whatever it is written like, and a broken one takes no other along."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineagelog.intake import TooManyEventsError, read_paths, split
from lineagelog.intake.documents import Document, DocumentTooLargeError, documents

if TYPE_CHECKING:
    from pathlib import Path

_TEXT = st.text(alphabet=st.sampled_from('ab{}[]",:\\\n\t é☃'), max_size=12)
_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)
_EVENT = st.dictionaries(_TEXT, _VALUE, max_size=4).map(lambda tree: {"eventTime": "now", **tree})
_STYLE = st.sampled_from([{}, {"indent": 2}, {"indent": 0}, {"indent": "\t"}, {"ensure_ascii": False}])
_SPACE = st.text(alphabet=" \t\r\n", max_size=3)
_BROKEN = st.sampled_from(
    [b'{"a": 1', b'{"a":', b'{"a": "tex', b'{"a": [1,', b'{"a": [1}', b'{"a": tru}', b'{"a": 1}}', b"xyz", b'{"a": "\\']
)


def _all(data: bytes, max_event: int = 1 << 20, max_batch: int = 1 << 20) -> list[Document]:
    return list(documents(io.BytesIO(data), max_event, max_batch))


def _place(data: bytes, document: Document) -> int:
    """Where a document begins, by its line and column."""
    lines = data.split(b"\n")
    before = sum(len(line) + 1 for line in lines[: document.line - 1])
    return before + document.column - 1


@given(parts=st.lists(st.tuples(_EVENT, _STYLE, _SPACE), max_size=6))
def test_every_document_comes_once_with_its_place(parts: list[tuple[Any, dict[str, Any], str]]) -> None:
    """On one line or on many, with or without white space between; as a stream and as the body of a request."""
    texts = [(json.dumps(event, **style).encode(), space.encode()) for event, style, space in parts]
    data = b"".join(text + space for text, space in texts)
    found = _all(data)
    assert [each.text for each in found] == [text for text, _ in texts]
    for each in found:
        assert data[_place(data, each) :].lstrip().startswith(each.text)
    assert split(data).events == tuple(text for text, _ in texts) or not texts
    assert split(data).is_batch == (len(texts) > 1)


@given(before=st.lists(_EVENT, max_size=3), broken=_BROKEN, after=st.lists(_EVENT, min_size=1, max_size=3))
def test_a_broken_line_takes_no_other_with_it(before: list[Any], broken: bytes, after: list[Any]) -> None:
    """NDJSON: wherever the line breaks off."""
    good = [json.dumps(event).encode() for event in (*before, *after)]
    data = b"\n".join([*good[: len(before)], broken, *good[len(before) :]])
    expected = [*good[: len(before)], broken, *good[len(before) :]]
    assert [each.text for each in _all(data)] == expected
    if data[:1] == b"{":
        assert split(data).events == tuple(expected)


@given(before=st.lists(_EVENT, max_size=2), cut=st.integers(1, 10_000), after=st.lists(_EVENT, min_size=1, max_size=2))
def test_a_broken_pretty_document_is_one_and_the_next_ones_are_whole(
    before: list[Any], cut: int, after: list[Any]
) -> None:
    """Cut off at any line where no value may follow: it is told once, and the documents after it are found."""
    victim = json.dumps({"eventTime": "now", "run": {"a": {"b": 2}, "c": "}{"}, "z": 1}, indent=2).encode()
    lines = victim.split(b"\n")
    broken = b"\n".join(lines[: 1 + cut % (len(lines) - 1)])
    texts = [json.dumps(event, indent=2).encode() for event in before]
    rest = [json.dumps(event, indent=2).encode() for event in after]
    found = [each.text for each in _all(b"\n".join([*texts, broken, *rest]))]
    assert found == [*texts, broken, *rest]


def test_what_may_be_cut_is_cut_just_beyond_the_limit_and_passed_over() -> None:
    """An event on one line, on many lines, and one after another in a line; what comes then is found."""
    small, pretty = b'{"a": 1}', json.dumps({"x": ["y" * 30] * 9}, indent=2).encode()
    line = json.dumps({"x": ["}{" * 15] * 9}).encode()
    for large in (pretty, line):
        for between in (b"\n", b""):
            found = [each.text for each in _all(between.join([small, large, small]), max_event=100)]
            assert found == [small, large[:101].strip(), small], (large, between)


def test_batches_may_be_larger_than_events_up_to_their_own_limit() -> None:
    """An array and an envelope, on one line and on many."""
    events = [{"eventTime": "now", "x": "y" * 30}] * 9
    for batch in (events, {"events": events}):
        for indent in (None, 2):
            text = json.dumps(batch, indent=indent).encode()
            assert [each.text for each in _all(text + b"{}", max_event=100)] == [text, b"{}"]
            with pytest.raises(DocumentTooLargeError):
                _all(text, max_event=100, max_batch=200)


def test_batches_among_the_documents_give_their_events() -> None:
    """Files that were put one after the other: arrays, envelopes and events; the number of all of them is limited."""
    body = b'{"eventTime":1}[{"eventTime":2},{"eventTime":3}]\n{"events": [{"eventTime":4}]} [] {"eventTime":5}'
    events = tuple(b'{"eventTime":%d}' % number for number in range(1, 6))
    assert split(body).events == split(b"[]" + body).events == events
    assert split(body, 5).events == events
    for most in (1, 2, 3, 4):
        with pytest.raises(TooManyEventsError):
            split(body, most)


def test_positions_of_files_are_lines_columns_and_indexes(tmp_path: Path) -> None:
    """Of a document that stands alone the file's name is enough."""
    for name, content, places in (
        ("one.json", b'{\n"a": 1\n}\n', [""]),
        ("pretty.json", b'\n{\n"a": 1\n}\n{\n}', [":2", ":5"]),
        ("joined.json", b'{"a": 1}{"b": 2}\n  {"c": 3}\n', [":1", ":1:9", ":2"]),
        ("arrays.json", b"[{},{}]", ["[0]", "[1]"]),
        ("mixed.json", b'{"events": [{}, {}]}\n{}', [":1[0]", ":1[1]", ":2"]),
    ):
        file = tmp_path / name
        file.write_bytes(content)
        assert [each.position.removeprefix(str(file)) for each in read_paths([str(file)])] == places


def test_standard_input_takes_the_same_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretty-printed, one after the other, and arrays."""
    text = b'{\n "a": 1\n}{"b": 2}\n[{"c": 3},\n{"d": 4}]'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    found = [(json.loads(each.body), each.position) for each in read_paths(["-"])]
    assert found == [
        ({"a": 1}, "stdin:1"),
        ({"b": 2}, "stdin:3:2"),
        ({"c": 3}, "stdin:4[0]"),
        ({"d": 4}, "stdin:4[1]"),
    ]
