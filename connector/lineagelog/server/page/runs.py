"""One run: its attempts, the time line with what it started, the difference to another, datasets, results, events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from lineagelog.read import RunDataset, RunDetails, Window
from lineagelog.read.explore.datasets import changes
from lineagelog.read.explore.executions import ALL, Execution, ExecutionDetails, WantedExecutions
from lineagelog.read.explore.find import fields_of
from lineagelog.read.explore.graph import reach
from lineagelog.server.answers import Refusal

from .asked import Asked, missing
from .words import count, json_text, length, people, volume

_EVENTS: Final = 200
_BARS: Final = 100
_LOOKED: Final = 200
"""Executions before it among which the last good one is looked for."""


def view(asked: Asked) -> dict[str, Any]:
    """What the page shows."""
    run_id = asked.parts.get("run_id") or asked.text("id")
    job = (asked.text("ns"), asked.text("job")) if asked.text("job") else None
    found = asked.explorer.execution(run_id, job) if run_id else None
    if found is None:
        raise missing("run")
    own = found.execution
    details = asked.reader.run(run_id, limit=_EVENTS, content=True, within=asked.grant.namespaces)
    if details is None:  # of a pipeline whose own run nobody told
        details = RunDetails(run_id, (), (), (), (), (), False, {}, {})
    details = _of_job(details, own)
    good = _last_good(asked, own)
    other = _other(asked, good)
    lineage = asked.explorer.lineage()
    run = details.runs[0] if details.runs else None
    return {
        "own": own,
        "run": run,
        "details": details,
        "attempts": found.attempts,
        "good": good,
        "other": other,
        "difference": _difference(details, other[1], own, other[0]) if other else (),
        "bars": _bars(asked, found),
        "truncated": found.truncated,
        "event": _event(asked, details),
        "downstream": len(reach(lineage.below, f"job:{own.job_key}")),
        "error": people(own.error),
        "governance": _governance(asked, run),
    }


def _of_job(details: RunDetails, own: Execution) -> RunDetails:
    """Of several jobs that share the id, what this one said; of a pipeline all."""
    if own.is_pipeline or len(details.runs) < 2:
        return details
    parts: dict[str, Any] = {
        name: tuple(
            row
            for row in getattr(details, name)
            if (row.job_namespace or "", row.job_name) == (own.job_namespace, own.job_name)
        )
        for name in ("runs", "datasets", "assertions", "tests", "events")
    }
    return RunDetails(
        run_id=details.run_id,
        truncated=details.truncated,
        schemas=details.schemas,
        lineages=details.lineages,
        **parts,
    )


def _last_good(asked: Asked, own: Execution) -> Execution | None:
    """The last execution of the job before this one that completed."""
    window = Window(ALL.start, own.first_event_time)
    wanted = WantedExecutions(window=window, job=(own.job_namespace, own.job_name), state="completed")
    return next(iter(asked.explorer.executions(wanted).page(1).rows), None)


def _other(asked: Asked, good: Execution | None) -> tuple[Execution, RunDetails] | None:
    """What it is compared with: a run that is named, else the last good one."""
    named = asked.text("compare")
    execution = good
    if named:
        found = asked.explorer.execution(named)
        if found is None:
            raise Refusal(404, "not_found", "There is no run of this id to compare with.")
        execution = found.execution
    if execution is None:
        return None
    details = asked.reader.run(execution.run_id, limit=_EVENTS, content=True, within=asked.grant.namespaces)
    return None if details is None else (execution, _of_job(details, execution))


# --- the difference ---------------------------------------------------------------------------------------------------

type Line = tuple[str, str, tuple[str | None, str] | None, str, str]
"""Sign, what, where (namespace and name of a dataset), then, now."""


def _difference(now: RunDetails, then: RunDetails, own: Execution, other: Execution) -> Sequence[Line]:
    """What is not the same, schemas first; and what is."""
    lines: list[Line] = [*_schemas(now, then), *_datasets(now, then)]
    equal = []
    for what, before, after in _facts(now, then, own, other):
        if before == after:
            equal.append(what)
        else:
            lines.append(("~", what, None, before, after))
    if equal:
        lines.append(("=", ", ".join(equal), None, "equal", "equal"))
    return lines


def _facts(now: RunDetails, then: RunDetails, own: Execution, other: Execution) -> Iterable[tuple[str, str, str]]:
    yield "Outcome", other.state, own.state
    yield "Duration", length(other.duration), length(own.duration)
    yield "Attempts", str(other.attempts), str(own.attempts)
    if now.runs and then.runs:
        for what, name in (("Producer", "producer"), ("Type", "job_type"), ("Integration", "integration")):
            yield what, str(getattr(then.runs[0], name) or "–"), str(getattr(now.runs[0], name) or "–")


def _by_name(details: RunDetails) -> dict[tuple[str, str | None, str], RunDataset]:
    return {(row.direction, row.dataset_namespace, row.dataset_name): row for row in details.datasets}


def _schemas(now: RunDetails, then: RunDetails) -> Iterable[Line]:
    before, seen = _by_name(then), set()
    for key, row in _by_name(now).items():
        was = before.get(key)
        if was is None or was.schema_hash == row.schema_hash or key[1:] in seen:
            continue
        if was.schema_hash is None or row.schema_hash is None:
            continue
        seen.add(key[1:])
        old, new = fields_of(then.schemas.get(was.schema_hash)), fields_of(now.schemas.get(row.schema_hash))
        for sign, column, before_type, type_now in changes(old, new):
            was_there, is_there = sign != "+", sign != "−"
            yield (
                sign,
                "Schema",
                key[1:],
                f"{column} {before_type or ''}" if was_there else "",
                f"{column} {type_now or ''}" if is_there else "",
            )


def _datasets(now: RunDetails, then: RunDetails) -> Iterable[Line]:
    words = {"I": "Input", "O": "Output"}
    before, after = _by_name(then), _by_name(now)
    for key, row in before.items():
        if key not in after:
            yield "−", f"{words[key[0]]} not {'read' if key[0] == 'I' else 'written'}", key[1:], _amount(row), "none"
    for key, row in after.items():
        if key not in before:
            yield "+", f"{words[key[0]]} is new", key[1:], "none", _amount(row)
        elif (row.row_count, row.size_bytes) != (before[key].row_count, before[key].size_bytes):
            yield "~", f"{words[key[0]]}, amount", key[1:], _amount(before[key]), _amount(row)


def _amount(row: RunDataset) -> str:
    if row.row_count is not None:
        return f"{count(row.row_count)} rows"
    return volume(row.size_bytes) if row.size_bytes is not None else "amount not told"


# --- the time line ----------------------------------------------------------------------------------------------------


def _bars(asked: Asked, found: ExecutionDetails) -> dict[str, Any] | None:
    """The rows of the Gantt: the parent, and all that it or the run itself has started."""
    own = found.execution
    top, rows = own, list(found.children)
    if not rows and own.parent_run_id:
        parent = asked.explorer.execution(own.parent_run_id)
        if parent is not None and parent.children:
            top, rows = parent.execution, list(parent.children)
    if not rows:
        rows = list(found.attempts)
        top = rows[0]
    is_family = top.execution_key not in {row.execution_key for row in rows}
    everything = [top, *(row for row in rows if row.execution_key != top.execution_key)][:_BARS]
    start = min(row.started for row in everything)
    end = max(_end(row) for row in everything)
    span = max(1.0, (end - start).total_seconds())

    def share(at: datetime) -> float:
        return round(100 * max(0.0, min(1.0, (at - start).total_seconds() / span)), 3)

    usual = _typical(asked, everything)
    critical = _critical(rows) if is_family else set()
    bars = [
        {
            "row": row,
            "x": share(row.started),
            "w": max(0.4, share(_end(row)) - share(row.started)),
            "expected": share(row.started + usual[row.job_key]) if row.job_key in usual else None,
            "is_critical": row.execution_key in critical,
        }
        for row in everything
    ]
    ticks = [(round(100 * place / 6, 2), start + (end - start) * place / 6) for place in range(6)]
    return {"bars": bars, "ticks": ticks, "span": span, "top": top.execution_key if is_family else None}


def _typical(asked: Asked, rows: Sequence[Execution]) -> dict[UUID, timedelta]:
    """How long jobs usually take, as their runs before this time line have it."""
    jobs = "{" + ",".join({str(row.job_key) for row in rows}) + "}"
    given = {"jobs": jobs, "to": min(row.first_event_time for row in rows).isoformat()}
    found = asked.explorer.asking.dicts("typical", given)
    return {UUID(row["job"]): timedelta(seconds=row["seconds"]) for row in found}


def _critical(rows: Sequence[Execution]) -> set[UUID]:
    """The chain that made it so long: the run that ended last, the one that ended last before it began, and so on."""
    found: set[UUID] = set()
    last = max(rows, key=_end, default=None)
    while last is not None:
        found.add(last.execution_key)
        start = last.started
        before = [row for row in rows if _end(row) <= start and row.execution_key not in found]
        last = max(before, key=_end, default=None)
    return found


def _end(row: Execution) -> datetime:
    if row.ended is not None and row.ended >= row.started:
        return row.ended
    return max(row.last_event_time, row.started)


# --- events -----------------------------------------------------------------------------------------------------------


def _event(asked: Asked, details: RunDetails) -> dict[str, Any] | None:
    """The event that is shown in full: the one that is asked for, else the last."""
    if not details.events:
        return None
    wanted = asked.number("event", -1, 1 << 62)
    row = next((each for each in details.events if each.arrival == wanted), details.events[-1])
    content = asked.explorer.content(details.run_id, row.event_time, row.arrival)
    return {"row": row, "text": None if content is None else json_text(content)}


def _governance(asked: Asked, run: Any) -> dict[str, Any] | None:
    """The engine action of Egeria that it was, with a link where the settings have one."""
    facet = getattr(run, "governance_action", None)
    if not isinstance(facet, dict):
        return None
    shown = {name: people(str(value)) for name, value in facet.items() if not name.startswith("_") and value}
    guid = facet.get("engineActionGUID")
    template = asked.egeria_url
    link = template.replace("{guid}", str(guid)) if template and isinstance(guid, str) and guid.isprintable() else None
    return {"facts": shown, "link": link}
