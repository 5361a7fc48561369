"""`lineagelog load`: events from files, folders and standard input into the store."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .command import ERROR, FINDINGS, OK, command
from .printing import Json, print_json, put, tell
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lineagelog.errors import InputError
    from lineagelog.intake import Delivery, Door, Outcome, Tally
    from lineagelog.settings import IntakeSettings

_WORTH_STATISTICS: Final = 1000
"""New events after which queries are planned anew."""
_TOLD: Final = 10
"""Refused events that are named; the others are counted."""


@dataclass(slots=True)
class Counts:
    """What became of the events so far."""

    begin: float = field(default_factory=time.monotonic)
    read: int = 0
    stored: int = 0
    duplicate: int = 0
    expired: int = 0
    dead: int = 0

    def add(self, outcomes: list[Outcome]) -> None:
        """Count the outcomes of a batch."""
        self.read += len(outcomes)
        for outcome in outcomes:
            name = outcome.verdict.value
            setattr(self, name, getattr(self, name) + 1)

    @property
    def seconds(self) -> float:
        """Since the load began."""
        return time.monotonic() - self.begin

    def __str__(self) -> str:
        return (
            f"read {self.read} stored {self.stored} duplicate {self.duplicate} "
            f"expired {self.expired} dead {self.dead} in {self.seconds:.2f} s"
        )

    def as_json(self, tally: Tally) -> dict[str, Any]:
        """The words of the closing line as keys (`in` in seconds), and the counts of files."""
        verdicts = ("read", "stored", "duplicate", "expired", "dead")
        return {name: getattr(self, name) for name in verdicts} | {
            "in": round(self.seconds, 3),
            "files": tally.files,
            "skipped_files": tally.skipped,
            "unreadable_files": tally.problems,
        }


def register(app: typer.Typer) -> None:
    """Mount the command."""
    command(
        app,
        "load",
        "lineagelog load examples/",
        "lineagelog load events.ndjson.gz more/ --database postgresql://me@db/lineage",
        "zcat old.gz | lineagelog load -",
    )(_load)


def _load(
    session: Session,
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders, or - for NDJSON on stdin.")],
    json: Json = False,
) -> int:
    """Load events from files and folders.

    JSON (one event, an array or {"events": […]}), NDJSON, these as .gz, Egeria's *.openlineageevent files. An event
    that is stored already counts as duplicate, so that a load that was stopped may simply be started again.
    """
    from lineagelog.intake import Tally

    settings, tally = session.settings.intake, Tally()
    check = session.check()
    with session.store(create=True, pool_size=settings.writers) as store:
        from lineagelog.intake import Door

        counts = Counts()
        door = Door(store, check=check, max_event=settings.max_event, max_values=settings.max_event_values)
        _load_into(door, paths, settings, counts, tally)
        if counts.stored >= _WORTH_STATISTICS:
            from lineagelog.store import gather_statistics

            gather_statistics(store.engine, store.schema)
    return _finish(counts, tally, as_json=json)


def _load_into(door: Door, paths: list[str], settings: IntakeSettings, counts: Counts, tally: Tally) -> None:
    from lineagelog.intake import load, read_paths

    with _progress(paths, counts, tally) as update:
        deliveries = read_paths(paths, tally=tally, on_problem=_tell_problem, max_event=settings.max_event)
        positions: deque[str] = deque()  # of the events that are on their way
        try:
            noted = _noting(deliveries, positions)
            batches = load(door, noted, source="file", batch=settings.batch, connections=settings.writers)
            for outcomes in batches:
                _tell_dead(outcomes, [positions.popleft() for _ in outcomes], counts.dead)
                counts.add(outcomes)
                update()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted: {counts}; run it again to go on, nothing is stored twice") from None


def _finish(counts: Counts, tally: Tally, *, as_json: bool) -> int:
    if tally.skipped:
        tell(f"passed over {tally.skipped} files that are not event files by their names")
    if counts.dead > _TOLD:
        tell(f"{counts.dead - _TOLD} more were refused: lineagelog dead-letters list")
    print_json(counts.as_json(tally)) if as_json else put(counts)
    if tally.problems and not tally.files:
        return ERROR
    return FINDINGS if counts.dead or tally.problems else OK


def _tell_problem(problem: InputError) -> None:
    tell(f"lineagelog: {problem}")


def _noting(deliveries: Iterable[Delivery], positions: deque[str]) -> Iterator[Delivery]:
    for delivery in deliveries:
        positions.append(delivery.position)
        yield delivery


def _tell_dead(outcomes: list[Outcome], positions: list[str], already: int) -> None:
    """Name the first refused events."""
    refused = [
        (place, outcome.rejected) for place, outcome in zip(positions, outcomes, strict=True) if outcome.rejected
    ]
    for place, rejected in refused[: max(_TOLD - already, 0)]:
        tell(f"refused: {place}: {rejected}")


@contextmanager
def _progress(paths: list[str], counts: Counts, tally: Tally) -> Iterator[Callable[[], None]]:
    """A bar with the rate, for somebody who watches; the returned function moves it."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from lineagelog.intake import total_size

    columns = (BarColumn(), DownloadColumn(), TextColumn("{task.description}", markup=False), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total_size(paths))

        def update() -> None:
            rate = counts.read / max(counts.seconds, 0.001)
            progress.update(task, completed=tally.size, description=f"{counts.read:,} events, {rate:,.0f}/s")

        yield update
