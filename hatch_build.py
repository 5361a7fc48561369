"""Builds the compiled forms of native/ into a wheel if LINEAGELOG_COMPILED=1 asks for them, or in place if run itself.

Needs cargo. Without this everything is pure Python and does the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
NAME = f"_compiled{sysconfig.get_config_var('EXT_SUFFIX')}"


def build() -> Path:
    """Compile, and return the library's file. Raises CalledProcessError; ends the program without cargo."""
    if shutil.which("cargo") is None:
        raise SystemExit("the compiled forms need cargo (Rust), which is not installed; all works without them")
    native = ROOT / "native"
    environment = os.environ | {"PYO3_PYTHON": sys.executable}
    command = ["cargo", "build", "--release", "--locked", "--quiet"]
    subprocess.run(command, cwd=native, env=environment, check=True)  # noqa: S603
    target = Path(os.environ.get("CARGO_TARGET_DIR", native / "target")) / "release"
    names = ("lib_compiled.so", "lib_compiled.dylib", "_compiled.dll")
    return next(target / name for name in names if (target / name).exists())


class CompiledHook(BuildHookInterface[Any]):
    """Puts the library into the wheel, which is then one for this platform and this Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds a wheel."""
        if version != "editable" and os.environ.get("LINEAGELOG_COMPILED") == "1":
            build_data["force_include"][str(build())] = f"lineagelog/{NAME}"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True


if __name__ == "__main__":
    shutil.copy(build(), ROOT / "connector" / "lineagelog" / NAME)
