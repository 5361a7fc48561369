"""A door and a store that fail as they are told, and keepers over them."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from lineagelog.egeria.keeper import Keeper
from lineagelog.errors import StoreUnavailable
from lineagelog.event.parse import parse
from lineagelog.intake import Outcome
from lineagelog.spool import Spool
from lineagelog.store import Verdict
from tests.support import PATIENCE, event


def body(number: int) -> bytes:
    return json.dumps(event(f"r{number}")).encode()


class StubStore:
    """The part of a store that a keeper uses beside the door."""

    trouble: Exception | None = None

    def check_version(self) -> int:
        if self.trouble is not None:
            raise self.trouble
        return 1

    def forget(self) -> None:
        pass


class StubDoor:
    """Remembers what it took; fails as it is told: once for each of `troubles`, always for bodies in `refused`."""

    def __init__(self) -> None:
        self.store = StubStore()
        self.taken: list[bytes] = []
        self.troubles: list[Exception | None] = []
        self.refused: dict[bytes, Exception] = {}
        self.hang: threading.Event | None = None
        self.asked = 0

    def take(self, bodies: Sequence[bytes], *, source: str, positions: Sequence[str]) -> list[Outcome]:
        assert (source, len(positions)) == ("egeria", len(bodies))
        self.asked += 1
        if self.hang is not None:
            self.hang.wait()
        trouble = self.troubles.pop(0) if self.troubles else self.store.trouble
        if trouble is not None:
            raise trouble
        for each in bodies:
            if each in self.refused:
                raise self.refused[each]
        self.taken += bodies
        return [Outcome(Verdict.STORED, parse(each)) for each in bodies]


AWAY = StoreUnavailable("the database cannot be reached: gone")


class Kept:
    """Keepers over one stub and one spool folder, closed with the test."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.door = folder, StubDoor()
        self.keepers: list[Keeper] = []

    def keeper(self, *, wait: float = 0.0, max_bytes: int = 1 << 20) -> Keeper:
        spool = Spool(self.folder, max_bytes=max_bytes, fsync=True)
        made = Keeper(self.door, spool, lambda: None, wait=wait, name="c")  # type: ignore[arg-type]
        self.keepers.append(made)
        made.open()
        return made

    def close(self) -> None:
        if self.door.hang is not None:
            self.door.hang.set()
        for each in self.keepers:
            assert each.close(PATIENCE)

    @property
    def spooled(self) -> list[bytes]:
        with Spool(self.folder).reader() as reader:
            return [each for record in reader.peek(10_000) for each in msgspec.msgpack.decode(record, type=list[bytes])]
