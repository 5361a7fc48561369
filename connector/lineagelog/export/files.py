"""Writes what an exporter made so that nothing is ever left half-written: all is staged beside its place first."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from lineagelog.errors import InputError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MANIFEST = ".lineagelog-export.json"
"""The list of the files that `renew_folder` wrote; `lineagelog load` passes over it, as over every hidden file."""


def write_file(path: Path, content: bytes) -> None:
    """Replace a file as a whole: readers see the old or the new one, never a part.

    Raises SettingsError if a folder is there, InputError if it cannot be written.
    """
    if path.is_dir():
        raise SettingsError(f"{path} is a folder; give a file")
    with _named_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _staging(path.parent) as staging:
            staged = staging / path.name
            staged.write_bytes(content)
            staged.replace(path)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files (content by name) into a folder; other files in it stay.

    A new folder appears whole; in one that is there all files are staged before the first is replaced. Raises
    SettingsError if a file is in the way, InputError if it cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file; --format files needs a folder")
    if not folder.exists():
        _make_folder(folder, files)
        return
    with _named_errors(folder), _staging(folder) as staging:
        for name, content in files.items():
            (staging / name).write_bytes(content)
        for name in files:
            (staging / name).replace(folder / name)


def renew_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """As `write_folder`; and what an earlier call wrote there and this one does not is removed."""
    stale = _written_before(folder) - files.keys()
    manifest = json.dumps(sorted(files), indent=1, ensure_ascii=False).encode() + b"\n"
    write_folder(folder, {**files, MANIFEST: manifest})
    with _named_errors(folder):
        for name in stale:
            (folder / name).unlink(missing_ok=True)


def _make_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    with _named_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _staging(folder.parent) as staging:
            staged = staging / folder.name
            staged.mkdir()
            for name, content in files.items():
                (staged / name).write_bytes(content)
            staged.replace(folder)


@contextmanager
def _named_errors(place: Path) -> Iterator[None]:
    """Say which file could not be written, and why."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{error.filename or place}: cannot be written: {reason}") from None


@contextmanager
def _staging(place: Path) -> Iterator[Path]:
    """A folder in ``place``, so that moving a file from it never crosses to another file system; gone afterwards."""
    with TemporaryDirectory(dir=place, prefix=".staged-") as name:
        yield Path(name)


def _written_before(folder: Path) -> set[str]:
    """The names in the manifest, as far as they are those of event files in this very folder."""
    try:
        names = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return set()
    return {name for name in names if isinstance(name, str) and Path(name).name == name and name.endswith(".json")}
