"""`lineagelog analyse`: findings for people and for programs."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from tests.analysis.support import dataset, day, run

if TYPE_CHECKING:
    from collections.abc import Callable

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
    told = drifted("analyse", "lineage-drift", *WINDOW, "--json", "--exit-code")
    assert told.code == 1
    (row,) = told.rows
    assert (row["subject_name"], row["dataset_name"], row["n"], len(row["run_ids"])) == ("load", "b", 10, 2)
    (entry,) = csv.DictReader(io.StringIO(drifted("analyse", "schema-drift", *WINDOW, "--csv").out))
    assert (entry["severity"], entry["detail"]) == ("high", "id: int → text")
    assert drifted("analyse", "column-lineage-drift", *WINDOW, "--exit-code").code == 0


def test_blast_radius_of_a_dataset_and_of_a_run(drifted: Callable[..., Ran]) -> None:
    """Both ways in; without a start, one line says so."""
    found = drifted(
        "analyse", "blast-radius", "--dataset", "b", "--dataset-namespace", "postgres://db:5432",
        "--since", "2026-03-01", "--until", "2026-04-01", "--json",
    )  # fmt: skip
    assert [(row["subject_name"], row["depth"], row["n"]) for row in found.rows] == [("x", 1, 5)]
    missing = drifted("analyse", "blast-radius")
    assert (missing.code, missing.out) == (2, "")
    assert missing.err == "lineagelog: blast_radius starts with one of dataset and run_id: give one of them\n"


def test_a_bad_history_is_one_line(drifted: Callable[..., Ran]) -> None:
    """It says what would be right."""
    refused = drifted("analyse", "lineage-drift", "--history", "soon")
    assert refused.code == 2
    assert "'30 days'" in refused.err
