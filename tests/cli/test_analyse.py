"""`lineagelog analyse`: findings for people and for programs."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from lineagelog.analysis import analyses
from tests.analysis.support import dataset, day, run
from tests.support import COMMAND, PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support import Ran

WINDOW = ("--since", "2026-03-06", "--until", "2026-03-12")


@pytest.fixture
def drifted(run_command: Callable[..., Ran]) -> Callable[..., Ran]:
    """A store in which the job load lost an input on 6 March."""
    old = dataset("x", columns={"id": "int"})
    new = dataset("x", columns={"id": "text"})
    runs = [
        *(run("load", day(each), [dataset("a"), dataset("b")], [old]) for each in range(5)),
        *(run("load", day(each), [dataset("a")], [new]) for each in range(5, 10)),
    ]
    lines = b"".join(json.dumps(event).encode() + b"\n" for events in runs for event in events)
    assert run_command("load", "-", stdin=lines).code == 0
    return run_command


@pytest.fixture
def run_command(run: Callable[..., Ran]) -> Callable[..., Ran]:  # the fixture of this folder
    """The fixture `run` under a name that leaves `run` to the runs of jobs."""
    return run


def test_findings_as_lines_as_json_and_as_csv(drifted: Callable[..., Ran]) -> None:
    """A pipe gets tabs; JSON and CSV have everything; the exit code tells only where asked."""
    plain = drifted("analyse", "lineage-drift", *WINDOW)
    assert plain.code == 0
    header, line = plain.out.splitlines()
    assert header.split("\t") == ["severity", "change", "first_seen", "explanation"]
    assert line.startswith("medium\tvanished input\t2026-03-08T00:00:00Z\ttests/load no longer has the input")
    told = drifted("analyse", "lineage-drift", *WINDOW, "--json", "--fail-on", "medium")
    assert told.code == 1
    document = told.json
    assert document["analysis"] == "lineage_drift"
    assert document["window"] == {"from": "2026-03-06T00:00:00Z", "to": "2026-03-12T00:00:00Z"}
    assert (document["results"], document["insufficient"]) == ([], 0)
    (finding,) = document["findings"]
    assert finding["subject"] == {"kind": "job", "namespace": "tests", "name": "load"}
    assert (finding["status"], finding["dataset_name"], finding["n"], len(finding["run_ids"])) == ("OPEN", "b", 10, 2)
    (entry,) = csv.DictReader(io.StringIO(drifted("analyse", "schema-drift", *WINDOW, "--csv").out))
    assert (entry["severity"], entry["detail"]) == ("high", "id: int → text")
    assert json.loads(entry["values"])["is_breaking"] is True
    assert drifted("analyse", "lineage-drift", *WINDOW, "--fail-on", "high").code == 0
    assert drifted("analyse", "column-lineage-drift", *WINDOW, "--fail-on", "low").code == 0


def test_several_analyses_at_once(drifted: Callable[..., Ran]) -> None:
    """A list of documents in the order of the names; --all asks what needs no parameter."""
    both = drifted("analyse", "schema_drift", "lineage-drift", *WINDOW, "--json").json
    assert [document["analysis"] for document in both] == ["schema_drift", "lineage_drift"]
    every = drifted("analyse", "--all", *WINDOW, "--json").json
    assert {document["analysis"] for document in every} == {
        analysis.name for analysis in analyses().values() if not analysis.one_of
    }
    header, *lines = drifted("analyse", "--all", *WINDOW).out.splitlines()
    assert header.split("\t")[0] == "analysis"
    assert {line.split("\t")[0] for line in lines} >= {"lineage_drift", "schema_drift"}
    question = analyses()["run_profile"].question
    assert lines[lines.index(f"run_profile: {question}") + 1].startswith("subject_kind\t")  # a title over each table


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("schema_drift", "--depth", "3"), "--depth is no parameter of schema_drift"),
        ((), "name an analysis, or give --all; there are "),
        (("schema_drift", "--all"), "name analyses, or give --all"),
        (("nope",), "there is no analysis 'nope'; there are "),
        (("schema_drift", "--fail-on", "some"), "--fail-on takes low, medium, high, critical, not 'some'"),
        (("run_profile", "lineage_drift", "--history", "soon"), "history of run_profile is one of digest, events, not"),
        (("quality_summary", "--as-of", "2026-03-01"), "as_of of quality_summary is the end of the window"),
        (("lineage_drift", "--runs", "0"), "runs of lineage_drift is a number from 1 to 9999, not '0'"),
    ],
)
def test_what_cannot_be_asked_is_said(drifted: Callable[..., Ran], arguments: tuple[str, ...], says: str) -> None:
    """In one line, before the log is asked."""
    refused = drifted("analyse", *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert says in refused.err
    assert refused.err.count("\n") == 1


@pytest.mark.long
def test_all_of_the_log_and_parquet(drifted: Callable[..., Ran], tmp_path: Path) -> None:
    """`--since all` has no start; Parquet goes to where the output is redirected."""
    document = drifted("analyse", "lineage_drift", "--since", "all", "--until", "2026-03-12", "--json").json
    assert document["window"] == {"from": None, "to": "2026-03-12T00:00:00Z"}
    assert [finding["change"] for finding in document["findings"]] == ["vanished input"]
    silent = drifted("analyse", "column_lineage_drift", "--since", "all", "--until", "2026-03-12")
    assert silent.err == "nothing found from the beginning to 2026-03-12 00:00 UTC\n"
    with (tmp_path / "findings.parquet").open("wb") as out:
        done = subprocess.run([COMMAND, "analyse", "schema_drift", *WINDOW, "--parquet"], stdout=out, timeout=PATIENCE)
    (row,) = pq.read_table(tmp_path / "findings.parquet").to_pylist()
    assert (done.returncode, row["subject_name"], row["severity"]) == (0, "x", "high")
    both = drifted("analyse", "schema_drift", "--csv", "--parquet")
    assert (both.code, both.err) == (2, "lineagelog: --csv and --parquet exclude each other\n")


def test_tables_and_both_meanings_of_history(drifted: Callable[..., Ran]) -> None:
    """A profile is read from the events, beside a drift that keeps its span; a table shows what matters of each job."""
    table, drift = drifted("analyse", "run_profile", "lineage_drift", "--history", "events", *WINDOW, "--json").json
    assert (table["findings"], len(drift["findings"])) == ([], 1)
    (result,) = table["results"]
    assert (result["subject"]["name"], result["properties"]["runsInWindow"]) == ("load", "5")
    header, line = drifted("analyse", "run_profile", *WINDOW).out.splitlines()
    assert header.startswith("subject_kind\tsubject_namespace\tsubject_name\trunsInWindow\tfailureRate")
    assert line == "job\ttests\tload\t5\t0.00\tDAILY\t1 days 0 hours\t10 minutes 0 seconds"


def test_what_there_is_to_ask(drifted: Callable[..., Ran]) -> None:
    """With the options that each takes."""
    rows = {row["name"]: row for row in drifted("analyses", "--json").rows}
    assert set(rows) == set(analyses())
    assert rows["lineage_drift"]["parameters"] == "--history --runs"


def test_an_analysis_stops_at_its_time_limit(drifted: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says which, and what to do."""
    monkeypatch.setenv("LINEAGELOG_ANALYSE__TIME_LIMIT", "0.001")
    stopped = drifted("analyse", "lineage_drift", *WINDOW)
    assert (stopped.code, stopped.out) == (2, "")
    assert "lineage_drift was stopped after 0.001 s: take a shorter window or history" in stopped.err


def test_blast_radius_of_a_dataset_and_of_a_run(drifted: Callable[..., Ran]) -> None:
    """Both ways in; without a start, one line says so."""
    found = drifted(
        "analyse", "blast-radius", "--dataset", "b", "--dataset-namespace", "postgres://db:5432",
        "--since", "2026-03-01", "--until", "2026-04-01", "--json",
    )  # fmt: skip
    assert [(row["subject"]["name"], row["depth"], row["n"]) for row in found.json["findings"]] == [("x", 1, 5)]
    missing = drifted("analyse", "blast-radius")
    assert (missing.code, missing.out) == (2, "")
    assert missing.err == "lineagelog: blast_radius starts with one of dataset and run_id: give one of them\n"


def test_a_bad_history_is_one_line(drifted: Callable[..., Ran]) -> None:
    """It says what would be right."""
    refused = drifted("analyse", "lineage-drift", "--history", "soon")
    assert refused.code == 2
    assert "'30 days'" in refused.err
