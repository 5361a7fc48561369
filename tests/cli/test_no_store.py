"""Where nothing was ever stored: a command that only reads says so, and starts and makes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import encode, event, run_here, run_process

READING = [
    ("list", "runs"),
    ("list", "events", "--raw"),
    ("show", "r1"),
    ("status",),
    ("analyse", "lineage-drift"),
    ("store", "verify"),
    ("store", "rebuild"),
    ("store", "purge", "--older-than", "90d", "--dry-run"),
    ("dead-letters", "list"),
    ("dead-letters", "show", "1"),
    ("dead-letters", "retry"),
    ("tokens", "list"),
    ("tokens", "revoke", "1"),
    ("forward", "status"),
    ("forward", "copy.ndjson", "--dry-run"),
    ("forward", "copy.ndjson"),
    ("forward", "parked", "list"),
]


@pytest.mark.parametrize("words", READING, ids=" ".join)
@pytest.mark.parametrize("is_there", [False, True], ids=["no folder", "an empty folder"])
def test_nothing_is_made_to_read_it(
    words: tuple[str, ...], is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line that names the place and what begins a store there, exit code 2, and no file."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "data"
    if is_there:
        place.mkdir()
    ran = run_here(*words, "--data-dir", str(place))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"lineagelog: there is no store yet in {place}: `lineagelog serve` or `lineagelog load`")
    assert ran.err.count("\n") == 1
    assert list(tmp_path.rglob("*")) == ([place] if is_there else [])


def test_the_doctor_reports_it(tmp_path: Path) -> None:
    """As a finding, with what to do."""
    ran = run_here("doctor", "--json", "--data-dir", str(tmp_path / "data"))
    (check,) = ran.json["checks"]
    assert (ran.code, check["observed"]) == (1, f"there is none yet in {tmp_path / 'data'}")
    assert "`lineagelog serve`" in check["advice"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_reading_makes_no_tables(data_dir: Path) -> None:
    """Once there is a store it is read; a schema that is not in it is not made by looking for it."""
    here = {"LINEAGELOG_DATA_DIR": str(data_dir)}
    assert run_process("load", "-", stdin=encode(event("r1")), **here).code == 0
    for _ in range(2):
        ran = run_process("list", "runs", "--schema", "other", **here)
        assert (ran.code, "run `lineagelog store init`" in ran.err) == (2, True), ran.err
    assert [row["run_id"] for row in run_process("list", "runs", "--json", **here).rows] == ["r1"]


@pytest.mark.long
def test_a_token_begins_a_store(data_dir: Path) -> None:
    """`serve --host` wants one first: making it needs no store from before."""
    here = {"LINEAGELOG_DATA_DIR": str(data_dir)}
    assert run_process("tokens", "create", "airflow", **here).code == 0
    assert [row["name"] for row in run_process("tokens", "list", "--json", **here).rows] == ["airflow"]


@pytest.mark.parametrize("name", ["cluster", "PG_VERSION"])
def test_what_is_no_cluster_of_ours_is_named(name: str, tmp_path: Path) -> None:
    """A folder or file in the way is no store, and is not taken for one that was never made."""
    (tmp_path / name).mkdir()
    ran = run_here("list", "runs", "--data-dir", str(tmp_path))
    assert (ran.code, str(tmp_path) in ran.err, ran.err.count("\n")) == (2, True, 1)
    assert "no store yet" not in ran.err
