"""`lineagelog export snaplogic` as a person or a script runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.testing import CliRunner

from lineagelog.cli.export_snaplogic import EPILOG, snaplogic_command
from lineagelog.errors import StoreUnavailable
from tests.support import run_process, serve_process

from .build import SAMPLES
from .support import export

if TYPE_CHECKING:
    from pathlib import Path

RUNNER = CliRunner()
JOIN = [
    str(SAMPLES / "join.slp"),
    "--run",
    str(SAMPLES / "join.run.json"),
    "--accounts",
    str(SAMPLES / "accounts.json"),
]


class Delivered:
    """Takes what the command delivers."""

    def __init__(self) -> None:
        self.loaded: list[bytes] = []
        self.emitted: list[bytes] = []


@pytest.fixture
def delivered() -> Delivered:
    """Where delivered events end up."""
    return Delivered()


@pytest.fixture
def app(delivered: Delivered) -> typer.Typer:
    """An app with the command, as the product wires it."""
    made = typer.Typer()
    command = snaplogic_command(delivered.loaded.extend, delivered.emitted.extend)
    made.command("snaplogic", epilog=EPILOG)(command)
    return made


def run(app: typer.Typer, *arguments: str | Path, code: int = 0) -> Any:
    """Run the command; its exit code must be `code`, and no exception may get out."""
    result = RUNNER.invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def test_one_file_per_event(app: typer.Typer, tmp_path: Path) -> None:
    """The folder holds the events and nothing else; a second export of the run changes nothing."""
    out = tmp_path / "new" / "events"
    result = run(app, *JOIN, "--out", out)
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    assert sorted(map(json.dumps, export("join").events)) == sorted(
        json.dumps(json.loads(data)) for data in files.values()
    )
    assert all(name.startswith("Orders_join_") and name.endswith(".json") for name in files)
    assert "events    9 of 1 run(s), 0 failed" in result.stdout
    run(app, *JOIN, "--out", out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == files
    assert [path.name for path in out.parent.iterdir()] == ["events"]


@pytest.mark.parametrize(
    ("name", "more"),
    [("a.json", []), ("a.ndjson", []), ("x", ["--format", "array"]), ("x", ["--format", "ndjson"])],
)
def test_one_file_for_all(app: typer.Typer, tmp_path: Path, name: str, more: list[str]) -> None:
    """The format is told, or follows from the ending."""
    run(app, *JOIN, "--out", tmp_path / name, *more)
    text = (tmp_path / name).read_text()
    is_lines = "ndjson" in (*more, name.partition(".")[2])
    events = [json.loads(line) for line in text.splitlines()] if is_lines else json.loads(text)
    assert events == list(export("join").events)


def test_events_on_stdout_and_the_summary_on_stderr(app: typer.Typer) -> None:
    """So that a pipe gets events only."""
    result = run(app, *JOIN, "--format", "ndjson", "--json")
    assert [json.loads(line) for line in result.stdout.splitlines()] == list(export("join").events)
    assert json.loads(result.stderr)["out"] == "-"


def test_load_and_emit_deliver_every_event(app: typer.Typer, delivered: Delivered) -> None:
    """One document per event, to both; no output is needed then."""
    run(app, *JOIN, "--load", "--emit")
    assert [json.loads(data) for data in delivered.loaded] == list(export("join").events)
    assert delivered.emitted == delivered.loaded


def test_a_delivery_that_fails_is_an_error(tmp_path: Path) -> None:
    """One line, exit 2, and no file."""

    def fail(_events: list[bytes]) -> None:
        raise StoreUnavailable("the database does not answer")

    app = typer.Typer()
    app.command()(snaplogic_command(fail, fail))
    result = run(app, *JOIN, "--load", "--out", tmp_path / "out", code=2)
    assert result.stderr == "lineagelog: the database does not answer\n"
    assert list(tmp_path.iterdir()) == []


def test_check_writes_and_delivers_nothing(app: typer.Typer, delivered: Delivered, tmp_path: Path) -> None:
    """It exports and validates only."""
    result = run(app, *JOIN, "--check", "--load", "--out", tmp_path / "out", "--json")
    assert json.loads(result.stdout)["validated"] is True
    assert list(tmp_path.iterdir()) == []
    assert delivered.loaded == []


def test_the_summary_as_json(app: typer.Typer) -> None:
    """The numbers of the export, and findings with file, place and severity."""
    arguments = [SAMPLES / "Nightly export.slp", "--run", SAMPLES / "artifact.run.json"]
    content = json.loads(run(app, *arguments, "--accounts", SAMPLES / "accounts.json", "--check", "--json").stdout)
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


def test_strict_exits_1_on_warnings_and_not_on_notes(app: typer.Typer) -> None:
    """The unknown class is a warning, the stopped Snap a note."""
    warned = [SAMPLES / "Nightly export.slp", "--run", SAMPLES / "artifact.run.json", "--check", "--strict"]
    noted = [SAMPLES / "router.slp", "--run", SAMPLES / "router.run.json", "--check", "--strict"]
    run(app, *warned, "--accounts", SAMPLES / "accounts.json", code=1)
    run(app, *noted, "--accounts", SAMPLES / "accounts.json")


def test_several_runs_and_all_options_together(app: typer.Typer, tmp_path: Path) -> None:
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
    run(app, *files, *runs, *told, *how, *plane, "--out", tmp_path / "all.json")
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
def test_errors_are_one_line_and_exit_2(app: typer.Typer, arguments: list[str], text: str) -> None:
    """What is wrong and what to do."""
    result = run(app, *arguments, code=2)
    assert text in result.stderr
    assert result.stderr.startswith("lineagelog: ")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["events", "events.json", "events.ndjson"])
def test_nothing_is_left_after_an_error(app: typer.Typer, tmp_path: Path, name: str) -> None:
    """A bad second pipeline stops everything: no folder, no file, nothing half-written; what was there
    stays."""
    broken = tmp_path / "broken.slp"
    broken.write_bytes((SAMPLES / "join.slp").read_bytes()[:-100])
    run(app, *JOIN, broken, "--out", tmp_path / name, code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["broken.slp"]
    (tmp_path / name).write_text("old")
    run(app, *JOIN, broken, "--out", tmp_path / name, code=2)
    assert (tmp_path / name).read_text() == "old"


def test_a_write_that_fails_half_way_leaves_nothing(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the fourth file: exit 2, and the folder does not appear."""
    from pathlib import Path as RealPath

    written, write = [], RealPath.write_bytes

    def full(path: RealPath, data: bytes) -> int:
        written.append(path)
        if len(written) == 4:
            raise OSError(28, "No space left on device", str(path))
        return write(path, data)

    monkeypatch.setattr(RealPath, "write_bytes", full)
    result = run(app, *JOIN, "--out", tmp_path / "events", code=2)
    assert "No space left on device" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_out_of_the_wrong_kind(app: typer.Typer, tmp_path: Path) -> None:
    """A file where a folder is needed and the other way round."""
    (tmp_path / "file").write_text("old")
    assert "needs a folder" in run(app, *JOIN, "--out", tmp_path / "file", code=2).stderr
    assert "give a file" in run(app, *JOIN, "--format", "array", "--out", tmp_path, code=2).stderr


def test_help_shows_options_and_examples(app: typer.Typer) -> None:
    """Every option with a sentence, examples, exit codes."""
    text = run(app, "--help").stdout
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
    assert "Exit codes" in text


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
