"""Plans how a platform is launched: what kind of thing is at its path, its main class, its class path."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from lineagelog.errors import DaemonError

CORE_JAR: Final = "lineagelog-egeria-core.jar"
CONNECTOR_JAR: Final = "lineagelog-egeria-connector.jar"
_LAUNCHERS: Final = (
    "org/springframework/boot/loader/launch/PropertiesLauncher.class",  # Spring Boot 3.2 and newer
    "org/springframework/boot/loader/PropertiesLauncher.class",
)


class Launch(Struct, frozen=True):
    """What to start a JVM with."""

    class_path: tuple[Path, ...]
    properties: tuple[str, ...]
    """``-Dname=value``."""
    main_class: str
    arguments: tuple[str, ...]


def own_jars() -> tuple[Path, Path]:
    """The jars that the package carries: core and connector. Raises DaemonError where they were not built."""
    folder = Path(__file__).parent / "jars"
    jars = (folder / CORE_JAR, folder / CONNECTOR_JAR)
    for jar in jars:
        if not jar.is_file():
            raise DaemonError(f"the package has no {jar.name}: build it with `make jar`")
        _entries(jar)
    return jars


def plan_launch(
    platform: Path, *, main_class: str | None, more: Sequence[Path] = (), arguments: Sequence[str] = ()
) -> Launch:
    """How to launch the platform at a path: a Spring Boot jar, another jar, or a folder that holds jars.

    ``more``: further jars, and folders of jars, for the platform. Our core jar is always on the JVM's own class path,
    so that the meeting point of Java and Python exists once. Raises DaemonError that names what is wrong.
    """
    core, connector = own_jars()
    for each in (platform, *more):
        if not each.exists():
            raise DaemonError(f"the platform cannot be started: {each} is not there")
    jar = _spring_boot_jar(platform)
    if jar is not None:
        return _spring_boot(jar, core, connector, main_class, more, arguments)
    jars = _jars_of(platform)
    if not jars:
        raise DaemonError(f"the platform cannot be started: {platform} holds no jar")
    main = main_class or _only_main_class(platform, jars)
    if platform.is_dir():
        jars = [platform, *jars]  # classes and configuration files that lie there as they are
    own = [each for each in jars if each.name not in (core.name, connector.name)]
    further = [jar for each in more for jar in ([each, *_jars_of(each)] if each.is_dir() else [each])]
    return Launch((core, connector, *own, *further), (), main, tuple(arguments))


def _spring_boot_jar(platform: Path) -> Path | None:
    """The jar that Spring Boot packed: the path itself, or the only one of its kind in the folder."""
    if platform.is_file():
        return platform if _is_spring_boot(platform) else None
    found = [jar for jar in _jars_of(platform) if _is_spring_boot(jar)]
    if len(found) > 1:
        names = ", ".join(jar.name for jar in found)
        raise DaemonError(f"the platform cannot be started: {platform} holds several, name one of {names}")
    return found[0] if found else None


def _spring_boot(
    jar: Path, core: Path, connector: Path, main: str | None, more: Sequence[Path], arguments: Sequence[str]
) -> Launch:
    entries = _entries(jar)
    launcher = next((each for each in _LAUNCHERS if each in entries), None)
    if launcher is None:
        raise DaemonError(f"the platform cannot be started: {jar} has no PropertiesLauncher of Spring Boot")
    beside = [folder] if not more and (folder := jar.parent / "lib").is_dir() else []
    parts = [str(each) for each in (connector, *beside, *more)]
    if odd := next((part for part in parts if "," in part), None):
        raise DaemonError(f"loader.path cannot name {odd}: a comma separates its parts")
    path = ",".join(parts)
    properties = [f"-Dloader.path={path}"]
    if chosen := main or _manifest(jar).get("Start-Class"):
        properties.append(f"-Dloader.main={chosen}")
    name = launcher.removesuffix(".class").replace("/", ".")
    return Launch((core, jar), tuple(properties), name, tuple(arguments))


def _is_spring_boot(jar: Path) -> bool:
    return any(entry.startswith("BOOT-INF/") for entry in _entries(jar))


def _jars_of(place: Path) -> list[Path]:
    """The jar, or those of a folder, or those of the folder lib in it."""
    if place.is_file():
        return [place]
    return sorted(place.glob("*.jar")) or sorted((place / "lib").glob("*.jar"))


def _only_main_class(platform: Path, jars: Sequence[Path]) -> str:
    found = sorted({main for jar in jars if (main := _manifest(jar).get("Main-Class"))})
    if len(found) != 1:
        what = f"several main classes ({', '.join(found)})" if found else "no main class in a manifest"
        raise DaemonError(f"the platform at {platform} has {what}: set main_class in [daemon]")
    return found[0]


def _entries(jar: Path) -> frozenset[str]:
    try:
        with zipfile.ZipFile(jar) as archive:
            return frozenset(archive.namelist())
    except (OSError, zipfile.BadZipFile) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not a jar"
        raise DaemonError(f"{jar} cannot be used: {cause}") from error


def _manifest(jar: Path) -> dict[str, str]:
    """The main attributes of a jar's manifest."""
    if "META-INF/MANIFEST.MF" not in _entries(jar):
        return {}
    with zipfile.ZipFile(jar) as archive:
        text = archive.read("META-INF/MANIFEST.MF").decode(errors="replace").replace("\r\n", "\n")
    pairs = (line.partition(": ") for line in text.replace("\n ", "").partition("\n\n")[0].splitlines())
    return {name: value.strip() for name, _, value in pairs}
