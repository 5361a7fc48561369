"""The list of jobs, and one job: its history with what was expected, its schedule, its datasets, tests and findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lineagelog.errors import InputError
from lineagelog.read.explore.datasets import neighbours
from lineagelog.read.explore.executions import ALL, WantedExecutions
from lineagelog.read.explore.graph import reach
from lineagelog.read.explore.jobs import (
    RANKS,
    HistoryPoint,
    JobRow,
    JobsWanted,
    history,
    job_counts,
    job_tests,
    jobs,
    schedule,
)
from lineagelog.server.answers import Refusal

from . import address
from .asked import Asked, missing
from .words import length

_PAGE: Final = 50
_EXECUTIONS: Final = 25
_DAYS: Final = {86400.0: "daily", 604800.0: "weekly", 3600.0: "hourly"}


def listed(asked: Asked) -> dict[str, Any]:
    """The list."""
    state = asked.text("state") if asked.text("state") in RANKS else None
    namespace = asked.query.get("ns")
    wanted = JobsWanted(search=asked.text("q"), namespace=namespace, state=state)
    try:
        page = jobs(asked.explorer.asking, wanted, _PAGE, asked.after)
    except InputError as problem:
        raise Refusal(400, "bad_parameter", str(problem), parameter="after") from None
    counts = job_counts(asked.explorer.asking, JobsWanted(search=asked.text("q"), namespace=namespace))
    return {
        "rows": page.rows,
        "next": page.next,
        "counts": counts,
        "total": sum(counts.values()),
        "state": state,
        "q": asked.text("q"),
        "ns": namespace,
        "schedules": {row.job_key: said_schedule(row.times) for row in page.rows},
        "ranks": RANKS,
    }


def said_schedule(times: Sequence[float]) -> tuple[str, Any] | None:
    """A learned schedule in words, and when it is due next."""
    found = schedule(times)
    if found is None:
        return None
    words = _DAYS.get(found.period) or f"every {length(found.period)}"
    at = f" {found.next_at:%H:%M} UTC" if found.next_at and found.period in (86400.0, 604800.0) else ""
    return f"{words}{at}, ± {length(found.grace)}, from {found.n} starts", found.next_at


def one(asked: Asked) -> dict[str, Any]:
    """One job."""
    explorer = asked.explorer
    row = next(iter(jobs(explorer.asking, JobsWanted(job=asked.key), 1).rows), None)
    if row is None:
        raise missing("job")
    points = history(explorer.asking, row.job_key, ALL.end)
    wanted = WantedExecutions(window=ALL, job=(row.job_namespace, row.job_name))
    try:
        page = explorer.executions(wanted).page(_EXECUTIONS, asked.after)
    except InputError as problem:
        raise Refusal(400, "bad_parameter", str(problem), parameter="after") from None
    lineage = explorer.lineage()
    node = lineage.nodes.get(f"job:{row.job_key}")
    reads, writes = neighbours(lineage, node) if node else ([], [])
    return {
        "job": row,
        "points": points,
        "bands": {point.run_id: point for point in points},
        "chart": history_chart(points, "s"),
        "executions": page.rows,
        "next": page.next,
        "known": len(points),
        "reads": reads,
        "writes": writes,
        "downstream": len(reach(lineage.below, f"job:{row.job_key}")),
        "tests": job_tests(explorer.asking, row.job_key),
        "findings": asked.findings(subject=row.job_name, namespace=row.job_namespace),
        "schedule": said_schedule([point.at.timestamp() for point in points]),
        "figures": _figures(points),
        "failing": _failing(row, page.rows),
    }


def _figures(points: Sequence[HistoryPoint]) -> dict[str, Any]:
    ended = [point for point in points if point.state in ("completed", "fixed", "failed", "aborted")]
    good = [point for point in ended if point.state in ("completed", "fixed")]
    return {"ended": len(ended), "good": len(good), "fixed": sum(point.state == "fixed" for point in good)}


def _failing(row: JobRow, executions: Sequence[Any]) -> Any:
    """The last execution, where it failed."""
    return executions[0] if row.state == "failed" and executions and executions[0].state == "failed" else None


def history_chart(points: Sequence[HistoryPoint], unit: str) -> dict[str, Any]:
    """What the script draws."""
    return {
        "unit": unit,
        "points": [
            {
                "at": point.at.isoformat(),
                "value": point.value,
                "lo": point.lower,
                "mid": point.middle,
                "hi": point.upper,
                "outcome": point.state,
                "href": address.run(point.run_id),
            }
            for point in points
        ],
    }
