"""The command: options, prompts, output, exit codes, and that nothing is half-written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from lineagelog.cli import export_satsuma as command
from lineagelog.cli.export import group
from lineagelog.cli.session import Session
from lineagelog.errors import StoreUnavailable
from lineagelog.export.files import MANIFEST, renew_folder
from tests.support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result

SPEC = """schema a { x INT }
schema b { y INT }
mapping m { source { a } target { b } x -> y }
mapping n { source { b } target { a } y -> x { trim } }
"""
HERE = ("-d", "snowflake://acme")


def run(*arguments: object, answers: str | None = None) -> Result:
    """Run the command."""
    return CliRunner().invoke(group, ["satsuma", *map(str, arguments)], input=answers)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A small spec on disk, of a known age."""
    file = tmp_path / "specs" / "main.stm"
    file.parent.mkdir()
    file.write_text(SPEC)
    os.utime(file, (1_700_000_000, 1_700_000_000))
    return file


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sits in front of it."""
    monkeypatch.setattr(command, "is_terminal", lambda: True)


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """No SOURCE_DATE_EPOCH is set."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)


def snapshot(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {file.name: file.read_bytes() for file in folder.iterdir()} if folder.exists() else {}


def test_files_and_summary(spec: Path, tmp_path: Path) -> None:
    """One file per mapping, a summary for people, exit code 0."""
    done = run(spec, *HERE, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert set(snapshot(tmp_path / "out")) == {"m.json", "n.json", MANIFEST}
    assert "column coverage        2 of 2 target columns (100 %)" in done.stdout


def test_a_second_run_gives_the_same_bytes(spec: Path, tmp_path: Path) -> None:
    """Byte-identical files, whatever the age of the spec: clones differ in nothing else."""
    run(spec, *HERE, "--out", tmp_path / "out")
    before = snapshot(tmp_path / "out")
    os.utime(spec, (1_800_000_000, 1_800_000_000))
    assert run(spec, *HERE, "--out", tmp_path / "out").exit_code == 0
    assert snapshot(tmp_path / "out") == before
    assert json.loads(before["m.json"])["eventTime"] == "2025-01-01T00:00:00.000Z"


def test_a_mapping_that_left_the_spec_leaves_the_folder(spec: Path, tmp_path: Path) -> None:
    """Its file goes; a file that the export did not write stays."""
    out = tmp_path / "out"
    run(spec, *HERE, "--out", out)
    (out / "mine.json").write_text("{}")
    spec.write_text(SPEC.replace("mapping n", "mapping other"))
    run(spec, *HERE, "--out", out)
    assert set(snapshot(out)) == {"m.json", "other.json", "mine.json", MANIFEST}


def test_a_manifest_names_no_file_elsewhere(tmp_path: Path) -> None:
    """Only files of the folder are removed, whatever its list of earlier files says."""
    (tmp_path / "keep.json").write_text("{}")
    out = tmp_path / "out"
    out.mkdir()
    (out / MANIFEST).write_text('["../keep.json", "/etc/x.json", 7, "gone.json"]')
    renew_folder(out, {"a.json": b"{}"})
    assert (tmp_path / "keep.json").exists()
    assert set(snapshot(out)) == {"a.json", MANIFEST}


@pytest.mark.parametrize("form", ["array", "ndjson"])
def test_one_stream_goes_to_the_standard_output(form: str, spec: Path) -> None:
    """Without --out the events are the standard output, and the summary goes to the error output."""
    done = run(spec, *HERE, "--format", form)
    text = done.stdout
    events = json.loads(text) if form == "array" else [json.loads(line) for line in text.splitlines()]
    assert [event["job"]["name"] for event in events] == ["m", "n"]
    assert "events                 2" in done.stderr


def test_one_file(spec: Path, tmp_path: Path) -> None:
    """--out names the file, in a folder that need not be there."""
    out = tmp_path / "deep" / "events.ndjson"
    assert run(spec, *HERE, "--format", "ndjson", "--out", out).exit_code == 0
    assert len(out.read_text().splitlines()) == 2
    assert run(spec, *HERE, "--format", "python", "--out", tmp_path / "emit.py").exit_code == 0
    compile((tmp_path / "emit.py").read_text(), "emit.py", "exec")


def test_a_folder_stands_for_its_specs(spec: Path, tmp_path: Path) -> None:
    """All .stm files below; a folder without one is an error."""
    (spec.parent / "more").mkdir()
    (spec.parent / "more" / "z.stm").write_text("schema z { v INT }\nmapping last { source { z } target { z } }")
    done = run(spec.parent, *HERE, "--check", "--json")
    assert json.loads(done.stdout)["events"] == 3
    (tmp_path / "empty").mkdir()
    assert "has no .stm file" in run(tmp_path / "empty", *HERE, "--check").stderr


def test_all_options_reach_the_events(spec: Path) -> None:
    """Namespaces, naming, kind, time, producer."""
    done = run(
        spec, "-d", "a=mysql://h", *HERE, "--job-namespace", "airflow://dag", "--naming", "database.schema",
        "--dataset-database", "dw", "--event-kind", "job", "--event-time", "2025-01-31T06:00:00Z",
        "--producer", "https://example.org/me", "--format", "ndjson",
    )  # fmt: skip
    event = json.loads(done.stdout.splitlines()[0])
    assert event["schemaURL"].endswith("JobEvent")
    assert event["eventTime"] == "2025-01-31T06:00:00.000Z"
    assert event["producer"] == event["job"]["facets"]["jobType"]["_producer"] == "https://example.org/me"
    assert event["job"]["namespace"] == "airflow://dag"
    datasets = [(dataset["namespace"], dataset["name"]) for dataset in (*event["inputs"], *event["outputs"])]
    assert datasets == [("mysql://h", "dw.a"), ("snowflake://acme", "dw.b")]


def test_consumers(tmp_path: Path) -> None:
    """A namespace per tool, and consumers without sources on request."""
    file = tmp_path / "r.stm"
    file.write_text(
        "schema a { x INT }\nschema r (report, source {a}, tool looker) { v INT }\nschema s (model) { v INT }"
    )
    done = run(
        file,
        *HERE,
        "--consumer-namespace",
        "looker=looker://i",
        "--standalone-consumers",
        "--format",
        "array",
    )
    board, alone = json.loads(done.stdout)
    assert board["outputs"][0]["namespace"] == "looker://i"
    assert alone["dataset"]["name"] == "s"


def test_the_time_of_the_events(spec: Path) -> None:
    """As given, else SOURCE_DATE_EPOCH, else now for what is delivered, else one that is the same everywhere."""
    settle = command.settle_time
    assert settle("2025-01-31T06:00:00+01:00", "5", live=True) == datetime(2025, 1, 31, 5, tzinfo=UTC)
    assert settle("2025-01-31", None, live=False) == datetime(2025, 1, 31, tzinfo=UTC)
    assert settle(None, "86400", live=True) == datetime(1970, 1, 2, tzinfo=UTC)
    assert settle(None, None, live=False) == datetime(2025, 1, 1, tzinfo=UTC)
    before = datetime.now(UTC)
    assert before <= settle(None, None, live=True) <= datetime.now(UTC)
    assert "--event-time 'soon' is not a time" in run(spec, *HERE, "--check", "--event-time", "soon").stderr


def test_a_bad_epoch_is_told(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SOURCE_DATE_EPOCH is a number of seconds."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    assert "SOURCE_DATE_EPOCH 'today'" in run(spec, *HERE, "--check").stderr


def test_check_writes_nothing(spec: Path, tmp_path: Path) -> None:
    """--check validates and sums up only."""
    before = set(tmp_path.rglob("*"))
    done = run(spec, *HERE, "--check", "--out", tmp_path / "out")
    assert (done.exit_code, set(tmp_path.rglob("*"))) == (0, before)
    assert "schema failures        0" in done.stdout


def test_the_summary_as_json(spec: Path) -> None:
    """For machines."""
    summary = json.loads(run(spec, *HERE, "--check", "--json").stdout)
    assert summary == {
        "events": 2,
        "jobs": 2,
        "datasets_in": 2,
        "datasets_out": 2,
        "columns": 2,
        "columns_mapped": 2,
        "transforms": 1,
        "natural_language": [],
        "facets": {},
        "warnings": 0,
        "questions": 0,
        "unmapped_schemas": [],
        "problems": [],
        "failures": [],
    }


def test_problems_are_told_and_fail_with_strict(spec: Path) -> None:
    """Exit code 0, with --strict 1."""
    spec.write_text(SPEC.replace("x -> y }", "nowhere -> y }"))
    loose, strict = run(spec, *HERE, "--check"), run(spec, *HERE, "--check", "--strict")
    assert (loose.exit_code, strict.exit_code) == (0, 1)
    assert "main.stm:3:39: source field 'nowhere' is not declared in 'a'" in strict.stderr
    assert run(spec, *HERE, "--check", "--strict", "--json").exit_code == 1


def test_invalid_events_are_not_delivered(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the schemas reject is told, exit code 1, and nothing is written."""
    monkeypatch.setattr(command, "validate", lambda events, progress: ["m: run/runId: no"])
    done = run(spec, *HERE, "--out", tmp_path / "out")
    assert (done.exit_code, (tmp_path / "out").exists()) == (1, False)
    assert "invalid: m: run/runId: no" in done.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"schema a {\n\tx INT )\n}", "lineagelog: {file}:2:8: expected a field"),
        (
            b"schema a { x INT }\nmapping m { source { b } target { a } }",
            "{file}:2:22: mapping 'm' has the unknown source",
        ),
        (b"schema a { x \xff }", "{file}:1:14: the file is not UTF-8"),
        (b'import { a } from "gone.stm"', "{file}:1:19: the imported file"),
        (b"schema a {", "{file}:1:10: this '{{' is never closed"),
    ],
)
def test_bad_specs_leave_everything_as_it_was(content: bytes, told: str, spec: Path, tmp_path: Path) -> None:
    """Exit code 2, the place and the line with a mark, no traceback, and the earlier output untouched."""
    out = tmp_path / "out"
    run(spec, *HERE, "--out", out)
    before = snapshot(out)
    spec.write_bytes(content)
    done = run(spec, *HERE, "--out", out)
    assert done.exit_code == 2
    assert told.format(file=spec) in done.stderr
    assert "Traceback" not in done.output
    assert done.stderr.rstrip().endswith("^")
    assert snapshot(out) == before


def test_the_mark_stands_under_the_place(spec: Path) -> None:
    """Tabs are kept, so that the mark stands where the eye looks."""
    spec.write_text("schema a {\n\tx INT )\n}")
    assert run(spec, *HERE, "--check").stderr.endswith("  \tx INT )\n  \t      ^\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--check",), "the dataset namespace is missing: give --dataset-namespace"),
        (HERE, "--out is missing"),
        ((*HERE, "--out", "-"), "--format files needs a folder"),
        ((*HERE, "--retire", "--check"), "--retire ends jobs in the store: give --load too"),
        ((*HERE, "--load", "--database", "mysql://me@h/d"), "mysql"),
        ((*HERE, "--emit"), "no backend is configured"),
        ((*HERE, "--check", "--naming", "database.schema"), "needs the name of the database"),
        ((*HERE, "--check", "--consumer-namespace", "looker"), "'looker' is not tool=namespace"),
    ],
)
def test_options_that_do_not_work_out(arguments: tuple[str, ...], told: str, spec: Path) -> None:
    """Exit code 2 and one line that says what to do."""
    done = run(spec, *arguments)
    assert done.exit_code == 2
    assert told in done.stderr


def test_a_missing_file_and_an_unwritable_place_are_told(spec: Path, tmp_path: Path) -> None:
    """One line each."""
    assert "gone.stm: cannot be read: No such file or directory" in run(tmp_path / "gone.stm", *HERE, "--check").stderr
    done = run(spec, *HERE, "--out", spec)
    assert (done.exit_code, "is a file; --format files needs a folder" in done.stderr) == (2, True)
    done = run(spec, *HERE, "--out", spec / "below")
    assert (done.exit_code, "cannot be written" in done.stderr) == (2, True)


@pytest.mark.usefixtures("terminal")
def test_missing_answers_are_asked_for_on_a_terminal(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder, the database and the dataset namespace."""
    monkeypatch.chdir(tmp_path)
    done = run(spec, "--naming", "database.schema", answers="\ndw\nsnowflake://me\n")
    assert done.exit_code == 0, done.output
    event = json.loads((tmp_path / "openlineage" / "m.json").read_text())
    assert (event["inputs"][0]["namespace"], event["inputs"][0]["name"]) == ("snowflake://me", "dw.a")


def test_emit_gets_the_events(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One JSON text per event; no file is needed then."""
    emitted: list[bytes] = []
    monkeypatch.setattr(Session, "emit", lambda _, events: emitted.extend(events))
    assert run(spec, *HERE, "--emit").exit_code == 0
    assert [json.loads(text)["job"]["name"] for text in emitted] == ["m", "n"]


def test_an_error_of_the_delivery_is_told(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line with the prefix of all commands, with exit code 2."""

    def refuse(_: Session, events: list[bytes]) -> None:
        raise StoreUnavailable("the database is away")

    monkeypatch.setattr(Session, "emit", refuse)
    done = run(spec, *HERE, "--emit")
    assert (done.exit_code, done.stderr) == (2, "lineagelog: the database is away\n")


def test_a_database_url_never_becomes_part_of_a_name(spec: Path) -> None:
    """--database says where the store is, as in every command; the datasets' database has an option of its own."""
    done = run(spec, *HERE, "--naming", "database.schema", "--database", "postgresql://h/d", "--check")
    assert (done.exit_code, "needs the name of the database" in done.stderr) == (2, True)


def test_prose_transforms_are_listed(spec: Path) -> None:
    """The summary shows each transform in natural language with its job and column; pipes are none."""
    spec.write_text(SPEC.replace("x -> y }", 'x -> y { "Twice the price,\n rounded" | round(2) } }'))
    done = run(spec, *HERE, "--check")
    assert '  m: b.y: "Twice the price, rounded" | round(2)' in done.stdout
    summary = json.loads(run(spec, *HERE, "--check", "--json").stdout)
    assert summary["natural_language"] == [
        {"job": "m", "dataset": "b", "field": "y", "text": '"Twice the price, rounded" | round(2)'}
    ]


def test_a_schema_without_a_mapping_is_told_and_exported_on_request(spec: Path) -> None:
    """A note with its place, no problem; with --standalone-schemas it is a DatasetEvent."""
    spec.write_text(SPEC + 'schema lonely (note "Alone") { k INT }\n')
    done = run(spec, *HERE, "--check", "--strict")
    assert done.exit_code == 0
    assert f"note: {spec}:5: schema 'lonely' is named by no mapping and stands in no event" in done.stderr
    done = run(spec, *HERE, "--standalone-schemas", "--format", "ndjson")
    assert "note:" not in done.stderr
    (alone,) = [event for event in map(json.loads, done.stdout.splitlines()) if "dataset" in event]
    assert (alone["dataset"]["name"], alone["dataset"]["facets"]["documentation"]["description"]) == ("lonely", "Alone")


@contextmanager
def watching(*arguments: object) -> Iterator[Callable[[str], None]]:
    """The command with --watch as a process; the function waits for a line of its standard error."""
    command_line = ["export", "satsuma", *map(str, arguments), *HERE, "--watch"]
    with subprocess.Popen(
        [sys.executable, "-c", "from lineagelog.cli.app import main; main()", *command_line],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        told: list[str] = []

        def until(text: str) -> None:
            for line in process.stderr or ():
                told.append(line)
                if text in line:
                    return
            raise AssertionError("".join(told))

        try:
            yield until
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
        assert process.returncode == 130


def replace(path: Path, text: str) -> None:
    """Write a file so that nobody sees half of it: the watcher would export that too."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


@pytest.mark.long
def test_watch_exports_again_after_each_change(spec: Path, tmp_path: Path) -> None:
    """Also of an imported file, of one that was broken for a moment, and of one that was not there."""
    other, out = spec.parent / "other.stm", tmp_path / "out"
    spec.write_text('import { c } from "other.stm"\n' + SPEC + "mapping o { source { c } target { a } z -> x }\n")
    with watching(spec, "--out", out) as until:
        until("other.stm cannot be read")
        until("watching 2 specs")
        replace(other, "schema c { z INT }\n")
        until("watching 2 specs")
        assert set(snapshot(out)) == {"m.json", "n.json", "o.json", MANIFEST}
        replace(other, "schema c { z INT\n")
        until("is never closed")
        until("watching 2 specs")
        replace(other, 'schema c (note "New") { z INT }\n')
        until("watching 2 specs")
        text = json.loads(snapshot(out)["o.json"])["inputs"][0]["facets"]["documentation"]["description"]
        assert text == "New"


@pytest.mark.long
def test_watch_sees_new_files_of_a_folder(spec: Path, tmp_path: Path) -> None:
    """A folder stands for all its specs, those to come too."""
    out = tmp_path / "out"
    with watching(spec.parent, "--out", out) as until:
        until("watching 1 specs")
        replace(spec.parent / "z.stm", "schema z { v INT }\nmapping last { source { z } target { z } v -> v }\n")
        until("watching 2 specs")
        assert "last.json" in snapshot(out)


def test_the_help_has_every_option_and_examples() -> None:
    """--help is enough to use it."""
    text = run("--help").stdout
    for word in (
        "--dataset-namespace", "--job-namespace", "--naming", "--dataset-database", "--event-kind",
        "--event-time", "--database", "--data-dir", "--config", "--watch", "--retire", "--standalone-schemas",
        "--producer", "--consumer-namespace", "--standalone-consumers", "--format", "--out", "--engine",
        "--load", "--emit", "--check", "--strict", "--json", "Examples:", "Exit code",
        "OPENLINEAGE_URL", "OPENLINEAGE_API_KEY", "openlineage.yml",
    ):  # fmt: skip
        assert word in text, word


@pytest.mark.long
def test_a_benchmark_in_small() -> None:
    """The made-up workspace of the benchmark exports without a finding."""
    from benchmarks.satsuma_export import run as run_benchmark

    assert set(run_benchmark(120)) == {"read", "make events", "validate", "sum up and write", "in all"}


@pytest.mark.usefixtures("terminal")
def test_a_terminal_is_asked_about_the_schemas_that_no_pattern_settles(spec: Path, tmp_path: Path) -> None:
    """The question names them; what the patterns settle stays."""
    out = tmp_path / "events.ndjson"
    done = run(spec, "-d", "a=mysql://h", "--format", "ndjson", "--out", out, answers="snowflake://rest\n")
    assert "Dataset namespace of b (as in" in done.stderr
    event = json.loads(out.read_text().splitlines()[0])
    assert [event[side][0]["namespace"] for side in ("inputs", "outputs")] == [
        "mysql://h",
        "snowflake://rest",
    ]


def test_the_command_can_be_mounted_under_another() -> None:
    """As `export satsuma`."""
    import typer

    parent = typer.Typer()
    parent.add_typer(group, name="export")
    parent.command("other")(lambda: None)
    assert "--dataset-namespace" in CliRunner().invoke(parent, ["export", "satsuma", "--help"]).stdout
