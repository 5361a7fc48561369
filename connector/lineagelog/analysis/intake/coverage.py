"""Coverage: which facets producers send, and which they lack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import Final

from msgspec import Struct

from lineagelog.analysis import Analysis, Given, Result, Subject, SubjectResult

NEEDED: Final = (
    "run.nominalTime",
    "run.parent",
    "job.jobType",
    "input.schema",
    "output.schema",
    "output.columnLineage",
    "output.outputStatistics",
)
"""What the other analyses rest upon: lateness, orphans, streaming, drift of schemas and columns, volumes."""


class Facet(Struct, frozen=True, kw_only=True):
    """A row: how many things of a producer have a facet."""

    producer: str
    place: str
    """run, job, input, output or dataset."""
    facet: str
    """'' = all things of the place."""
    things: int
    first_seen: datetime
    last_seen: datetime

    @property
    def name(self) -> str:
        """Place and facet."""
        return f"{self.place}.{self.facet}"


def explain(rows: Iterable[Facet], _: Given) -> Iterator[SubjectResult]:
    """One result per producer: of each facet the share of the things that have it, in percent."""
    for producer, own in groupby(rows, key=lambda row: row.producer):
        facets = [*own]
        things = {row.place: row.things for row in facets if not row.facet}
        shares = {row.name: 100 * row.things / things[row.place] for row in facets if row.facet}
        lacks = [name for name in NEEDED if name.partition(".")[0] in things and name not in shares]
        counts = {f"{place}s": str(count) for place, count in things.items()}
        yield SubjectResult(
            subject=Subject("producer", None, producer),
            properties={
                **counts,
                **{name: f"{share:.1f}" for name, share in shares.items()},
                **({"lacks": ", ".join(lacks)} if lacks else {}),
            },
        )


ANALYSIS: Final = Analysis(
    name="coverage",
    question="Which facets do producers send, and which do they lack?",
    about="Reads the events that end a run, and job and dataset events: per producer the share of runs, jobs, inputs "
    "and outputs with each facet, in percent, and which facets it lacks that other analyses rest upon.",
    row=Facet,
    explain=explain,
    result=Result.TABLE,
    columns=("runs", "jobs", "inputs", "outputs", "lacks"),
    reads_events=True,
    example="--since -1d --json",
)
