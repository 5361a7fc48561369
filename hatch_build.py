"""Puts into a wheel a list of its parts (an SBOM) and, where cargo is, the compiled forms of native/.

Run itself, it builds the compiled forms in place. ``LINEAGELOG_PURE=1`` leaves them out. Where cargo is missing or
fails, the wheel is pure Python, does the same, and one line says so; with ``LINEAGELOG_COMPILED=1`` the build fails
instead. An editable install builds nothing. The SBOM is made from constraints.txt and pyproject.toml alone, so that the
same sources give the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

ROOT = Path(__file__).parent
NATIVE = ROOT / "native"
PACKAGE = ROOT / "connector" / "lineagelog"
NAME = "_compiled.pyd" if sys.platform == "win32" else "_compiled.abi3.so"
"""One library for Python 3.12 and all later ones."""


class CannotBuildError(Exception):
    """Why there are no compiled forms, in one line."""


def build() -> Path:
    """Compile, and return the library's file."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise CannotBuildError("they are for CPython with its lock only")
    if shutil.which("cargo") is None:
        raise CannotBuildError("cargo (Rust) is not installed")
    # No Python takes part, so that one build serves all, also those of a build's temporary environment.
    environment = os.environ | {"PYO3_NO_PYTHON": "1"}
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--config", _without_paths()]
    done = subprocess.run(command, cwd=NATIVE, env=environment, stderr=subprocess.PIPE, text=True)  # noqa: S603
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        reason = next((line for line in lines if line.startswith("error")), lines[0] if lines else "it said nothing")
        raise CannotBuildError(f"`cargo build` in native/ ended with {done.returncode}: {reason}")
    target = Path(os.environ.get("CARGO_TARGET_DIR", NATIVE / "target")) / "release"
    names = ("lib_compiled.so", "lib_compiled.dylib", "_compiled.dll")
    return next(target / name for name in names if (target / name).exists())


def _without_paths() -> str:
    """The compiler flags that keep this machine's folders out of the library, which is then the same from any."""
    cargo_home = os.environ.get("CARGO_HOME", Path.home() / ".cargo")
    flags = [f"--remap-path-prefix={cargo_home}=cargo", f"--remap-path-prefix={NATIVE.resolve()}=native"]
    return f"build.rustflags={json.dumps(flags)}"


def build_in_place() -> None:
    """Put the library into the checkout, in place of any other: one named for a Python would go before it."""
    library = build()
    for other in PACKAGE.glob("_compiled.*"):
        if other.suffix in (".so", ".pyd"):
            other.unlink()
    shutil.copy(library, PACKAGE / NAME)


def pinned() -> dict[str, tuple[str, list[str]]]:
    """Each package of constraints.txt: its version, and who needs it."""
    found: dict[str, tuple[str, list[str]]] = {}
    needed_by: list[str] = []
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if start := re.match(r"([\w.-]+)==(\S+)", line):
            needed_by = []
            found[start[1]] = (start[2], needed_by)
        elif named := re.match(r"\s+#(?: via)?\s+(\S.*)", line):
            needed_by.append(named[1])
    return found


def sbom() -> dict[str, Any]:
    """What lineagelog needs to run, with all extras, as CycloneDX 1.6: the versions that are tested together."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = pinned()
    top = f"{project['name']} (pyproject.toml)"
    needs: dict[str, list[str]] = {}
    for name, (_, needed_by) in packages.items():
        for each in needed_by:
            needs.setdefault(each, []).append(name)
    reached, todo = set[str](), [top]
    while todo:
        new = set(needs.get(todo.pop(), ())) - reached
        reached |= new
        todo += new

    def ref(name: str, version: str) -> str:
        return f"pkg:pypi/{name}@{version}"

    def component(name: str, version: str) -> dict[str, Any]:
        own = ref(name, version)
        return {"type": "library", "bom-ref": own, "name": name, "version": version, "purl": own}

    def dependency(own: str, names: list[str]) -> dict[str, Any]:
        return {"ref": own, "dependsOn": [ref(each, packages[each][0]) for each in sorted(names)]}

    own = component(project["name"], project["version"])
    own |= {"licenses": [{"license": {"id": project["license"]}}], "description": project["description"]}
    used = sorted(reached)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": [component(name, packages[name][0]) for name in used],
        "dependencies": [
            dependency(own["bom-ref"], needs[top]),
            *(dependency(ref(name, packages[name][0]), needs.get(name, [])) for name in used),
        ],
    }


class Hook(BuildHookInterface[Any]):
    """Adds the SBOM; and the library, which makes the wheel one for this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds a wheel."""
        if version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "lineagelog.cdx.json"
        path.write_text(json.dumps(sbom(), indent=1) + "\n")
        build_data["sbom_files"].append(str(path))
        if not os.environ.get("LINEAGELOG_PURE") and (library := self._library()):
            build_data["force_include"][str(library)] = f"lineagelog/{NAME}"
            build_data["pure_python"] = False
            # The plain name of the platform: whether it is a manylinux is for those to say who publish it.
            others = ("manylinux", "musllinux")
            platform = next(tag.platform for tag in sys_tags() if not tag.platform.startswith(others))
            build_data["tag"] = f"cp312-abi3-{platform}"

    def _library(self) -> Path | None:
        try:
            return build()
        except CannotBuildError as error:
            if os.environ.get("LINEAGELOG_COMPILED"):
                raise SystemExit(f"the compiled forms cannot be built: {error}") from error
            self.app.display_warning(f"lineagelog without its compiled forms, pure Python and slower: {error}")
            return None


if __name__ == "__main__":
    try:
        build_in_place()
    except CannotBuildError as error:
        raise SystemExit(f"the compiled forms cannot be built, and all works without them: {error}") from error
