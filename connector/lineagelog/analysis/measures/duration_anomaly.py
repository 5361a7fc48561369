"""Duration anomaly: runs that took unusually long or short, and jobs that get slower bit by bit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from math import expm1, log1p
from typing import Final

from msgspec import Struct

from lineagelog.analysis import Analysis, Finding, Given, Insufficient, Severity, Subject, Told
from lineagelog.analysis.history import TRAINING, moment
from lineagelog.analysis.maths.deviation import Deviation, episodes, judge
from lineagelog.analysis.words import span
from lineagelog.shown import counted

from .series import DRIFT, UNUSUAL, band, change, policy_of, unlogged, usual, worst


class Durations(Struct, frozen=True, kw_only=True):
    """A row: the completed runs of a job."""

    job_namespace: str
    job_name: str
    times: list[float]
    seconds: list[float]
    run_ids: list[str]
    """Of those in the window, which are the last."""

    @property
    def subject(self) -> Subject:
        """The job."""
        return Subject("job", self.job_namespace or None, self.job_name)

    def ids(self, places: Iterable[int]) -> list[str]:
        """The run ids of some, worst first; up to ten."""
        before = len(self.times) - len(self.run_ids)
        return [self.run_ids[place - before] for place in places][:10]


def explain(rows: Iterable[Durations], given: Given) -> Iterator[Told]:
    """An episode of runs is one finding."""
    for row in rows:
        first = bisect_left(row.times, given.start.timestamp())
        judged = judge(row.times, [log1p(each) for each in row.seconds], first, policy_of(given.rules.of(row.subject)))
        if not judged.values:
            yield Insufficient()
        for episode in episodes(judged.deviations):
            yield _episode(row, episode)
        if judged.drift:
            yield _drift(row, judged.drift)


def _episode(row: Durations, episode: Sequence[Deviation]) -> Finding:
    each = worst(episode)
    took, expected = span(row.seconds[each.place]), span(unlogged(each.centre))
    way = "longer" if each.score > 0 else "shorter"
    runs = "A run" if len(episode) == 1 else counted(len(episode), "runs")
    which = "" if len(episode) == 1 else "at the most " if each.score > 0 else "at the least "
    ids = row.ids(one.place for one in sorted(episode, key=lambda one: -abs(one.score)))
    return Finding(
        subject=row.subject,
        change=f"{way} than usual",
        detail=row.ids([episode[0].place])[0],
        severity=Severity.by_excess(abs(each.distance) / (each.upper - each.centre)),
        observed=took,
        expected=f"about {expected}, up to {span(unlogged(each.upper))}"
        if each.score > 0
        else f"about {expected}, from {span(unlogged(each.lower))} on",
        method=UNUSUAL,
        first_seen=moment(row.times[episode[0].place]),
        last_seen=moment(row.times[episode[-1].place]),
        run_ids=ids,
        explanation=f"{runs} of {row.subject} took {which}{took}, {abs(change(each)):.0f} % {way} than the "
        f"{expected} that are {usual(each)}.",
        values={"season": each.season, "change_pct": round(change(each), 1), "runs": len(episode)},
        **band(each),
    )


def _drift(row: Durations, each: Deviation) -> Finding:
    took, expected = span(row.seconds[each.place]), span(unlogged(each.centre))
    way = "slower" if each.score > 0 else "faster"
    moved = 100 * expm1(each.score * each.sigma)
    return Finding(
        subject=row.subject,
        change=f"getting {way}",
        severity=Severity.LOW,
        observed=took,
        expected=f"about {expected}",
        method=DRIFT,
        first_seen=moment(row.times[each.place]),
        last_seen=moment(row.times[each.place]),
        run_ids=row.ids([each.place]),
        explanation=f"{row.subject} is getting {way}: its last runs took about {abs(moved):.0f} % "
        f"{'longer' if each.score > 0 else 'less'} than the {expected} that are {usual(each)}.",
        values={"season": each.season, "drift_pct": round(moved, 1)},
        **band(each),
    )


ANALYSIS: Final = Analysis(
    name="duration_anomaly",
    question="Which runs took unusually long or short?",
    about="A completed run is compared with those of its job in the five weeks before, by hour or day where these "
    "differ; 8 of them are needed. What came at the same place of earlier months is usual, as is a steady trend.",
    parameters=(TRAINING,),
    row=Durations,
    explain=explain,
    example="--since -2d",
)
