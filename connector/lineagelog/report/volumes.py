"""Volumes for drawing: the writes of a job to a dataset, each with the band that was expected of it. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from heapq import nlargest
from math import log1p
from typing import Any, Final

from lineagelog.analysis import NO_RULES, Finding, Rules
from lineagelog.analysis.history import moment
from lineagelog.analysis.maths.deviation import bands
from lineagelog.analysis.measures.series import policy_of, unlogged
from lineagelog.analysis.measures.volume_anomaly import Volumes

from .model import VolumeLine, VolumePoint

MOST: Final = 60
_BEFORE: Final = timedelta(days=30)
_POINTS: Final = 160

type Key = tuple[str | None, str, str]


def told_of(findings: Iterable[Finding]) -> dict[Key, Finding]:
    """The findings of volumes, worst of each: by dataset and job."""
    told: dict[Key, Finding] = {}
    for each in findings:
        if each.analysis == "volume_anomaly":
            values: Mapping[str, Any] = each.values
            told.setdefault((each.subject.namespace, each.subject.name, values.get("job_name", "")), each)
    return told


def drawn(
    rows: Iterable[Volumes], told: Mapping[Key, Finding], start: datetime, rules: Rules = NO_RULES
) -> tuple[list[VolumeLine], int]:
    """Those worth to draw, with findings first, then by length of history; and how many there are."""
    count = 0

    def ranked() -> Iterable[tuple[int, int, int, Volumes]]:
        nonlocal count
        for row in rows:
            count += 1
            finding = told.get(_key(row))
            if len(row.times) > 1 or finding:
                yield (-1 if finding is None else finding.severity.rank), len(row.times), -count, row

    worst = nlargest(MOST, ranked(), key=lambda each: each[:3])
    return [_line(row, told.get(_key(row)), start, rules) for *_, row in worst], count


def _key(row: Volumes) -> Key:
    return row.dataset_namespace or None, row.dataset_name, row.job_name


def _line(row: Volumes, finding: Finding | None, start: datetime, rules: Rules) -> VolumeLine:
    measured = {"rows": row.rows, "bytes": row.bytes, "files": row.files}
    unit = finding.values.get("metric", "rows") if finding else "rows"
    if not any(value is not None for value in measured[unit] or ()):
        unit = next(name for name, values in measured.items() if any(each is not None for each in values or ()))
    known = [
        (at, float(value))
        for at, value in zip(row.times, measured[unit] or (), strict=True)
        if value is not None and value >= 0
    ]
    times = [at for at, _ in known]
    first = max(bisect_left(times, (start - _BEFORE).timestamp()), len(times) - _POINTS, 0)
    # a write of nothing is another question, and teaches nothing of how much is written
    filled = [each for each in known if each[1] > 0]
    begin = bisect_left([at for at, _ in filled], times[first])
    policy = policy_of(rules.of_analysis("volume_anomaly").of(row.subject))
    expected = {
        filled[each.place]: each
        for each in bands([at for at, _ in filled], [log1p(value) for _, value in filled], begin, policy)
    }
    points = []
    bounds: tuple[float | None, float | None, float | None] = (None, None, None)
    for at, value in known[first:]:
        if each := expected.get((at, value)):
            bounds = (unlogged(each.lower), unlogged(each.centre), unlogged(each.upper))
        elif value > 0:
            bounds = (None, None, None)
        points.append(VolumePoint(moment(at), value, *bounds))
    return VolumeLine(
        namespace=row.dataset_namespace,
        name=row.dataset_name,
        job=row.job,
        unit=unit,
        points=points,
        finding=finding,
    )
