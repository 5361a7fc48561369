"""Seeded OpenLineage events for benchmarks and soak tests: realistic in size, mix and order, cheap to make.

The shape follows the mix the project's measurements are made with: 13,200 runs in 30,000 events of 200 jobs,
3.3 datasets per event, 5.8 KB on average (median 5 KB, nine in ten under 10 KB).

    python -m benchmarks.generator --events 30000 --seed 1 --out events.ndjson.gz
"""

from __future__ import annotations

import argparse
import gzip
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from heapq import heappop, heappush
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from benchmarks.catalogue import GROUP, Job, Template, make_jobs, make_template

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BufferedIOBase

START = datetime(2026, 11, 1, tzinfo=UTC)
EVENTS_PER_RUN = 2.268
"""START, an end, and sometimes a RUNNING; without heartbeats."""
RUNNING_SHARE = 0.62
"""Spark runs that send one RUNNING event of their own."""
NEVER_ENDING, ABORTED, CHECK_FAILS = 0.005, 0.012, 0.03

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_SCATTER_BITS = 12


@dataclass(slots=True)
class _Run:
    """One run: the events it still has to send and the values that are the same in all of them."""

    job: int
    plan: list[tuple[int, str]]
    """(time in microseconds since 1970, event type), in order."""
    values: dict[str, bytes]


def generate(
    events: int,
    *,
    seed: int = 1,
    jobs: int = 200,
    heartbeats: int = 0,
    start: datetime = START,
    days: float = 30,
    disorder: float = 0.0,
    spaced: bool = False,
) -> Iterator[bytes]:
    """Yield `events` events, one JSON document each, over about `days` days from `start` (with a zone).

    Events come in the order of their times; `disorder` is the share of them (0 to 1) that arrive up to 100
    places late. `heartbeats` adds that many RUNNING events to every run. `spaced` writes what the Python
    client writes (spaces, ASCII, sorted keys) instead of compact UTF-8. The same arguments give the same
    bytes, and no two events of one call are equal.

    Raises ValueError for a number out of range or a start without a zone.
    """
    if events < 0 or jobs < 1 or heartbeats < 0 or days <= 0 or not 0 <= disorder <= 1:
        raise ValueError("events and heartbeats must be >= 0, jobs >= 1, days > 0, disorder between 0 and 1")
    if start.tzinfo is None:
        raise ValueError("start needs a time zone")
    first = (start - _EPOCH) // timedelta(microseconds=1)
    company = _Company(make_jobs(jobs, Random(f"{seed}/jobs")), first, days * _DAY, spaced, Random(f"{seed}/events"))
    runs = max(1.0, events / (EVENTS_PER_RUN + heartbeats))
    stream = islice(company.events(runs, heartbeats), events)
    return _delayed(stream, disorder, Random(f"{seed}/disorder")) if disorder else stream


