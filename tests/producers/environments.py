"""The producers' own environments, in .producers/: Python packages by uv, jars by Maven, pinned in their folders."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support import ROOT

HERE = Path(__file__).parent
FOLDER = ROOT / ".producers"
_UV = str(Path(sys.executable).with_name("uv"))


def python(name: str) -> Path:
    """The bin folder of an environment with what NAME/requirements.txt pins."""
    folder = FOLDER / "environments" / name
    if not folder.exists():
        subprocess.run([_UV, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    packages = ["--python", folder / "bin" / "python", "-r", HERE / name / "requirements.txt"]
    subprocess.run([_UV, "pip", "install", "--quiet", *packages], check=True)
    return folder / "bin"


def jars(name: str) -> Path:
    """The folder with the jars of NAME/pom.xml and all that they need."""
    folder = FOLDER / "environments" / f"{name}-jars"
    if not folder.exists():
        pom, goal = str(HERE / name / "pom.xml"), "dependency:copy-dependencies"
        subprocess.run(["mvn", "-q", "-B", "-f", pom, goal, f"-DoutputDirectory={folder}"], check=True)
    return folder
