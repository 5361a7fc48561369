"""The built wheel is what users install: it holds all that the package needs, and its command runs."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import hatch_build
import pytest

from tests.support import ROOT

BUILD = [sys.executable, "-m", "build", "--wheel", "--no-isolation", str(ROOT), "--outdir"]
FORMS, TYPES = "lineagelog/_compiled.abi3.so", "lineagelog/_compiled.pyi"


def build_wheel(out: Path, **environment: str) -> tuple[Path, str]:
    """The wheel as `make wheel` builds it, and what building said."""
    done = subprocess.run([*BUILD, str(out)], env=os.environ | environment, check=True, capture_output=True, text=True)
    (built,) = out.glob("*.whl")
    return built, done.stdout + done.stderr


def in_wheel(wheel: Path, name: str) -> str:
    """A text file of the wheel's metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(held for held in archive.namelist() if held.endswith(f".dist-info/{name}"))).decode()


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("dist"))[0]


@pytest.fixture(scope="module")
def pure_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("dist"), LINEAGELOG_PURE="1")[0]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(wheel, tmp_path_factory.mktemp("venv"))


def install(wheel: Path, venv: Path) -> Path:
    """A fresh environment with the wheel; its dependencies are those of the environment that runs the tests."""
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
    return venv


def status_of(venv: Path) -> str:
    """Whether the installation in an environment has the compiled forms, in its own words."""
    environment = {name: value for name, value in os.environ.items() if name != "LINEAGELOG_PURE"}
    command = [venv / "bin" / "python", "-c", "from lineagelog import compiled; print(compiled.status)"]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


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


# --- compiled forms -----------------------------------------------------------------------------------------------


def test_wheel_has_the_compiled_forms_where_cargo_is(wheel: Path, installed: Path) -> None:
    """They are inside once and in use, and the wheel says: this platform, any Python from 3.12 on."""
    try:
        hatch_build.build()
    except hatch_build.CannotBuildError as error:
        pytest.skip(f"native/ could not be built: {error}")
    assert "-cp312-abi3-" in wheel.name
    assert not wheel.stem.endswith("-any")
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if "/_compiled" in name and name != TYPES] == [FORMS]
    assert "Root-Is-Purelib: false" in in_wheel(wheel, "WHEEL")
    assert status_of(installed) == "in use"


def test_library_names_no_folder_of_the_machine_that_built_it() -> None:
    """Neither the checkout nor the home folder is in it, so that it does not depend on them."""
    try:
        library = hatch_build.build().read_bytes()
    except hatch_build.CannotBuildError as error:
        pytest.skip(f"native/ could not be built: {error}")
    if "RUSTFLAGS" in os.environ:
        pytest.skip("RUSTFLAGS takes the place of our flags")
    assert str(ROOT).encode() not in library
    assert str(Path.home() / ".cargo").encode() not in library


def test_pure_wheel_on_request(pure_wheel: Path, tmp_path: Path) -> None:
    """`LINEAGELOG_PURE=1` gives the wheel for every platform, which works and says what it is."""
    assert pure_wheel.name.endswith("-py3-none-any.whl")
    assert FORMS not in zipfile.ZipFile(pure_wheel).namelist()
    assert "Root-Is-Purelib: true" in in_wheel(pure_wheel, "WHEEL")
    assert status_of(install(pure_wheel, tmp_path)).startswith("not in this installation")


def folder_with_cargo(folder: Path, script: str | None) -> str:
    """A PATH whose cargo runs the script, or that has none."""
    if script is not None:
        cargo = folder / "cargo"
        cargo.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        cargo.chmod(0o755)
    return f"{folder}:/usr/bin:/bin" if script is not None else str(folder)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "cargo (Rust) is not installed"),
        ("echo warning: old >&2; echo 'error: no crates here' >&2; exit 101", "ended with 101: error: no crates here"),
        ("exit 1", "ended with 1: it said nothing"),
    ],
)
def test_without_a_working_cargo_the_wheel_is_pure_and_one_line_says_so(
    tmp_path: Path, script: str | None, reason: str
) -> None:
    """Missing or failing, it stands in nobody's way."""
    (tmp_path / "bin").mkdir()
    built, said = build_wheel(tmp_path / "dist", PATH=folder_with_cargo(tmp_path / "bin", script))
    assert built.name.endswith("-py3-none-any.whl")
    assert FORMS not in zipfile.ZipFile(built).namelist()
    (line,) = [line for line in said.splitlines() if "compiled forms" in line]
    assert "pure Python" in line
    assert reason in line


def test_build_that_must_be_compiled_fails_without_cargo(tmp_path: Path) -> None:
    """`LINEAGELOG_COMPILED=1` is for those who publish: a wheel that is silently slower is none."""
    environment = os.environ | {"LINEAGELOG_COMPILED": "1", "PATH": str(tmp_path)}
    done = subprocess.run([*BUILD, str(tmp_path / "dist")], env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert "the compiled forms cannot be built: cargo (Rust) is not installed" in done.stdout + done.stderr
    assert not list(tmp_path.glob("dist/*.whl"))


def test_editable_install_builds_nothing(tmp_path: Path) -> None:
    """What `make run` installs calls no compiler."""
    (tmp_path / "bin").mkdir()
    path = folder_with_cargo(tmp_path / "bin", f"touch {tmp_path / 'called'}; exit 1")
    command = [sys.executable, "-c", "import sys; from hatchling.build import build_editable as b; b(sys.argv[1])"]
    subprocess.run([*command, tmp_path], cwd=ROOT, env=os.environ | {"PATH": path}, check=True, capture_output=True)
    assert list(tmp_path.glob("*.whl"))
    assert not (tmp_path / "called").exists()
