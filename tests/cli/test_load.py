"""`lineagelog load`: what it reads, counts, says and returns."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tests.support import COMMAND, PATIENCE, ROOT, Ran, connect, encode, event, run_process, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., Ran]

EXAMPLE_FILES = ROOT / "examples"
SUMMARY = re.compile(r"read (\d+) stored (\d+) duplicate (\d+) expired (\d+) dead (\d+) in \d+\.\d\d s")


def counts(ran: Ran) -> tuple[int, ...]:
    """The figures of the closing line: read, stored, duplicate, expired, dead."""
    found = SUMMARY.fullmatch(ran.out.splitlines()[-1])
    assert found, ran.out
    return tuple(int(figure) for figure in found.groups())


def test_a_load_leaves_statistics(run: Run, database_url: str) -> None:
    """What it filled can be planned at once; autovacuum would come to it later."""
    lines = b"".join(encode(event(f"r{number}")) for number in range(1000))
    assert counts(run("load", "-", stdin=lines))[:2] == (1000, 1000)
    with connect(database_url) as connection:
        query = "SELECT reltuples FROM pg_class WHERE oid = 'openlineage.ol_run'::regclass"
        assert connection.execute(query).fetchone() == (1000,)


def test_a_folder_is_loaded_once_however_often(run: Run) -> None:
    """The second load stores nothing and calls every event a duplicate; both end with exit code 0."""
    first, second = run("load", str(EXAMPLE_FILES)), run("load", str(EXAMPLE_FILES))
    assert (first.code, counts(first)) == (0, (90, 90, 0, 0, 0))
    assert (second.code, counts(second)) == (0, (90, 0, 90, 0, 0))
    assert "passed over 2 files" in first.err


@pytest.mark.long
def test_a_pipe_in_a_folder_is_passed_over(run: Run, tmp_path: Path) -> None:
    """A folder's named pipe, which nobody may ever write to, does not stop the load; a dangling link is named."""
    os.mkfifo(tmp_path / "a.ndjson")
    (tmp_path / "b.ndjson").symlink_to("nowhere")
    (tmp_path / "c.ndjson").write_bytes(encode(event()))
    ran = run("load", str(tmp_path))
    assert (ran.code, counts(ran)) == (1, (1, 1, 0, 0, 0))
    assert "passed over 1 file" in ran.err
    assert "b.ndjson: no such file" in ran.err


@pytest.mark.long
def test_a_full_device_and_a_closed_stdin(run: Run) -> None:
    """One line each, exit code 2."""
    run("load", str(ROOT / "examples"))
    full = subprocess.run(f"{COMMAND} list events --json > /dev/full", shell=True, stderr=subprocess.PIPE, text=True)
    assert (full.returncode, full.stderr) == (2, "lineagelog: cannot write: No space left on device\n")
    closed = subprocess.run(f"{COMMAND} load - <&-", shell=True, capture_output=True, text=True)
    assert closed.returncode == 2
    assert closed.stderr.splitlines() == ["lineagelog: stdin: is closed"]


def test_json_has_the_words_of_the_closing_line_as_keys(run: Run) -> None:
    """The same words, figures as numbers, `in` in seconds, and the counts of files."""
    ran = run("load", "--json", str(EXAMPLE_FILES))
    found = ran.json
    assert found.pop("in") > 0
    expected = {"read": 90, "stored": 90, "duplicate": 0, "expired": 0, "dead": 0}
    assert expected | {"files": 3, "skipped_files": 2, "unreadable_files": 0} == found


