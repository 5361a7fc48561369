"""Volume anomaly: writes of unusually many or few rows, bytes or files, and writes of nothing."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from math import expm1, log1p
from typing import Final

from msgspec import Struct

from lineagelog.analysis import Analysis, Finding, Given, Insufficient, Severity, Subject, Told, place
from lineagelog.analysis.history import TRAINING, moment
from lineagelog.analysis.maths.deviation import Deviation, Policy, episodes, judge
from lineagelog.analysis.maths.season import Season, group_of
from lineagelog.analysis.words import count
from lineagelog.shown import counted

from .series import DRIFT, UNUSUAL, band, change, policy_of, unlogged, usual, worst

_RARE: Final = 0.05
"""Share of writes that have no rows, up to which one more is unusual."""
_LEAST: Final = 8
_RECENT: Final = 50


class Volumes(Struct, frozen=True, kw_only=True):
    """A row: what the completed runs of a job wrote to a dataset in one way."""

    dataset_namespace: str
    dataset_name: str
    job_namespace: str
    job_name: str
    pattern: str
    times: list[float]
    rows: list[int | None]
    bytes: list[int | None] | None
    files: list[int | None] | None
    run_ids: list[str]
    """Of those in the window, which are the last."""

    @property
    def subject(self) -> Subject:
        """The dataset."""
        return Subject("dataset", self.dataset_namespace or None, self.dataset_name)

    @property
    def job(self) -> str:
        """The job that wrote."""
        return place(self.job_namespace, self.job_name)

    def run_id(self, number: int) -> str:
        """That of a write, which is one of the window's."""
        return self.run_ids[number - (len(self.times) - len(self.run_ids))]


class _Measured(Struct, frozen=True):
    """One measurement of the writes that have it: numbers of the writes, their times and values."""

    name: str
    numbers: list[int]
    times: list[float]
    values: list[int]
    first: int
    """Index of the first one in the window."""


def explain(rows: Iterable[Volumes], given: Given) -> Iterator[Told]:
    """Of rows, bytes and files that tell of the same write, the first does."""
    for row in rows:
        policy = policy_of(given.rules.of(row.subject))
        told: set[int] = set()
        judged = 0
        for measured in _measured(row, given.start.timestamp()):
            found, values = _judge(row, measured, policy, told)
            judged += values
            yield from found
        if not judged:
            yield Insufficient()


def _measured(row: Volumes, start: float) -> Iterator[_Measured]:
    for name, values in (("rows", row.rows), ("bytes", row.bytes), ("files", row.files)):
        known = [(number, value) for number, value in enumerate(values or ()) if value is not None and value >= 0]
        if known:
            numbers = [number for number, _ in known]
            times = [row.times[number] for number in numbers]
            yield _Measured(name, numbers, times, [value for _, value in known], bisect_left(times, start))


def _judge(row: Volumes, measured: _Measured, policy: Policy, told: set[int]) -> tuple[list[Finding], int]:
    """What is to be told that another measurement has not told yet, and how many writes were judged."""
    found: list[Finding] = []
    if measured.name == "rows" and policy.direction != "up":
        empty = [index for index in range(measured.first, len(measured.values)) if _is_empty(measured, index)]
        found += [_empty(row, measured, run) for run in _runs_of(empty)]
        told.update(measured.numbers[index] for index in empty)
    # a write of nothing is another question, and no measure of how much is written
    filled = [index for index, value in enumerate(measured.values) if value > 0]
    some = _Measured(
        measured.name,
        [measured.numbers[index] for index in filled],
        [measured.times[index] for index in filled],
        [measured.values[index] for index in filled],
        bisect_left(filled, measured.first),
    )
    judged = judge(some.times, [log1p(value) for value in some.values], some.first, policy)
    for episode in episodes(judged.deviations):
        numbers = {some.numbers[each.place] for each in episode}
        if not numbers & told:
            found.append(_episode(row, some, episode))
            told |= numbers
    if judged.drift and not told:
        found.append(_drift(row, some, judged.drift))
        told.add(some.numbers[judged.drift.place])
    return found, judged.values + len(measured.values) - len(filled) if judged.values or found else 0


def _is_empty(measured: _Measured, index: int) -> bool:
    """Whether nothing was written where something is expected: as before, and on that day of the week."""
    if measured.values[index]:
        return False
    begin = _streak(measured, index)
    before = range(max(0, begin - _RECENT), begin)
    empty = [each for each in before if measured.values[each] == 0]
    if len(before) < _LEAST or len(empty) > _RARE * len(before):
        return False
    weekday = group_of(Season.WEEKDAY)
    own = [each for each in before if weekday(measured.times[each]) == weekday(measured.times[index])][-5:]
    return not own or 2 * sum(measured.values[each] == 0 for each in own) <= len(own)


