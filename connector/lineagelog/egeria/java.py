"""Finds the Java that runs the platform, and proves that it starts: by asking it for its version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from lineagelog.errors import DaemonError

LEAST: Final = 17
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_HOME: Final = re.compile(r"^\s*java\.home = (.+)$", re.MULTILINE)
_LIBRARIES: Final = ("lib/server/libjvm.so", "lib/server/libjvm.dylib", "lib/client/libjvm.so")
_NOISE: Final = ("Picked up", "Error: Could not create the Java Virtual Machine", "Error occurred during init")
_AGENTS: Final = ("-agentlib:jdwp", "-Xrunjdwp", "-agentpath:", "-javaagent:")
"""Options that do something (bind a port, wait for a debugger): not for a question."""
_OPTION: Final = re.compile(
    r"-(X|D|agentlib:|agentpath:|javaagent:|verbose|(e|d)s?a\b|(en|dis)able|-enable-preview$|-[a-z-]+=)"
)
"""What the JVM itself takes; others, such as -cp and --add-opens in two words, are the command's."""
_SECONDS: Final = 30


class Java(Struct, frozen=True):
    """A Java that was seen to start."""

    home: Path
    library: Path
    """libjvm."""
    version: int


def find_java(chosen: Path | None, options: Sequence[str] = ()) -> Java:
    """The chosen Java (its home, or the command in it), else JAVA_HOME's, else the one on PATH.

    It is started once with ``options``: options that it refuses end a JVM inside this process without a word of ours.
    Raises DaemonError in one line.
    """
    if odd := next((option for option in options if not _OPTION.match(option)), None):
        raise DaemonError(f"jvm_options of [daemon]: {odd!r} is no option of the JVM (-X…, -Dname=value, --name=value)")
    command, origin = _command(chosen)
    said = _ask(command, origin, options)
    found = _VERSION.search(said)
    if found is None:
        raise DaemonError(f"{command} ({origin}) is no Java: it does not tell its version")
    version = int(found[1])
    if version < LEAST:
        raise DaemonError(f"Java {version} at {command} ({origin}) is too old: {LEAST} or newer is needed")
    told = _HOME.search(said)
    home = Path(told[1].strip()) if told else command.resolve().parent.parent
    library = next((path for each in _LIBRARIES if (path := home / each).is_file()), None)
    if library is None:
        raise DaemonError(f"Java at {home} has no {_LIBRARIES[0]}: a full JRE or JDK is needed")
    return Java(home, library, version)


def _command(chosen: Path | None) -> tuple[Path, str]:
    if chosen is not None:
        return _of_home(chosen, "java of [daemon]"), "java of [daemon]"
    if home := os.environ.get("JAVA_HOME"):
        return _of_home(Path(home), "JAVA_HOME"), "JAVA_HOME"
    if command := shutil.which("java"):
        return Path(command), "PATH"
    raise DaemonError("there is no Java: set java in [daemon], JAVA_HOME or PATH (17 or newer)")


def _of_home(place: Path, origin: str) -> Path:
    command = place / "bin" / "java" if place.is_dir() else place
    if not os.access(command, os.X_OK) or command.is_dir():
        raise DaemonError(f"{origin}: there is no Java at {place}")
    return command


def _ask(command: Path, origin: str, options: Sequence[str]) -> str:
    tried = [option for option in options if not option.startswith(_AGENTS)]
    words = [str(command), *tried, "-XshowSettings:properties", "-version"]
    environment = os.environ | {"LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603  # the user's own Java
            words, capture_output=True, env=environment, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        cause = error.strerror if isinstance(error, OSError) else f"no answer within {_SECONDS} seconds"
        raise DaemonError(f"Java at {command} ({origin}) does not start: {cause}") from error
    said = (done.stderr + b"\n" + done.stdout).decode(errors="replace")
    if done.returncode:
        lines = [line for line in said.splitlines() if line.strip() and not line.startswith(_NOISE)]
        cause = lines[0].strip() if lines else f"exit code {done.returncode}"
        raise DaemonError(f"Java at {command} ({origin}) does not start: {cause}")
    return said
