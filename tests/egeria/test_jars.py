"""The jars that run inside an Egeria daemon: the same from each build, nothing of Egeria's inside, in the wheel."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support import ROOT

CORE = "lineagelog-egeria-core.jar"
CONNECTOR = "lineagelog-egeria-connector.jar"
FOLDER = "lineagelog/egeria/jars/"
JAVA_17 = 61
"""Class-file version, https://docs.oracle.com/javase/specs/jvms/se17/html/jvms-4.html#jvms-4.1-200-B.2"""

pytestmark = pytest.mark.skipif(
    not (shutil.which("javac") and shutil.which("mvn")), reason="needs a JDK and Maven: javac and mvn on the PATH"
)


def _make(*targets: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(["make", *targets], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def jars() -> Path:
    made = _make("jar")
    assert made.returncode == 0, made.stdout + made.stderr
    return ROOT / "connector" / FOLDER


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sources, built from nothing in another folder; Maven runs all Java tests on the way."""
    copy = tmp_path_factory.mktemp("jars") / "jars"
    shutil.copytree(ROOT / "jars", copy, ignore=shutil.ignore_patterns("target"))
    command = ["mvn", "-q", "-B", "-f", str(copy / "pom.xml"), "verify"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-4000:]
    return copy


def _digest(jar: Path) -> str:
    return hashlib.sha256(jar.read_bytes()).hexdigest()


def _classes(jar: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(jar) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.endswith(".class")}


@pytest.mark.long
def test_two_builds_give_the_same_bytes(jars: Path, elsewhere: Path) -> None:
    """The folder and the time of a build leave no trace in a jar."""
    assert _digest(jars / CORE) == _digest(elsewhere / "core" / "target" / CORE)
    assert _digest(jars / CONNECTOR) == _digest(elsewhere / "connector" / "target" / CONNECTOR)


@pytest.mark.long
def test_java_tests_ran(elsewhere: Path) -> None:
    """Queues, listener and messages are tested, and the connector in the shape of both versions of Egeria."""
    reports = {path.name for path in elsewhere.rglob("TEST-*.xml")}
    for suite in ("EventQueueTest", "BridgeTest", "connector.ListenerTest", "standin.Era43Test", "standin.Era60Test"):
        assert f"TEST-io.github.lineagelog.egeria.{suite}.xml" in reports


def test_jar_is_made_once(jars: Path) -> None:
    """Without a change of the sources `make jar` has nothing to do; after a change of one it has."""
    assert (jars / CORE).is_file()
    assert _make("-q", "jar").returncode == 0
    source = next((ROOT / "jars" / "core" / "src" / "main").rglob("Bridge.java"))
    assert _make("-q", "-W", str(source.relative_to(ROOT)), "jar").returncode == 1


def test_jars_hold_our_classes_only(jars: Path) -> None:
    """Nothing of Egeria's, nothing that stands in for it, and no class twice: all else comes from the platform."""
    core, connector = _classes(jars / CORE), _classes(jars / CONNECTOR)
    package = "io/github/lineagelog/egeria/"
    assert {name.removeprefix(package).partition("/")[0] for name in connector} == {"connector", "v4", "v6"}
    assert all(name.startswith(package) and "/" not in name.removeprefix(package) for name in core)
    assert not core.keys() & connector.keys()
    for jar in (CORE, CONNECTOR):
        with zipfile.ZipFile(jars / jar) as archive:
            files = {name for name in archive.namelist() if not name.endswith(("/", ".class"))}
        assert files == {"META-INF/MANIFEST.MF"}


def test_jars_run_on_java_17(jars: Path) -> None:
    """Every class file has the version of Java 17, whatever JDK built it."""
    classes = _classes(jars / CORE) | _classes(jars / CONNECTOR)
    assert len(classes) > 20
    versions = {name: struct.unpack(">IHH", content[:8])[2] for name, content in classes.items()}
    assert set(versions.values()) == {JAVA_17}


@pytest.mark.long
def test_wheel_and_source_archive_carry_the_jars(jars: Path, tmp_path: Path) -> None:
    """A wheel holds both jars as they are, also from the source archive, which holds the Java sources, too."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    (source,) = tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        for jar in (CORE, CONNECTOR):
            assert archive.read(FOLDER + jar) == (jars / jar).read_bytes()
        assert not [name for name in archive.namelist() if name.endswith((".java", "pom.xml"))]
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"jars/pom.xml", f"connector/{FOLDER}{CORE}"} <= names
    assert not [name for name in names if "/target/" in name]


def test_without_java_the_message_is_clear(tmp_path: Path) -> None:
    """`make jar` says in one line what is missing and ends with an error."""
    for tool in ("bash", "find", "grep", "make"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    source = next((ROOT / "jars" / "core" / "src" / "main").rglob("Bridge.java"))
    made = subprocess.run(
        ["make", "-W", str(source.relative_to(ROOT)), "jar"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 2
    assert made.stderr.startswith("make jar needs a JDK (17 or newer) and Maven")