def _streak(measured: _Measured, index: int) -> int:
    """The first of the writes of nothing that it is the last of: they are of the same trouble."""
    begin = index
    while begin and measured.values[begin - 1] == 0:
        begin -= 1
    return begin


def _runs_of(indices: Sequence[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for index in indices:
        if run and index > run[-1] + 1:
            yield run
            run = []
        run.append(index)
    if run:
        yield run


def _empty(row: Volumes, measured: _Measured, run: Sequence[int]) -> Finding:
    before = sorted(value for value in measured.values[max(0, run[0] - _RECENT) : run[0]] if value)
    middle = before[len(before) // 2] if before else 0
    ids = [row.run_id(measured.numbers[index]) for index in run]
    writes = "A write" if len(run) == 1 else f"{len(run)} writes in a row"
    return Finding(
        subject=row.subject,
        change="no rows",
        detail=ids[0],
        severity=Severity.CRITICAL if run[-1] == len(measured.values) - 1 and len(run) > 1 else Severity.HIGH,
        observed="0 rows",
        expected=f"about {count(middle)} rows",
        lower=1.0,
        method="writes of no rows are rare (5 %), and not usual on that day of the week",
        n=min(run[0], _RECENT),
        first_seen=moment(measured.times[run[0]]),
        last_seen=moment(measured.times[run[-1]]),
        run_ids=ids[:10],
        explanation=f"{writes} of {row.job} to {row.subject} brought no rows, where about {count(middle)} are usual.",
        values=_values(row, "rows") | {"rule": "zero_rows", "runs": len(run)},
    )


def _episode(row: Volumes, measured: _Measured, episode: Sequence[Deviation]) -> Finding:
    each = worst(episode)
    name, written = measured.name, count(measured.values[each.place])
    way = "more" if each.score > 0 else "fewer"
    writes = "A write" if len(episode) == 1 else counted(len(episode), "writes")
    ids = [row.run_id(measured.numbers[one.place]) for one in sorted(episode, key=lambda one: -abs(one.score))]
    return Finding(
        subject=row.subject,
        change=f"{way} {name}",
        detail=row.run_id(measured.numbers[episode[0].place]),
        severity=Severity.by_excess(abs(each.distance) / (each.upper - each.centre)),
        observed=f"{written} {name}",
        expected=f"{count(unlogged(each.lower))} to {count(unlogged(each.upper))} {name}",
        method=UNUSUAL,
        first_seen=moment(measured.times[episode[0].place]),
        last_seen=moment(measured.times[episode[-1].place]),
        run_ids=ids[:10],
        explanation=f"{writes} of {row.job} to {row.subject} brought {written} {name}, {abs(change(each)):.0f} % {way} "
        f"than the {count(unlogged(each.centre))} that are {usual(each)}.",
        values=_values(row, name) | {"season": each.season, "change_pct": round(change(each), 1), "runs": len(episode)},
        **band(each),
    )


def _drift(row: Volumes, measured: _Measured, each: Deviation) -> Finding:
    moved, way = 100 * expm1(each.score * each.sigma), "more" if each.score > 0 else "fewer"
    return Finding(
        subject=row.subject,
        change=f"drift to {way} {measured.name}",
        detail=f"{row.job} {row.pattern}",
        severity=Severity.LOW,
        observed=f"{count(measured.values[each.place])} {measured.name}",
        expected=f"about {count(unlogged(each.centre))} {measured.name}",
        method=DRIFT,
        first_seen=moment(measured.times[each.place]),
        last_seen=moment(measured.times[each.place]),
        run_ids=[row.run_id(measured.numbers[each.place])],
        explanation=f"What {row.job} writes to {row.subject} moves away slowly: its last writes brought about "
        f"{abs(moved):.0f} % {way} {measured.name} than the {count(unlogged(each.centre))} that are {usual(each)}.",
        values=_values(row, measured.name) | {"season": each.season, "drift_pct": round(moved, 1)},
        **band(each),
    )


def _values(row: Volumes, metric: str) -> dict[str, str | None]:
    return {
        "metric": metric,
        "write_pattern": row.pattern,
        "job_namespace": row.job_namespace or None,
        "job_name": row.job_name,
    }


ANALYSIS: Final = Analysis(
    name="volume_anomaly",
    question="Which writes brought unusually many or few rows, bytes or files, or no rows at all?",
    about="A completed run's write is compared with those of the same job to the same dataset in the same way "
    "(replaced, partitioned, appended) in the five weeks before, by hour or day where these differ; 8 of them are "
    "needed. What came at the same place of earlier months is usual, as is a steady growth.",
    parameters=(TRAINING,),
    row=Volumes,
    explain=explain,
    example="--since -2d",
)
