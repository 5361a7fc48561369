"""`lineagelog report`: a file is written, or one line says why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support import Ran

WINDOW = ("--since", "2026-11-20", "--until", "2026-11-21")


def test_the_examples_as_a_report(run: Callable[..., Ran], tmp_path: Path) -> None:
    """It replaces what was there, leaves nothing beside it, and says what it wrote; the same again is the same file."""
    out = tmp_path / "report.html"
    out.write_text("old")
    assert run("load", "examples").code == 0
    done = run("report", "--out", str(out), *WINDOW, "--title", "Kestrel <shop>", "--analysis", "orphan-dataset")
    assert (done.code, done.out) == (0, "")
    assert done.err.endswith("23 jobs, 8 findings\n")
    document = out.read_bytes()
    assert b"<title>Kestrel &lt;shop&gt;" in document
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["report.html"]
    run("report", "--out", str(out), *WINDOW, "--title", "Kestrel <shop>", "--analysis", "orphan_dataset")
    assert out.read_bytes() == document


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--out", "/nowhere/at/all/r.html"), "--out: there is no folder /nowhere/at/all"),
        (("--out", "r.html", "--analysis", "nope"), "there is no analysis 'nope'"),
        (("--out", "r.html", "--analysis", "run_profile"), "--analysis takes those that find something by themselves"),
        (("--out", "r.html", "--analysis", "blast_radius"), "not blast_radius"),
        (("--out", "r.html", "--since", "soon"), "'soon' is no time"),
        ((), "--out"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(run: Callable[..., Ran], arguments: tuple[str, ...], says: str) -> None:
    """Before anything is read."""
    refused = run("report", *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert says in refused.err


@pytest.mark.long
def test_a_report_of_what_was_stopped_is_written(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no error; the file and a line each say what is missing."""
    assert run("load", "examples").code == 0
    monkeypatch.setenv("LINEAGELOG_ANALYSE__TIME_LIMIT", "0.001")
    done = run("report", "--out", str(tmp_path / "r.html"), *WINDOW, "--analysis", "late_run")
    assert done.code == 0
    assert "late_run was stopped after 0.001 s" in done.err
    assert "late_run was stopped after 0.001 s" in (tmp_path / "r.html").read_text()
