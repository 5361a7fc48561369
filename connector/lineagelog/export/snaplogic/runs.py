"""Run information: times, states and counts of a pipeline run and of its Snaps.

It is the answer of SnapLogic's public API to `GET /api/1/rest/public/runtime/ORG/RUUID?level=detail`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from .document import Node, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_DETAIL = "ask the API for level=detail of one run"
_UNTOLD = frozenset({"", "noupdate"})


class End(StrEnum):
    """How a run or a Snap ended; OPEN: it has not, or nothing tells."""

    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    OPEN = "open"


_ENDS = {end.value: end for end in (End.COMPLETED, End.FAILED, End.STOPPED)}
_ENDING = {"failing": End.FAILED, "stopping": End.STOPPED}


@dataclass(frozen=True, slots=True)
class SnapRun:
    """How one Snap ran. `id` is the real Snap id; counts are documents per view; None = not told."""

    id: str
    label: str
    class_id: str
    state: str
    end: End
    error: str
    stack_trace: str
    inputs: Mapping[str, int | None]
    outputs: Mapping[str, int | None]
    errors: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """One run of a pipeline. `run_id`: the UUID part of the ruuid; `time`: UTC; `artifact_ids`: real Snap id
    to placeholder id."""

    file: str
    place: str
    ruuid: str
    run_id: str
    label: str
    snode_id: str
    class_id: str
    state: str
    end: End
    error: str
    time: datetime
    parent_ruuid: str
    parent_path: str
    root_ruuid: str
    root_path: str
    parameters: Mapping[str, str]
    artifact_ids: Mapping[str, str]
    snaps: Mapping[str, SnapRun]


def run_part(ruuid: str) -> str:
    """The UUID part of a ruuid (`<org id>_<uuid>`), in lower case; ValueError when there is none."""
    return str(uuid.UUID(ruuid.rpartition("_")[2]))


def read_runs(data: bytes, file: str) -> list[PipelineRun]:
    """The runs of one file (one API answer, a bare `response_map`, or a list of these); InputError names what
    is missing."""
    document = read_json(data, file)
    nodes = document.rows() if isinstance(document.value, list) else [document]
    if not nodes:
        raise document.error(f"an empty list, so no run information; {_DETAIL}")
    return [_run(node.get("response_map") if node.has("response_map") else node) for node in nodes]


def _run(node: Node) -> PipelineRun:
    if node.has("entries"):
        raise node.error(f"this is the list of runs, which tells nothing about Snaps; {_DETAIL}")
    ruuid = node.get("ruuid").text() or node.get("instance_id").text()
    if node.has("link_map") or not ruuid:
        raise node.error(f"no ruuid, so this is no run information; {_DETAIL}")
    if not node.has("snap_map"):
        raise node.error(f"no snap_map (level=summary leaves it out), so nothing tells which Snaps ran; {_DETAIL}")
    try:
        run_id = run_part(ruuid)
    except ValueError:
        raise node.get("ruuid").error(f"{ruuid!r} is not <org id>_<uuid>") from None
    state = node.get("state").text()
    end = _ENDS.get(state.lower(), End.OPEN)
    return PipelineRun(
        file=node.file,
        place=node.place,
        ruuid=ruuid,
        run_id=run_id,
        label=node.get("label").text(),
        snode_id=node.get("snode_id").text(),
        class_id=node.get("class_id").text(),
        state=state,
        end=end,
        error=_error(node),
        time=_time(node),
        parent_ruuid=node.get("parent_ruuid").text(),
        parent_path=node.get("parent_path").text(),
        root_ruuid=node.get("root_ruuid").text(),
        root_path=node.get("root_path").text(),
        parameters={**_texts(node.get("env_map")), **_texts(node.get("captured_env_map"))},
        artifact_ids=_texts(node.get("artifact_snap_id_map")),
        snaps={key: _snap(key, snap, end) for key, snap in node.get("snap_map").items()},
    )


def _end(state: str, error: str, run: End) -> End:
    """How a Snap ended: its state says so; one that tells nothing, or that was about to end, ended with the run."""
    if state in _UNTOLD:
        if error:
            return End.FAILED
        return End.STOPPED if run is End.FAILED else run
    if run is not End.OPEN and state in _ENDING:
        return _ENDING[state]
    return _ENDS.get(state, End.OPEN)


def _snap(key: str, node: Node, run: End) -> SnapRun:
    statistics = node.get("statistics")
    state, error = node.get("state").text(), _error(node)
    return SnapRun(
        id=key,
        label=node.get("label").text(),
        class_id=node.get("snap_class_fqid").text().rpartition("_")[0],
        state=state,
        end=_end(state.lower(), error, run),
        error=error,
        stack_trace=_stack_trace(node.get("error_list")),
        inputs=_counts(statistics.get("input_views")),
        outputs=_counts(statistics.get("output_views")),
        errors=_counts(statistics.get("error_views")),
    )


def _counts(node: Node) -> dict[str, int | None]:
    return {view: entry.get("documents_count").number() for view, entry in node.items()}


def _error(node: Node) -> str:
    """failure, reason and resolution as one text; else what the list of errors says."""
    parts = [("", "failure"), ("Reason: ", "reason"), ("Resolution: ", "resolution")]
    told = [(prefix, _free_text(node.get(key))) for prefix, key in parts]
    if not any(text for _, text in told):
        told = [("", _entry_text(entry)) for entry in node.get("error_list").rows()]
    return "\n".join(prefix + text for prefix, text in told if text)


def _entry_text(entry: Node) -> str:
    if not isinstance(entry.value, dict):
        return _free_text(entry)
    keys = ("failure", "reason", "message", "resolution")
    return ": ".join(text for key in keys if (text := _free_text(entry.get(key))))


def _stack_trace(errors: Node) -> str:
    entries = [entry for entry in errors.rows() if isinstance(entry.value, dict)]
    return "\n".join(text for entry in entries if (text := _free_text(entry.get("stacktrace"))))


def _free_text(node: Node) -> str:
    """Text for people: whatever is no text is left out, an odd error list must not stop an export."""
    return node.value.strip() if isinstance(node.value, str) else ""


def _texts(node: Node) -> dict[str, str]:
    """A map of texts; values may be wrapped, and what is a list or an object is no text."""
    values = [(key, value.unwrap()) for key, value in node.items()]
    return {key: value.text() for key, value in values if not isinstance(value.value, (dict, list))}


def _time(node: Node) -> datetime:
    """The run's timestamp: `time_stamp`, else its end, else its start; milliseconds, UTC."""
    for key in ("time_stamp", "cc_end_ms", "cc_start_ms", "create_time"):
        found = node.get(key)
        if not found.empty:
            return _parsed(found)
    raise node.error(f"no time_stamp, cc_end_ms or create_time, so nothing tells when the run was; {_DETAIL}")


def _parsed(node: Node) -> datetime:
    try:
        if (milliseconds := node.number()) is not None:
            return datetime.fromtimestamp(milliseconds // 1000, UTC).replace(microsecond=milliseconds % 1000 * 1000)
        time = datetime.fromisoformat(node.text())
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        return time.replace(microsecond=time.microsecond // 1000 * 1000)
    except (ValueError, OverflowError, OSError):
        raise node.error(f"{node.value!r} is no time; expected ISO 8601 or milliseconds since 1970") from None
