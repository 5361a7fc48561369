"""`lineagelog export snaplogic` as a person or a script runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lineagelog.cli.session import Session
from tests.support import Ran, run_here, run_process, serve_process

from .build import SAMPLES
from .support import export

if TYPE_CHECKING:
    from pathlib import Path

JOIN = [
    str(SAMPLES / "join.slp"),
    "--run",
    str(SAMPLES / "join.run.json"),
    "--accounts",
    str(SAMPLES / "accounts.json"),
]


def run(*arguments: str | Path, code: int = 0) -> Ran:
    """Run the command; its exit code must be `code`, and no exception may get out."""
    ran = run_here("export", "snaplogic", *map(str, arguments))
    assert ran.code == code, ran.err
    assert "Traceback" not in ran.err
    return ran


def test_one_file_per_event(tmp_path: Path) -> None:
    """The folder holds the events and nothing else; a second export of the run changes nothing."""
    out = tmp_path / "new" / "events"
    result = run(*JOIN, "--out", out)
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    assert sorted(map(json.dumps, export("join").events)) == sorted(
        json.dumps(json.loads(data)) for data in files.values()
    )
    assert all(name.startswith("Orders_join_") and name.endswith(".json") for name in files)
    assert "events    9 of 1 run, 0 failed" in result.out
    run(*JOIN, "--out", out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == files
    assert [path.name for path in out.parent.iterdir()] == ["events"]


@pytest.mark.parametrize(
    ("name", "more"),
    [("a.json", []), ("a.ndjson", []), ("x", ["--format", "array"]), ("x", ["--format", "ndjson"])],
)
def test_one_file_for_all(tmp_path: Path, name: str, more: list[str]) -> None:
    """The format is told, or follows from the ending."""
    run(*JOIN, "--out", tmp_path / name, *more)
    text = (tmp_path / name).read_text()
    is_lines = "ndjson" in (*more, name.partition(".")[2])
    events = [json.loads(line) for line in text.splitlines()] if is_lines else json.loads(text)
    assert events == list(export("join").events)


def test_events_on_stdout_and_the_summary_on_stderr() -> None:
    """So that a pipe gets events only."""
    result = run(*JOIN, "--format", "ndjson", "--json")
    assert [json.loads(line) for line in result.out.splitlines()] == list(export("join").events)
    assert json.loads(result.err)["out"] == "-"


@pytest.mark.long
def test_load_and_emit_deliver_every_event(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One document per event, to both; no output is needed then, and the options of the store are those of all."""
    emitted: list[bytes] = []
    monkeypatch.setattr(Session, "emit", lambda _, events: emitted.extend(events))
    here = ("--database", database_url, "--schema", "audit")
    ran = run(*JOIN, "--load", "--emit", *here)
    assert ran.err.splitlines()[-1] == "stored 9"
    assert [json.loads(data) for data in emitted] == list(export("join").events)
    assert len(run_here("list", "events", "--json", *here).rows) == 9


@pytest.mark.long
def test_a_load_keeps_to_the_settings(tmp_path: Path, database_url: str) -> None:
    """Strict mode and the limit of an event are those of the settings file, as for every other way in."""
    config = tmp_path / "own.toml"
    config.write_text(f'database = "{database_url}"\n[intake]\nmax_event_mib = 1\nstrict = true\n')
    assert run(*JOIN, "--load", "--config", config).err.splitlines()[-1] == "stored 9"
    large = tmp_path / "large.slp"
    large.write_text((SAMPLES / "join.slp").read_text().replace("Orders: join", "Orders: " + "x" * 1_200_000))
    arguments = [large, *JOIN[1:], "--load", "--config", config, "--out", tmp_path / "out"]
    told = run(*arguments, code=2).err
    assert told.startswith("lineagelog: an exported event was refused and is kept as a dead letter (dead 9): ")
    assert not (tmp_path / "out").exists()


