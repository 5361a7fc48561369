"""`lineagelog analyse --record`, `findings` and `explain`: what is kept, for people and for programs."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from tests.analysis.support import day, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support import Ran

WINDOW = ("--since", "2026-03-10", "--until", "2026-03-17")


@pytest.fixture
def run_command(run: Callable[..., Ran]) -> Callable[..., Ran]:  # the fixture of this folder
    """The fixture `run` under a name that leaves `run` to the runs of jobs."""
    return run


@pytest.fixture
def failing(run_command: Callable[..., Ran]) -> Callable[..., Ran]:
    """A store in which the job load fails since 11 March."""
    runs = [run("load", day(each), [], [], **({"eventType": "FAIL"} if each > 9 else {})) for each in range(16)]
    lines = b"".join(json.dumps(event).encode() + b"\n" for events in runs for event in events)
    assert run_command("load", "-", stdin=lines).code == 0
    return run_command


def test_record_list_show_and_explain(failing: Callable[..., Ran]) -> None:
    """Without --record nothing is kept; with it the same document, its status, and the runs and events behind it."""
    told = failing("analyse", "failure_streak", *WINDOW, "--json")
    (finding,) = told.json["findings"]
    assert failing("findings", "list", "--json").rows == []
    assert failing("explain", finding["finding_id"], *WINDOW, "--json").json["finding"] == finding
    assert failing("explain", finding["finding_id"]).code == 2
    recorded = failing("analyse", "failure_streak", *WINDOW, "--json", "--record")
    assert recorded.json == told.json
    assert recorded.err == "failure_streak: 1 opened, 0 reopened, 0 closed, 1 found\n"
    (row,) = failing("findings", "list", "--json").rows
    assert {name: row[name] for name in finding} == finding
    assert (row["reopened"], row["closed_at"], row["muted_by"], row["parameters"]) == (0, None, None, {})
    assert failing("findings", "show", row["finding_id"], "--json").json == row
    shown = failing("findings", "show", row["finding_id"])
    assert "job tests/load" in shown.out
    explained = failing("explain", row["finding_id"], "--json").json
    assert explained["finding"] == row
    assert [each["run_id"] for each in explained["runs"]] == row["run_ids"]
    assert [each["event_type"] for each in explained["runs"][0]["events"]] == ["START", "FAIL"]
    assert explained["runs"][0]["jobs"][0]["outcome"] == "FAIL"
    text = failing("explain", row["finding_id"])
    assert text.code == 0
    assert f"run {row['run_ids'][0]}" in text.out


def test_what_people_say_and_exit_codes(failing: Callable[..., Ran]) -> None:
    """An acknowledged one is open; a muted one is suppressed, and no reason to fail; what is unknown is named."""
    failing("analyse", "failure_streak", *WINDOW, "--record")
    (row,) = failing("findings", "list", "--json").rows
    key = row["finding_id"]
    assert failing("findings", "list", "--fail-on", "low").code == 1
    assert (
        failing("findings", "ack", key, "--by", "ada", "--why", "in work", "--until", "7d").out
        == "1 finding acknowledged\n"
    )
    header, line = failing("findings", "list").out.splitlines()
    assert header.split("\t")[:3] == ["finding_id", "status", "severity"]
    assert "acknowledged by ada until" in line
    assert failing("findings", "mute", key, "--by", "ben").out == "1 finding muted\n"
    assert failing("findings", "list", "--json").rows == []
    assert failing("findings", "list", "--status", "all", "--fail-on", "low").code == 0
    (muted,) = failing("findings", "list", "--status", "suppressed", "--json").rows
    assert (muted["status"], muted["acknowledged_why"], muted["muted_by"]) == ("SUPPRESSED", "in work", "ben")
    failing("findings", "unmute", key)
    (row,) = csv.DictReader(io.StringIO(failing("findings", "list", "--csv").out))
    assert (row["finding_id"], row["status"], row["subject_name"]) == (key, "OPEN", "load")
    unknown = "00000000-0000-0000-0000-000000000000"
    for command in ("show", "ack", "mute", "unmute"):
        refused = failing("findings", command, unknown)
        assert refused.code == 2
        assert f"there is no finding {unknown}" in refused.err
    assert "no id of a finding" in failing("findings", "show", "x").err
    assert "--status takes" in failing("findings", "list", "--status", "new").err
    assert "--severity takes" in failing("findings", "list", "--severity", "worst").err
    assert "lies in the past" in failing("findings", "mute", key, "--until", "2020-01-01").err
    assert "--record goes by the end" in failing("analyse", "failure_streak", "--record", "--as-of", "now").err
