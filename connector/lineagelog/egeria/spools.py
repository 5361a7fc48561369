"""The spools that earlier runs have left: each says for whom it is, so that nothing lies there unnoticed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lineagelog.errors import SpoolError
from lineagelog.spool import Spool

_NOTE: Final = "destination"


def note_destination(folder: Path, destination: str) -> None:
    """Write into a spool's folder, for people, where its events belong (without credentials)."""
    with contextlib.suppress(OSError):  # the spool itself will say what is wrong with the folder
        (folder / _NOTE).write_text(f"{destination}\n", encoding="utf-8")


def waiting_spools(root: Path) -> Iterator[tuple[Path, str, int]]:
    """The spools below a folder that hold something: folder, destination, bytes."""
    for note in sorted(root.glob(f"*/{_NOTE}")):
        with contextlib.suppress(OSError, SpoolError), contextlib.closing(Spool(note.parent)) as spool:
            if waiting := spool.stats().waiting_bytes:
                yield note.parent, note.read_text(encoding="utf-8", errors="replace").strip(), waiting
