"""Writes what an exporter made: a file or a folder changes as a whole or not at all."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

MANIFEST = ".lineagelog-export.json"


def write_file(path: Path, content: bytes) -> None:
    """Replace a file as a whole: readers see the old or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".staged-") as name:
        staged = Path(name) / path.name
        staged.write_bytes(content)
        staged.replace(path)


def write_folder(folder: Path, files: dict[str, bytes]) -> None:
    """Write files into a folder: all are staged before the first is replaced.

    What an earlier export wrote there and this one does not is removed; other files are left alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stale = _written_before(folder) - files.keys()
    with tempfile.TemporaryDirectory(dir=folder, prefix=".staged-") as name:
        staged = Path(name)
        manifest = json.dumps(sorted(files), indent=1, ensure_ascii=False).encode() + b"\n"
        for file, content in {**files, MANIFEST: manifest}.items():
            (staged / file).write_bytes(content)
        for file in (*files, MANIFEST):
            (staged / file).replace(folder / file)
    for file in stale:
        (folder / file).unlink(missing_ok=True)


def _written_before(folder: Path) -> set[str]:
    try:
        names = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return set()
    return {name for name in names if isinstance(name, str) and Path(name).name == name and name.endswith(".json")}
