"""Reads Java class files: what a class declares, and what it calls of other classes (Java Virtual Machine spec., 4)."""

from __future__ import annotations

import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path

_FIXED = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""Tag of a constant to the bytes that follow it."""
_UTF8, _CLASS, _NAME_AND_TYPE = 1, 7, 12
_WIDE, _REFERENCES = (5, 6), (9, 10, 11)

type Member = str
"""Name and descriptor in one, as ``start()V`` or ``auditLog:Lorg/…/AuditLog;``."""


@dataclass(frozen=True)
class ClassFile:
    """One class."""

    name: str
    parents: tuple[str, ...]
    """The superclass, then the interfaces."""
    members: frozenset[Member]
    uses: frozenset[tuple[str, Member]]
    """Members that its code names, with the class that it names them of."""
    classes: frozenset[str]
    """All classes that it names."""


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def take(self, form: str) -> int:
        (value,) = struct.unpack_from(f">{form}", self._content, self._at)
        self._at += struct.calcsize(f">{form}")
        return int(value)

    def skip(self, count: int) -> bytes:
        self._at += count
        return self._content[self._at - count : self._at]


def read_class(content: bytes) -> ClassFile:
    """One class file."""
    reader = _Reader(content)
    reader.skip(8)
    pool: dict[int, tuple[int, bytes]] = {}
    number, count = 1, reader.take("H")
    while number < count:
        tag = reader.take("B")
        pool[number] = (tag, reader.skip(reader.take("H") if tag == _UTF8 else _FIXED[tag]))
        number += 2 if tag in _WIDE else 1

    def text(index: int) -> str:
        tag, value = pool[index]
        return value.decode() if tag == _UTF8 else text(struct.unpack(">H", value[:2])[0])

    def member(name: str, descriptor: str) -> Member:
        return name + descriptor if descriptor.startswith("(") else f"{name}:{descriptor}"

    reader.skip(2)
    name, parent = text(reader.take("H")), reader.take("H")
    parents = [text(parent)] if parent else []
    parents += [text(reader.take("H")) for _ in range(reader.take("H"))]
    members = []
    for _ in ("fields", "methods"):
        for _ in range(reader.take("H")):
            reader.skip(2)
            members.append(member(text(reader.take("H")), text(reader.take("H"))))
            for _ in range(reader.take("H")):
                reader.skip(2)
                reader.skip(reader.take("I"))
    uses = []
    for tag, value in pool.values():
        if tag in _REFERENCES:
            owner, both = struct.unpack(">HH", value)
            uses.append((text(owner), member(*map(text, struct.unpack(">HH", pool[both][1])))))
    classes = frozenset(text(index) for index, (tag, _) in pool.items() if tag == _CLASS)
    return ClassFile(name, tuple(parents), frozenset(members), frozenset(uses), classes)


def read_jar(jar: Path) -> dict[str, ClassFile]:
    """The classes of a jar, by name."""
    with zipfile.ZipFile(jar) as archive:
        names = [name for name in archive.namelist() if name.endswith(".class") and name != "module-info.class"]
        return {each.name: each for each in map(read_class, map(archive.read, names))}
