"""Puts a list of its parts (an SBOM) into a wheel and, if LINEAGELOG_COMPILED=1 asks for it, the compiled forms.

Run itself, it builds the compiled forms in place. They need cargo; without them everything is pure Python and does the
same. The SBOM is made from constraints.txt and pyproject.toml alone, so that the same sources give the same bytes.
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
    """Adds the SBOM; and the library, which makes the wheel one for this platform and this Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds a wheel."""
        if version != "editable":
            self.folder = tempfile.TemporaryDirectory()
            path = Path(self.folder.name) / "lineagelog.cdx.json"
            path.write_text(json.dumps(sbom(), indent=1) + "\n")
            build_data["sbom_files"].append(str(path))
        if version != "editable" and os.environ.get("LINEAGELOG_COMPILED") == "1":
            build_data["force_include"][str(build())] = f"lineagelog/{NAME}"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True


if __name__ == "__main__":
    shutil.copy(build(), ROOT / "connector" / "lineagelog" / NAME)
