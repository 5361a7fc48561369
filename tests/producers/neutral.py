"""Makes of what a producer sent here what it would have sent on a machine of nobody: a pure function of the lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

DAY = date(2026, 3, 2)
"""The day on which each recording begins; the time of day, and all that lies between, is kept."""
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_DAY = re.compile(r"(?<!\d)20\d\d-\d\d-\d\d(?=T|\b)")
_MILLISECONDS = re.compile(r"\b1[6-9]\d{11}\b")


@dataclass(frozen=True)
class Machine:
    """What tells of the machine: folders, and words (hosts, addresses), with neutral names; its user; and the day."""

    folders: dict[str, str]
    words: dict[str, str]
    user: str
    recorded: date

    def neutral(self, name: str, lines: Iterable[str]) -> list[str]:
        """The lines of the recording `name`; what was equal stays equal, and the same input gives the same output."""
        runs: dict[str, str] = {}

        def uuid(found: re.Match[str]) -> str:
            return runs.setdefault(found[0], _uuid(name, len(runs)))

        return [_UUID.sub(uuid, self._times(self._places(line))) for line in lines]

    def _places(self, line: str) -> str:
        for folder in sorted(self.folders, key=len, reverse=True):
            line = line.replace(folder, self.folders[folder])
        for word, instead in self.words.items():
            line = re.sub(rf"(?<![\w.]){re.escape(word)}(?![\w.])", instead, line)
        return re.sub(rf'(: ?)"{re.escape(self.user)}"', r'\1"ann"', line)  # as a value: "root" is a member, too

    def _times(self, line: str) -> str:
        shift = DAY - self.recorded

        def day(found: re.Match[str]) -> str:
            there = date.fromisoformat(found[0])
            return (there + shift).isoformat() if abs(there - self.recorded) <= timedelta(1) else found[0]

        def milliseconds(found: re.Match[str]) -> str:
            moment = int(found[0])
            there = datetime.fromtimestamp(moment / 1000, UTC).date()
            near = abs(there - self.recorded) <= timedelta(1)
            return str(moment + int(shift.total_seconds()) * 1000) if near else found[0]

        return _MILLISECONDS.sub(milliseconds, _DAY.sub(day, line))


def _uuid(name: str, number: int) -> str:
    text = sha256(f"{name} {number}".encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-7{text[13:16]}-8{text[17:20]}-{text[20:32]}"