class _Company:
    """All jobs on one clock: a queue of what happens next, and the templates of what is sent then."""

    def __init__(self, jobs: list[Job], first: int, span: float, spaced: bool, rng: Random) -> None:
        self._jobs = jobs
        self._first = first
        self._span = span
        self._spaced = spaced
        self._rng = rng
        self._templates: dict[tuple[int, str, int], Template] = {}
        self._changes = [job.changes for job in jobs]
        self._rows = [tuple(dataset.rows for dataset in job.inputs + job.outputs) for job in jobs]
        self._scatter = [rng.lognormvariate(0, 0.25) for _ in range(1 << _SCATTER_BITS)]

    def events(self, runs: float, heartbeats: int) -> Iterator[bytes]:
        """Yield events in the order of their times, without end; about `runs` runs fall into the span."""
        unit = self._span / runs * sum(job.weight for job in self._jobs)
        intervals = [max(1, int(unit / job.weight)) for job in self._jobs]
        # (time, tie breaker, the run that sends or the job that is due, number of the event or of the run)
        queue: list[tuple[int, int, _Run | int, int]] = []
        phases = [self._rng.random() for _ in range(self._jobs[-1].group + 1)]
        for number, job in enumerate(self._jobs):
            # one phase per group, its members a second apart: the tasks of a DAG run start together
            phase = int(phases[job.group] * min(intervals[number], self._span)) + number % GROUP * _SECOND
            heappush(queue, (self._first + phase, number, number, 0))
        tie = len(self._jobs)
        while True:
            now, _, run, step = heappop(queue)
            if isinstance(run, int):
                interval = intervals[run]
                heappush(queue, (now + interval, tie, run, step + 1))
                run = self._begin(run, step, now, interval, heartbeats)
                heappush(queue, (run.plan[0][0], tie + 1, run, 0))
                tie += 2
                continue
            yield self._send(run, now, run.plan[step][1])
            if step + 1 < len(run.plan):
                heappush(queue, (run.plan[step + 1][0], tie, run, step + 1))
                tie += 1

    def _begin(self, number: int, count: int, due: int, interval: int, heartbeats: int) -> _Run:
        job = self._jobs[number]
        begin = due + int(self._scatter_of() * min(interval * 0.01, 5 * _SECOND))
        own = 1 if job.integration == "SPARK" and self._rng.random() < RUNNING_SHARE else 0
        beats = heartbeats + own
        length = int(min(job.seconds * _SECOND, interval * 0.8) * self._scatter_of())
        length = max(length, (beats + 1) * 1000)  # Spark writes milliseconds: no two events of a run at one time
        plan = [(begin, "START")]
        plan += [(begin + length * (n + 1) // (beats + 1), "RUNNING") for n in range(beats)]
        end = self._outcome(job)
        if end:
            plan.append((begin + length, end))
        # the k-th runs of a group's jobs have one parent: its noise is a mix of both numbers, no table needed
        noise = (job.group + 1) * 0x9E3779B97F4A7C15F39CC0605CED ^ (count + 1) * 0xC2B2AE3D27D4EB4F165667B19E37
        together = due - number % GROUP * _SECOND
        values = {
            "run": _uuid7(begin // 1000, self._rng.getrandbits(74)),
            "parent": _uuid7(together // 1000, noise),
            "nominal": _clock(together)[:19],
            "nominalend": _clock(together + min(interval, _DAY))[:19],
            "day": _clock(together)[:10],
            "version": b"%d" % (begin * 1000 + count % 1000),
            "code": b"%d" % (count + 100),
        }
        return _Run(number, plan, values)

    def _outcome(self, job: Job) -> str | None:
        chance = self._rng.random()
        if chance < NEVER_ENDING:
            return None
        if chance < NEVER_ENDING + ABORTED:
            return "ABORT"
        return "FAIL" if chance < NEVER_ENDING + ABORTED + job.failing else "COMPLETE"

    def _send(self, run: _Run, now: int, event_type: str) -> bytes:
        template = self._template(run.job, event_type, now)
        values = run.values
        values["micros"] = clock = _clock(now)
        values["millis"] = clock[:23]
        scatter, bits = self._scatter, self._rng.getrandbits
        for n in template.counted:
            rows = int(self._rows[run.job][n] * scatter[bits(_SCATTER_BITS)])
            values[f"rows.{n}"] = b"%d" % rows
            values[f"size.{n}"] = b"%d" % (rows * 97)
            values[f"files.{n}"] = b"%d" % (1 + rows // 500_000)
        for n in template.checks:
            good = self._rng.random() >= CHECK_FAILS
            values[f"check.{n}"] = b"true" if good else b"false"
            values[f"status.{n}"] = b"pass" if good else b"fail"
        return template.text % template.pick(values)

    def _template(self, number: int, event_type: str, now: int) -> Template:
        changes = self._changes[number]
        moment = (now - self._first) / self._span
        epoch = bisect_right(changes, moment) if changes else 0
        key = (number, event_type, epoch)
        template = self._templates.get(key)
        if template is None:
            template = make_template(self._jobs[number], event_type, moment, spaced=self._spaced)
            self._templates[key] = template
        return template

    def _scatter_of(self) -> float:
        return self._scatter[self._rng.getrandbits(_SCATTER_BITS)]


def _delayed(stream: Iterable[bytes], share: float, rng: Random) -> Iterator[bytes]:
    """Hold back a share of the events for 1 to 100 places."""
    held: list[tuple[int, int, bytes]] = []
    for place, event in enumerate(stream):
        while held and held[0][0] <= place:
            yield heappop(held)[2]
        if rng.random() < share:
            heappush(held, (place + 1 + rng.randrange(100), place, event))
        else:
            yield event
    while held:
        yield heappop(held)[2]


def _uuid7(millis: int, noise: int) -> bytes:
    """Return a version 7 UUID (RFC 9562): milliseconds since 1970, then 74 bits of noise."""
    return b"%08x-%04x-7%03x-%04x-%012x" % (
        millis >> 16 & 0xFFFFFFFF,
        millis & 0xFFFF,
        noise & 0xFFF,
        0x8000 | noise >> 12 & 0x3FFF,
        noise >> 26 & 0xFFFFFFFFFFFF,
    )


def _clock(micros: int) -> bytes:
    """Return microseconds since 1970 as `2026-11-01T00:00:00.000000`, in UTC."""
    minute, rest = divmod(micros, 60 * _SECOND)
    second, fraction = divmod(rest, _SECOND)
    return b"%b%02d.%06d" % (_minute(minute), second, fraction)


@lru_cache(maxsize=4096)
def _minute(minute: int) -> bytes:
    return (_EPOCH + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:").encode()


def main(arguments: list[str] | None = None) -> None:
    """Write generated events as NDJSON to a file (gzip if its name ends with .gz) or to standard output."""
    parser = argparse.ArgumentParser("python -m benchmarks.generator", description=main.__doc__)
    parser.add_argument("--events", type=int, required=True, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--heartbeats", type=int, default=0, help="RUNNING events added to every run")
    parser.add_argument("--days", type=float, default=30)
    parser.add_argument("--disorder", type=float, default=0.0, help="share of the events that arrive late")
    parser.add_argument("--spaced", action="store_true", help="as the Python client writes")
    parser.add_argument("--out", type=Path, metavar="FILE.ndjson[.gz]")
    options = vars(parser.parse_args(arguments))
    out = options.pop("out")
    try:
        stream = generate(**options)
        with _open(out) as file:
            file.writelines(event + b"\n" for event in stream)
    except BrokenPipeError:
        parser.exit(1)  # the reader has seen enough: `... | head`
    except (ValueError, OSError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")


def _open(path: Path | None) -> BufferedIOBase:
    if path is None:
        return open(1, "wb", closefd=False)
    # no time stamp in the header: the same events give the same file
    return gzip.GzipFile(path, "wb", mtime=0) if path.suffix == ".gz" else path.open("wb")


if __name__ == "__main__":
    main()