@pytest.mark.parametrize(
    ("name", "content", "read"),
    [
        ("one.json", json.dumps(event(), indent=2).encode(), 1),
        ("array.json", json.dumps([event(), event("r2")]).encode(), 2),
        ("pretty-array.json", json.dumps([event(), event("r2")], indent=2).encode(), 2),
        ("envelope.json", json.dumps({"events": [event(), event("r2")]}).encode() + b"\n\n", 2),
        ("lines.json", encode(event(), event("r2")), 2),
        ("bom.json", b"\xef\xbb\xbf" + encode(event(), event("r2")), 2),
        ("lines.ndjson", encode(event()) + b"\n  \r\n" + encode(event("r2")).rstrip(), 2),
        ("lines.jsonl.gz", gzip.compress(encode(event(), event("r2"))), 2),
        ("members.ndjson.gz", gzip.compress(encode(event())) + gzip.compress(encode(event("r2"))), 2),
        ("zipped-without-suffix.json", gzip.compress(json.dumps([event()]).encode()), 1),
        ("empty.json", b"", 0),
        ("blank.ndjson", b"\n \n", 0),
        ("empty-array.json", b"[]", 0),
    ],
)
def test_forms_of_files(run: Run, tmp_path: Path, name: str, content: bytes, read: int) -> None:
    """One event, arrays, envelopes and lines are all understood, plain and gzipped."""
    (tmp_path / name).write_bytes(content)
    ran = run("load", str(tmp_path / name))
    assert (0, (read, read, 0, 0, 0)) == (ran.code, counts(ran))


def test_standard_input_is_ndjson(run: Run) -> None:
    """`-` reads lines from stdin, gzipped or not; a refused line is named by its number."""
    assert counts(run("load", "-", stdin=encode(event()))) == (1, 1, 0, 0, 0)
    assert counts(run("load", "-", stdin=gzip.compress(encode(event())))) == (1, 0, 1, 0, 0)
    ran = run("load", "-", stdin=encode(event("r2")) + b"nonsense\n")
    assert (ran.code, counts(ran)) == (1, (2, 1, 0, 0, 1))
    assert "refused: stdin:2: not_json" in ran.err


def test_egerias_folder(run: Run, tmp_path: Path) -> None:
    """The layout of Egeria's file log store is found in its sub-folders, hidden files and others are passed over."""
    folder = tmp_path / "log" / "tests" / "job"
    folder.mkdir(parents=True)
    (folder / "r1-2026-3-1:8-0-0:0-COMPLETE.openlineageevent").write_bytes(json.dumps(event()).encode())
    (folder / "README.md").write_text("no event")
    (folder / ".hidden.json").write_text("no event")
    ran = run("load", str(tmp_path / "log"))
    assert (ran.code, counts(ran)) == (0, (1, 1, 0, 0, 0))
    assert "passed over 2 files" in ran.err


def test_positions_lead_to_the_refused_event(run: Run, database_url: str, tmp_path: Path) -> None:
    """A dead letter knows file and line, or file and index."""
    lines, array = tmp_path / "lines.ndjson", tmp_path / "array.json"
    lines.write_bytes(encode(event()) + b"\n" + encode(event("r2", eventTime="yesterday")))
    array.write_bytes(json.dumps([event("r3"), {"no": "event"}]).encode())
    ran = run("load", str(lines), str(array))
    assert (ran.code, counts(ran)) == (1, (4, 2, 0, 0, 2))
    with connect(database_url) as connection:
        found = connection.execute("SELECT position, source FROM openlineage.ol_dead_letter ORDER BY id").fetchall()
    assert [(f"{lines}:3", "file"), (f"{array}[1]", "file")] == found


def test_a_broken_first_line_does_not_take_the_others_with_it(run: Run, tmp_path: Path) -> None:
    """A .json file of lines whose first is cut off: that one is refused, the others are stored."""
    (tmp_path / "lines.json").write_bytes(b'{"eventType": "STA\n' + encode(event(), event("r2")))
    ran = run("load", str(tmp_path / "lines.json"))
    assert (ran.code, counts(ran)) == (1, (3, 2, 0, 0, 1))


