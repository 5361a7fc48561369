"""What comes after an earlier load of specs: a changed job is a new run, and a job that is gone is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

type Json = dict[str, Any]

INTEGRATION = "SATSUMA"
"""What the jobs of specs say of themselves in their jobType facet."""


@dataclass(frozen=True, slots=True)
class Continued:
    """The events of a load as they continue earlier ones: `changed` and `gone` are names of jobs."""

    events: tuple[Json, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]


def continue_events(
    events: Iterable[Json], earlier: Mapping[str, Json], *, time_given: bool, retire: datetime | None
) -> Continued:
    """Give the events of a changed job the id of a run of its own, and end the jobs that are gone, if asked to.

    An unchanged job keeps its run, and its time unless one was given, so that loading it again stores nothing new.
    `retire` is the time at which the jobs that are gone end: by a run that reads and writes nothing.
    """
    made: list[Json] = []
    changed: dict[str, None] = {}
    names: set[str] = set()
    for event in events:
        name = event.get("job", {}).get("name", "")
        names.add(name)
        before = earlier.get(name)
        if before is None or "run" not in event:
            made.append(event)
        elif _content(event) == _content(before):
            kept = {"run": {**event["run"], "runId": before["run"]["runId"]}}
            made.append(event | kept if time_given else event | kept | {"eventTime": before["eventTime"]})
        else:
            changed[name] = None
            made.append(event | {"run": {**event["run"], "runId": _next_run(event, before)}})
    gone = [name for name, event in earlier.items() if name not in names and _content(event) != _ended(event)]
    if retire is not None:
        made += [_last_event(earlier[name], retire) for name in gone]
    return Continued(tuple(made), tuple(changed), tuple(gone))


def _content(event: Json) -> bytes:
    """What an event says, but for its time and run."""
    said = [event["job"], event.get("inputs", []), event.get("outputs", [])]
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS)


def _ended(event: Json) -> bytes:
    return _content({**event, "inputs": [], "outputs": []})


def _next_run(event: Json, before: Json) -> str:
    """The run id of a job's next version: it depends on what came before, so that a spec may change back."""
    import hashlib

    from lineagelog.export.satsuma.naming import run_id

    version = hashlib.sha256(_content(event) + str(before["run"]["runId"]).encode()).hexdigest()
    return run_id(event["job"]["namespace"], event["job"]["name"], version)


def _last_event(before: Json, time: datetime) -> Json:
    text = time.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
    last = {**before, "eventTime": text, "eventType": "COMPLETE", "inputs": [], "outputs": []}
    return last | {"run": {"runId": _next_run(last, before), "facets": {}}}
