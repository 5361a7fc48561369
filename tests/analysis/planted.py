"""A made-up history of 200 jobs over 70 days, with effects of which it is known what and where they are.

What real schedules do is in it: jitter, queues, retries, working days, business hours, a cron of local time over the
change to summer time, growing volumes, month ends and a holiday. `plant` puts effects into it; `fill` writes it into a
store as digest rows.
"""

from __future__ import annotations

import math
import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from lineagelog.store import Database

DAYS = 70
BEGIN = datetime(2026, 2, 9, tzinfo=UTC)
"""A Monday; summer time comes on 29 March, in the window of the last three weeks."""
END = BEGIN + timedelta(days=DAYS)
NAMESPACE = "planted"
BERLIN = ZoneInfo("Europe/Berlin")
HOLIDAY = date(2026, 4, 6)
"""Easter Monday: some jobs of working days run, as those of real schedulers do."""


@dataclass(frozen=True)
class PlantedJob:
    """How a job usually behaves."""

    name: str
    rhythm: str
    jitter: float
    """Seconds of standard deviation about the time of its schedule."""
    seconds: float
    """Of a usual run."""
    spread: float
    """Standard deviation of the logarithm of durations and volumes."""
    rows: float
    growth: float
    """Of the logarithm of volumes, per day."""
    weekend: float
    """Share of the volume of a working day."""
    month_end: float
    """Factor of volume and duration on the last day of a month."""
    pattern: str | None
    failing: float
    """Share of runs that fail and are tried again."""

    @property
    def dataset(self) -> str:
        """What it writes."""
        return f"{self.name}_out"


