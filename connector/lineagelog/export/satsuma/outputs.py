"""The forms that events are written in: one JSON file per event, an array, NDJSON, or a Python script."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineagelog.export.satsuma.events import Exported

FORMATS = ("files", "array", "ndjson", "python")
_UNSAFE = re.compile(r"[^\w.-]+")
_LONGEST = 120
_SCRIPT = '''\
"""Emits {count} OpenLineage events, generated from Satsuma specs.

Needs the package openlineage-python; where the events go is its configuration, as in
OPENLINEAGE_URL=http://localhost:5000 python {file}
"""

import json

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import (
    DatasetEvent,
    InputDataset,
    Job,
    JobEvent,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
    StaticDataset,
)

EVENTS = (
{events})


def to_client(event):
    """Make the client's event of a JSON object."""
    base = {{"eventTime": event["eventTime"], "producer": event["producer"]}}
    if "dataset" in event:
        return DatasetEvent(**base, dataset=StaticDataset(**event["dataset"]))
    base |= {{
        "job": Job(**event["job"]),
        "inputs": [InputDataset(**dataset, inputFacets=None) for dataset in event["inputs"]],
        "outputs": [OutputDataset(**dataset, outputFacets=None) for dataset in event["outputs"]],
    }}
    if "run" not in event:
        return JobEvent(**base)
    return RunEvent(**base, eventType=RunState[event["eventType"]], run=Run(**event["run"]))


def main():
    """Emit every event in its order."""
    client = OpenLineageClient()
    for text in EVENTS:
        # Straight to the transport: client.emit would add facets about this machine and script.
        client.transport.emit(to_client(json.loads(text)))
    client.close()


if __name__ == "__main__":
    main()
'''


def as_array(events: Iterable[Exported]) -> bytes:
    """One JSON array of all events."""
    return orjson.dumps([item.event for item in events], option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def as_lines(events: Iterable[Exported]) -> list[bytes]:
    """One compact JSON text per event, without line ends."""
    return [orjson.dumps(item.event) for item in events]


def as_ndjson(events: Iterable[Exported]) -> bytes:
    """One event per line."""
    return b"".join(line + b"\n" for line in as_lines(events))


def as_files(events: Iterable[Exported]) -> dict[str, bytes]:
    """One JSON file per event, by file name; the names are safe on every file system, unique without case."""
    found: dict[str, bytes] = {}
    taken: set[str] = set()
    for item in events:
        name = _file_name(item.name, taken)
        found[name] = orjson.dumps(item.event, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return found


def as_script(events: Iterable[Exported], file: str) -> bytes:
    """A Python script on the OpenLineage client that emits the same events; `file` is the name it goes by."""
    lines = [f"    {line.decode()!r},\n" for line in as_lines(events)]
    return _SCRIPT.format(count=len(lines), events="".join(lines), file=_file_name(file, set(), "")).encode()


def _file_name(name: str, taken: set[str], suffix: str = ".json") -> str:
    stem = _UNSAFE.sub("-", name).strip(".-") or "event"
    if len(stem) > _LONGEST:
        stem = f"{stem[:_LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
    found, number = stem, 1
    while found.casefold() in taken:
        number += 1
        found = f"{stem}~{number}"
    taken.add(found.casefold())
    return found + suffix
