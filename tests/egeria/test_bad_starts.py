"""What cannot be started is told in one line, with exit code 2."""

from __future__ import annotations

import logging
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from lineagelog.egeria import launch
from lineagelog.egeria.java import find_java
from lineagelog.egeria.launch import CONNECTOR_JAR, CORE_JAR, plan_launch
from lineagelog.errors import DaemonError
from tests.support import Ran, run_here, run_process

from .standin import MAIN


def jar(path: Path, *entries: str, manifest: str = "") -> Path:
    """A jar with empty entries."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in entries:
            archive.writestr(name, b"")
        archive.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\n{manifest}\r\n")
    return path


def script(path: Path, text: str) -> Path:
    """A command."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def the_line(ran: Ran) -> str:
    lines = [line for line in ran.err.splitlines() if not line.startswith("SLF4J")]
    assert (ran.code, len(lines)) == (2, 1), ran
    assert lines[0].startswith("lineagelog: ")
    return lines[0].removeprefix("lineagelog: ")


@pytest.fixture
def refused(platforms: Path) -> Callable[..., str]:
    """Run `lineagelog daemon` with these options; what it said in its one line."""
    return lambda *options, **variables: the_line(run_process("daemon", "--log-level", "error", *options, **variables))


@pytest.fixture
def refused_before(platforms: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """The same in this process, for what is refused before there is a JVM."""
    configure, handlers = structlog.configure, logging.root.handlers[:]
    monkeypatch.setattr(
        structlog, "configure", lambda **given: configure(**given | {"cache_logger_on_first_use": False})
    )

    def run(*options: str, **variables: str) -> str:
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            return the_line(run_here("daemon", "--log-level", "error", *options))

    yield run
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers


def test_platforms_that_are_none(refused_before: Callable[..., str], tmp_path: Path, platforms: Path) -> None:
    """No platform, a path that is not there, a file that is no jar, a folder without one."""
    (tmp_path / "garbage.jar").write_bytes(b"PK\x03\x04 garbage")
    (tmp_path / "empty").mkdir()
    assert refused_before() == "there is no platform to start: --platform PATH, or platform in [daemon]"
    assert refused_before("--platform", "/nowhere") == "the platform cannot be started: /nowhere is not there"
    assert refused_before("--platform", str(tmp_path / "garbage.jar")).endswith(
        "garbage.jar cannot be used: it is not a jar"
    )
    assert refused_before("--platform", str(tmp_path / "empty")).endswith("empty holds no jar")


def test_a_main_class_that_is_not_there(refused: Callable[..., str], platforms: Path) -> None:
    """It is named, with what Java says."""
    said = refused("--platform", str(platforms / "6.0" / "lib"), "--main-class", "no.Such")
    assert said == "the platform's main class no.Such cannot be used: java.lang.ClassNotFoundException: no.Such"


@pytest.mark.long
def test_main_classes_that_are_none(refused: Callable[..., str], tmp_path: Path, platforms: Path) -> None:
    """None known, one without main, one that a class is missing for, one that throws, one that is not in the jar."""
    lib = str(platforms / "6.0" / "lib")
    assert refused("--platform", lib).endswith("has no main class in a manifest: set main_class in [daemon]")
    said = refused("--platform", lib, "--main-class", "java.lang.String")
    assert said.startswith("the platform's main class java.lang.String cannot be used: java.lang.NoSuchMethodException")
    shutil.copytree(lib, tmp_path / "lib")
    for each in (tmp_path / "lib").glob("jackson-databind*"):
        each.unlink()
    said = refused("--platform", str(tmp_path / "lib"), "--main-class", MAIN)
    assert (said.startswith("the platform failed: java.lang.NoClassDefFoundError"), "jackson" in said) == (True, True)
    (tmp_path / "config.json").write_text('{"failStart": "the port 9443 is in use"}')
    said = refused("--platform", lib, "--main-class", MAIN, "--", str(tmp_path / "config.json"))
    assert said == "the platform failed: java.lang.IllegalStateException: the port 9443 is in use"
    said = refused("--platform", str(platforms / "6.0" / "platform.jar"), "--main-class", "no.Such")
    assert (said.startswith("the platform failed: "), "no.Such" in said) == (True, True)


def test_javas_that_are_none(refused_before: Callable[..., str], tmp_path: Path, platforms: Path) -> None:
    """No Java at all, one that is too old, one that does not start, something else."""
    platform = ("--platform", str(platforms / "6.0" / "platform.jar"))
    said = refused_before(*platform, PATH=str(tmp_path), JAVA_HOME="")
    assert said == "there is no Java: set java in [daemon], JAVA_HOME or PATH (17 or newer)"
    assert refused_before(*platform, JAVA_HOME="/nowhere") == "JAVA_HOME: there is no Java at /nowhere"
    for version, number in (("1.8.0_402", 8), ("11.0.22", 11), ("16", 16)):
        old = script(tmp_path / version / "bin" / "java", f"echo 'openjdk version \"{version}\"' >&2")
        said = refused_before(*platform, "--java", str(old.parent.parent))
        assert said == f"Java {number} at {old} (java of [daemon]) is too old: 17 or newer is needed"
    broken = script(tmp_path / "broken", "echo 'error while loading shared libraries: libjli.so' >&2; exit 127")
    said = refused_before(*platform, "--java", str(broken))
    assert said.endswith("does not start: error while loading shared libraries: libjli.so")
    other = script(tmp_path / "other", "echo hello")
    assert refused_before(*platform, "--java", str(other)).endswith("is no Java: it does not tell its version")
    half = script(tmp_path / "half" / "bin" / "java", "echo 'openjdk version \"21\"' >&2")
    assert "a full JRE or JDK is needed" in refused_before(*platform, "--java", str(half.parent.parent))


def test_a_jvm_that_does_not_start(refused_before: Callable[..., str], platforms: Path) -> None:
    """Options that it refuses, more memory than there is: its own first words, instead of its exit."""
    platform = ("--platform", str(platforms / "6.0" / "platform.jar"))
    for option, expected in (
        ("-Xmx1", "Too small maximum heap"),
        ("-XX:+NoSuchOption", "Unrecognized VM option 'NoSuchOption'"),
        ("--no-such-option=1", "Unrecognized option: --no-such-option=1"),
        ("-cp", "jvm_options of [daemon]: '-cp' is no option of the JVM (-X…, -Dname=value, --name=value)"),
        ("--add-opens", "'--add-opens' is no option of the JVM"),
        ("-agentlib:nothing", "Could not find agent library nothing on the library path"),
    ):
        assert expected in refused_before(*platform, LINEAGELOG_DAEMON__JVM_OPTIONS=f'["{option}"]')


def test_a_library_that_is_no_jvm(refused: Callable[..., str], tmp_path: Path, platforms: Path) -> None:
    """libjvm is not what it should be: what the loader says of it."""
    fake = script(tmp_path / "jdk" / "bin" / "java", "echo 'openjdk version \"17\"' >&2")
    library = tmp_path / "jdk" / "lib" / "server" / "libjvm.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"no library")
    said = refused("--platform", str(platforms / "6.0" / "platform.jar"), "--java", str(fake.parent.parent))
    assert said.startswith(f"the JVM of {tmp_path / 'jdk'} cannot be started: ")


def test_jpype_that_is_missing(refused: Callable[..., str], tmp_path: Path) -> None:
    """The extra to install is named."""
    (tmp_path / "jpype.py").write_text("raise ModuleNotFoundError(\"No module named 'jpype'\", name='jpype')")
    said = refused("--platform", "/x", PYTHONPATH=str(tmp_path))
    assert said == "jpype is missing: pip install 'lineagelog[daemon]'"


def test_a_package_without_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text says how to make them; a jar that is none is named."""
    monkeypatch.setattr(launch, "__file__", str(tmp_path / "launch.py"))
    with pytest.raises(DaemonError, match=f"the package has no {CORE_JAR}: build it with `make jar`"):
        launch.own_jars()
    (tmp_path / "jars").mkdir()
    jar(tmp_path / "jars" / CORE_JAR)
    (tmp_path / "jars" / CONNECTOR_JAR).write_bytes(b"torn")
    with pytest.raises(DaemonError, match=f"{CONNECTOR_JAR} cannot be used: it is not a jar"):
        launch.own_jars()


# --- the plan of a launch ---------------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with (empty) jars."""
    monkeypatch.setattr(launch, "__file__", str(tmp_path / "package" / "launch.py"))
    folder = tmp_path / "package" / "jars"
    folder.mkdir(parents=True)
    jar(folder / CORE_JAR)
    jar(folder / CONNECTOR_JAR)
    return folder


@pytest.mark.parametrize("package", ["org.springframework.boot.loader", "org.springframework.boot.loader.launch"])
def test_a_spring_boot_jar(own: Path, tmp_path: Path, package: str) -> None:
    """The core is on the JVM's own class path, the connector on loader.path with the folder lib beside the jar.

    A folder that holds one such jar is that jar.
    """
    folder = tmp_path / "server"
    (folder / "lib").mkdir(parents=True)
    entries = ("BOOT-INF/classes/a", f"{package.replace('.', '/')}/PropertiesLauncher.class")
    platform = jar(folder / "omag-server-platform-5.3.jar", *entries, manifest="Start-Class: a.long.na\r\n me.Main\r\n")
    for place in (platform, folder):
        plan = plan_launch(place, main_class=None, arguments=["--x"])
        assert plan.class_path == (own / CORE_JAR, platform)
        assert plan.main_class == f"{package}.PropertiesLauncher"
        paths = f"{own / CONNECTOR_JAR},{folder / 'lib'}"
        assert plan.properties == (f"-Dloader.path={paths}", "-Dloader.main=a.long.name.Main")
        assert plan.arguments == ("--x",)
    plan = plan_launch(platform, main_class="b.Main", more=[tmp_path])
    assert plan.properties == (f"-Dloader.path={own / CONNECTOR_JAR},{tmp_path}", "-Dloader.main=b.Main")
    shutil.copy(platform, folder / "omag-server-platform-5.4.jar")
    with pytest.raises(DaemonError, match=r"holds several, name one of omag-server-platform-5\.3\.jar, omag"):
        plan_launch(folder, main_class=None)


def test_a_comma_in_a_path(own: Path, tmp_path: Path) -> None:
    """Spring Boot would take it for two paths."""
    platform = jar(tmp_path / "p.jar", "BOOT-INF/", "org/springframework/boot/loader/PropertiesLauncher.class")
    (tmp_path / "a,b").mkdir()
    with pytest.raises(DaemonError, match="a comma separates its parts"):
        plan_launch(platform, main_class=None, more=[tmp_path / "a,b"])


def test_a_folder_of_jars(own: Path, tmp_path: Path) -> None:
    """All of it on the class path, ours once even where somebody has put copies there; the only main class is taken."""
    folder = tmp_path / "server"
    folder.mkdir()
    jar(folder / CONNECTOR_JAR)
    main = jar(folder / "a.jar", manifest="Main-Class: a.Main\r\n")
    other, further = jar(folder / "b.jar"), jar(tmp_path / "c.jar")
    plan = plan_launch(folder, main_class=None, more=[further])
    assert plan.class_path == (own / CORE_JAR, own / CONNECTOR_JAR, folder, main, other, further)
    assert (plan.main_class, plan.properties) == ("a.Main", ())
    jar(folder / "d.jar", manifest="Main-Class: d.Main\r\n")
    with pytest.raises(
        DaemonError, match=r"has several main classes \(a\.Main, d\.Main\): set main_class in \[daemon\]"
    ):
        plan_launch(folder, main_class=None)
    assert plan_launch(folder, main_class="x.Y").main_class == "x.Y"
    assert plan_launch(main, main_class=None).class_path == (own / CORE_JAR, own / CONNECTOR_JAR, main)


def test_the_java_that_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platforms: Path) -> None:
    """A home, the command in it, a link to it, JAVA_HOME and PATH lead to the same Java."""
    command = Path(str(shutil.which("java")))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    found = find_java(None)
    assert (found.version >= 17, found.library.is_file()) == (True, True)
    link = tmp_path / "java"
    link.symlink_to(command)
    many = ["-ea", "-verbose:gc", "--enable-preview", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-Dx=y"]
    assert find_java(None, many) == found
    waiting = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y"
    assert find_java(link) == find_java(found.home) == find_java(None, ["-Xmx64m", waiting]) == found
    monkeypatch.setenv("JAVA_HOME", str(found.home))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert find_java(None) == found
