"""A design-time event as the plan of a run: its job, inputs, outputs and facets."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .guard import guarded, warn_once
from .plain import plain


@dataclass(frozen=True)
class Template:
    """What a run takes from a design-time event; empty without one."""

    namespace: str | None = None
    name: str | None = None
    job_facets: dict[str, Any] = field(default_factory=dict)
    run_facets: dict[str, Any] = field(default_factory=dict)
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)


def load_template(given: Any, job_name: str | None) -> Template:
    """Read a template: an event as dict or object of the client, or the path of a file of one or more events.

    Of several (a JSON array, or one a line) the first whose job is called ``job_name`` counts, else the first that has
    a job. Never raises: what cannot be read is logged, and the run goes without.
    """
    return _load(given, job_name) or Template() if given is not None else Template()


@guarded("reading the template", None)
def _load(given: Any, job_name: str | None) -> Template | None:
    events = _events_of_file(Path(given)) if isinstance(given, (str, os.PathLike)) else [plain(given)]
    usable = [event for event in events if isinstance(event, dict) and isinstance(event.get("job"), dict)]
    if not usable:
        warn_once("lineage: the template holds no event with a job")
        return None
    event = next((event for event in usable if event["job"].get("name") == job_name), usable[0])
    job = event["job"]
    return Template(
        namespace=job.get("namespace"),
        name=job.get("name"),
        job_facets=_mapping(job.get("facets")),
        run_facets=_mapping(_mapping(event.get("run")).get("facets")),
        inputs=list(event.get("inputs") or []),
        outputs=list(event.get("outputs") or []),
    )


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _events_of_file(path: Path) -> list[Any]:
    text = path.read_text(encoding="utf-8")
    try:
        content = json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return content if isinstance(content, list) else [content]