def test_a_delivery_that_fails_is_an_error(tmp_path: Path) -> None:
    """One line, exit 2, and no file."""
    ran = run(*JOIN, "--load", "--database", "postgresql://nobody@127.0.0.1:1/x", "--out", tmp_path / "out", code=2)
    assert ran.err.startswith("lineagelog: ")
    assert len(ran.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_check_writes_and_delivers_nothing(tmp_path: Path) -> None:
    """It exports and validates only: nothing is asked of a database that is not there."""
    nowhere = ("--database", "postgresql://nobody@127.0.0.1:1/x")
    ran = run(*JOIN, "--check", "--load", "--out", tmp_path / "out", "--json", *nowhere)
    assert ran.json["validated"] is True
    assert list(tmp_path.iterdir()) == []


def test_the_summary_as_json() -> None:
    """The numbers of the export, and findings with file, place and severity."""
    arguments = [SAMPLES / "Nightly export.slp", "--run", SAMPLES / "artifact.run.json"]
    content = json.loads(run(*arguments, "--accounts", SAMPLES / "accounts.json", "--check", "--json").out)
    assert content["summary"] == {
        "runs": 1,
        "events": 5,
        "failed": 0,
        "running": 0,
        "jobs": 5,
        "warnings": 1,
        "notes": 1,
        "virtual_datasets": 4,
        "tables_read": 1,
        "tables_written": 1,
        "columns": 4,
        "traced_columns": 3,
        "column_coverage": 0.75,
    }
    unknown = next(finding for finding in content["findings"] if finding["severity"] == "warning")
    assert unknown["file"].endswith("Nightly export.slp")
    assert unknown["place"] == "snap_map.11111111-1111-1111-1111-000000000004"


def test_strict_exits_1_on_warnings_and_not_on_notes() -> None:
    """The unknown class is a warning, the stopped Snap a note."""
    warned = [SAMPLES / "Nightly export.slp", "--run", SAMPLES / "artifact.run.json", "--check", "--strict"]
    noted = [SAMPLES / "router.slp", "--run", SAMPLES / "router.run.json", "--check", "--strict"]
    run(*warned, "--accounts", SAMPLES / "accounts.json", code=1)
    run(*noted, "--accounts", SAMPLES / "accounts.json")


def test_several_runs_and_all_options_together(tmp_path: Path) -> None:
    """Parent and child in one call, in the modern form."""
    (tmp_path / "n.json").write_text('{"shop": {"system": "Shop", "openlineage_namespace": "postgres://shop"}}')
    (tmp_path / "c.json").write_text('{"public.orders": ["order_id", "net", "tariff"]}')
    (tmp_path / "k.json").write_text('{"acme-magic": {"role": "pass"}}')
    files = [SAMPLES / "parent.slp", SAMPLES / "child.slp"]
    runs = ["--run", SAMPLES / "child.run.json", "--run", SAMPLES / "parent.run.json"]
    told = [
        "--namespaces",
        tmp_path / "n.json",
        "--columns",
        tmp_path / "c.json",
        "--classes",
        tmp_path / "k.json",
    ]
    how = ["--modern", "--naming", "openlineage", "--virtual-names", "snaplogic", "--nested", "path"]
    plane = ["--control-plane", "https://emea.snaplogic.com/", "--stopped-as-abort", "--separate-children"]
    run(*files, *runs, *told, *how, *plane, "--out", tmp_path / "all.json")
    text = (tmp_path / "all.json").read_text()
    assert len(json.loads(text)) == 9
    assert "postgres://shop" in text
    assert "https://emea.snaplogic.com/sl/" in text


BAD = [
    ([*JOIN], "nowhere to put the events"),
    ([str(SAMPLES / "join.slp"), "--check"], "join.slp: no run information"),
    (["missing.slp", "--run", str(SAMPLES / "join.run.json"), "--check"], "missing.slp: No such file"),
    ([str(SAMPLES), "--run", str(SAMPLES / "join.run.json"), "--check"], "a folder; give the file in it"),
    ([*JOIN, "--control-plane", "a b", "--check"], "--control-plane 'a b' is no host name"),
]


@pytest.mark.parametrize(("arguments", "text"), BAD, ids=[text for _, text in BAD])
def test_errors_are_one_line_and_exit_2(arguments: list[str], text: str) -> None:
    """What is wrong and what to do."""
    result = run(*arguments, code=2)
    assert text in result.err
    assert result.err.startswith("lineagelog: ")
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("name", ["events", "events.json", "events.ndjson"])
def test_nothing_is_left_after_an_error(tmp_path: Path, name: str) -> None:
    """A bad second pipeline stops everything: no folder, no file, nothing half-written; what was there
    stays."""
    broken = tmp_path / "broken.slp"
    broken.write_bytes((SAMPLES / "join.slp").read_bytes()[:-100])
    run(*JOIN, broken, "--out", tmp_path / name, code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["broken.slp"]
    (tmp_path / name).write_text("old")
    run(*JOIN, broken, "--out", tmp_path / name, code=2)
    assert (tmp_path / name).read_text() == "old"


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full at the fourth file: exit 2, and the folder does not appear."""
    from pathlib import Path as RealPath

    written, write = [], RealPath.write_bytes

    def full(path: RealPath, data: bytes) -> int:
        written.append(path)
        if len(written) == 4:
            raise OSError(28, "No space left on device", str(path))
        return write(path, data)

    monkeypatch.setattr(RealPath, "write_bytes", full)
    result = run(*JOIN, "--out", tmp_path / "events", code=2)
    assert "No space left on device" in result.err
    assert list(tmp_path.iterdir()) == []


def test_out_of_the_wrong_kind(tmp_path: Path) -> None:
    """A file where a folder is needed and the other way round."""
    (tmp_path / "file").write_text("old")
    assert "needs a folder" in run(*JOIN, "--out", tmp_path / "file", code=2).err
    assert "give a file" in run(*JOIN, "--format", "array", "--out", tmp_path, code=2).err


def test_help_shows_options_and_examples() -> None:
    """Every option with a sentence, examples, exit codes."""
    text = run("--help").out
    for part in (
        "--run",
        "--accounts",
        "--namespaces",
        "--classes",
        "--columns",
        "--modern",
        "--load",
        "--emit",
        "--strict",
    ):
        assert part in text
    assert "lineagelog export snaplogic orders.slp --run run.json" in text
    assert "Exit code:" in text


@pytest.mark.long
def test_emit_posts_to_the_backend_and_a_refusal_ends_it(tmp_path: Path, database_url: str) -> None:
    """The backend of OPENLINEAGE_URL has every event; once it wants a token, a 401 is one line and code 2."""
    command = ["export", "snaplogic", *JOIN, "--modern", "--emit"]
    with serve_process("--database", database_url) as (_, port, _):
        url = f"http://127.0.0.1:{port}"
        sent = run_process(*command, OPENLINEAGE_URL=url)
        assert sent.code == 0, sent.err
        runs = run_process("list", "runs", "--json", "--database", database_url)
        assert len(runs.rows) == len(export("join").events)
        assert run_process("tokens", "create", "sender", "--database", database_url).code == 0
    with serve_process("--database", database_url) as (_, port, _):
        refused = run_process(*command, OPENLINEAGE_URL=f"http://127.0.0.1:{port}")
        assert (refused.code, "401" in refused.err) == (2, True), refused.err
