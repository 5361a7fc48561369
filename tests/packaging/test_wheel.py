"""The built wheel is what users install: it holds all that the package needs, and its command runs."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fresh environment with the wheel; its dependencies are those of the environment that runs the tests."""
    venv = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = venv / "bin" / "python"
    uv = Path(sys.executable).parent / "uv"
    subprocess.run([uv, "pip", "install", "--quiet", "--no-deps", "--offline", "--python", python, wheel], check=True)
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    dependencies = sysconfig.get_path("purelib")
    lines = [path for path in Path(dependencies).glob("*") if "lineagelog" not in path.name.lower()]
    for path in lines:  # one by one: the editable install of this repository must stay out
        if path.suffix != ".pth" and not (Path(site) / path.name).exists():
            (Path(site) / path.name).symlink_to(path)
    yield venv


def test_wheel_holds_what_the_package_reads(wheel: Path) -> None:
    """Statements, settings, schemas, licence and type marker are inside; tests and sources of others are not."""
    names = set(zipfile.ZipFile(wheel).namelist())
    for wanted in (
        "lineagelog/py.typed",
        "lineagelog/sql/analyses/lineage_drift.sql",
        "lineagelog/sql/schema.sql",
        "lineagelog/sql/write.sql",
        "lineagelog/sql/window.sql",
        "lineagelog/sql/purge.sql",
        "lineagelog/config/lineagelog.toml",
        "lineagelog/spec/schemas/OpenLineage.json",
        "lineagelog/spec/schemas/facets/SchemaDatasetFacet.json",
        "lineagelog/export/satsuma/schemas/SatsumaGovernanceDatasetFacet.json",
        "lineagelog/export/snaplogic/documented.schema.json",
    ):
        assert wanted in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("licenses/NOTICE") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


def test_command_of_the_wheel_runs(installed: Path) -> None:
    """The installed command answers, from the wheel and not from this repository."""
    where = [installed / "bin" / "python", "-c", "import lineagelog; print(lineagelog.__file__)"]
    assert str(installed) in subprocess.run(where, check=True, capture_output=True, text=True).stdout
    answer = subprocess.run([installed / "bin" / "lineagelog", "--help"], check=True, capture_output=True, text=True)
    assert "load" in answer.stdout


def test_wheel_makes_and_fills_a_store(installed: Path, database_url: str) -> None:
    """Create, load and list with nothing but the installed wheel."""
    command = installed / "bin" / "lineagelog"
    event = (
        b'{"eventType":"COMPLETE","eventTime":"2026-11-20T08:00:00Z","run":{"runId":"from-the-wheel"},'
        b'"job":{"namespace":"prod","name":"load"}}\n'
    )
    options = ["--database", database_url]
    subprocess.run([command, "store", "init", *options], check=True, capture_output=True)
    loaded = subprocess.run([command, "load", "-", *options], check=True, capture_output=True, input=event)
    assert b"read 1 stored 1 duplicate 0 expired 0 dead 0" in loaded.stdout + loaded.stderr
    listed = subprocess.run(
        [command, "list", "runs", "--since", "2026-11-20", "--until", "2026-11-21", "--json", *options],
        check=True,
        capture_output=True,
    )
    assert b"from-the-wheel" in listed.stdout
