"""Writing exported events so that nothing is ever left half-written: everything is staged beside its place,
then moved there."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lineagelog.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def write_folder(target: Path, contents: Mapping[str, bytes]) -> None:
    """Write the files `contents` (name to bytes) into the folder `target`; other files in it stay.

    A new folder appears whole; in an existing one the files are replaced one by one, after all of them were
    written elsewhere.
    """
    if target.exists() and not target.is_dir():
        raise SettingsError(f"{target} is a file; --format files needs a folder")
    with _staged(target) as staging:
        staging.mkdir()
        for name, data in contents.items():
            (staging / name).write_bytes(data)
        if not target.exists():
            staging.replace(target)
            return
        for name in contents:
            (staging / name).replace(target / name)


def write_file(target: Path, data: bytes) -> None:
    """Write `data` to the file `target`: the old content or the new, never half of it."""
    if target.is_dir():
        raise SettingsError(f"{target} is a folder; give a file")
    with _staged(target) as staging:
        staging.write_bytes(data)
        staging.replace(target)


@contextmanager
def _staged(target: Path) -> Iterator[Path]:
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = target.parent / f".{target.name}.{os.getpid()}.part"
    try:
        yield staging
    finally:
        if staging.is_dir():
            shutil.rmtree(staging, ignore_errors=True)
        staging.unlink(missing_ok=True)
