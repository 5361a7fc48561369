"""The names and ids of jobs: the same spec gives the same names and run ids, whenever it is exported."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lineagelog.export.satsuma.tree import Mapping


def kebab(text: str) -> str:
    """Lower case, with `-` for every run of other characters than letters and digits."""
    words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
    return "-".join(words)


def job_name(mapping: Mapping) -> str:
    """`namespace.kebab-name`; a mapping without a name is called by its schemas, never by its file."""
    if mapping.name is not None:
        base = kebab(mapping.name) or "mapping"
    else:
        sources = "-".join(kebab(key) for key in mapping.sources)
        targets = "-".join(kebab(key) for key in mapping.targets)
        base = "-to-".join(part for part in (sources, targets) if part) or "mapping"
    return f"{mapping.namespace}.{base}" if mapping.namespace else base


def dotted(key: str) -> str:
    """A schema's key with a dot behind its namespace."""
    return key.replace("::", ".", 1)


class JobNames:
    """Hands out job names; a second equal one gets `-2`, a third `-3`."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        """The name itself, or the next free one."""
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}-{number}"
        self._taken.add(name)
        return name


def run_id(job_namespace: str, name: str, version: str = "") -> str:
    """The run id of a job: UUID version 5 of `job namespace/job name` in the URL namespace.

    With a version, of `job namespace/job name#version`.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{job_namespace}/{name}" + (f"#{version}" if version else "")))