@dataclass(frozen=True)
class PlantedRun:
    """A run as it will be stored; times in seconds since BEGIN."""

    job: PlantedJob
    slot: float
    start: float
    usual: Mapping[str, float]
    """Seconds and rows without chance."""
    seconds: float
    rows: float
    outcome: str = "COMPLETE"

    @property
    def run_id(self) -> str:
        """The same for the same schedule."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.job.name} {self.slot} {self.outcome}"))


@dataclass(frozen=True)
class Effect:
    """Something that was planted, and who is to find it."""

    analysis: str
    kind: str
    subject: str
    at: float
    """Seconds since BEGIN."""
    run_id: str = ""


@dataclass
class History:
    """All runs of all jobs, and what was planted into them."""

    runs: dict[str, list[PlantedRun]]
    effects: list[Effect] = field(default_factory=list)

    @property
    def jobs(self) -> list[PlantedJob]:
        """In order of name."""
        return [runs[0].job for _, runs in sorted(self.runs.items()) if runs]


RHYTHMS: Mapping[str, int] = {
    "hourly": 30, "business": 14, "two hours": 10, "six hours": 16, "daily": 50, "local": 16, "working day": 40,
    "weekly": 14, "monthly": 10,
}  # fmt: skip
"""How many of 200 jobs have it."""


def slots(rhythm: str, minute: int) -> Iterator[datetime]:
    """When a schedule fires."""
    every = {"hourly": 1, "two hours": 2, "six hours": 6}
    for number in range(DAYS):
        day = BEGIN + timedelta(days=number)
        at = day + timedelta(minutes=minute)
        match rhythm:
            case "hourly" | "two hours" | "six hours":
                yield from (at.replace(hour=hour) for hour in range(0, 24, every[rhythm]))
            case "business" if day.weekday() < 5:
                yield from (at.replace(hour=hour) for hour in range(8, 19))
            case "daily":
                yield at.replace(hour=2 + minute % 5)
            case "local":
                yield datetime(day.year, day.month, day.day, 6, minute % 60, tzinfo=BERLIN).astimezone(UTC)
            case "working day" if day.weekday() < 5:
                yield at.replace(hour=5 + minute % 3)
            case "weekly" if day.weekday() == minute % 7:
                yield at.replace(hour=4)
            case "monthly" if day.day == 1:
                yield at.replace(hour=3)


def clean(seed: int, jobs: int = 200) -> History:
    """A history in which nothing is wrong."""
    chance = random.Random(seed)
    rhythms = [rhythm for rhythm, count in RHYTHMS.items() for _ in range(max(1, round(count * jobs / 200)))]
    made = [_job(chance, number, rhythm) for number, rhythm in enumerate(rhythms)]
    return History({job.name: list(_runs(random.Random(f"{seed} {job.name}"), job)) for job in made})


def _job(chance: random.Random, number: int, rhythm: str) -> PlantedJob:
    is_busy = rhythm in ("hourly", "two hours", "business")
    return PlantedJob(
        name=f"job_{number:03}_{rhythm.replace(' ', '_')}",
        rhythm=rhythm,
        jitter=chance.choice((5.0, 20.0, 60.0)),
        seconds=math.exp(chance.uniform(3, 6.2 if is_busy else 8)),
        spread=chance.choice((0.04, 0.1, 0.2, 0.3)),
        rows=math.exp(chance.uniform(5, 16)),
        growth=chance.choice((0.0, 0.0, 0.002, 0.006)),
        weekend=chance.choice((1.0, 1.0, 0.3)),
        month_end=chance.choice((1.0, 1.0, 3.0)),
        pattern=chance.choice((None, "OVERWRITE")),
        failing=chance.choice((0.0, 0.0, 0.01)),
    )


def _runs(chance: random.Random, job: PlantedJob) -> Iterator[PlantedRun]:
    minute = int(job.name[4:7]) * 7 % 60
    for at in slots(job.rhythm, minute):
        if at.date() == HOLIDAY and job.rhythm in ("business", "working day") and minute % 2:
            continue
        slot = (at - BEGIN).total_seconds()
        queue = chance.expovariate(1 / 20) if chance.random() < 0.3 else 0.0
        start = slot + abs(chance.gauss(0, job.jitter)) + queue
        factor = job.weekend if at.weekday() >= 5 else 1.0
        factor *= job.month_end if (at + timedelta(days=1)).day == 1 else 1.0
        size = factor * math.exp(job.growth * slot / 86400)
        usual = {"seconds": job.seconds * size**0.3, "rows": job.rows * size}
        measured = {name: value * math.exp(chance.gauss(0, job.spread)) for name, value in usual.items()}
        run = PlantedRun(job, slot, start, usual, **measured)
        if chance.random() < job.failing:
            yield replace(run, seconds=run.seconds * chance.random(), outcome="FAIL")
            run = replace(run, start=start + run.seconds + 60)
        yield run


type Planting = Callable[[random.Random, list[PlantedRun], int], tuple[list[PlantedRun], *tuple[Effect, ...]]]


def _late(chance: random.Random, runs: list[PlantedRun], place: int) -> tuple[list[PlantedRun], *tuple[Effect, ...]]:
    run = runs[place]
    delay = chance.uniform(0.3, 0.8) * (runs[place + 1].slot - run.slot)
    late = replace(run, start=run.start + min(delay, 6 * 3600))
    return [*runs[:place], late, *runs[place + 1 :]], Effect("late_run", "late", run.job.name, run.slot, run.run_id)


def _missing(chance: random.Random, runs: list[PlantedRun], place: int) -> tuple[list[PlantedRun], *tuple[Effect, ...]]:
    run = runs[place]
    return [*runs[:place], *runs[place + 1 :]], Effect("late_run", "missing", run.job.name, run.slot)


def _stale(chance: random.Random, runs: list[PlantedRun], place: int) -> tuple[list[PlantedRun], *tuple[Effect, ...]]:
    run = runs[-1]
    back = {"hourly": 8, "two hours": 5, "six hours": 3, "business": 8}.get(run.job.rhythm, 2)
    since = runs[-back].slot
    overdue = Effect("late_run", "overdue", run.job.name, since)
    return runs[:-back], Effect("stale_dataset", "stale", run.job.dataset, since), overdue


def _measure(name: str, kind: str, analysis: str, sign: Callable[[random.Random], int]) -> Planting:
    def planting(
        chance: random.Random, runs: list[PlantedRun], place: int
    ) -> tuple[list[PlantedRun], *tuple[Effect, ...]]:
        run = runs[place]
        by = sign(chance) * chance.uniform(4, 10) * run.job.spread
        odd = replace(run, **{name: run.usual[name] * math.exp(by)})
        subject = run.job.name if name == "seconds" else run.job.dataset
        effect = Effect(analysis, kind, subject, run.slot, run.run_id)
        return [*runs[:place], odd, *runs[place + 1 :]], effect

    return planting


def _empty(chance: random.Random, runs: list[PlantedRun], place: int) -> tuple[list[PlantedRun], *tuple[Effect, ...]]:
    run = runs[place]
    effect = Effect("volume_anomaly", "no rows", run.job.dataset, run.slot, run.run_id)
    return [*runs[:place], replace(run, rows=0.0), *runs[place + 1 :]], effect


def _drift(chance: random.Random, runs: list[PlantedRun], place: int) -> tuple[list[PlantedRun], *tuple[Effect, ...]]:
    since = runs[place].slot
    step = 5 * runs[place].job.spread / max(1, len(runs) - place)
    moved = [
        replace(run, seconds=run.seconds * math.exp(step * (number - place + 1))) if number >= place else run
        for number, run in enumerate(runs)
    ]
    return moved, Effect("duration_anomaly", "drift", runs[0].job.name, since)


PLANTINGS: Mapping[str, Planting] = {
    "late": _late,
    "missing": _missing,
    "stale": _stale,
    "slow": _measure("seconds", "slow", "duration_anomaly", lambda chance: 1),
    "fast": _measure("seconds", "fast", "duration_anomaly", lambda chance: -1),
    "slower": _drift,
    "more rows": _measure("rows", "more rows", "volume_anomaly", lambda chance: 1),
    "fewer rows": _measure("rows", "fewer rows", "volume_anomaly", lambda chance: -1),
    "no rows": _empty,
}
_LEAST_RUNS = 24
"""Of a job that an effect is planted into: weekly and monthly ones are there, too, and cannot show a single one."""


def plant(
    history: History, seed: int, window_days: float, times: int = 10, kinds: Mapping[str, Planting] = PLANTINGS
) -> History:
    """The history with each kind of effect planted so many times, one a job, in its last days."""
    chance = random.Random(seed)
    runs, effects = dict(history.runs), list(history.effects)
    since = (DAYS - window_days) * 86400
    free = [job.name for job in history.jobs if len(runs[job.name]) >= _LEAST_RUNS]
    chance.shuffle(free)
    for planting in kinds.values():
        for _ in range(times):
            own = runs[name := free.pop()]
            first = next(place for place, run in enumerate(own) if run.slot >= since)
            places = [each for each in range(first + 1, len(own) - 2) if own[each].outcome == "COMPLETE"]
            places = [each for each in places if own[each - 1].outcome == "COMPLETE"]
            runs[name], *planted = planting(chance, own, first if planting is _drift else chance.choice(places))
            effects += planted
    return History(runs, effects)


_INSERT_RUNS = """
INSERT INTO ol_run (run_key, run_id, job_namespace, job_name, job_key, status, start_time, end_time,
                    first_event_time, last_event_time, processing_type, integration, job_type, producer)
