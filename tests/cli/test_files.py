"""Reading files: the same events whatever their form, in order, cut at no place, with bounded batches."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineagelog.errors import InputError
from lineagelog.intake import Delivery, FileProgress, bulk, read_paths, total_size

_TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=20)
_EVENTS = st.lists(
    st.fixed_dictionaries(
        {"eventType": st.sampled_from(["START", "COMPLETE"]), "text": _TEXT, "number": st.integers()}
    ),
    max_size=8,
)


def _lines(events: list[Any]) -> bytes:
    return b"".join(json.dumps(event, ensure_ascii=False).encode() + b"\n" for event in events)


def _forms(events: list[Any]) -> dict[str, bytes]:
    """One content for each way to write the same events."""
    lines = _lines(events)
    forms = {
        "lines.ndjson": lines,
        "crlf.jsonl": lines.replace(b"\n", b"\r\n\r\n"),
        "no-end.ndjson": lines.rstrip(b"\n"),
        "array.json": json.dumps(events).encode(),
        "pretty.json": json.dumps(events, indent=2).encode(),
        "envelope.json": json.dumps({"events": events}).encode(),
        "pretty-envelope.json": json.dumps({"events": events}, indent=2).encode(),
    }
    if len(events) != 1:  # a single object on a line is a document, which is the same event, at another position
        forms["lines.json"] = lines
    return forms | {f"{name}.gz": gzip.compress(content) for name, content in forms.items()}


@given(events=_EVENTS)
def test_every_form_gives_the_same_events(events: list[Any]) -> None:
    """NDJSON, arrays and envelopes, plain and gzipped: the same events in the same order."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in _forms(events).items():
            path = Path(folder) / name
            path.write_bytes(content)
            found = list(read_paths([str(path)]))
            assert events == [json.loads(delivery.body) for delivery in found], name
            assert all(delivery.position.startswith(str(path)) for delivery in found)


@given(events=_EVENTS, cut=st.integers(0, 400))
def test_a_cut_gzip_gives_what_came_before_the_cut(events: list[Any], cut: int) -> None:
    """Never another event, never a part of one, and the problem is named."""
    whole = gzip.compress(_lines(events))
    problems: list[InputError] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cut.ndjson.gz"
        path.write_bytes(whole[: max(2, len(whole) - 1 - cut)])
        found = [json.loads(delivery.body) for delivery in read_paths([str(path)], on_problem=problems.append)]
    assert events[: len(found)] == found
    assert [f"{path}: the gzip data is broken: it ends too early"] == [str(problem) for problem in problems]


def test_positions_count_blank_lines(tmp_path: Path) -> None:
    """The number is that of an editor."""
    (tmp_path / "a.ndjson").write_bytes(b'\n{"a": 1}\n\n{"b": 2}')
    assert [f"{tmp_path}/a.ndjson:2", f"{tmp_path}/a.ndjson:4"] == [
        delivery.position for delivery in read_paths([str(tmp_path)])
    ]


def test_a_problem_is_raised_where_nobody_listens(tmp_path: Path) -> None:
    """The default is an error that names the file."""
    with pytest.raises(InputError, match=r"nothing\.json: no such file or directory"):
        list(read_paths([str(tmp_path / "nothing.json")]))


def test_garbage_after_a_gzip_member_is_told(tmp_path: Path) -> None:
    """Padding with zeros is not garbage; other bytes are."""
    whole = gzip.compress(b'{"a": 1}\n')
    (tmp_path / "padded.ndjson.gz").write_bytes(whole + b"\0" * 100)
    (tmp_path / "garbage.ndjson.gz").write_bytes(whole + b"garbage")
    assert len(list(read_paths([str(tmp_path / "padded.ndjson.gz")]))) == 1
    problems: list[InputError] = []
    assert len(list(read_paths([str(tmp_path / "garbage.ndjson.gz")], on_problem=problems.append))) == 1
    assert len(problems) == 1


def test_the_progress_counts_files_and_bytes(tmp_path: Path) -> None:
    """Bytes are those on disk, and what total_size foretold."""
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress(b'{"a": 1}\n' * 1000))
    (tmp_path / "b.json").write_bytes(b"{}")
    (tmp_path / "notes.txt").write_text("no event")
    progress = FileProgress()
    assert len(list(read_paths([str(tmp_path)], progress=progress))) == 1001
    assert (progress.files, progress.skipped, progress.problems) == (2, 1, 0)
    assert total_size([str(tmp_path)]) == progress.size
    assert total_size(["-"]) is None
    assert total_size([str(tmp_path / "nothing")]) is None


def test_a_line_beyond_the_limit_is_cut_just_beyond_it(tmp_path: Path) -> None:
    """The line keeps its number, the next one is read from its start."""
    (tmp_path / "a.ndjson").write_bytes(b"x" * 1000 + b"\n" + b"y" * 10 + b"\n")
    found = list(read_paths([str(tmp_path)], max_event=20))
    assert [(each.body, each.position[-2:]) for each in found] == [(b"x" * 21, ":1"), (b"y" * 10, ":2")]


def test_batches_are_bounded_in_number_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch ends when it has enough events or enough bytes, whichever is first."""
    monkeypatch.setattr(bulk, "BATCH_SIZE", 100)
    sizes = [10, 10, 10, 60, 60, 200, 1]
    taken = bulk._batches([Delivery(b"x" * size, "") for size in sizes], 3)
    assert [[len(each.body) for each in batch] for batch in taken] == [[10, 10, 10], [60, 60], [200], [1]]


def test_a_pipe_hands_on_what_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is not held back until a buffer is full."""

    class Slow(io.BytesIO):
        reads = 0

        def readinto1(self, buffer: Any) -> int:
            self.reads += 1
            return super().readinto1(memoryview(buffer)[:9])

    slow = Slow(b'{"a": 1}\n{"a": 2}\n')
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(slow))
    deliveries = read_paths(["-"])
    assert next(deliveries).body == b'{"a": 1}'
    assert slow.reads == 1
    assert [delivery.body for delivery in deliveries] == [b'{"a": 2}']