def test_more_than_ten_refused_events_are_counted_not_named(run: Run) -> None:
    """Ten are named, the rest is one line that says where to look."""
    ran = run("load", "-", stdin=b"".join(b"nonsense %d\n" % n for n in range(13)))
    assert ran.code == 1
    assert ran.err.count("refused: stdin") == 10
    assert "3 more refused: lineagelog dead-letters list" in ran.err


def test_a_broken_gzip_keeps_what_came_before_and_the_load_goes_on(run: Run, tmp_path: Path) -> None:
    """The file is named, its readable events are stored, the next file is read, and the exit code is 1."""
    many = encode(*[event(f"r{number}") for number in range(500)])
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress(many)[:-200])
    (tmp_path / "b.ndjson").write_bytes(encode(event("last")))
    ran = run("load", str(tmp_path))
    read, stored, *_ = counts(ran)
    assert ran.code == 1
    assert 1 < read == stored < 501
    assert f"lineagelog: {tmp_path / 'a.ndjson.gz'}: the gzip data is broken" in ran.err
    assert "last" in run("list", "runs").out


def test_a_missing_file_is_named_and_the_others_are_loaded(run: Run, tmp_path: Path) -> None:
    """Exit code 1 while something could be read, 2 when nothing could."""
    there, missing = tmp_path / "there.json", tmp_path / "missing.json"
    there.write_bytes(encode(event()))
    ran = run("load", str(missing), str(there))
    assert (ran.code, counts(ran)) == (1, (1, 1, 0, 0, 0))
    assert f"lineagelog: {missing}: no such file or directory\n" == ran.err
    assert run("load", str(missing)).code == 2


def test_an_event_beyond_the_limit_is_refused_without_being_held(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of 3 MiB with a limit of 1 MiB becomes a dead letter; the lines around it are stored."""
    monkeypatch.setenv("LINEAGELOG_INTAKE__MAX_EVENT_MIB", "1")
    (tmp_path / "big.ndjson").write_bytes(encode(event(), event("big", more="x" * (3 << 20)), event("r2")))
    ran = run("load", str(tmp_path / "big.ndjson"))
    assert (ran.code, counts(ran)) == (1, (3, 2, 0, 0, 1))
    assert ":2: too_large" in ran.err


def test_names_that_are_not_utf8(run: Run, tmp_path: Path) -> None:
    """A file name with a stray byte is read, and shown with a replacement character."""
    (tmp_path / os.fsdecode(b"caf\xe9.ndjson")).write_bytes(b"nonsense\n")
    ran = run("load", str(tmp_path))
    assert (ran.code, counts(ran)) == (1, (1, 0, 0, 0, 1))


def test_ctrl_c_says_what_is_stored_and_ends_with_130(database_url: str, tmp_path: Path) -> None:
    """SIGINT in the middle of a load: one line with the counts so far; running it again completes it."""
    pipe = tmp_path / "pipe.ndjson"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        # a suite that runs in the background ignores Ctrl-C, and so would its children
        ["env", "--default-signal=INT", COMMAND, "load", str(pipe), "--database", database_url],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with pipe.open("wb") as stream:
        stream.write(encode(*[event(f"r{number}") for number in range(2000)]))
        stream.flush()
        wait_until(lambda: _stored(database_url) >= 500)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, b"")
    assert re.search(rb"^lineagelog: interrupted: read \d+ stored \d+ .*; run it again to go on", err)
    assert b"Traceback" not in err


def _stored(database_url: str) -> int:
    with connect(database_url, autocommit=True) as connection:
        try:
            row: Any = connection.execute("SELECT count(*) FROM openlineage.ol_event").fetchone()
        except psycopg.errors.UndefinedTable:
            return 0
        return int(row[0])


def test_the_process_loads_too(database_url: str) -> None:
    """The installed command, as a process: options, exit code, closing line on stdout and nothing on stderr."""
    ran = run_process("load", "-", "--database", database_url, "--schema", "my log", stdin=encode(event()))
    assert (ran.code, ran.err) == (0, "")
    assert counts(ran) == (1, 1, 0, 0, 0)