SELECT ol_key(run_id, %(namespace)s, job_name), run_id, %(namespace)s, job_name, ol_key(%(namespace)s, job_name),
       outcome, began, ended, began, coalesce(ended, began), 'BATCH', 'TESTS', 'JOB', 'https://example.invalid'
FROM planted"""
_INSERT_DATASETS = """
INSERT INTO ol_run_dataset (run_dataset_key, run_key, run_id, job_namespace, job_name, direction, dataset_namespace,
                            dataset_name, dataset_key, event_time, event_type, row_count, row_count_at,
                            lifecycle_state_change)
SELECT ol_key(run_id, 'O', dataset), ol_key(run_id, %(namespace)s, job_name), run_id, %(namespace)s, job_name, 'O',
       %(namespace)s, dataset, ol_key(%(namespace)s, dataset),
       coalesce(ended, began), outcome, rows, ended, pattern
FROM planted"""


def fill(database: Database, history: History) -> None:
    """Write the digest of the history, as its events would have given it."""
    rows = [
        (run.run_id, job.name, job.dataset, job.pattern, run.outcome, began, end, round(run.rows))
        for job in history.jobs
        for run in history.runs[job.name]
        for began in [BEGIN + timedelta(seconds=run.start)]
        for end in [began + timedelta(seconds=run.seconds)]
    ]
    with database.engine.begin() as connection:
        raw: Any = connection.connection.driver_connection
        raw.execute(f'SET LOCAL search_path TO pg_catalog, "{database.schema}", pg_temp')
        raw.execute(
            "CREATE TEMP TABLE planted (run_id text, job_name text, dataset text, pattern text, outcome text, "
            "began timestamptz, ended timestamptz, rows bigint) ON COMMIT DROP"
        )
        with raw.cursor().copy("COPY planted FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        for statement in (_INSERT_RUNS, _INSERT_DATASETS):
            raw.execute(statement, {"namespace": NAMESPACE})


@dataclass(frozen=True)
class Accuracy:
    """How many of the planted effects were found, and how many findings were of something planted."""

    planted: int
    found: int
    findings: int
    right: int

    @property
    def recall(self) -> float:
        """Share of effects that were found."""
        return self.found / self.planted if self.planted else 1.0

    @property
    def precision(self) -> float:
        """Share of findings that are right."""
        return self.right / self.findings if self.findings else 1.0


def accuracy(effects: list[Effect], findings: list[Any], kind: str | None = None) -> Accuracy:
    """Of one analysis: an effect is found by a finding of its subject that names its run, or is of about its time."""
    own = [effect for effect in effects if kind is None or effect.kind == kind]
    right = [finding for finding in findings if any(_is_of(finding, effect) for effect in effects)]
    found = [effect for effect in own if any(_is_of(finding, effect) for finding in findings)]
    return Accuracy(len(own), len(found), len(findings), len(right))


def _is_of(finding: Any, effect: Effect) -> bool:
    if finding.subject.name != effect.subject:
        return False
    at = BEGIN + timedelta(seconds=effect.at)
    return effect.run_id in finding.run_ids or finding.last_seen >= at - timedelta(hours=1)
